import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { uuidOf } from '../../src/lib/ids.ts'
import { isAlive } from '../../src/lib/process-run.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import type { Verification } from '../../src/verify/findings.ts'
import { eventually } from '../support/eventually.ts'
import { expectReady } from '../support/expect-ready.ts'
import { answersText, expectNoLies, FailoverLoad } from '../support/failover-load.ts'
import { freePort } from '../support/free-port.ts'
import { LOAD_AGENCY_IDS, LOAD_SECRET, Load, prepareForLoad } from '../support/load.ts'
import { longTest, rounds } from '../support/long-run.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { AMPLE_PLAN } from '../support/samples.ts'
import { Scrape, scrape } from '../support/scrape.ts'
import {
  credentialsFor,
  makeAgencyByPortal,
  type StartingService,
  startListening,
  startServiceOn,
  TEST_PORTAL_TOKEN,
} from '../support/service-process.ts'
import { type ServiceWorkers, startWorkers } from '../support/service-workers.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startWorkersProxy } from '../support/workers-proxy.ts'

/* A service with several workers on one port: its parent, its workers, and a standby of it. */

const WORKERS = 3
const CLIENTS = 24

const folder = temporaryFolder('workers')
let database: TestDatabase
let sql: Sql
let folders = 0
const started = new Set<StartingService>()

beforeEach(async () => {
  database = await testDatabase()
  sql = connect(database.url, { purpose: 'admin' })
  await prepareForLoad(database.url)
})
afterEach(async () => {
  for (const service of started) service.kill('SIGKILL')
  started.clear()
  await sql.end({ timeout: 1 })
  await database.drop()
})

async function start(env: Record<string, string> = {}): Promise<ServiceWorkers> {
  const service = await startWorkers(database.url, { count: WORKERS, dataDir: newFolder(), env })
  started.add(service)
  return service
}

function newFolder(): string {
  folders += 1
  return `${folder}/${folders}`
}

/** A request on a connection of its own, which the kernel gives to any worker. */
function askAnew(service: StartingService, path: string, headers: Record<string, string> = {}) {
  return fetch(service.baseUrl + path, { headers: { connection: 'close', ...headers } })
}

describe('a service with workers', () => {
  test('answers every agency on every connection, and writes nothing twice', async () => {
    const service = await start()
    expect(new Set(LOAD_AGENCY_IDS.map((id) => service.ownerOf(id))).size).toBeGreaterThan(1)
    const load = new FailoverLoad(() => service.baseUrl)
    load.start(CLIENTS)
    await load.more(300)
    for (let i = 0; i < 30; i++) {
      const answer = await askAnew(service, '/partner/v1/units', { authorization: `Bearer ${LOAD_SECRET}` })
      expect([answer.status, answer.headers.has('x-served-by')]).toEqual([200, false])
      await answer.arrayBuffer()
    }
    await load.stop()
    await expectNoLies(sql, load)
    expect([...load.answers.keys()].filter((answer) => answer !== 201 && answer !== 409)).toEqual([])
  })

  test('gets the connections of partners to the workers that own their agencies', async () => {
    const service = await start()
    const forwarded = async () =>
      (await scrape(service.baseUrl)).value('nightledger_cluster_requests_total', { outcome: 'forwarded' })
    await eventually('no request is forwarded any more', async () => {
      const before = await forwarded()
      for (let i = 0; i < 100; i++) {
        const { status } = await service.ask('/partner/v1/units', { token: LOAD_SECRET })
        expect(status).toBe(200)
      }
      return (await forwarded()) === before
    })
  })

  test.each([
    ['without ADMIN_PORT', null],
    ['with it', freePort()],
  ])(
    'has no request forwarded behind a proxy that knows the own port of each worker, and no read fails when one is killed, %s',
    async (_, adminPort) => {
      const port = freePort()
      const admin = adminPort === null ? {} : { ADMIN_PORT: String(adminPort) }
      const service = await start({ PORT: String(port), WORKER_PORTS: 'true', ...admin })
      const proxy = await startWorkersProxy(port, WORKERS, adminPort)
      try {
        const read = async (url = proxy.baseUrl) => {
          const headers = { authorization: `Bearer ${LOAD_SECRET}`, connection: 'close' }
          const { status, headers: answered } = await fetch(`${url}/partner/v1/units`, { headers })
          return { status, worker: answered.get('x-served-by') }
        }
        const first = await read()
        expect(first).toEqual({ status: 200, worker: expect.stringMatching(/^worker-[123]$/) })
        const forwarded = async () =>
          (await scrape(service.adminUrl)).value('nightledger_cluster_requests_total', { outcome: 'forwarded' })
        // On a busy machine the proxy can miss a worker's probe, and passes it over for a moment.
        await eventually('no request is forwarded', async () => {
          const before = await forwarded()
          for (let i = 0; i < 30; i++) expect(await read()).toEqual(first)
          return (await forwarded()) === before
        })
        const worker = Number(first.worker?.slice('worker-'.length))
        process.kill(service.workers().get(worker) ?? 0, 'SIGKILL')
        let isClosed = false
        await eventually('its successor answers', async () => {
          const { status, worker: by } = await read()
          expect(status).toBe(200)
          // Not 503, with which the proxy could do less than with a closed port.
          const own = await read(`http://127.0.0.1:${port + worker}`).catch(() => null)
          isClosed ||= own === null
          if (own !== null) expect(own.status).toBe(200)
          return isClosed && own !== null && by === first.worker
        })
      } finally {
        await proxy.stop()
      }
    },
  )

  test('answers at the port of the first worker too when there is only one', async () => {
    const port = freePort()
    const service = await startServiceOn(database.url, { PORT: String(port), WORKER_PORTS: 'true' })
    started.add(service)
    for (const each of [port, port + 1]) {
      const headers = { authorization: `Bearer ${LOAD_SECRET}` }
      expect((await fetch(`http://127.0.0.1:${each}/partner/v1/units`, { headers })).status).toBe(200)
    }
  })

  test('goes on when a worker is killed: nothing is lost or sold twice, its agencies are answered by others, and it comes back', async () => {
    const service = await start()
    const load = new FailoverLoad(() => service.baseUrl)
    load.start(CLIENTS)
    const gaps: number[] = []
    for (let round = 0; round < rounds({ push: 1, long: 10 }); round++) {
      await load.more(200)
      const worker = service.ownerOf(LOAD_AGENCY_IDS[round % LOAD_AGENCY_IDS.length] ?? '')
      const pid = service.workers().get(worker)
      if (pid === undefined) throw new Error(`Worker ${worker} does not run`)
      load.watchGap()
      process.kill(pid, 'SIGKILL')
      await load.more(300)
      gaps.push(load.gapMs)
      await eventually('it runs again', () => {
        const successor = service.workers().get(worker)
        return successor !== undefined && successor !== pid
      })
    }
    await load.stop()
    console.log(`no booking for ${gaps.map((ms) => ms.toFixed(0)).join(', ')} ms; answers ${answersText(load)}`)
    await expectNoLies(sql, load)
    await eventually('all serve again', async () => {
      const page = await (await askAnew(service, '/metrics')).text()
      return new Scrape(page).value('nightledger_workers') === WORKERS
    })
  })

  longTest('kills a worker that hangs, whose agencies others have by then, and starts it again', async () => {
    const service = await start()
    const [, hung] = [...service.workers().values()]
    if (hung === undefined) throw new Error('There is no second worker')
    process.kill(hung, 'SIGSTOP')
    await eventually('it was killed', () => service.log().includes('worker hangs, and is killed'))
    await eventually('it is there again', async () => {
      // What the kernel had given to the worker that hung is reset when that is killed.
      const page = await askAnew(service, '/metrics')
        .then((answer) => answer.text())
        .catch(() => '\n')
      return (
        new Scrape(page).value('nightledger_workers') === WORKERS && ![...service.workers().values()].includes(hung)
      )
    })
    await new Load(() => service.baseUrl).book()
  })

  test('ends within a second when its parent is killed, and the next start finds nothing of it', async () => {
    const port = String(freePort())
    const service = await start({ PORT: port })
    const workers = [...service.workers().values()]
    expect(workers).toHaveLength(WORKERS)
    await new Load(() => service.baseUrl).book()
    service.kill('SIGKILL')
    await eventually('the workers have ended', () => !workers.some(isAlive))
    const next = await start({ PORT: port })
    await new Load(() => next.baseUrl).book()
  })

  test('drains when it is stopped, and a standby with workers takes over', async () => {
    const first = await start()
    const standby = await startListening({
      ...credentialsFor(database.url),
      DATA_DIR: newFolder(),
      WORKERS: '2',
    })
    started.add(standby)
    await eventually('it waits', () => standby.log().includes('waiting as a standby'))
    expect((await askAnew(standby, '/partner/v1/units')).status).toBe(503)
    const waiting = await scrape(standby.baseUrl)
    expect([waiting.value('nightledger_ready'), waiting.value('nightledger_role', { role: 'standby' })]).toEqual([0, 1])
    expect([waiting.value('nightledger_database_up'), waiting.value('nightledger_workers')]).toEqual([1, 2])
    expect(waiting.seriesNames().has('nightledger_journal_entries_total')).toBe(false)
    let current: StartingService = first
    const load = new FailoverLoad(() => current.baseUrl)
    load.start(CLIENTS)
    await load.more(200)
    first.kill('SIGTERM')
    expect(await first.exited).toBe(0)
    current = standby
    await load.more(200)
    await load.stop()
    await expectNoLies(sql, load)
    await expectReady(standby)
    const serving = await scrape(standby.baseUrl)
    expect([serving.value('nightledger_ready'), serving.value('nightledger_role', { role: 'writer' })]).toEqual([1, 1])
    expect(serving.value('nightledger_role', { role: 'standby' })).toBe(0)
  })

  test('leaves the port at other addresses of the machine to other services with workers', async () => {
    const port = String(freePort())
    await start({ PORT: port })
    const other = { ...credentialsFor(database.url), DATA_DIR: newFolder(), WORKERS: '2', PORT: port }
    const standby = await startListening({ ...other, HOST: '127.0.0.2' })
    started.add(standby)
    await eventually('it waits', () => standby.log().includes('waiting as a standby'))
    const third = await startListening({ ...other, DATA_DIR: newFolder(), HOST: '127.0.0.2' }).catch(String)
    expect(third).toContain(`Cannot listen on 127.0.0.2:${port}: another program is listening there`)
  })

  test.each(['127.0.0.1', 'localhost'])(
    'does not start while another one starts at the same address, by whatever name: %s',
    async (HOST) => {
      const PORT = String(freePort())
      // As the other one has it from before its workers listen until it ends.
      using _ = Bun.listen({ unix: `\0nightledger-port-${PORT}-127.0.0.1`, socket: { data: () => {} } })
      const env = { ...credentialsFor(database.url), DATA_DIR: newFolder(), WORKERS: '2', PORT, HOST }
      const outcome = await startListening(env).then((service) => {
        started.add(service)
        return 'it started'
      }, String)
      expect(outcome).toContain(
        `Cannot listen on 127.0.0.1:${PORT}: another nightledger with WORKERS is starting there`,
      )
    },
  )

  test('ends when another service takes over by force, and serves nothing meanwhile', async () => {
    const first = await start()
    await new Load(() => first.baseUrl).book()
    const second = await startServiceOn(database.url, {}, { takesOver: true })
    started.add(second)
    expect(await first.exited).toBe(1)
    await new Load(() => second.baseUrl).book()
  })

  test('removes at once what the agencies of all workers no longer keep, whichever worker answers', async () => {
    const service = await start()
    expect(new Set(LOAD_AGENCY_IDS.map((id) => service.ownerOf(id))).size).toBeGreaterThan(1)
    for (const agencyId of LOAD_AGENCY_IDS)
      await sql`
        insert into guest (agency_id, guest_id, created_at, first_name, last_name)
        values (${uuidOf(agencyId)}, gen_random_uuid(), '2015-01-01', 'Ana', 'Reis')`
    const run = async (query = '') => {
      const asked = { method: 'POST', headers: { authorization: `Bearer ${TEST_PORTAL_TOKEN}`, connection: 'close' } }
      const answer = await fetch(`${service.baseUrl}/portal/v1/retention/run${query}`, asked)
      const { removed } = (await answer.json()) as { removed: { guests: number } }
      return [answer.status, removed.guests]
    }
    // After the start, shards move for a while, and an agency that is on its way is in no round.
    await eventually('whichever worker answers, all agencies are in the round', async () => {
      for (let i = 0; i < 12; i++) if ((await run('?dryRun=true'))[1] !== LOAD_AGENCY_IDS.length) return false
      return true
    })
    expect(await run()).toEqual([200, LOAD_AGENCY_IDS.length])
    expect(await run('?dryRun=true')).toEqual([200, 0])
  })

  test('verifies the memory of all workers, whichever worker answers', async () => {
    const service = await start()
    expect(new Set(LOAD_AGENCY_IDS.map((id) => service.ownerOf(id))).size).toBeGreaterThan(1)
    const load = new FailoverLoad(() => service.baseUrl)
    load.start(CLIENTS)
    await load.more(100)
    await load.stop()
    // Every unit in memory differs from its journal now.
    await sql`update journal set payload = replace(payload, '"minStay":1', '"minStay":2')`
    const differing = async () => {
      const answer = await askAnew(service, '/portal/v1/verification', { authorization: `Bearer ${TEST_PORTAL_TOKEN}` })
      const { verification } = (await answer.json()) as { verification: Verification }
      const units = verification.differences.flatMap(({ what, unitId }) =>
        what === 'memory' && unitId !== null ? [uuidOf(unitId)] : [],
      )
      return (await sql`select distinct agency_id from unit where unit_id in ${sql(units)}`).length
    }
    expect(await differing()).toBe(LOAD_AGENCY_IDS.length)
  })

  test('gives its metrics as one page, counts wrong tokens over all workers, and has ADMIN_PORT in its parent', async () => {
    const service = await start({ ADMIN_PORT: String(freePort()) })
    const key = await makeAgencyByPortal(service, { scopes: ['read:units'], plan: AMPLE_PLAN })
    for (let i = 0; i < 20; i++)
      expect((await askAnew(service, '/partner/v1/units', { authorization: `Bearer ${key}` })).status).toBe(200)
    const page = new Scrape(await (await fetch(`${service.adminUrl}/metrics`)).text())
    expect(page.value('nightledger_workers')).toBe(WORKERS)
    expect(page.value('nightledger_process_resident_memory_bytes', { worker: '2' })).toBeGreaterThan(0)
    await expectReady(service)
    expect((await askAnew(service, '/metrics')).status).toBe(404)
    const statuses = new Set<number>()
    for (let i = 0; i < 60; i++) {
      const wrong = { authorization: `Bearer hp_live_${'x'.repeat(40)}` }
      statuses.add((await askAnew(service, '/portal/v1/agencies/harbour/units', wrong)).status)
      await Bun.sleep(2)
    }
    expect([...statuses].toSorted()).toEqual([401, 429])
    // Workers tell each other what they count a moment later.
    await eventually('every worker refuses', async () => {
      const last = await Promise.all(
        Array.from({ length: 12 }, async () => {
          const wrong = { authorization: `Bearer hp_live_${'x'.repeat(40)}` }
          return (await askAnew(service, '/portal/v1/agencies/harbour/units', wrong)).status
        }),
      )
      return last.every((status) => status === 429)
    })
  })

  test('shows its metrics on ADMIN_PORT while a worker hangs, whichever worker is asked', async () => {
    const service = await start({ ADMIN_PORT: String(freePort()) })
    const hung = service.workers().get(2)
    if (hung === undefined) throw new Error('There is no second worker')
    process.kill(hung, 'SIGSTOP')
    const pages = Array.from({ length: WORKERS }, () => fetch(`${service.adminUrl}/metrics`))
    expect((await Promise.all(pages)).map(({ status }) => status)).toEqual([200, 200, 200])
    process.kill(hung, 'SIGCONT')
  })
})
