/**
 * What the number of units stored costs: the start with 1,000,000 of them, the activation of a unit from the journal and from a snapshot, and
 * the memory of a resident unit.
 */
import { heapStats } from 'bun:jsc'
import { Inventory } from '../src/core/catalogue/agency.ts'
import type { Unit } from '../src/core/domain/unit.ts'
import { UnitState } from '../src/core/domain/unit-state.ts'
import { decodeRules, encodeRules } from '../src/core/journal/entry-codec.ts'
import { decodeSnapshot, encodeSnapshot, type StoredSnapshot } from '../src/core/journal/snapshot-codec.ts'
import { UnitActor } from '../src/core/units/unit-actor.ts'
import { uuidOf } from '../src/lib/ids.ts'
import { Latencies } from '../src/lib/latencies.ts'
import type { Sql } from '../src/postgres/client/connect.ts'
import { openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { writeResult } from './report.ts'
import { type BenchPostgres, residentMbOf, startPostgres, startService } from './support/processes.ts'
import { medianOf } from './support/statistics.ts'
import type { Figures } from './targets.ts'
import { BatchWriter, bookedOf, seedLedger } from './world/seed.ts'
import { agencyIdOf, calendarOf, unitIdOf, unitOf, type WorldSize } from './world/world.ts'

const UNITS_PER_AGENCY = 20
/** One is written as the service writes it; the others are its rows, copied in SQL with other ids, and have no log. */
const AGENCIES_STORED = 50_000
const STARTS = 3
/** Those whose units are sampled for the activation. */
const AGENCIES = 500
/** Bookings of the sampled units, and how many units of each are sampled. */
const CALENDARS = [
  { bookings: 10, units: 200 },
  { bookings: 20, units: 500 },
  { bookings: 100, units: 100 },
  { bookings: 1_000, units: 20 },
] as const
/** Those of 1,000 agencies. */
const RESIDENT_SAMPLED = 20_000

export async function measureGrowth(say: (text: string) => void): Promise<Figures> {
  const memory = memoryPerUnit()
  say(`memory of a resident unit with 20 bookings: ${memory.heapBytes} bytes of heap, ${memory.residentBytes} resident`)
  const postgres = await startPostgres()
  try {
    const start = await measureStart(postgres)
    say(`${start.units} units stored: ready in ${start.readyMs.toFixed(0)} ms, ${start.residentMb.toFixed(0)} MB`)
    const { url, sql } = await postgres.createDatabase('growth')
    const size = sizeOf(AGENCIES)
    await seedLedger(sql, size, () => {})
    await seedCalendars(sql, size)
    const [fromJournal, fromSnapshot] = [await activations(url, size), await activations(url, size)]
    const snapshots = await snapshotSizes(sql, size)
    const activation = CALENDARS.map(({ bookings }, i) => {
      const [journal, snapshot] = [fromJournal[i], fromSnapshot[i]]
      say(`${bookings} bookings: activation ${textOf(journal)} from the journal, ${textOf(snapshot)} from a snapshot`)
      return { bookings, fromJournal: journal, fromSnapshot: snapshot, snapshotBytes: snapshots[i] }
    })
    await writeResult('growth', { memory, start, activation })
    return {
      'bytes of heap per resident unit with 20 bookings': memory.heapBytes,
      'ms until ready with 1,000,000 units stored': start.readyMs,
    }
  } finally {
    await postgres.stop()
  }
}

function sizeOf(agencies: number): WorldSize {
  return { agencies, unitsPerAgency: UNITS_PER_AGENCY, bookingsPerUnit: 0, bookingsOfFirst: 0 }
}

async function measureStart(postgres: BenchPostgres) {
  const { url, sql } = await postgres.createDatabase('stored_units')
  await seedLedger(sql, sizeOf(1), () => {})
  await copyAgency(sql)
  const starts: { readyMs: number; residentMb: number }[] = []
  for (let start = 0; start < STARTS; start++) {
    const service = await startService(url)
    starts.push({ readyMs: service.readyMs, residentMb: residentMbOf(service.pid) })
    await service.stop()
  }
  const readyMs = medianOf(starts.map((start) => start.readyMs))
  const residentMb = medianOf(starts.map((start) => start.residentMb))
  return { units: AGENCIES_STORED * UNITS_PER_AGENCY, agencies: AGENCIES_STORED, readyMs, residentMb }
}

async function copyAgency(sql: Sql): Promise<void> {
  const copies = AGENCIES_STORED - 1
  await sql`
    insert into agency select r.* from agency a, generate_series(1, ${copies}::int) n,
      lateral jsonb_populate_record(a, jsonb_build_object('agency_id', md5('agency' || n), 'slug', 'copy-' || n)) r`
  await sql`
    insert into api_key select r.* from api_key k, generate_series(1, ${copies}::int) n,
      lateral jsonb_populate_record(k, jsonb_build_object('agency_id', md5('agency' || n), 'key_id', md5('key' || n),
        'secret_sha256', md5('a' || n) || md5('b' || n))) r`
  await sql`
    insert into fee_type overriding system value select r.* from fee_type f, generate_series(1, ${copies}::int) n,
      lateral jsonb_populate_record(f, jsonb_build_object('agency_id', md5('agency' || n))) r`
  await sql`
    insert into unit select r.* from unit u, generate_series(1, ${copies}::int) n,
      lateral jsonb_populate_record(u, jsonb_build_object('agency_id', md5('agency' || n))) r`
  await sql`vacuum analyze`
  await sql`checkpoint`
}

/** The sampled units: from the first on, as many of each calendar as its row says. */
function sampled(size: WorldSize): { agency: number; unit: number; calendar: number }[] {
  let n = 0
  return CALENDARS.flatMap(({ units }, calendar) =>
    Array.from({ length: units }, () => {
      const place = { agency: Math.floor(n / size.unitsPerAgency), unit: n % size.unitsPerAgency, calendar }
      n += 1
      return place
    }),
  )
}

async function seedCalendars(sql: Sql, size: WorldSize): Promise<void> {
  const writer = await BatchWriter.open(sql)
  for (const { agency, unit, calendar } of sampled(size)) {
    const bookingsPerUnit = CALENDARS[calendar]?.bookings ?? 0
    for (const booking of calendarOf({ ...size, bookingsPerUnit }, agency, unit))
      await writer.add(bookedOf(agencyIdOf(agency), booking))
  }
  await writer.end()
  await sql`vacuum analyze`
}

/** Latency of each sampled unit's first touch, by calendar. Closing writes the snapshots that the next call starts from. */
async function activations(databaseUrl: string, size: WorldSize): Promise<{ p50Ms: number; p99Ms: number }[]> {
  const ledger = await openTestDatabaseLedger(databaseUrl)
  const latencies = CALENDARS.map(() => new Latencies())
  // The first few open the pool's connections and compile the code: they are not sampled.
  for (let unit = 0; unit < 20; unit++) await ledger.directory.read(addressOf(size.agencies - 1, unit))
  for (const { agency, unit, calendar } of sampled(size)) {
    const since = Bun.nanoseconds()
    await ledger.directory.read(addressOf(agency, unit))
    latencies[calendar]?.add(Bun.nanoseconds() - since)
  }
  await ledger.close()
  return latencies.map((of) => {
    const [p50Ms, p99Ms] = of.percentiles([0.5, 0.99])
    return { p50Ms, p99Ms }
  })
}

function addressOf(agency: number, unit: number): { agencyId: string; unitId: string } {
  return { agencyId: agencyIdOf(agency), unitId: unitIdOf(agency, unit) }
}

async function snapshotSizes(sql: Sql, size: WorldSize): Promise<number[]> {
  const firsts = CALENDARS.map((_, calendar) => sampled(size).find((place) => place.calendar === calendar))
  return Promise.all(
    firsts.map(async (place) => {
      const unitId = unitIdOf(place?.agency ?? 0, place?.unit ?? 0)
      const [row] = await sql<
        { bytes: number }[]
      >`select max(length(state))::float8 as bytes from snapshot where unit_id = ${uuidOf(unitId)}`
      return row?.bytes ?? 0
    }),
  )
}

/**
 * Actors as the directory holds them, each recovered from its snapshot: as many different units as the comparisons have. Their
 * master data is in memory before, as in the service, and shares the rules.
 */
function memoryPerUnit(): { heapBytes: number; residentBytes: number } {
  const held = new Map<string, UnitActor>()
  const inventory = new Inventory(
    Array.from({ length: RESIDENT_SAMPLED }, (_, n) => storedUnit(n)),
    [],
  )
  Bun.gc(true)
  const before = { heap: heapBytes(), resident: process.memoryUsage.rss() }
  // The service has the ids of agencies from the catalogue.
  const agencyId = agencyIdOf(0)
  for (let n = 0; n < RESIDENT_SAMPLED; n++) {
    const { state } = decodeSnapshot(snapshotOf(Math.floor(n / UNITS_PER_AGENCY), n % UNITS_PER_AGENCY))
    if (state === null) throw new Error('Cannot measure: a snapshot is bad')
    inventory.shareRules(state.unitId, state.rules)
    held.set(state.unitId, new UnitActor({ agencyId, state, mailboxMax: 256, tailLength: 0, nowMs: 0 }))
  }
  Bun.gc(true)
  // Both are used here, so that neither is collected before.
  const perUnit = (bytes: number) => Math.round((2 * bytes) / (held.size + inventory.size))
  return {
    heapBytes: perUnit(heapBytes() - before.heap),
    residentBytes: perUnit(process.memoryUsage.rss() - before.resident),
  }
}

/** The `n`th unit as the catalogue has it: of its own, down to the rules. */
function storedUnit(n: number): Unit {
  const unit = unitOf(Math.floor(n / UNITS_PER_AGENCY), n % UNITS_PER_AGENCY)
  return { ...unit, rules: decodeRules(JSON.parse(JSON.stringify(encodeRules(unit.rules)))) }
}

function snapshotOf(agency: number, place: number): StoredSnapshot {
  const size: WorldSize = { agencies: 1_000, unitsPerAgency: 20, bookingsPerUnit: 20, bookingsOfFirst: 0 }
  const unit = unitOf(agency, place)
  const state = UnitState.empty(unit.id)
  state.apply({ kind: 'unit_set', unit }, 1)
  for (const [i, after] of calendarOf(size, agency, place).entries())
    state.apply({ kind: 'booking_created', after }, i + 2)
  return encodeSnapshot(agencyIdOf(agency), state)
}

function heapBytes(): number {
  const { heapSize, extraMemorySize } = heapStats()
  return heapSize + extraMemorySize
}

function textOf(of: { p50Ms: number; p99Ms: number } | undefined): string {
  return of === undefined ? '' : `p50 ${of.p50Ms.toFixed(2)} ms, p99 ${of.p99Ms.toFixed(2)} ms`
}
