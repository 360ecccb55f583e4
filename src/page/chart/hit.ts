import type { Day } from '../format/days.ts'
import { dayAt, noonX, rowAt, type Scale } from './scale.ts'
import type { Stay } from './stay.ts'

/** The part of a bar under the pointer. */
type BarPart = 'arrival' | 'body' | 'departure'

/** What is under the pointer. */
export interface Hit {
  readonly row: number
  /** The day whose column it is. */
  readonly day: Day
  readonly bar: { readonly stay: Stay; readonly part: BarPart } | null
}

/** How far from its end a bar can be grabbed to make it longer or shorter. */
const EDGE_PX = 8

/**
 * @param x from the first day's midnight
 * @param y from the top of the first row
 * @param staysOfRow sorted by arrival; empty for a row that does not exist
 */
export function hitAt(x: number, y: number, scale: Scale, staysOfRow: (row: number) => readonly Stay[]): Hit {
  const row = rowAt(scale, y)
  const stay = staysOfRow(row).find((stay) => noonX(scale, stay.arrival) <= x && x < noonX(scale, stay.departure))
  return { row, day: dayAt(scale, x), bar: stay === undefined ? null : { stay, part: partAt(x, scale, stay) } }
}

/** The middle third is always the body: a short bar can be moved too. */
function partAt(x: number, scale: Scale, stay: Stay): BarPart {
  const from = noonX(scale, stay.arrival)
  const to = noonX(scale, stay.departure)
  const edge = Math.min(EDGE_PX, (to - from) / 3)
  return x < from + edge ? 'arrival' : x >= to - edge ? 'departure' : 'body'
}
