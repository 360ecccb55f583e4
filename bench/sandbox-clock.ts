/*
 * `bun bench/sandbox-clock.ts`: moves the clock of a sandbox by ten months, with 10,000 holds that lapse and 50,000 webhook retries that
 * fall due on the way, and measures how long that takes, and what another agency notices: its bookings and its reads of availability,
 * alone, beside the move, and until all webhooks are sent. In several rounds, so that a busy machine is equally busy in all three. As a
 * control, the clock is also moved on another service beside it: what that costs is due to the machine, since both share two cores and
 * PostgreSQL.
 *
 * `--before DIR`: the other service is that of another checkout, and both are measured. `--rounds`, `--holds`, `--endpoints` of the sandbox.
 */
import { parseArgs } from 'node:util'
import { DAY_MS, HOUR_MS, instantText } from '../src/lib/clock.ts'
import { systemIds, uuidOf } from '../src/lib/ids.ts'
import type { Sql } from '../src/postgres/client/connect.ts'
import { eventually } from '../test/support/eventually.ts'
import { makeKey } from '../test/support/fixtures.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { AMPLE_PLAN, CALLER, requestFor, sampleUnit } from '../test/support/samples.ts'
import { TEST_PORTAL_TOKEN } from '../test/support/service-process.ts'
import { writeResult } from './report.ts'
import { linesOf } from './support/json-child.ts'
import { cpuSecondsOf, cpuSecondsOfFamily, sourceCommand, startPostgres, startService } from './support/processes.ts'
import { rounded } from './support/statistics.ts'

const START = Date.UTC(2050, 0, 1)
const MOVE_DAYS = 300
const CLIENTS = 4
const WARM_MS = 3_000
const ALONE_MS = 2_000
const SENT_MS_MAX = 120_000

const { values: flags } = parseArgs({
  options: {
    before: { type: 'string' },
    receive: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    holds: { type: 'string', default: '10000' },
    /** Its deliveries are as many as there are holds. */
    endpoints: { type: 'string', default: '5' },
  },
})
const [ROUNDS, HOLDS, ENDPOINTS] = [Number(flags.rounds), Number(flags.holds), Number(flags.endpoints)]
const UNITS = 100

if (flags.receive) await receive()
else await measure()
process.exit()

/** The endpoints of all sandboxes, in a process of its own. */
async function receive(): Promise<void> {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(null, { status: 204 }) })
  console.log(server.port)
  await Bun.stdin.text()
}

interface Seeded {
  readonly sandboxId: string
  readonly sandboxKey: string
  readonly liveKey: string
}

async function seed(url: string): Promise<Seeded> {
  const ledger = await openTestDatabaseLedger(url)
  const date = (days: number) => instantText(START + days * DAY_MS).slice(0, 10)
  const unitOf = (agency: Awaited<ReturnType<typeof addAgency>>, slug: string) =>
    addUnit(ledger, agency, sampleUnit({ id: systemIds('unt'), slug, name: slug }))
  const sandbox = await addAgency(ledger, {
    id: systemIds('agc'),
    slug: 'sandbox',
    plan: AMPLE_PLAN,
    clock: { now: START, target: START },
  })
  for (let i = 0; i < UNITS; i++) {
    const unit = await unitOf(sandbox, `unit-${i}`)
    // A hold lasts 90 days at most: they are spread over the whole way below, once they are made.
    const hold = (j: number) => requestFor(unit, date(j), date(j + 1), { status: 'option', holdHours: 2_000 })
    await Promise.all(Array.from({ length: HOLDS / UNITS }, (_, j) => ledger.commands.book(sandbox, hold(j), CALLER)))
  }
  const live = await addAgency(ledger, { id: systemIds('agc'), slug: 'live', plan: AMPLE_PLAN })
  for (let i = 0; i < CLIENTS; i++) await unitOf(live, `unit-${i}`)
  const sandboxKey = (await makeKey(ledger, sandbox)).secret
  const liveKey = (await makeKey(ledger, live)).secret
  await ledger.close()
  return { sandboxId: sandbox.id, sandboxKey, liveKey }
}

/** Holds and deliveries over the whole way, each at a moment of its own. */
async function spread(sql: Sql, agencyId: string): Promise<void> {
  const agency = uuidOf(agencyId)
  await sql`
    update booking b set hold_expires_at = ${new Date(START)}::timestamptz + p.place * ${(MOVE_DAYS * 24) / (HOLDS + 1)}::float8 * interval '1 hour'
    from (select booking_id, row_number() over (order by booking_id) as place from booking where agency_id = ${agency}) p
    where b.agency_id = ${agency} and b.booking_id = p.booking_id`
  await sql`
    insert into webhook_delivery (agency_id, endpoint_id, delivery_id, event_id, seq, entry_month, month, kind, status, created_at,
                                  next_attempt_at, attempts, tries)
    select j.agency_id, e.endpoint_id, gen_random_uuid(), j.entry_id, j.seq, j.month, j.month, 'booking.created', 'pending', j.at,
           ${new Date(START)}::timestamptz + random() * ${MOVE_DAYS}::float8 * interval '1 day', 1, 1
    from journal j cross join webhook_endpoint e
    where j.agency_id = ${agency} and e.agency_id = ${agency} and j.kind = 'booking_created'`
  await sql`vacuum analyze`
}

type Service = Awaited<ReturnType<typeof open>>

/** A service with a sandbox and a live agency, on a database of its own. @param main what to run */
async function open(postgres: Awaited<ReturnType<typeof startPostgres>>, name: string, main: string, receiver: string) {
  const { url, sql } = await postgres.createDatabase(`sandbox_clock_${name}`)
  const { sandboxId, sandboxKey, liveKey } = await seed(url)
  const service = await startService(
    url,
    { NODE_ENV: 'test', WEBHOOK_ALLOW_HOSTS: new URL(receiver).host },
    sourceCommand([], main),
  )
  const ask = async (path: string, token: string, json?: object) => {
    const response = await fetch(service.baseUrl + path, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
    })
    if (!response.ok) throw new Error(`Cannot measure: ${path} is ${response.status} ${await response.text()}`)
    return (await response.json()) as { now: string; status: string }
  }
  for (let i = 0; i < ENDPOINTS; i++)
    await ask('/portal/v1/agencies/sandbox/webhook-endpoints', TEST_PORTAL_TOKEN, { url: `${receiver}/${i}` })
  await spread(sql, sandboxId)
  let moves = 0
  return {
    name,
    stop: () => service.stop(),
    /** CPU of its two processes. */
    cpuS: () => {
      const main = cpuSecondsOf(service.pid)
      return { main, sender: cpuSecondsOfFamily(service.pid) - main }
    },
    load: (isOver: () => boolean) => load(service.baseUrl, liveKey, isOver),
    /** The next part of the way, of so many. @returns milliseconds until the clock is ready */
    move: async (parts: number): Promise<number> => {
      const since = performance.now()
      const days = (MOVE_DAYS * ++moves) / parts
      await ask('/partner/v1/test/clock', sandboxKey, { now: instantText(START + days * DAY_MS + HOUR_MS) })
      while ((await ask('/partner/v1/test/clock', sandboxKey)).status !== 'ready') await Bun.sleep(20)
      return performance.now() - since
    },
    /** Whether everything that has fallen due is sent, and everything that has happened is announced. */
    isQuiet: async () => {
      const [row] = await sql<{ isQuiet: boolean }[]>`
        select not exists (select from webhook_delivery d join agency a using (agency_id) where d.status = 'pending' and d.next_attempt_at <= a.clock_now)
           and not exists (select from webhook_endpoint e where e.agency_id = ${uuidOf(sandboxId)}
                           and made_seq < (select max(seq) from journal j where j.agency_id = e.agency_id and is_announced)) as "isQuiet"`
      return row?.isQuiet === true
    },
    left: async () => {
      const [row] = await sql<{ holds: number; deliveries: number; delivered: number }[]>`
        select (select count(*)::int from booking where agency_id = ${uuidOf(sandboxId)} and status = 'option') as holds,
               (select count(*)::int from webhook_delivery where status = 'pending') as deliveries,
               (select count(*)::int from webhook_delivery where status = 'delivered') as delivered`
      return row
    },
  }
}

interface Samples {
  readonly writes: number[]
  readonly reads: number[]
}

/** Bookings and reads of the live agency, one after the other on each of several connections, until `isOver`. */
async function load(baseUrl: string, key: string, isOver: () => boolean): Promise<Samples> {
  const [writes, reads]: [number[], number[]] = [[], []]
  const timed = async (into: number[], path: string, init: RequestInit = {}) => {
    const since = performance.now()
    const response = await fetch(`${baseUrl}/partner/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    const body = (await response.json()) as { booking?: { id: string } }
    into.push(performance.now() - since)
    if (!response.ok) throw new Error(`Cannot measure: ${path} is ${response.status} ${JSON.stringify(body)}`)
    return body
  }
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, i) => {
      while (!isOver()) {
        const stay = JSON.stringify({ unit: `unit-${i}`, arrival: '2027-06-01', departure: '2027-06-03' })
        const { booking } = await timed(writes, '/bookings', { method: 'POST', body: stay })
        await timed(writes, `/bookings/${booking?.id}/cancel`, { method: 'POST', body: '{}' })
        for (let n = 0; n < 8; n++) await timed(reads, `/availability?unit=unit-${i}&from=2027-06-01&to=2027-09-01`)
        await Bun.sleep(5)
      }
    }),
  )
  return { writes, reads }
}

function until(ms: number): () => boolean {
  const end = performance.now() + ms
  return () => performance.now() >= end
}

/** What one agency notices of the moves of a sandbox, on the same service or on the other one. */
class Beside {
  readonly #loaded: Service
  readonly #moved: Service
  readonly #samples = { alone: newSamples(), moving: newSamples(), sending: newSamples() }
  readonly #moveMs: number[] = []
  readonly #cpuS = { main: 0, sender: 0 }
  #sendMs = 0

  constructor(loaded: Service, moved: Service) {
    this.#loaded = loaded
    this.#moved = moved
  }

  async round(parts: number): Promise<void> {
    const { alone, moving, sending } = this.#samples
    add(alone, await this.#loaded.load(until(ALONE_MS)))
    const before = this.#moved.cpuS()
    let isOver = false
    const ended = () => {
      isOver = true
    }
    const move = this.#moved.move(parts).finally(ended)
    add(moving, await this.#loaded.load(() => isOver))
    this.#moveMs.push(await move)
    isOver = false
    const since = performance.now()
    const quiet = eventually('everything is sent', this.#moved.isQuiet, SENT_MS_MAX).finally(ended)
    add(sending, await this.#loaded.load(() => isOver))
    await quiet
    this.#sendMs += performance.now() - since
    console.log(`${this.#loaded.name} beside ${this.#moved.name}: the clock took ${Math.round(await move)} ms`)
    const after = this.#moved.cpuS()
    this.#cpuS.main += after.main - before.main
    this.#cpuS.sender += after.sender - before.sender
  }

  result() {
    const { alone, moving, sending } = this.#samples
    const ratios = (beside: Samples) => ({
      writes: rounded(percentile(beside.writes, 0.99) / percentile(alone.writes, 0.99), 2),
      reads: rounded(percentile(beside.reads, 0.99) / percentile(alone.reads, 0.99), 2),
    })
    return {
      loaded: this.#loaded.name,
      moved: this.#moved.name,
      movedS: rounded(this.#moveMs.reduce((sum, ms) => sum + ms, 0) / 1_000, 2),
      sentS: rounded(this.#sendMs / 1_000, 2),
      cpuS: { main: rounded(this.#cpuS.main, 2), sender: rounded(this.#cpuS.sender, 2) },
      alone: inWords(alone),
      moving: inWords(moving),
      sending: inWords(sending),
      p99Ratio: { moving: ratios(moving), sending: ratios(sending) },
    }
  }
}

function newSamples(): Samples {
  return { writes: [], reads: [] }
}

function add(to: Samples, { writes, reads }: Samples): void {
  for (const ms of writes) to.writes.push(ms)
  for (const ms of reads) to.reads.push(ms)
}

function percentile(all: readonly number[], share: number): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length * share)] ?? Number.NaN
}

function inWords({ writes, reads }: Samples): string {
  const of = (all: readonly number[]) =>
    `${all.length}: p50 ${percentile(all, 0.5).toFixed(2)}, p99 ${percentile(all, 0.99).toFixed(2)} ms`
  return `writes ${of(writes)}; reads ${of(reads)}`
}

async function measure(): Promise<void> {
  const postgres = await startPostgres()
  const receiver = Bun.spawn([process.execPath, 'run', import.meta.path, '--receive'], {
    stdin: 'pipe',
    stdout: 'pipe',
  })
  const opened: Service[] = []
  try {
    const port = (await linesOf(receiver.stdout).next()).value
    const address = `http://127.0.0.1:${port}`
    const start = async (name: string, folder: string) => {
      const service = await open(postgres, name, `${folder}/src/main.ts`, address)
      opened.push(service)
      await service.load(until(WARM_MS))
      return service
    }
    const own = await start('measured', `${import.meta.dir}/..`)
    const other = await start(flags.before === undefined ? 'other' : 'before', flags.before ?? `${import.meta.dir}/..`)
    const arms = [new Beside(own, own), new Beside(own, other)]
    if (flags.before !== undefined) arms.push(new Beside(other, other), new Beside(other, own))
    const movesOfEach = ROUNDS * (arms.length / 2)
    const before = cpuSecondsOfFamily(postgres.postmasterPid)
    for (let round = 0; round < ROUNDS; round++) for (const arm of arms) await arm.round(movesOfEach)
    const result = {
      rounds: ROUNDS,
      holds: HOLDS,
      deliveries: ENDPOINTS * HOLDS,
      left: await Promise.all(opened.map((service) => service.left())),
      postgresCpuS: rounded(cpuSecondsOfFamily(postgres.postmasterPid) - before, 1),
      arms: arms.map((arm) => arm.result()),
    }
    console.log(JSON.stringify(result, null, 2))
    await writeResult('sandbox-clock', result)
  } finally {
    for (const service of opened) await service.stop()
    await receiver.stdin.end()
    await postgres.stop()
  }
}
