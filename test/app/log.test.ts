import { expect, test } from 'bun:test'
import { resolve } from 'node:path'

const LAST_WORDS = `
  const { openLog } = await import(${JSON.stringify(resolve('src/app/log.ts'))})
  const log = openLog('info')
  for (let i = 0; i < 20; i++) log.info({ i }, 'on the way')
  log.fatal('ended by a bug')
  process.exit(1)
`

test('the last line before the process exits arrives, also through a pipe as in a container', async () => {
  for (let round = 0; round < 10; round++) {
    const run = Bun.spawn(['sh', '-c', '"$0" -e "$1" 2>&1 | cat', process.execPath, LAST_WORDS], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const lines = (await run.stdout.text()).trim().split('\n')
    expect(lines).toHaveLength(21)
    expect(JSON.parse(lines.at(-1) ?? '{}')).toMatchObject({ level: 60, msg: 'ended by a bug' })
  }
}, 30_000)

const ON_A_FULL_DISK = `
  const { openLog } = await import(${JSON.stringify(resolve('src/app/log.ts'))})
  const log = openLog('info')
  for (let i = 0; i < 3; i++) log.error({ i }, 'request failed')
  console.log('still here')
`

test('logging does not throw while the disk of the log is full', async () => {
  const run = Bun.spawn(['sh', '-c', '"$0" -e "$1" 2>/dev/full', process.execPath, ON_A_FULL_DISK], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  expect(await run.stdout.text()).toBe('still here\n')
  expect(await run.exited).toBe(0)
})
