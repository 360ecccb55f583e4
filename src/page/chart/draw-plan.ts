/**
 * Which rows are drawn for which days in this frame. A scroll bar that is pulled asks for all rows anew, frame after frame; only a few
 * take part in each, those in sight first, and the others follow in the next ones. So no frame is long, however fast one scrolls.
 */
import type { Day } from '../format/days.ts'

interface Days {
  readonly from: Day
  /** Exclusive. */
  readonly to: Day
}

interface PlannedRow {
  readonly index: number
  readonly days: Days
}

/** About 10 ms of work for rows as full as they get. */
const ROWS_PER_FRAME = 4

export class DrawPlan {
  #drawn = new Map<string, Days>()

  /**
   * @param wanted rows in the order of their importance
   * @param keyOf what tells rows apart, whatever their order
   */
  next(
    wanted: readonly number[],
    keyOf: (index: number) => string,
    days: Days,
  ): { readonly rows: readonly PlannedRow[]; readonly isComplete: boolean } {
    // The first view comes whole.
    let budget = this.#drawn.size === 0 ? Number.POSITIVE_INFINITY : ROWS_PER_FRAME
    const drawn = new Map<string, Days>()
    const rows: PlannedRow[] = []
    let isComplete = true
    for (const index of wanted) {
      const key = keyOf(index)
      const before = this.#drawn.get(key)
      const isCurrent = before?.from === days.from && before.to === days.to
      if (!isCurrent && budget === 0) isComplete = false
      const shown = isCurrent || budget > 0 ? days : before
      if (!isCurrent && budget > 0) budget -= 1
      if (shown === undefined) continue
      drawn.set(key, shown)
      rows.push({ index, days: shown })
    }
    this.#drawn = drawn
    return { rows: rows.sort((a, b) => a.index - b.index), isComplete }
  }
}
