/** What docs/operating/alerts.md tells operators to run, and the dashboard and the alerts with a real Prometheus and Alertmanager. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { HttpConnection } from '../../bench/load/http-client.ts'
import { seedLedger } from '../../bench/world/seed.ts'
import { secretOf, slugOf } from '../../bench/world/world.ts'
import { SecretBox } from '../../src/events/webhooks/secret-box.ts'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { SERVICE_ROLE } from '../../src/postgres/embedded/cluster.ts'
import { programFile } from '../support/bundled-program.ts'
import { cliWith } from '../support/cli-terminal.ts'
import { eventually } from '../support/eventually.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { holding } from '../support/held-lock.ts'
import { send } from '../support/http-call.ts'
import { MISSING_MONITORING, Monitoring } from '../support/monitoring.ts'
import { monthsAgo } from '../support/past-months.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { AMPLE_PLAN } from '../support/samples.ts'
import {
  credentialsFor,
  makeAgencyByPortal,
  type ServiceProcess,
  type StartingService,
  startListening,
  startServiceOn,
  TEST_PORTAL_TOKEN,
} from '../support/service-process.ts'
import { type ServiceWorkers, startWorkers } from '../support/service-workers.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const ALERTS_MD = readFileSync('docs/operating/alerts.md', 'utf8')
const PROVOKED_MD = sectionOf(readFileSync('docs/reliability.md', 'utf8'), 'How the alerts are tested')
const MISSING = [...MISSING_MONITORING, ...(Bun.which('promtool') === null ? ['promtool'] : [])]
const NEEDS = `(Debian: prometheus, prometheus-alertmanager${MISSING.length === 0 ? '' : `; skipped: ${MISSING.join(', ')} not found`})`

test.skipIf(MISSING.length > 0)(
  `the commands in alerts.md find no fault in the rules and their cases ${NEEDS}`,
  async () => {
    const [block] = shellBlocksOf(sectionOf(ALERTS_MD, 'Setting up'))
    const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', block?.script ?? ''], { stdout: 'pipe', stderr: 'pipe' })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    expect([await child.exited, out.match(/SUCCESS/g)?.length, err]).toEqual([0, 8, ''])
  },
  600_000,
)

const SCOPES = ['write:bookings', 'read:availability', 'read:bookings', 'read:units', 'read:guests'] as const
/** So many, because an idle machine asks for tens of thousands of nights before some alerts arrive. */
const UNITS = ['sea-view', ...Array.from({ length: 9 }, (_, i) => `room-${i + 1}`)]
const NIGHTS_OF_UNIT = 20_000

/** A pair of processes on a PostgreSQL of their own, a service with workers, and what watches them. */
describe.skipIf(MISSING.length > 0)(`a real Prometheus ${NEEDS}`, () => {
  const folder = temporaryFolder('monitoring')
  const ports = { a: freePort(), b: freePort(), workers: freePort() }
  let postgres: FaultPostgres
  let sql: Sql
  let database: TestDatabase
  let workers: ServiceWorkers
  let monitoring: Monitoring
  let writer: ServiceProcess
  let standby: StartingService
  let key: string
  /** Of another plan: 5 requests a minute. */
  let slowKey: string
  /** What the receiver of webhooks answers. */
  let answer = 200
  let receiver: Bun.Server<undefined>
  /** The id of the webhook endpoint. */
  let endpointId: string

  const envOf = (port: number) => ({
    PORT: String(port),
    WEBHOOK_ALLOW_HOSTS: `127.0.0.1:${receiver.port}`,
    // `fetch` sends 256 requests at a time.
    MAILBOX_MAX: '200',
  })
  const startWriter = (port: number) => startServiceOn(postgres.url, envOf(port))
  const startStandby = async (port: number) => {
    const service = await startListening({ ...credentialsFor(postgres.url), ...envOf(port) })
    await eventually('it waits', () => service.log().includes('waiting as a standby'))
    return service
  }

  beforeAll(async () => {
    receiver = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(null, { status: answer }) })
    postgres = await FaultPostgres.start()
    sql = postgres.direct()
    writer = await startWriter(ports.a)
    standby = await startStandby(ports.b)
    key = await makeAgencyByPortal(writer, { slug: 'harbour', scopes: SCOPES, plan: AMPLE_PLAN })
    for (const slug of UNITS.slice(1))
      await writer.portal('/agencies/harbour/units', { slug, name: slug, basePrice: 10_000 })
    slowKey = await makeAgencyByPortal(writer, {
      slug: 'slow',
      scopes: SCOPES,
      plan: { apiAccess: true, requestsPerMinute: 5, requestsPerMonth: 1_000_000 },
    })
    const url = `http://127.0.0.1:${receiver.port}/in`
    const { body } = await writer.portal('/agencies/harbour/webhook-endpoints', { url })
    endpointId = body.webhookEndpoint.id
    database = await testDatabase()
    workers = await startWorkers(database.url, {
      count: 2,
      dataDir: `${folder}/data`,
      env: { PORT: String(ports.workers) },
    })
    monitoring = await Monitoring.start(`${folder}/prometheus`, {
      nightledger: [ports.a, ports.b],
      workers: [ports.workers],
    })
  }, 300_000)

  afterAll(async () => {
    await monitoring?.stop()
    for (const service of [writer, standby, workers]) service?.kill('SIGKILL')
    await receiver?.stop(true)
    await sql?.end({ timeout: 1 })
    await postgres?.stop()
    await database?.drop()
  })

  let asked = 0
  /** Asks for another night, also when the one before was refused. @returns the status; 0: no answer */
  async function book(extra: object = {}): Promise<number> {
    const day = asked % NIGHTS_OF_UNIT
    const unit = UNITS[Math.floor(asked++ / NIGHTS_OF_UNIT)]
    const night = (days: number) => new Date(Date.UTC(2027, 0, 1 + days)).toISOString().slice(0, 10)
    const json = { unit, arrival: night(day), departure: night(day + 1), adults: 1, ...extra }
    return ask('/partner/v1/bookings', { json, token: key })
  }

  async function ask(path: string, call: { token?: string; json?: object } = {}): Promise<number> {
    return writer.ask(path, call).then(
      ({ status }) => status,
      () => 0,
    )
  }

  const untilActive = async (names: readonly string[], provoke?: () => Promise<unknown>) => {
    await monitoring.untilActive(names, provoke)
    for (const name of names) PROVOKED.add(name)
  }

  const hasData = async (expr: string) => (await monitoring.query(expr)).some(({ value }) => Number.isFinite(value))

  const parallel = (count: number, each: () => Promise<unknown>) =>
    Promise.all(Array.from({ length: count }, () => each()))
  const PROVOKED = new Set<string>()

  /** Of the webhook sender, a child of the writer. */
  const signalSender = (signal: NodeJS.Signals) => Bun.spawnSync(['pkill', `-${signal}`, '-P', String(writer.pid)])

  /** Kills the writer and starts another one, whose clock SIGUSR2 sets three days ahead. */
  const restartWriter = async (env: Record<string, string> = {}) => {
    writer.kill('SIGKILL')
    await writer.exited
    const clock = `${folder}/clock.js`
    writeFileSync(
      clock,
      "const { now } = Date; process.once('SIGUSR2', () => { Date.now = () => now() + 3 * 86_400_000 })",
    )
    writer = await startServiceOn(
      postgres.url,
      { ...envOf(ports.a), ...env },
      { command: [process.execPath, 'run', '--preload', clock, programFile()] },
    )
  }

  test('nothing fires while all is well, and the pair is seen as a writer and a standby', async () => {
    for (let i = 0; i < 20; i++) await book()
    await eventually('both are scraped', async () => {
      const roles = await monitoring.query('nightledger_role{job="nightledger"} == 1')
      return (
        roles
          .map(({ metric }) => metric['role'])
          .toSorted()
          .join() === 'standby,writer'
      )
    })
    await Bun.sleep(25_000)
    const active = await monitoring.active()
    expect(active.map(({ name }) => name.replace('Nightledger', '')).filter((name) => !OF_SPEED.has(name))).toEqual([])
  }, 120_000)

  test('every query of the dashboard returns data; those of a cluster and of errors when there are any', async () => {
    const load = new AbortController()
    const loading = (async () => {
      const { body } = await writer.ask('/partner/v1/changes', { token: key })
      while (!load.signal.aborted) {
        const waiting = ask(`/partner/v1/changes?after=${body.cursor}&wait=5`, { token: key })
        await Promise.all([book(), ask('/partner/v1/units', { token: key })])
        await waiting
        await Bun.sleep(100)
      }
    })()
    const queries = dashboardQueries()
    let empty: readonly DashboardQuery[] = []
    const until = performance.now() + 60_000
    do {
      const found = await Promise.all(queries.map(({ expr }) => hasData(expr)))
      empty = queries.filter((_, i) => !found[i])
    } while (
      empty.some(({ title, expr }) => !expr.includes('nightledger_cluster_') && !(title in WITHOUT_DATA)) &&
      performance.now() < until
    )
    load.abort()
    await loading
    expect(empty.filter(({ expr }) => !expr.includes('nightledger_cluster_')).map(({ title }) => title)).toEqual(
      Object.keys(WITHOUT_DATA),
    )
  }, 120_000)

  test('a standby that is killed is missed, until it is started again', async () => {
    await eventually('it counts', async () =>
      (await monitoring.query('nightledger:standbys:min10m{job="nightledger"}')).some(({ value }) => value === 1),
    )
    standby.kill('SIGKILL')
    await standby.exited
    await untilActive(['StandbyLost'])
    standby = await startStandby(ports.b)
    await monitoring.untilResolved(['StandbyLost'])
  }, 400_000)

  test('a database that is stopped while clients write, until it is started again', async () => {
    const names = [
      ...['DatabaseAway', 'NotReady', 'JournalLag', 'WritesRefused', 'MailboxDeep', 'MailboxRefusing'],
      ...['ErrorBudgetFastBurn', 'ErrorBudgetSlowBurn', 'LatencyBudgetFastBurn', 'LatencyBudgetSlowBurn'],
      ...['BookingsSlow', 'WebhookSenderFailing'],
    ]
    await postgres.shutDown()
    await untilActive(names, () => parallel(300, book))
    for (const { title, expr } of dashboardQueries().filter(({ title }) => title in WITHOUT_DATA))
      await eventually(`the dashboard shows "${title}"`, () => hasData(expr))
    await postgres.restart()
    // It has another port.
    await sql.end({ timeout: 1 })
    sql = postgres.direct()
    await eventually('it sells again', async () => (await book()) === 201)
    await monitoring.untilResolved(names)
  }, 600_000)

  test('slow commits, until what slows them ends', async () => {
    await sql.unsafe(`create function slow_down() returns trigger language plpgsql as
      'begin perform pg_sleep(0.3); return null; end';
      create trigger slow after insert on booking for each statement execute function slow_down()`)
    await untilActive(['AppendsSlow'], () => book())
    await sql.unsafe('drop function slow_down cascade')
    await monitoring.untilResolved(['AppendsSlow'])
  }, 400_000)

  test('a table that was changed by hand, until that is undone', async () => {
    await sql.unsafe('alter table booking add constraint by_hand check (false) not valid')
    await untilActive(['RecordPoisoned'], () => book())
    await sql.unsafe('alter table booking drop constraint by_hand')
    expect(await book()).toBe(201)
    await monitoring.untilResolved(['RecordPoisoned'])
  }, 400_000)

  test('connections that the server keeps ending, until it stops that', async () => {
    await untilActive(['ConnectionsLost'], async () => {
      await parallel(20, () => writer.portal('/agencies'))
      await parallel(20, () => ask('/partner/v1/bookings?limit=1', { token: key }))
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name in ('nightledger queries', 'nightledger lists', 'nightledger probes')`
      await Bun.sleep(200)
    })
    await monitoring.untilResolved(['ConnectionsLost'])
  }, 400_000)

  test('reads that wait for a lock, until the session that holds it ends', async () => {
    const names = ['StatementsWaiting', 'ListsRefused', 'ReadsSlow']
    const release = await holding(postgres.url, 'lock table booking in access exclusive mode')
    await untilActive(names, () =>
      parallel(120, () =>
        Promise.all([
          ask('/partner/v1/bookings?limit=1', { token: key }),
          ask(`/partner/v1/bookings/bkg_${'0'.repeat(32)}`, { token: key }),
        ]),
      ),
    )
    await release()
    await monitoring.untilResolved(names)
  }, 400_000)

  test('clients without a valid key, with a wrong token, and over their limit, until they stop', async () => {
    const names = ['KeysRefused', 'WrongTokens', 'RateRefusals']
    const wrong = { token: `hr_live_${'x'.repeat(40)}` }
    await untilActive(names, () =>
      parallel(40, async () => {
        await ask('/partner/v1/units', wrong)
        await ask('/portal/v1/agencies', wrong)
        await ask('/partner/v1/units', { token: slowKey })
      }),
    )
    await monitoring.untilResolved(names)
  }, 400_000)

  test('an agency that has used up its month, until its plan is larger', async () => {
    await writer.portal('/agencies', {
      ...{ slug: 'small', name: 'Small', currency: 'EUR', timezone: 'Europe/Lisbon' },
      plan: { apiAccess: true, requestsPerMinute: 100_000, requestsPerMonth: 1 },
    })
    const { body } = await writer.portal('/agencies/small/keys', { scopes: SCOPES })
    await untilActive(['QuotaRefusals'], async () => {
      await ask('/partner/v1/units', { token: body.secret })
      await Bun.sleep(50)
    })
    await monitoring.untilResolved(['QuotaRefusals'])
  }, 400_000)

  test('a webhook sender that hangs while deliveries become due, until it continues', async () => {
    signalSender('SIGSTOP')
    await sql`
      insert into webhook_delivery (created_at, next_attempt_at, agency_id, endpoint_id, delivery_id, event_id, month, kind, status)
      select now(), now() - interval '3 minutes', agency_id, endpoint_id, gen_random_uuid(), gen_random_uuid(), date_trunc('month', now()), 'ping', 'pending'
      from webhook_endpoint, generate_series(1, 10_000) where endpoint_id = ${uuidOf(endpointId)}`
    await untilActive(['WebhooksLate', 'WebhookBacklog'])
    signalSender('SIGCONT')
    await monitoring.untilResolved(['WebhooksLate', 'WebhookBacklog'])
  }, 400_000)

  test('a webhook secret that was encrypted with another SECRET_KEY, until there is a new one', async () => {
    const [row] = await sql<{ agency: string }[]>`select agency_id as agency from agency where slug = 'harbour'`
    const owner = { agencyId: idOf('agc', row?.agency ?? ''), endpointId }
    const sealed = new SecretBox(new Uint8Array(32)).seal('whsec_b2xk', owner)
    await sql`update webhook_endpoint set secret_sealed = ${sealed} where endpoint_id = ${uuidOf(endpointId)}`
    await untilActive(['WebhookSecretsClosed'], () => book())
    const { status } = await writer.portal(`/agencies/harbour/webhook-endpoints/${endpointId}/rotate-secret`, {
      overlapHours: 0,
    })
    expect(status).toBe(200)
    await monitoring.untilResolved(['WebhookSecretsClosed'])
    expect(await book()).toBe(201)
    await eventually('it is delivered', async () => {
      const [last] = await sql`select status from webhook_delivery order by seq desc nulls last limit 1`
      return last?.['status'] === 'delivered'
    })
  }, 400_000)

  test('a receiver that fails: deliveries die and the endpoint is switched off, until it works', async () => {
    answer = 500
    await untilActive(['WebhookEndpointSwitchedOff', 'WebhookDeliveriesDead'], async () => {
      await book()
      await sql`update webhook_delivery set attempts = 5, tries = 5, next_attempt_at = now()
        where status = 'pending' and claimed_by is null and attempts between 1 and 4`
      await Bun.sleep(100)
    })
    answer = 200
    await monitoring.untilResolved(['WebhookEndpointSwitchedOff', 'WebhookDeliveriesDead'])
  }, 400_000)

  test('a webhook sender that is killed again and again, until it is left alone', async () => {
    await untilActive(['WebhookSenderDown', 'WebhookSenderRestarting'], async () => {
      signalSender('SIGKILL')
      await Bun.sleep(50)
    })
    await monitoring.untilResolved(['WebhookSenderDown', 'WebhookSenderRestarting'])
  }, 400_000)

  test('a process that its machine keeps pausing, until it does not', async () => {
    await untilActive(['EventLoopDelayed'], async () => {
      writer.kill('SIGSTOP')
      await Bun.sleep(300)
      writer.kill('SIGCONT')
      await Bun.sleep(300)
    })
    await monitoring.untilResolved(['EventLoopDelayed'])
  }, 400_000)

  test('a worker that is killed again and again, until it is left alone', async () => {
    // The other one answers the scrapes.
    await untilActive(['WorkersRestarting'], async () => {
      const worker = workers.workers().get(2)
      if (worker !== undefined) process.kill(worker, 'SIGKILL')
      await Bun.sleep(1_000)
    })
    await monitoring.untilResolved(['WorkersRestarting'])
  }, 400_000)

  test('a second writer that does not wait, until the first is stopped', async () => {
    await sql`update shard set epoch = epoch + 1`
    await untilActive(['Fenced'])
    writer.kill('SIGKILL')
    await writer.exited
    await eventually('the standby serves', async () => (await standby.ask('/readyz')).status === 200)
    await monitoring.untilResolved(['Fenced'])
  }, 400_000)

  test('a service that is gone, and one that keeps restarting', async () => {
    standby.kill('SIGKILL')
    await standby.exited
    workers.kill('SIGTERM')
    await workers.exited
    await untilActive(['Gone'])
    await untilActive(['Restarting'], async () => {
      writer = await startWriter(ports.a)
      await Bun.sleep(1_500)
      writer.kill('SIGKILL')
      await writer.exited
    })
    writer = await startWriter(ports.a)
    await monitoring.untilResolved(['Gone', 'Restarting'])
    expect(await book()).toBe(201)
  }, 400_000)

  test('a unit whose entry was changed by hand, with a hold that expires, until that is undone', async () => {
    await writer.portal('/agencies/harbour/units', { slug: 'cabin', name: 'Cabin', basePrice: 10_000 })
    expect(await book({ unit: 'cabin', status: 'option', holdHours: 1 })).toBe(201)
    const ofCabin = sql`kind = 'unit_set' and unit_id = (select unit_id from unit where slug = 'cabin')`
    await sql`update journal set payload = payload || ' ' where ${ofCabin}`
    await restartWriter()
    writer.kill('SIGUSR2')
    await untilActive(['UnitDamaged', 'HoldsFailing'])
    await sql`update journal set payload = rtrim(payload) where ${ofCabin}`
    await monitoring.untilResolved(['UnitDamaged', 'HoldsFailing'])
    expect(await book({ unit: 'cabin' })).toBe(201)
  }, 400_000)

  test('more keys whose writes are refused than can be counted while a table is locked, until it is not', async () => {
    await sql`
      with suspended as (update agency set status = 'suspended' where slug = 'slow' returning agency_id)
      insert into api_key (agency_id, key_id, prefix, secret_sha256, scopes, created_at)
      select agency_id, gen_random_uuid(), 'hr_live_', encode(sha256(convert_to('hr_live_' || n, 'UTF8')), 'hex'), '{}', now()
      from suspended, generate_series(1, 10_001) n`
    await restartWriter()
    const release = await holding(postgres.url, 'lock table audit_line in exclusive mode')
    await untilActive(['RefusalsUnrecorded'], async () => {
      for (let n = 1; n <= 10_001; )
        await parallel(200, () => ask('/partner/v1/bookings', { json: {}, token: `hr_live_${n++}` }))
    })
    await release()
    await monitoring.untilResolved(['RefusalsUnrecorded'])
  }, 400_000)

  test('daily work that has failed for days, until its causes are removed', async () => {
    const names = ['CheckpointsBehind', 'RetentionOverdue', 'MonthsToArchive', 'MonthsMissing']
    const ofHarbour = sql`agency_id = (select agency_id from agency where slug = 'harbour')`
    await eventually('its tree has several rows', async () => {
      await book()
      return (await sql`select 1 from checkpoint where ${ofHarbour}`).length > 1
    })
    await sql`delete from checkpoint where first_leaf = 0 and ${ofHarbour}`
    await book()
    writer.kill('SIGKILL')
    await writer.exited
    await sql.unsafe(OTHER_MONTHS)
    const inTheWay = `journal_${monthsAgo(-2).slice(0, 7).replace('-', '_')}`
    await sql.unsafe(`create table ${inTheWay} ()`)
    await restartWriter({ RETAIN_LOG_YEARS: '1' })
    await sql.unsafe(`revoke execute on function forget_deliveries from ${SERVICE_ROLE}`)
    writer.kill('SIGUSR2')
    const cli = cliWith({ ...credentialsFor(postgres.url), NIGHTLEDGER_URL: writer.baseUrl })
    await untilActive(names, () => cli('retention', 'run'))
    await sql`delete from checkpoint where ${ofHarbour}`
    await sql.unsafe(`drop table ${inTheWay}`)
    expect(await cli('migrate')).toMatchObject({ code: 0 })
    for (const month of [15, 14]) {
      const args = ['--month', monthsAgo(month).slice(0, 7), '--out', `${folder}/archive`]
      expect(await cli('journal', 'archive', ...args)).toMatchObject({ code: 0 })
    }
    expect(await cli('retention', 'run')).toMatchObject({ code: 0 })
    await monitoring.untilResolved(names.slice(0, 3))
    await restartWriter()
    await monitoring.untilResolved(names)
  }, 400_000)

  describe('of a service with 120,000 units', () => {
    const AGENCIES = 120
    const SEARCH = '/partner/v1/search?from=2027-03-01&to=2027-04-01&nights=7'
    let large: TestDatabase
    let service: ServiceProcess

    const search = (agency: number) => service.ask(SEARCH, { token: secretOf(agency) })
    /** Where the workers were. */
    const start = (env: Record<string, string> = {}) =>
      startServiceOn(large.url, { PORT: String(ports.workers), ...env })

    beforeAll(async () => {
      large = await testDatabase()
      const size = { agencies: AGENCIES, unitsPerAgency: 1_000, bookingsPerUnit: 0, bookingsOfFirst: 0 }
      const admin = connect(large.url, { purpose: 'admin' })
      await seedLedger(admin, size, () => {})
      await admin.end()
      // They have been stopped, unless these tests run alone.
      workers.kill('SIGKILL')
      await workers.exited
      service = await start({ RESIDENT_UNITS_MAX: '1000000' })
    }, 600_000)

    afterAll(async () => {
      service?.kill('SIGKILL')
      await service?.exited
      await large?.drop()
    })

    test('an agent that asks without a pause, until the limit of its plan is lowered', async () => {
      // Not a search: of large answers, an agency gets no more than its share. Over bare sockets: an HTTP client would need as much
      // processor time as the service, and on a busy machine neither would get enough of it.
      const dates = { unit: slugOf(1), from: '2027-03-01', to: '2028-02-28' }
      const params = { name: 'get_availability', arguments: dates }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const head = [
        'POST /mcp HTTP/1.1',
        'Host: 127.0.0.1',
        `Authorization: Bearer ${secretOf(0)}`,
        'Accept: application/json, text/event-stream',
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
      ]
      const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
      // Each ends with its first 429.
      const agent = { next: () => ({ bytes, status: 200 }), answered: () => {}, failed: () => {} }
      // On a machine that is busy otherwise, it gets its core only with priority, which only root may give.
      if (process.getuid?.() === 0) setPriority(service.pid, -10)
      const port = Number(new URL(service.baseUrl).port)
      const connections = await Promise.all(Array.from({ length: 64 }, () => HttpConnection.open(port, agent)))
      for (const connection of connections) connection.send()
      try {
        await untilActive(['CpuSaturated'])
        const plan = { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 1_000_000 }
        const { status } = await send(`${service.adminUrl}/portal/v1/agencies/agency-0`, {
          method: 'PATCH',
          token: TEST_PORTAL_TOKEN,
          json: { plan },
        })
        expect(status).toBe(200)
        await monitoring.untilResolved(['CpuSaturated'])
      } finally {
        for (const connection of connections) connection.close()
      }
    }, 400_000)

    test('all units are in memory, until RESIDENT_UNITS_MAX is lowered', async () => {
      let agency = 0
      await untilActive(['MemoryHigh'], async () => {
        expect((await search(1 + (agency++ % (AGENCIES - 1)))).status).toBe(200)
      })
      service.kill('SIGTERM')
      await service.exited
      service = await start({ RESIDENT_UNITS_MAX: '20000' })
      await monitoring.untilResolved(['MemoryHigh'])
    }, 400_000)
  })

  test('what was provoked is what the table in reliability.md says', () => {
    const rows = [...PROVOKED_MD.matchAll(/^\| `(\w+)` \| (real|promtool) \|/gm)]
    expect(rows.filter(([, , how]) => how === 'real').map(([, name]) => name)).toEqual(
      rows.map(([, name]) => name ?? '').filter((name) => PROVOKED.has(name)),
    )
  })
})

/** Makes the tables of fifteen months before this one, and drops those of all months after the next one. */
const OTHER_MONTHS = `
  do $$
  declare
    ahead date;
    parent text;
    month date;
  begin
    select oldest_month + interval '1 month' into ahead from ledger;
    foreach parent in array array['journal', 'audit_line', 'webhook_delivery', 'webhook_attempt'] loop
      for month in select generate_series(ahead - interval '16 months', ahead - interval '2 months', interval '1 month') loop
        execute format('create table %I partition of %I for values from (%L) to (%L)',
                       parent || to_char(month, '_YYYY_MM'), parent, month, month + interval '1 month');
      end loop;
      for month in select generate_series(ahead + interval '1 month', newest_month, interval '1 month') from ledger loop
        execute format('drop table %I', parent || to_char(month, '_YYYY_MM'));
      end loop;
    end loop;
    update ledger set oldest_month = ahead - interval '16 months', newest_month = ahead;
  end $$`

/** What a busy machine raises by itself, in windows of 20 seconds. */
const OF_SPEED = new Set(['EventLoopDelayed', 'CpuSaturated', 'AppendsSlow', 'ReadsSlow', 'BookingsSlow'])
for (const speed of ['Fast', 'Slow']) OF_SPEED.add(`LatencyBudget${speed}Burn`)

interface DashboardQuery {
  readonly title: string
  readonly expr: string
}

/** As Grafana sends them. */
function dashboardQueries(): DashboardQuery[] {
  const { panels } = JSON.parse(readFileSync('deploy/grafana/nightledger.json', 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[]
  }
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expr: expr.replaceAll('$__rate_interval', '20s').replaceAll('$instance', '.+'),
    })),
  )
}

/** Panels whose queries are empty while all is well, with the reason. They are looked at when something fails. */
const WITHOUT_DATA: Record<string, string> = {
  'Errors by route': 'shows only what has failed',
}
