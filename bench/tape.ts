/*
 * `bun bench/tape.ts`: what the tape chart costs for 500 units, 90 days and 10,000 stays with their guests, after a year of as many: the time
 * until the answer is there, the CPU time here and in Postgres, and in other rounds how long the event loop is held.
 */
import { tapeText } from '../src/api/portal/tape-text.ts'
import { Inventory } from '../src/core/catalogue/inventory.ts'
import { formatNight, type Night } from '../src/core/domain/night.ts'
import { connect, type Sql } from '../src/postgres/client/connect.ts'
import { ListReads } from '../src/postgres/stores/list-reads.ts'
import { PostgresTapeStays } from '../src/postgres/stores/postgres-tape-stays.ts'
import { AGENCY } from '../test/support/samples.ts'
import { medianOf } from './compare.ts'
import { writeResult } from './report.ts'
import { cpuSecondsOfFamily, startPostgres } from './support/processes.ts'
import { seedLedger } from './world/seed.ts'
import { agencyIdOf, nightOf, unitOf } from './world/world.ts'

const UNITS = 500
const ROUNDS = 14
const FROM = nightOf('2026-09-01')
const WINDOW = { from: FROM, to: (FROM + 90) as Night, turnoverNightsMax: 1, staysMax: 100_001 }
const agencyId = agencyIdOf(0)

const postgres = await startPostgres()
try {
  const { url, sql } = await postgres.createDatabase('tape')
  await seedLedger(sql, { agencies: 1, unitsPerAgency: UNITS, bookingsPerUnit: 0, bookingsOfFirst: 0 }, console.log)
  await addStays(sql)
  const lists = new ListReads(connect(url, { purpose: 'lists' }))
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await readOnce(lists, round % 2 === 1))
  await lists.end({ timeout: 1 })
  const plain = rounds.filter(({ heldMs }) => heldMs === null)
  const figures = {
    ...{ units: UNITS, stays: rounds[0]?.stays, bytes: rounds[0]?.bytes, ms: medianOf(plain.map(({ ms }) => ms)) },
    cpuMs: medianOf(plain.map(({ cpuMs }) => cpuMs)),
    postgresCpuMs: medianOf(plain.map(({ postgresCpuMs }) => postgresCpuMs)),
    heldMs: medianOf(rounds.flatMap(({ heldMs }) => (heldMs === null ? [] : [heldMs]))),
  }
  console.log(figures)
  await writeResult('tape', figures)
} finally {
  await postgres.stop()
}

async function readOnce(lists: ListReads, isHoldMeasured: boolean) {
  const inventory = new Inventory(
    Array.from({ length: UNITS }, (_, unit) => unitOf(0, unit)),
    [],
  )
  const held = isHoldMeasured ? longestHold() : null
  const postgresCpu = cpuSecondsOfFamily(postgres.postmasterPid)
  const cpu = process.threadCpuUsage()
  const since = performance.now()
  const stays = await new PostgresTapeStays(lists).read(agencyId, WINDOW)
  const shown = { from: formatNight(WINDOW.from), to: formatNight(WINDOW.to), today: formatNight(FROM), cursor: '' }
  const text = await tapeText({ agency: AGENCY, inventory, ...shown, stays })
  const answer = await new Response(text).bytes()
  return {
    ...{ stays: stays.length, bytes: answer.length, ms: performance.now() - since, cpuMs: cpuMsSince(cpu) },
    postgresCpuMs: (cpuSecondsOfFamily(postgres.postmasterPid) - postgresCpu) * 1_000,
    heldMs: held?.() ?? null,
  }
}

/** Stays of four nights, one after the other: a year of them before the window, and the window. Written past the journal. */
async function addStays(sql: Sql): Promise<void> {
  const agency = sql`${agencyId.slice(4)}::text::uuid`
  await sql`
    insert into guest (agency_id, guest_id, first_name, last_name, created_at)
    select ${agency}, md5(n::text)::uuid, 'Guest', 'No. ' || n, now() from generate_series(0, 19999) n`
  await sql`
    insert into booking (agency_id, booking_id, unit_id, guest_id, arrival, departure, type, status, source, source_ref, total_amount, seq,
      created_at, updated_at, adults, children, version, extra_bed)
    select ${agency}, md5('booking ' || unit || ' ' || n)::uuid, unit_id, md5(((unit * 100 + n) % 20000)::text)::uuid,
      ${formatNight(FROM)}::text::date + n * 4 + 4, ${formatNight(FROM)}::text::date + n * 4 + 8, 'guest', 'confirmed',
      (array['portal', 'Airbnb', 'Booking.com', 'phone'])[1 + (n + 92) % 4], 'REF-' || n, 50000, n + 100, now(), now(), 2, 1, 1, false
    from generate_series(-91, 18) n, (select unit_id, row_number() over () as unit from unit where agency_id = ${agency}) units
    order by n`
  await sql`vacuum analyze`
}

/** Measures from now until it is called: the most CPU time between two turns of the event loop, milliseconds. */
function longestHold(): () => number {
  let longest = 0
  let last = process.threadCpuUsage()
  let isOver = false
  const turn = () => {
    longest = Math.max(longest, cpuMsSince(last))
    last = process.threadCpuUsage()
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOver = true
    return longest
  }
}

/** Of this thread: on a busy machine, the time that passed says how long others ran. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
