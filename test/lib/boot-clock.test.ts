import { expect, test } from 'bun:test'
import { bootTime } from '../../src/lib/clock.ts'

const BOOT_ID = '/proc/sys/kernel/random/boot_id'
const UPTIME = '/proc/uptime'

/** Reads these files; any other is missing. */
function reading(files: Record<string, string>): (path: string) => string {
  return (path) => {
    const text = files[path]
    if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' })
    return text
  }
}

test('the time since the boot is in milliseconds, with the id of the boot', () => {
  const read = reading({ [BOOT_ID]: 'c0ffee\n', [UPTIME]: '12.34 40.00\n' })
  expect(bootTime(read)).toEqual({ bootId: 'c0ffee', ms: 12_340 })
})

test.each([
  ['neither file', {}],
  ['no boot id (systemd, ProcSubset=pid)', { [UPTIME]: '12.34 40.00\n' }],
  ['no uptime', { [BOOT_ID]: 'c0ffee\n' }],
  ['an empty boot id', { [BOOT_ID]: '\n', [UPTIME]: '12.34 40.00\n' }],
  ['an empty uptime', { [BOOT_ID]: 'c0ffee\n', [UPTIME]: '' }],
  ['an uptime that is not a number', { [BOOT_ID]: 'c0ffee\n', [UPTIME]: 'unknown\n' }],
])('where there is %s, there is no boot clock', (_, files) => {
  expect(bootTime(reading(files))).toBeNull()
})
