import type { Night } from './night.ts'

/**
 * The half-open range `[arrival, departure)`: the guest sleeps there on the arrival night, not on the departure night
 * (docs/contract.md#conventions).
 */
export interface Stay {
  readonly arrival: Night
  readonly departure: Night
}

/** Maximum number of nights of a stay (docs/design.md#nights). */
export const STAY_NIGHTS_MAX = 366

export function nightsOf(stay: Stay): number {
  return stay.departure - stay.arrival
}

/** Whether two stays share a night. A departure on the day of the other arrival is not an overlap. */
export function overlap(a: Stay, b: Stay): boolean {
  return a.arrival < b.departure && b.arrival < a.departure
}
