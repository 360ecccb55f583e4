/**
 * How cost grows with the number of units stored: start-up time and memory of the service, time to activate a unit, size of a
 * snapshot, memory of a resident unit.
 */
import { heapStats } from 'bun:jsc'
import { UnitState } from '../src/core/domain/unit-state.ts'
import { decodeSnapshot, encodeSnapshot, type StoredSnapshot } from '../src/core/journal/snapshot-codec.ts'
import { UnitActor } from '../src/core/units/unit-actor.ts'
import { uuidOf } from '../src/lib/ids.ts'
import type { Sql } from '../src/postgres/client/connect.ts'
import { openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { sampleId } from '../test/support/samples.ts'
import { Latencies } from './load/histogram.ts'
import { writeResult } from './report.ts'
import { measureStoredUnits } from './stored-units.ts'
import { residentMbOf, startPostgres, startService } from './support/processes.ts'
import type { Figures } from './targets.ts'
import { BatchWriter, bookedOf, seedLedger } from './world/seed.ts'
import { agencyIdOf, calendarOf, unitIdOf, unitOf, type WorldSize } from './world/world.ts'

const UNITS = [1_000, 10_000, 100_000] as const
const UNITS_PER_AGENCY = 20
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
  const rows: object[] = []
  let stored: Awaited<ReturnType<typeof measureStoredUnits>>
  try {
    stored = await measureStoredUnits(postgres)
    say(`${stored.units} units stored: ready in ${stored.readyMs.toFixed(0)} ms, ${stored.residentMb.toFixed(0)} MB`)
    for (const units of UNITS) {
      const { url, sql } = await postgres.createDatabase(`growth_${units}`)
      const size = {
        agencies: units / UNITS_PER_AGENCY,
        unitsPerAgency: UNITS_PER_AGENCY,
        bookingsPerUnit: 0,
        bookingsOfFirst: 0,
      }
      await seedLedger(sql, size, () => {})
      await seedCalendars(sql, size)
      const service = await startService(url)
      const { readyMs } = service
      const residentMb = residentMbOf(service.pid)
      await service.stop()
      say(`${units} units stored: ready in ${readyMs.toFixed(0)} ms, ${residentMb.toFixed(0)} MB`)
      const replayed = await activations(url, size)
      const fromSnapshot = await activations(url, size)
      const snapshots = await snapshotSizes(sql, size)
      for (const [i, { bookings }] of CALENDARS.entries())
        say(
          `  ${bookings} bookings: activation ${told(replayed[i])} from the journal, ${told(fromSnapshot[i])} from a snapshot of ${snapshots[i]} bytes`,
        )
      rows.push({ units, readyMs, residentMb, calendars: CALENDARS, replayed, fromSnapshot, snapshotBytes: snapshots })
    }
  } finally {
    await postgres.stop()
  }
  await writeResult('growth', { memory, stored, rows })
  return {
    'bytes of heap per resident unit with 20 bookings': memory.heapBytes,
    'ms until ready with 1,000,000 units stored': stored.readyMs,
  }
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

/** Actors as the directory holds them, each recovered from its snapshot: as many different units as the comparisons have. */
function memoryPerUnit(): { heapBytes: number; residentBytes: number } {
  const held = new Map<string, UnitActor>()
  Bun.gc(true)
  const before = { heap: heapBytes(), resident: process.memoryUsage.rss() }
  // The service has the ids of agencies from the catalogue.
  const agencyId = agencyIdOf(0)
  for (let n = 0; n < RESIDENT_SAMPLED; n++) {
    const { state } = decodeSnapshot(snapshotOf(Math.floor(n / UNITS_PER_AGENCY), n % UNITS_PER_AGENCY))
    if (state === null) throw new Error('Cannot measure: a snapshot is bad')
    held.set(sampleId('unt', n), new UnitActor({ agencyId, state, mailboxMax: 256, tailLength: 0, nowMs: 0 }))
  }
  Bun.gc(true)
  const perUnit = (bytes: number) => Math.round(bytes / held.size)
  return {
    heapBytes: perUnit(heapBytes() - before.heap),
    residentBytes: perUnit(process.memoryUsage.rss() - before.resident),
  }
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

function told(of: { p50Ms: number; p99Ms: number } | undefined): string {
  return of === undefined ? '' : `p50 ${of.p50Ms.toFixed(2)} ms, p99 ${of.p99Ms.toFixed(2)} ms`
}
