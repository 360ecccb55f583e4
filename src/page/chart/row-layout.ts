/** What is drawn in the row of a unit: bars from noon to noon, and behind some of them a tail. Pure. */
import type { Day } from '../format/days.ts'
import { isCleanedAfter, type Stay } from './stay.ts'

export interface Bar {
  readonly stay: Stay
  /** Nights that are cleaned after the departure: until here, or null. They end at the next arrival. */
  readonly cleanedUntil: Day | null
  /** The expected extension: until here, or null. Not cut: where it reaches the next stay, somebody has to act. */
  readonly expectedUntil: Day | null
  /** Whether the expected extension reaches into the next stay. */
  readonly isExtensionInTheWay: boolean
}

/**
 * One lane is enough: no night is sold twice, so bars never overlap.
 * @param stays of one unit, sorted by arrival
 * @param window days of which anything is to be seen
 */
export function barsOf(
  stays: readonly Stay[],
  turnoverNights: number,
  window: { readonly from: Day; readonly to: Day },
): Bar[] {
  const bars: Bar[] = []
  const first = firstToDraw(stays, window.from)
  // An expected extension may reach beyond later stays.
  for (let i = 0; i < first; i++) {
    const stay = stays[i]
    if (stay?.expectedUntil != null && stay.expectedUntil >= window.from)
      bars.push(barOf(stay, stays[i + 1], turnoverNights))
  }
  for (let i = first; i < stays.length; i++) {
    const stay = stays[i]
    if (stay === undefined || stay.arrival >= window.to) break
    const next = stays[i + 1]
    const bar = barOf(stay, next, turnoverNights)
    const until = Math.max(stay.departure, bar.cleanedUntil ?? 0, bar.expectedUntil ?? 0)
    // The day of the departure is half covered.
    if (until >= window.from) bars.push(bar)
  }
  return bars
}

function barOf(stay: Stay, next: Stay | undefined, turnoverNights: number): Bar {
  const { expectedUntil, departure } = stay
  const nextArrival = next?.arrival ?? Number.POSITIVE_INFINITY
  const cleanedUntil = isCleanedAfter(stay.type) ? Math.min(departure + turnoverNights, nextArrival) : departure
  return {
    stay,
    cleanedUntil: cleanedUntil > departure ? cleanedUntil : null,
    expectedUntil,
    isExtensionInTheWay: expectedUntil !== null && expectedUntil > nextArrival,
  }
}

/** The first stay that can be seen, less one, whose tail may be. */
function firstToDraw(stays: readonly Stay[], from: Day): number {
  let low = 0
  let high = stays.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((stays[middle] as Stay).departure < from) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}
