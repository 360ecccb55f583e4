/**
 * Checks the journal, which is authoritative, for gaps and changes, and compares it with everything derived from it: snapshots,
 * rows, deliveries and, inside a running service, the actors' state in memory. Reads only, and can run alongside a live service.
 *
 * - V1 A verification runs outside the serving process. It reads page by page, and keeps nothing that grows with the ledger.
 */

import type { ChainKey } from '../core/journal/shard.ts'
import { shardOf } from '../core/journal/shard.ts'
import { assert } from '../lib/assert.ts'
import { DIFFERENCES_MAX, entryName, Findings, type Verification } from './findings.ts'
import { verifyShard } from './verify-shard.ts'
import type { VerifiedUnit, VerifyStore } from './verify-store.ts'
import { verifyTree } from './verify-tree.ts'
import { type LiveUnit, verifyUnit } from './verify-unit.ts'

/**
 * Returns the state in memory of those of the given units that are resident. At most `UNITS_PER_PAGE` units per call.
 */
export type LiveUnits = (unitIds: readonly string[]) => Promise<ReadonlyMap<string, LiveUnit>>

/** A running service hashes the states of this many units at a time. */
export const UNITS_PER_PAGE = 50
/** Units verified at once. Their statements are pipelined on the one connection, so that a round trip is not paid for each. */
const UNITS_AT_ONCE = 8
const ROWS_PER_PAGE = 1_000
/** Of up to 128 leaves each, which the database hashes. */
const TREE_PARTS_PER_PAGE = 50

/** Checks everything up to the end of the journal at the time of the call. */
export async function verify(
  store: VerifyStore,
  options: {
    /** By shard; null where one is missing, or SECRET_KEY does not open it. */
    readonly chainKeys: readonly (ChainKey | null)[]
    readonly live?: LiveUnits
    readonly onProgress?: (units: number) => void
    /** Rows of a statement. In memory are at most `UNITS_AT_ONCE` times as many. */
    readonly limit?: number
  },
): Promise<Verification> {
  const { chainKeys, live, onProgress, limit = ROWS_PER_PAGE } = options
  const extents = await store.extents()
  const found = new Findings()
  for (const extent of extents) {
    if (extent.lastSeq === 0) continue
    await verifyShard({ store, extent, key: chainKeys[extent.shard] ?? null, limit, found })
  }
  for (let after: VerifiedUnit | null = null; ; ) {
    const units: readonly VerifiedUnit[] = await store.units(after, Math.min(limit, UNITS_PER_PAGE))
    const last = units.at(-1)
    if (last === undefined) break
    const resident = await live?.(units.map(({ unitId }) => unitId))
    const verifyOne = (unit: VerifiedUnit) => {
      const extent = extents[shardOf(unit.agencyId)]
      assert(extent !== undefined, 'Cannot verify a unit: its shard is not known')
      return verifyUnit({ store, unit, extent, limit, found, memory: resident?.get(unit.unitId) ?? null })
    }
    for (let i = 0; i < units.length; i += UNITS_AT_ONCE)
      await Promise.all(units.slice(i, i + UNITS_AT_ONCE).map(verifyOne))
    onProgress?.(found.units)
    after = last
  }
  for (let after: string | null = null; ; ) {
    const agencies: readonly string[] = await store.agencies(after, limit)
    for (const agencyId of agencies) {
      const base = extents[shardOf(agencyId)]?.base ?? 0
      await verifyTree({ store, agencyId, base, limit: Math.min(limit, TREE_PARTS_PER_PAGE), found })
    }
    after = agencies.at(-1) ?? null
    if (after === null) break
  }
  await verifyWhole(store, found)
  return found.report()
}

/** What the database finds out by itself. */
async function verifyWhole(store: VerifyStore, found: Findings): Promise<void> {
  for (const { id, unitId, seq } of await store.strayBookings(DIFFERENCES_MAX))
    found.add('booking', unitId, id, `the row names journal entry ${seq}, which is not an entry of this booking`)
  for (const id of await store.strayErasures(DIFFERENCES_MAX))
    found.add('guest', null, id, 'the guest was erased, but is still stored, or the log does not have the erasure')
  for (const id of await store.strayDeliveries(DIFFERENCES_MAX))
    found.add('delivery', null, id, 'the journal entry or endpoint of the delivery is missing')
  for (const id of await store.orphanedDeliveries(DIFFERENCES_MAX))
    found.add('delivery', null, id, 'the delivery is pending, but its endpoint is deleted')
  for (const { endpointId, shard, seq } of await store.missingDeliveries(DIFFERENCES_MAX))
    found.add('delivery', null, endpointId, `journal entry ${entryName(shard, seq)} has no delivery for the endpoint`)
  for (const { endpointId, shard, seq } of await store.cursorsBeyondEnd(DIFFERENCES_MAX))
    found.add(
      'delivery',
      null,
      endpointId,
      `the endpoint's cursor is at ${entryName(shard, seq)}, which the log has not reached`,
    )
}
