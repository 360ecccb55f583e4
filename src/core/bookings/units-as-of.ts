/**
 * Units as they were at an earlier moment. Only the log knows: its entries up to that moment are replayed, from the newest snapshot before
 * it or from the unit's first entry, by the same `apply` that runs live. The unit's state in memory is neither read nor changed.
 *
 * The entries are read in pages and applied in slices, so that other requests are answered in between. A replay takes one place of its
 * agency's share of lists.
 */

import { Slices } from '../../lib/slices.ts'
import type { Instant } from '../domain/booking.ts'
import { UnitState } from '../domain/unit-state.ts'
import type { StoredEntry } from '../journal/entry-codec.ts'
import { CorruptLedgerError } from '../journal/journal-error.ts'
import { applyStored, type OnDefect, type UnitAddress, usable } from '../journal/recovery.ts'
import type { StoredSnapshot } from '../journal/snapshot-codec.ts'

/** Where the log of a unit stood at a moment. */
export interface AsOfPlace {
  /** The unit's last entry up to that moment; null: none that is kept. */
  readonly untilSeq: number | null
  /** The last entry up to that moment that sets the unit; null: none that is kept. */
  readonly setSeq: number | null
  /** The unit's last archived entry; 0: none was archived. */
  readonly archivedSeq: number
  /** The snapshots that include no later entry, newest first. */
  readonly snapshots: readonly StoredSnapshot[]
}

/** The port through which the log is read: never behind what an answer said (J2). */
export interface AsOfRows {
  /**
   * Runs a read when it is the agency's turn. `signal` is aborted when its caller no longer waits.
   * @throws NoPlaceError when the agency's share is in use; SlowListError when it takes longer than a list may
   */
  inTurn<T>(agencyId: string, read: (signal: AbortSignal) => Promise<T>): Promise<T>
  find(unit: UnitAddress, at: Instant): Promise<AsOfPlace>
  /**
   * The unit's entries after `after` and up to `place.untilSeq`, in order, at most `limit`. Of the entries that set the unit, only
   * `place.setSeq`: each has the whole unit, so earlier ones have no effect.
   * @returns null if some of them were archived in the meantime
   */
  entries(
    unit: UnitAddress,
    page: { readonly after: number; readonly place: AsOfPlace; readonly limit: number },
  ): Promise<readonly StoredEntry[] | null>
}

/**
 * `before_unit`: the unit did not exist yet. `expired`: its history at that moment is no longer kept. `refused`: `pay` returned
 * `refusal`. `entries`: how many were applied.
 */
export type UnitAsOf<R> =
  | { readonly kind: 'found'; readonly state: UnitState; readonly entries: number }
  | { readonly kind: 'before_unit' | 'expired' }
  | { readonly kind: 'refused'; readonly refusal: R }

/** Reading more rows at once would block the event loop for longer than a slice. */
export const ENTRIES_PER_PAGE = 100
/** Applying so many takes well under a millisecond. */
export const ENTRIES_PER_SLICE = 50
/**
 * This many count as one part of a large answer (`AnswerPace`). They take more CPU than other parts, but in much shorter slices, and a key
 * pays ten requests for them.
 */
export const ENTRIES_PER_PART = 2_000
/** A month may be archived while its entries are read, but hardly another one right after it. */
const ATTEMPTS_MAX = 3

export class UnitsAsOf {
  readonly #rows: AsOfRows
  readonly #onDefect: OnDefect
  readonly #newSlices: () => Slices

  constructor(options: { rows: AsOfRows; onDefect: OnDefect; newSlices?: () => Slices }) {
    this.#rows = options.rows
    this.#onDefect = options.onDefect
    this.#newSlices = options.newSlices ?? (() => new Slices(ENTRIES_PER_SLICE))
  }

  /**
   * The unit as it was after its last entry with a time up to `at`.
   * @param at not in the future
   * @param pay called once, when it is certain that there is an answer and before the work begins: returns null, or a refusal
   * @throws what `AsOfRows.inTurn` throws; CorruptLedgerError when what is stored is damaged
   */
  read<R = never>(unit: UnitAddress, at: Instant, pay: () => R | null = () => null): Promise<UnitAsOf<R>> {
    let isPaid = false
    return this.#rows.inTurn(unit.agencyId, async (signal): Promise<UnitAsOf<R>> => {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const place = await this.#rows.find(unit, at)
        const state = this.#beginning(unit, place)
        if (typeof state === 'string') return { kind: state }
        const refusal = isPaid ? null : pay()
        if (refusal !== null) return { kind: 'refused', refusal }
        isPaid = true
        const entries = await this.#replay(state, unit, place, signal)
        if (entries !== null) return { kind: 'found', state, entries }
      }
      throw new Error(`Cannot read unit ${unit.unitId} as it was: months are being archived, one after the other`)
    })
  }

  /** What the replay begins with: the newest good snapshot, or an empty state if all entries are kept. */
  #beginning({ unitId }: UnitAddress, place: AsOfPlace): UnitState | 'before_unit' | 'expired' {
    const { untilSeq, archivedSeq, snapshots } = place
    if (untilSeq === null) return archivedSeq === 0 ? 'before_unit' : 'expired'
    for (const snapshot of snapshots) {
      const state = usable(snapshot, this.#onDefect)
      if (state !== null) return state
    }
    if (archivedSeq === 0) return UnitState.empty(unitId)
    // The snapshot that replaces archived entries may include entries after this moment.
    if (snapshots.length === 0) return 'expired'
    throw new CorruptLedgerError(
      `Cannot read unit ${unitId} as it was: its entries up to ${archivedSeq} were archived, and the snapshots after them are damaged`,
    )
  }

  /** @returns how many entries were applied; null if some were archived in the meantime */
  async #replay(state: UnitState, unit: UnitAddress, place: AsOfPlace, signal: AbortSignal): Promise<number | null> {
    const slices = this.#newSlices()
    let applied = 0
    for (let after = state.seq; ; after = state.seq) {
      signal.throwIfAborted()
      const page = await this.#rows.entries(unit, { after, place, limit: ENTRIES_PER_PAGE })
      if (page === null) return null
      for (const entry of page) {
        applyStored(state, entry)
        applied += 1
        const pause = slices.spend(1)
        if (pause !== null) await pause
      }
      if (page.length < ENTRIES_PER_PAGE) break
    }
    if (state.seq !== place.untilSeq)
      throw new CorruptLedgerError(`Cannot read unit ${unit.unitId} as it was: entry ${place.untilSeq} is missing`)
    return applied
  }
}
