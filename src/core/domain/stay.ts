import type { Night } from './night.ts'

/** The half-open range `[arrival, departure)`: the guest sleeps the arrival night, not the departure one (contract, conventions). */
export interface Stay {
  readonly arrival: Night
  readonly departure: Night
}

/** A stay has at most this many nights (design, Nights). */
export const STAY_NIGHTS_MAX = 366

export function nightsOf(stay: Stay): number {
  return stay.departure - stay.arrival
}

/** Whether two stays share a night. Leaving on the day the other arrives is not an overlap. */
export function overlap(a: Stay, b: Stay): boolean {
  return a.arrival < b.departure && b.arrival < a.departure
}
