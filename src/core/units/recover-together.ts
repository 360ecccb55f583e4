import { Slices } from '../../lib/slices.ts'
import type { JournalStore } from '../journal/journal-store.ts'
import { type OnDefect, type RecoveredUnit, recoverStored, recoverUnit, type UnitAddress } from '../journal/recovery.ts'

/** Entries that are decoded in one slice: well under 1 ms (`bench/calendar.ts`). */
const STEPS_PER_SLICE = 10
/** Decoding a snapshot takes as long as so many entries. */
const STEPS_OF_SNAPSHOT = 4

/**
 * Recovers many units of one agency with one statement, in slices. One that cannot be recovered does not prevent the others.
 * @param units at least one, each once
 * @returns a promise for each of them, in order
 */
export function recoverTogether(
  store: JournalStore,
  units: readonly UnitAddress[],
  onDefect: OnDefect,
  slices = new Slices(STEPS_PER_SLICE),
): Promise<RecoveredUnit>[] {
  const waiting = units.map((unit) => ({ unit, ...Promise.withResolvers<RecoveredUnit>() }))
  const recover = async (): Promise<void> => {
    const loaded = await store.loadUnits(
      units[0]?.agencyId ?? '',
      units.map(({ unitId }) => unitId),
    )
    for (const { unit, resolve, reject } of waiting) {
      const stored = loaded.get(unit.unitId)
      const recovered =
        stored === undefined ? recoverUnit(store, unit, onDefect) : recoverStored(store, unit, stored, onDefect)
      await recovered.then(resolve, reject)
      const pause = slices.spend(STEPS_OF_SNAPSHOT + (stored?.tail.length ?? 0))
      if (pause !== null) await pause
    }
  }
  recover().catch((error: unknown) => {
    for (const { reject } of waiting) reject(error)
  })
  return waiting.map(({ promise }) => promise)
}
