/** The nights of a unit, now and at an earlier moment. Pure. */
import type { Schema } from '../../../api/schema.ts'
import { type Day, dayOf } from '../../../format/days.ts'
import { plural } from '../../../format/numbers.ts'

export type NightState = 'free' | 'taken' | 'cleaning'

/** Nights that are not in it are free. */
export type Nights = ReadonlyMap<Day, NightState>

export function nightsOf({ nights }: Schema<'Calendar'>): Nights {
  return new Map(nights.map(({ night, state }) => [dayOf(night), state]))
}

export const stateOn = (nights: Nights, day: Day): NightState => nights.get(day) ?? 'free'

/** How an earlier picture differs from now: `3 nights shown differ from now: 2 were free, 1 is free now.` */
export function differenceText(then: Nights, now: Nights): string {
  const days = [...new Set([...then.keys(), ...now.keys()])].filter((day) => stateOn(then, day) !== stateOn(now, day))
  if (days.length === 0) return 'The nights shown have not changed since.'
  const wereFree = days.filter((day) => !then.has(day)).length
  const areFree = days.filter((day) => !now.has(day)).length
  const parts = [
    wereFree === 0 ? '' : `${wereFree} ${wereFree === 1 ? 'was' : 'were'} free`,
    areFree === 0 ? '' : `${areFree} ${areFree === 1 ? 'is' : 'are'} free now`,
  ].filter(Boolean)
  const differ = `${plural(days.length, 'night')} shown ${days.length === 1 ? 'differs' : 'differ'} from now`
  return parts.length === 0 ? `${differ}.` : `${differ}: ${parts.join(', ')}.`
}

const HOUR_MS = 3_600_000
const WEEKS = 4
/** The last position is now, the one before it the last full hour. */
export const POSITIONS = WEEKS * 7 * 24

/** @param hour the last full hour of the agency's clocks. @returns null: now */
export function momentAt(position: number, hour: number): number | null {
  return position >= POSITIONS ? null : hour - (POSITIONS - 1 - position) * HOUR_MS
}

/** The position of the slider; 0 for anything earlier. */
export function positionOf(at: number | null, hour: number): number {
  return at === null
    ? POSITIONS
    : Math.max(0, Math.min(POSITIONS - 1, POSITIONS - 1 - Math.round((hour - at) / HOUR_MS)))
}
