/** The unit of deploy/systemd/, installed with the commands of docs/operating.md and run by a real systemd. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whyNoEngine } from '../support/containers/engine.ts'
import { SystemdMachine } from '../support/containers/systemd-machine.ts'
import { eventually } from '../support/eventually.ts'
import { answersText, expectNoLies, FailoverLoad } from '../support/failover-load.ts'
import { freePort } from '../support/free-port.ts'
import { send } from '../support/http-call.ts'
import { prepareForLoad } from '../support/load.ts'
import { asService, type TestDatabase, testDatabase } from '../support/postgres.ts'
import { TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from '../support/service-process.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

const CLIENTS = 16
/** systemd's own measure, from 0 to 10. Without the unit's restrictions it is 9.2. */
const EXPOSURE_MAX = 1.2
const COPY = '/root/nightledger'
const [, INSTALL = '', START = '', STANDBY = ''] = shellBlocksOf(
  sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Without containers'),
).map(({ script }) => script)

const obstacle = whyNoEngine()
if (obstacle !== null) console.log(`No systemd is run here: ${obstacle}`)

describe.skipIf(obstacle !== null)('the unit', () => {
  const [port, adminPort] = [freePort(), freePort()]
  let database: TestDatabase
  let machine: SystemdMachine
  let folder: string
  let load: FailoverLoad | null = null

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightledger-unit-'))
    machine = await SystemdMachine.start()
    database = await testDatabase()
    await prepareForLoad(database.url)
    const build = Bun.spawnSync([process.execPath, 'run', 'build'])
    if (build.exitCode !== 0) throw new Error(`The build ended with ${build.exitCode}: ${build.stderr}`)
    await machine.run(`mkdir -p ${COPY}/dist ${COPY}/secrets`)
    await machine.copy('dist/nightledger', `${COPY}/dist/nightledger`)
    await machine.copy('deploy', `${COPY}/deploy`)
    await putEnvironment(`${COPY}/secrets/nightledger.env`)
  }, 1_800_000)
  afterAll(async () => {
    await load?.stop()
    await machine?.stop()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  }, 120_000)

  /** The example, filled in and with the ports of this test. */
  async function putEnvironment(target: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const values = {
      DATABASE_URL: asService(database.url),
      PORTAL_TOKEN: TEST_PORTAL_TOKEN,
      SECRET_KEY: TEST_SECRET_KEY,
      ADMIN_PORT: String(adminPort),
    }
    let text = readFileSync('deploy/systemd/nightledger.env.example', 'utf8')
    for (const [name, value] of Object.entries(values)) {
      expect(text).toMatch(new RegExp(`^${name}=`, 'm'))
      text = text.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${value}`)
    }
    const added = { PORT: String(port), ...more }
    text += Object.entries(added)
      .map(([name, value]) => `${name}=${value}\n`)
      .join('')
    writeFileSync(join(folder, 'nightledger.env'), text)
    await machine.copy(join(folder, 'nightledger.env'), target)
  }

  const show = (property: string) => machine.run(`systemctl show --value --property ${property} nightledger`)
  const isReady = (host = '127.0.0.1') =>
    send(`http://${host}:${adminPort}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
  /** All of its processes, as the kernel has them. */
  const processes = async () =>
    (await machine.run('systemctl status --no-pager nightledger | grep -oP "[├└]─\\K\\d+" || true'))
      .split('\n')
      .filter(Boolean)

  test('has no line that systemd does not know, and is restricted', async () => {
    await machine.run(INSTALL + START, COPY)
    expect(await machine.run('systemd-analyze verify /etc/systemd/system/nightledger.service 2>&1')).toBe('')
    const exposure = await machine.run('systemd-analyze security --no-pager nightledger.service | tail -n 1')
    console.log(exposure)
    expect(Number(/: ([\d.]+)/.exec(exposure)?.[1])).toBeLessThanOrEqual(EXPOSURE_MAX)
  })

  test('serves as a user of its own without privileges, on a read-only root, with a folder that only it can open', async () => {
    await eventually('it is ready', () => isReady())
    const pid = await show('MainPID')
    const status = await machine.run(`cat /proc/${pid}/status`)
    const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1])
    // Those that systemd allocates.
    expect(uid).toBeWithin(61_184, 65_520)
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) expect(status).toMatch(new RegExp(`^Cap${set}:\t0+$`, 'm'))
    expect(status).toContain('NoNewPrivs:\t1')
    expect(status).toContain('Seccomp:\t2')
    expect(await machine.run(`cat /proc/${pid}/mounts`)).toMatch(/^\S+ \/ \S+ ro[, ]/m)
    expect(await machine.run('stat --format %a:%U /etc/nightledger/nightledger.env')).toBe('600:root')
    expect(await machine.run('stat --format %a --dereference /var/lib/nightledger')).toBe('700')
  })

  test('logs JSON lines to the journal', async () => {
    const lines = (await machine.run(`journalctl --unit nightledger --output cat _PID=${await show('MainPID')}`)).split(
      '\n',
    )
    expect(lines.map((line) => JSON.parse(line).msg)).toContain('listening')
  })

  test('restarted under load, it answers again, and no answer was wrong', async () => {
    load = new FailoverLoad(() => `http://127.0.0.1:${port}`)
    load.start(CLIENTS)
    await load.more(200)
    load.watchGap()
    await machine.run('systemctl restart nightledger')
    await load.more(200)
    console.log(`systemctl restart: no booking for ${load.gapMs.toFixed(0)} ms; answers ${answersText(load)}`)
    expect(await show('Result')).toBe('success')
  })

  test('killed, it is started again, and no acknowledged booking is lost', async () => {
    for (let kill = 1; kill <= 3; kill++) {
      load?.watchGap()
      await machine.run('systemctl kill --kill-whom=main --signal=SIGKILL nightledger')
      await load?.more(100)
      console.log(`SIGKILL: no booking for ${load?.gapMs.toFixed(0)} ms`)
      expect(await show('NRestarts')).toBe(String(kill))
    }
    await load?.stop()
    console.log(await expectNoLies(database.sql, load as FailoverLoad))
  }, 180_000)

  test('with WORKERS, the sockets between them are in its folder', async () => {
    await putEnvironment('/etc/nightledger/nightledger.env', { WORKERS: '2' })
    await machine.run('systemctl restart nightledger')
    await eventually('it is ready', () => isReady())
    expect(await machine.run('find /var/lib/nightledger/ -type s | wc -l')).not.toBe('0')
    load?.start(CLIENTS)
    await load?.more(200)
    await load?.stop()
    const before = await processes()
    expect(before.length).toBeGreaterThanOrEqual(3)
    await machine.run('systemctl stop nightledger')
    expect([await show('Result'), await processes()]).toEqual(['success', []])
    for (const pid of before) expect(await machine.run(`ls -d /proc/${pid} 2>/dev/null || true`)).toBe('')
  }, 180_000)

  test('a wrong configuration is named in the journal, and it serves as soon as that is corrected', async () => {
    await putEnvironment('/etc/nightledger/nightledger.env', { PORT: 'x' })
    await machine.run('systemctl start nightledger || true')
    await eventually(
      'the fault is in the journal',
      async () =>
        (await machine.run('journalctl --unit nightledger --output cat --lines 50')).includes('PORT is \\"x\\"') ||
        (await machine.run('journalctl --unit nightledger --output cat --lines 50')).includes('PORT is "x"'),
    )
    await putEnvironment('/etc/nightledger/nightledger.env')
    await eventually('it is ready', () => isReady())
  }, 120_000)

  test('a second unit on the same machine waits as the standby, and serves when the first is stopped', async () => {
    await machine.run(STANDBY)
    const log = () => machine.run('journalctl --unit nightledger-standby --output cat')
    await eventually('it waits', async () => (await log()).includes('waiting as a standby'))
    expect([await isReady(), await isReady('127.0.0.2')]).toEqual([true, false])
    expect(await machine.run('stat --format %a:%U /etc/nightledger/standby.env')).toBe('600:root')
    await machine.run('systemctl stop nightledger')
    await eventually('the standby serves', () => isReady('127.0.0.2'))
  }, 120_000)
})
