import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { PROCESS_METRICS } from '../../src/observability/process-metrics.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { eventually } from '../support/eventually.ts'
import { expectReady } from '../support/expect-ready.ts'
import { answersText, expectNoLies, FailoverLoad } from '../support/failover-load.ts'
import { expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { rounds } from '../support/long-run.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { AMPLE_PLAN } from '../support/samples.ts'
import { type Scrape, scrape } from '../support/scrape.ts'
import {
  credentialsFor,
  makeAgencyByPortal,
  type ServiceProcess,
  type StartingService,
  startListening,
  startServiceOn,
} from '../support/service-process.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

/* Two processes with the same settings: one writes, the other waits for its turn. */

let database: TestDatabase
/** Without a statement timeout. */
let sql: Sql
const started: StartingService[] = []

beforeEach(async () => {
  database = await testDatabase()
  sql = connect(database.url, { purpose: 'admin' })
  await prepareForLoad(database.url)
})
afterEach(async () => {
  for (const service of started.splice(0)) service.kill('SIGKILL')
  await sql.end({ timeout: 1 })
  await database.drop()
})

async function writer(options: { takesOver?: boolean } = {}): Promise<ServiceProcess> {
  const service = await startServiceOn(database.url, {}, options)
  started.push(service)
  return service
}

async function standby(): Promise<StartingService> {
  const service = await startListening(credentialsFor(database.url))
  started.push(service)
  await eventually('it waits', () => service.log().includes('waiting as a standby'))
  return service
}

/** A standby that a process elsewhere would have: it cannot tell that the writer's process is dead. */
async function forgetRuns(): Promise<void> {
  await sql`update writer set run = null`
}

/** What is seen from outside of a process, whether it serves or not. */
function seenIn(page: Scrape) {
  const roles = page.samplesOf('nightledger_role').filter(({ value }) => value === 1)
  expect(roles).toHaveLength(1)
  return {
    ready: page.value('nightledger_ready'),
    role: roles[0]?.labels['role'],
    database: page.value('nightledger_database_up'),
  }
}

async function msUntilBooked(service: StartingService): Promise<number> {
  const since = performance.now()
  const load = new Load(() => service.baseUrl)
  while ((await load.bookOnce().catch(() => null)) === null) {
    if (performance.now() - since > 60_000) throw new Error(`It does not sell: ${service.log().slice(-2_000)}`)
    await Bun.sleep(2)
  }
  return performance.now() - since
}

describe('a second process', () => {
  test('answers 503 and says why, and the first continues; two supervisors do not fight', async () => {
    const first = await writer()
    const second = await standby()
    for (let round = 0; round < rounds({ push: 1, long: 3 }); round++) {
      const refused = await second.ask('/partner/v1/units')
      expect([refused.status, refused.body.title]).toEqual([503, expect.stringContaining('another process is serving')])
      const ready = await second.ask('/readyz')
      expect([ready.status, ready.body]).toMatchObject([503, { faults: ['standby: another process is the writer'] }])
      expect((await second.ask('/healthz')).status).toBe(200)
      const page = await scrape(second.baseUrl)
      expect(page.families.map(({ name, samples }) => [name, samples.length > 0])).toEqual(
        PROCESS_METRICS.map(({ name }) => [name, true]),
      )
      expect(seenIn(page)).toEqual({ ready: 0, role: 'standby', database: 1 })
      expect(seenIn(await scrape(first.baseUrl))).toEqual({ ready: 1, role: 'writer', database: 1 })
      await new Load(() => first.baseUrl).book()
      await Bun.sleep(2_500)
    }
    await expectReady(first)
    second.kill('SIGTERM')
    expect(await second.exited).toBe(0)
    await new Load(() => first.baseUrl).book()
  })

  test('takes over at once when the first is killed on the same machine', async () => {
    const first = await writer()
    const second = await standby()
    first.kill('SIGKILL')
    await first.exited
    const ms = await msUntilBooked(second)
    expect(second.log()).toContain('"why":"dead"')
    console.log(`killed on this machine: the next booking after ${ms.toFixed(0)} ms`)
  })

  test('takes over after 5 s of silence when it cannot know, and a writer that was paused writes nothing more', async () => {
    const first = await writer()
    await forgetRuns()
    const second = await standby()
    first.kill('SIGSTOP')
    const ms = await msUntilBooked(second)
    expect(second.log()).toContain('"why":"silent"')
    console.log(`silent: the next booking after ${ms.toFixed(0)} ms`)
    first.kill('SIGCONT')
    expect(await first.exited).toBe(1)
    await expectNothingLost(sql, new Load(() => second.baseUrl))
  })

  test('takes over at once with --take-over, and the first, started again, becomes its standby', async () => {
    const first = await writer()
    const second = await writer({ takesOver: true })
    expect(await first.exited).toBe(1)
    const again = await standby()
    await new Load(() => second.baseUrl).book()
    expect((await again.ask('/readyz')).status).toBe(503)
  })
})

test('an idle writer that was taken over from notices by its heartbeat', async () => {
  const first = await writer()
  await writer({ takesOver: true })
  expect(await first.exited).toBe(1)
})

test('a rolling restart loses nothing and leaves no request open for clients that continue to the other process', async () => {
  let current: StartingService = await writer()
  let next = await standby()
  // Refused connections and 503 are asked again, with the same key. Through a proxy there are none: rolling-restart.long.test.ts.
  const load = new FailoverLoad(() => current.baseUrl)
  const swap = () => {
    ;[current, next] = [next, current]
  }
  const gaps: number[] = []
  load.start(16)
  for (let round = 0; round < rounds({ push: 2, long: 5 }); round++) {
    await load.more(200)
    load.watchGap()
    const leaving = current
    leaving.kill('SIGTERM')
    await eventually('its successor holds', () => next.log().includes('the writer is stopping'))
    swap()
    expect(await leaving.exited).toBe(0)
    await load.more(100)
    gaps.push(load.gapMs)
    next = await standby()
  }
  await load.stop()
  const counts = await expectNoLies(sql, load)
  expect([...load.outcomes.values()].filter((outcome) => outcome === 'open')).toEqual([])
  console.log(
    `rolling restarts: no booking for ${gaps.map((ms) => ms.toFixed(0)).join(', ')} ms; ${counts}; answers ${answersText(load)}`,
  )
})

test('after the release, the successor makes its first booking durable without delay', async () => {
  await sql.unsafe(`
    create table released (at timestamptz);
    create table appended (at timestamptz);
    grant insert on released, appended to public;
    create function note_release() returns trigger language plpgsql as
      'begin insert into released values (old.released_at); return null; end';
    create function note_append() returns trigger language plpgsql as
      'begin insert into appended values (clock_timestamp()); return null; end';
    create trigger released after delete on writer for each row execute function note_release();
    create trigger appended after insert on booking for each statement execute function note_append();`)
  let current: StartingService = await writer()
  // That of the ledger which made the agency.
  await sql`delete from released`
  const count = rounds({ push: 2, long: 5 })
  for (let round = 0; round < count; round++) {
    const next = await standby()
    await new Load(() => current.baseUrl).book()
    current.kill('SIGTERM')
    await eventually('it holds', () => next.log().includes('the writer is stopping'))
    const booked = new Load(() => next.baseUrl).book()
    await current.exited
    await booked
    current = next
  }
  const rows = await sql<{ ms: number }[]>`
    select extract(epoch from (select min(a.at) from appended a where a.at > r.at) - r.at)::float8 * 1000 as ms
    from released r where r.at is not null order by r.at`
  console.log(`from release to the first booking: ${rows.map(({ ms }) => ms.toFixed(0)).join(', ')} ms`)
  expect(rows).toHaveLength(count)
})

describe('P3: a writer that alone loses the database', () => {
  let proxy: TcpProxy

  beforeEach(async () => {
    proxy = await TcpProxy.start(Number(new URL(database.url).port))
  })
  afterEach(() => proxy.stop())

  /** @returns asks everything that is answered from memory, on every surface; `statuses` of them, each once */
  async function cutOffWriter() {
    const url = new URL(database.url)
    url.port = String(proxy.port)
    const service = await startServiceOn(url.href)
    started.push(service)
    await forgetRuns()
    const token = await makeAgencyByPortal(service, {
      slug: 'cut-off',
      plan: AMPLE_PLAN,
      scopes: ['write:bookings', 'read:availability', 'read:rates', 'read:bookings', 'read:units'],
    })
    const stay = { unit: 'sea-view', arrival: '2027-05-01', departure: '2027-05-03' }
    const { calendarFeed } = (await service.portal('/agencies/cut-off/units/sea-view/calendar-feed')).body
    const { cursor } = (await service.ask('/partner/v1/changes', { token })).body
    const asks = [
      () => service.ask('/partner/v1/availability?unit=sea-view&from=2027-05-01&to=2027-05-05', { token }),
      () => service.ask('/partner/v1/units', { token }),
      () => service.ask('/partner/v1/quote', { token, json: stay }),
      () => service.ask('/partner/v1/search?arrival=2027-05-01&departure=2027-05-03&guests=1', { token }),
      () => service.ask(`/partner/v1/changes?after=${cursor}`, { token }),
      () => service.portal('/agencies/cut-off/units'),
      () => service.ask(calendarFeed.path),
      () =>
        service.ask('/mcp', {
          token,
          json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_units', arguments: {} } },
        }),
    ]
    return {
      service,
      token,
      stay,
      cursor,
      statuses: async () => (await Promise.all(asks.map((ask) => ask()))).map((answer) => answer.status),
    }
  }

  const isReckonedWith = async () => (await sql`select from writer where awaited_at < beat_at`).count > 0

  test('shows nothing more on any surface before its standby sells, ends what waits for changes, and ends when it can learn why', async () => {
    const { service, token, stay, cursor, statuses } = await cutOffWriter()
    const second = await standby()
    await eventually('the writer knows of its standby', isReckonedWith)
    expect(new Set(await statuses())).toEqual(new Set([200]))
    const waiting = service.ask(`/partner/v1/changes?after=${cursor}&wait=20`, { token })
    const stream = await fetch(`${service.baseUrl}/partner/v1/changes?after=${cursor}`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    })
    proxy.cutOff()
    let isSold = false
    const sold = (async () => {
      for (;;) {
        const answer = await second.ask('/partner/v1/bookings', { token, json: stay })
        if (answer.status === 201) break
      }
      isSold = true
    })()
    // Whatever was shown was asked for before anybody else could have sold it.
    while (!isSold) {
      const availability = await service.ask('/partner/v1/availability?unit=sea-view&from=2027-05-01&to=2027-05-05', {
        token,
      })
      if (isSold) expect(availability.status).toBe(500)
    }
    await sold
    expect(new Set(await statuses())).toEqual(new Set([500]))
    const refused = await service.ask('/partner/v1/units', { token })
    expect([refused.body.code, refused.headers.get('retry-after'), refused.body.title]).toEqual([
      'INTERNAL',
      '1',
      expect.stringContaining('another process may have taken over'),
    ])
    expect([(await service.ask('/healthz')).status, (await service.ask('/readyz')).status]).toEqual([200, 503])
    expect(seenIn(await scrape(service.baseUrl))).toEqual({ ready: 0, role: 'writer', database: 0 })
    expect((await waiting).body.changes).toEqual([])
    await stream.text()
    expect(service.log()).toContain('heartbeat not confirmed')
    proxy.reconnect()
    expect(await service.exited).toBe(1)
  })

  test('answers again when it reaches the database again and nobody has taken over', async () => {
    const { service, statuses } = await cutOffWriter()
    const second = await standby()
    await eventually('the writer knows of its standby', isReckonedWith)
    second.kill('SIGSTOP')
    proxy.cutOff()
    await eventually('it refuses', () => service.log().includes('heartbeat not confirmed'))
    expect(new Set(await statuses())).toEqual(new Set([500]))
    proxy.reconnect()
    await eventually('it answers', () => service.log().includes('requests are answered again'))
    expect(new Set(await statuses())).toEqual(new Set([200]))
  })

  test('reads on when nobody waits for its turn', async () => {
    const { service, token } = await cutOffWriter()
    const silentFor = (ms: number) =>
      sql`select from writer where beat_at < clock_timestamp() - ${ms}::int * interval '1 millisecond'`
    const beatAt = async () => (await sql<{ at: Date }[]>`select beat_at as at from writer`)[0]?.at.getTime() ?? 0
    const since = await beatAt()
    // The second one is sent when the first one was answered.
    await eventually('it has beaten twice', async () => (await beatAt()) - since > 1_500)
    proxy.cutOff()
    await eventually('it is silent', async () => (await silentFor(6_000)).count > 0)
    expect((await service.ask('/partner/v1/units', { token })).status).toBe(200)
  })
})
