/**
 * A unit's state from what Postgres keeps.
 *
 * - S1 Recovery is the newest good snapshot and the journal's tail. A bad snapshot is skipped for an older one or a
 *   longer replay, never trusted.
 * - U3 The events are applied by the same `apply` that runs live.
 * - D1 What is stored is never a bug of this program: entries that do not add up are damage, and stay with their unit.
 */
import { AssertionError } from '../../lib/assert.ts'
import { UnitState } from '../domain/unit-state.ts'
import { decodeEntry, type StoredEntry } from './entry-codec.ts'
import { CorruptLedgerError } from './journal-error.ts'
import type { JournalStore, StoredUnit } from './journal-store.ts'
import { decodeSnapshot, type StoredSnapshot } from './snapshot-codec.ts'

export interface RecoveredUnit {
  readonly state: UnitState
  /** Events applied after the snapshot that recovery started from; all of the unit's when it trusted none. */
  readonly tailLength: number
}

export interface UnitAddress {
  readonly agencyId: string
  readonly unitId: string
}

/** Called for every snapshot that was skipped. */
export type OnDefect = (defect: string, snapshot: StoredSnapshot) => void

/** @throws CorruptLedgerError when a journal entry cannot be read, or does not follow from those before it: there is nothing older to fall back to */
export async function recoverUnit(store: JournalStore, unit: UnitAddress, onDefect: OnDefect): Promise<RecoveredUnit> {
  return recoverStored(store, unit, await store.loadUnit(unit.agencyId, unit.unitId), onDefect)
}

/** The same for a unit that is loaded already. @throws CorruptLedgerError as `recoverUnit` does */
export async function recoverStored(
  store: JournalStore,
  unit: UnitAddress,
  stored: StoredUnit,
  onDefect: OnDefect,
): Promise<RecoveredUnit> {
  const [newest, ...older] = stored.snapshots
  if (newest === undefined) return replay(UnitState.empty(unit.unitId), stored.tail)

  const fromNewest = usable(newest, onDefect)
  if (fromNewest !== null) return replay(fromNewest, stored.tail)

  for (const snapshot of older) {
    const state = usable(snapshot, onDefect)
    if (state === null) continue
    const tail = await store.loadEntries(unit.agencyId, unit.unitId, snapshot.seq)
    return replay(state, tail)
  }
  const everything = await store.loadEntries(unit.agencyId, unit.unitId, 0)
  return replay(UnitState.empty(unit.unitId), everything)
}

/** The state in a snapshot; null when it cannot be trusted (S1). */
export function usable(snapshot: StoredSnapshot, onDefect: OnDefect): UnitState | null {
  const { state, defect } = decodeSnapshot(snapshot)
  if (defect !== null) onDefect(defect, snapshot)
  return state
}

function replay(state: UnitState, tail: readonly StoredEntry[]): RecoveredUnit {
  for (const entry of tail) applyStored(state, entry)
  return { state, tailLength: tail.length }
}

/**
 * Applies a stored entry. What `apply` asserts holds for everything that was decided, but stored data may be damaged.
 * @throws CorruptLedgerError when the entry cannot be read, or does not fit the state
 */
export function applyStored(state: UnitState, entry: StoredEntry): void {
  const event = decodeEntry(entry)
  try {
    state.apply(event, entry.seq)
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error
    throw new CorruptLedgerError(`Cannot recover unit ${state.unitId}: journal entry ${entry.seq} does not follow`, {
      cause: error,
    })
  }
}
