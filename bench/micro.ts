/** `bun bench/micro.ts`: the cost of single steps, measured in this process. */
import { bench, do_not_optimize, run } from 'mitata'
import { nightListJson } from '../src/api/json/night-list-json.ts'
import { decideBookStay } from '../src/core/domain/decide.ts'
import type { Night } from '../src/core/domain/night.ts'
import { quoteStay } from '../src/core/domain/quote-stay.ts'
import { UnitState } from '../src/core/domain/unit-state.ts'
import { encodeBatch } from '../src/core/journal/batch.ts'
import { NO_LINK } from '../src/core/journal/chain.ts'
import { decodeEntry } from '../src/core/journal/entry-codec.ts'
import { SHARDS } from '../src/core/journal/shard.ts'
import { decodeSnapshot, encodeSnapshot } from '../src/core/journal/snapshot-codec.ts'
import { sha256Hex } from '../src/lib/sha256-hex.ts'
import { writeResult } from './report.ts'
import { recordOf } from './world/seed.ts'
import { agencyIdOf, calendarOf, feeTypesOf, nightOf, secretOf, unitOf } from './world/world.ts'

const EMPTY_LOG = {
  heads: Array.from({ length: SHARDS }, () => ({ lastSeq: 0, lastMonth: '2026-01-01', lastLink: NO_LINK })),
  chainKeys: Array.from({ length: SHARDS }, () => new Uint8Array(32)),
  newestMonth: '2099-12-01',
}
const size = { agencies: 1, unitsPerAgency: 20, bookingsPerUnit: 20, bookingsOfFirst: 0 }
const unit = unitOf(0, 3)
const events = calendarOf(size, 0, 3).map((after) => ({ kind: 'booking_created', after }) as const)
const entries = encodeBatch(
  [{ kind: 'unit_set', unit } as const, ...events].map((event) => recordOf(agencyIdOf(0), event)),
  EMPTY_LOG,
).flatMap(({ entry }) => entry ?? [])
const recovered = (): UnitState => {
  const state = UnitState.empty(unit.id)
  for (const entry of entries) state.apply(decodeEntry(entry), entry.seq)
  return state
}
const state = recovered()
const snapshot = encodeSnapshot('agc', state)
const from = nightOf('2026-12-01')
const stay = { arrival: nightOf('2035-03-01'), departure: nightOf('2035-03-08') }
const tariff = { currency: 'EUR', feeTypes: feeTypesOf(0) }
const [booked] = events
if (booked === undefined) throw new Error('Cannot measure: the calendar is empty')
const draft = { ...booked.after, ...stay, totalAmount: undefined, version: undefined, updatedAt: undefined }

bench('range test, 7 nights', () => do_not_optimize(state.occupied.anyIn(stay.arrival, stay.departure)))
bench('blocked nights as JSON, 31 nights', () =>
  do_not_optimize(nightListJson(state.occupied, state.cleaning, from, (from + 31) as Night)),
)
bench('blocked nights as JSON, 366 nights', () =>
  do_not_optimize(nightListJson(state.occupied, state.cleaning, from, (from + 366) as Night)),
)
bench('quote, 7 nights', () => do_not_optimize(quoteStay(state, { stay, children: 0, extraBed: false, tariff })))
bench('decide a booking', () =>
  do_not_optimize(decideBookStay(state, { tariff, enforcement: 'partner', booking: draft })),
)
bench('encode a snapshot, 20 bookings', () => do_not_optimize(encodeSnapshot('agc', state)))
bench('decode a snapshot, 20 bookings', () => do_not_optimize(decodeSnapshot(snapshot)))
bench('recover from 21 entries', () => do_not_optimize(recovered()))
bench('SHA-256 of a key', () => do_not_optimize(sha256Hex(secretOf(7))))

const { benchmarks } = await run()
const steps = benchmarks.flatMap(({ alias, runs }) =>
  runs.map(({ stats }) => ({ step: alias, p50Ns: stats?.p50, p99Ns: stats?.p99, averageNs: stats?.avg })),
)
await writeResult('micro', { steps })
