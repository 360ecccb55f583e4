/** The unit of deploy/systemd/ and its variables, and the drop-ins of deploy/cluster/. test/e2e/systemd.long.test.ts runs the unit. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { readConfig } from '../../src/app/config.ts'

const UNIT = 'deploy/systemd/nightledger.service'

test
  .skipIf(Bun.which('systemd-analyze') === null)
  .each([UNIT, 'deploy/cluster/nightledger.conf', 'deploy/cluster/etcd.conf', 'deploy/cluster/patroni.conf'])(
  'systemd knows every line of %s',
  (file) => {
    const folder = mkdtempSync(join(tmpdir(), 'nightledger-units-'))
    const unit = join(folder, basename(file).replace('.conf', '.service'))
    // Whether the binary is installed is not the question. A drop-in lacks what its unit says.
    const text = readFileSync(file, 'utf8').replace('/usr/local/bin/nightledger', '/bin/true')
    writeFileSync(unit, file.endsWith('.conf') ? `${text}\nExecStart=/bin/true\n` : text)
    const { stderr } = Bun.spawnSync(['systemd-analyze', 'verify', '--man=no', unit])
    const faults = stderr.toString().split('\n')
    expect(faults.filter((line) => line.includes(`${unit}:`))).toEqual([])
    rmSync(folder, { recursive: true, force: true })
  },
)

test('the example of its variables is valid once the secrets are filled in, and refused before', () => {
  const lines = readFileSync('deploy/systemd/nightledger.env.example', 'utf8').matchAll(/^#?([A-Z_]+)=(.*)$/gm)
  const env = Object.fromEntries([...lines].map(([, name = '', value]) => [name, value]))
  const unit = readFileSync(UNIT, 'utf8')
  const ofUnit = Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
  )
  const known = readFileSync('docs/operating.md', 'utf8')
  for (const name of Object.keys({ ...ofUnit, ...env })) expect(known).toContain(`\`${name}\``)
  const secret = { PORTAL_TOKEN: 'a'.repeat(64), SECRET_KEY: 'b'.repeat(64) }
  expect(readConfig({ ...ofUnit, ...env, ...secret })).toMatchObject({
    environment: 'production',
    admin: { port: 9090, host: '127.0.0.1' },
    dataDir: '/var/lib/nightledger',
    erasuresFile: '/var/lib/nightledger/erasures',
  })
  expect(() => readConfig({ ...ofUnit, ...env })).toThrow(/PORTAL_TOKEN is required.*\n.*SECRET_KEY is required/)
})

test('systemd waits for longer than a drain takes before it kills', () => {
  const drainMsMax = /DRAIN_MS_MAX = ([\d_]+)/.exec(readFileSync('src/app/service.ts', 'utf8'))?.[1]
  const stopS = /^TimeoutStopSec=(\d+)$/m.exec(readFileSync(UNIT, 'utf8'))?.[1]
  expect(Number(stopS) * 1_000).toBeGreaterThan(Number(drainMsMax?.replaceAll('_', '')) + 2_000)
})
