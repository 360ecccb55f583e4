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

test('what the documents say to run first loads the variables of the unit too, so that doctor checks what the service has', () => {
  const loads = ['docs/operating.md', 'docs/operating/alerts.md', 'docs/operating/doctor.md'].flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/set -a;.* \. \/etc\/nightledger\/nightledger\.env; set \+a/g),
  ])
  const [load = '', ...others] = new Set(loads.map(([text]) => text))
  expect([loads.length, others]).toEqual([4, []])
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-unit-variables-'))
  const files = [UNIT, 'deploy/cluster/nightledger.conf'].map((file) => readFileSync(file, 'utf8'))
  const shown = files.flatMap((text) => [...text.matchAll(/^Environment=(.*)$/gm)].map(([, set = '']) => set))
  // As systemd prints them.
  const systemctl = `#!/bin/sh\necho '${shown.join(' ').replaceAll('%H', 'host1')}'\n`
  writeFileSync(join(folder, 'systemctl'), systemctl, { mode: 0o755 })
  writeFileSync(join(folder, 'nightledger.env'), 'WORKERS=2\nHOST=10.0.0.1\n')
  const script = `${load.replace('/etc/nightledger', folder)}; env`
  const { stdout } = Bun.spawnSync(['bash', '-euc', script], { env: { PATH: `${folder}:${process.env['PATH']}` } })
  const loaded = stdout.toString().split('\n')
  rmSync(folder, { recursive: true, force: true })
  for (const each of ['NODE_ENV=production', 'DATA_DIR=/var/lib/nightledger', 'NODE_ID=host1', 'WORKERS=2'])
    expect(loaded).toContain(each)
  expect(loaded).toContain('HOST=10.0.0.1')
})

test('systemd waits for longer than a drain takes before it kills', () => {
  const drainMsMax = /DRAIN_MS_MAX = ([\d_]+)/.exec(readFileSync('src/app/service.ts', 'utf8'))?.[1]
  const stopS = /^TimeoutStopSec=(\d+)$/m.exec(readFileSync(UNIT, 'utf8'))?.[1]
  expect(Number(stopS) * 1_000).toBeGreaterThan(Number(drainMsMax?.replaceAll('_', '')) + 2_000)
})
