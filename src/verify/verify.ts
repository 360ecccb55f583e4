/**
 * Compares the journal, which is authoritative, with everything derived from it: snapshots, rows, events, audit lines
 * and, inside a running service, the actors' state in memory. Reads only, and can run alongside a live service.
 *
 * - V1 A verification runs outside the serving process. It reads page by page; all it keeps for the whole ledger is one
 *   bit per journal entry.
 */
import type { UnitAddress } from '../core/journal/recovery.ts'
import { DIFFERENCES_MAX, Findings, type Verification } from './findings.ts'
import { verifyEvents } from './verify-events.ts'
import type { VerifyStore } from './verify-store.ts'
import { type LiveUnit, verifyUnit } from './verify-unit.ts'

/**
 * Returns the state in memory of those of the given units that are resident. At most `UNITS_PER_PAGE` units per call.
 */
export type LiveUnits = (unitIds: readonly string[]) => Promise<ReadonlyMap<string, LiveUnit>>

/** A running service hashes the states of this many units at a time. */
export const UNITS_PER_PAGE = 50
const ROWS_PER_PAGE = 1_000

/** Checks everything up to the end of the journal at the time of the call. `limit`: rows in memory at a time. */
export async function verify(
  store: VerifyStore,
  options: {
    readonly live?: LiveUnits
    readonly onProgress?: (units: number) => void
    readonly limit?: number
  } = {},
): Promise<Verification> {
  const { live, onProgress, limit = ROWS_PER_PAGE } = options
  const { lastSeq, entries, numbers } = await store.extent()
  const found = new Findings()
  if (entries !== lastSeq || numbers !== lastSeq)
    found.add(
      'journal',
      null,
      String(lastSeq),
      `the journal has ${entries} entries with ${numbers} distinct numbers up to ${lastSeq} (J3)`,
    )
  const announced = await verifyEvents(store, { lastSeq, limit, found })
  const isAnnounced = (seq: number) => announced.has(seq)
  let after: UnitAddress = { agencyId: '', unitId: '' }
  for (;;) {
    const units = await store.units(after, Math.min(limit, UNITS_PER_PAGE))
    const last = units.at(-1)
    if (last === undefined) break
    const resident = await live?.(units.map(({ unitId }) => unitId))
    for (const unit of units) {
      const memory = resident?.get(unit.unitId) ?? null
      await verifyUnit({ store, unit, lastSeq, limit, found, memory, isAnnounced })
    }
    onProgress?.(found.units)
    after = last
  }
  for (const { id, unitId, seq } of await store.strayBookings(lastSeq, DIFFERENCES_MAX))
    found.add('booking', unitId, id, `the row names journal entry ${seq}, which is not an entry of this booking`)
  for (const { id, unitId, version, lines } of await store.bookingsShortOfAudit(lastSeq, DIFFERENCES_MAX))
    found.add('audit', unitId, id, `${version} changes have only ${lines} audit lines`)
  for (const id of await store.strayDeliveries(DIFFERENCES_MAX))
    found.add('delivery', null, id, 'the event or endpoint of the delivery is missing')
  for (const id of await store.orphanedDeliveries(DIFFERENCES_MAX))
    found.add('delivery', null, id, 'the delivery is pending, but its endpoint is deleted')
  return found.report(lastSeq)
}
