/**
 * What the pointer is on and does, and what its user wants by it. Pure: no element, no clock.
 *
 * A drag begins only past a threshold, and not at all on a touch screen, where a finger scrolls: there one taps the
 * arrival and then the departure. Nothing is written by a gesture: each ends in an intent, for which somebody confirms.
 */
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

interface Point {
  readonly x: number
  readonly y: number
}

/** Where a stay would be. */
export interface Ghost {
  readonly row: number
  readonly arrival: Day
  readonly departure: Day
}

export type Gesture =
  | { readonly kind: 'idle' }
  | { readonly kind: 'pressed'; readonly at: Point; readonly hit: Hit; readonly isDragAllowed: boolean }
  | { readonly kind: 'selecting'; readonly row: number; readonly anchor: Day; readonly day: Day }
  | { readonly kind: 'moving'; readonly stay: Stay; readonly from: Hit; readonly to: Hit }
  | {
      readonly kind: 'stretching'
      readonly stay: Stay
      readonly edge: 'arrival' | 'departure'
      readonly row: number
      readonly day: Day
    }

export type Intent =
  | { readonly kind: 'none' }
  /** A click. */
  | { readonly kind: 'pick'; readonly hit: Hit }
  | { readonly kind: 'create'; readonly ghost: Ghost }
  | { readonly kind: 'change'; readonly stay: Stay; readonly ghost: Ghost }

export const IDLE: Gesture = { kind: 'idle' }

/** Free days are selected with less effort than a stay is moved. */
const SELECT_THRESHOLD_PX = 5
const MOVE_THRESHOLD_PX = 10

/** @param isDragAllowed false on a touch screen and for a role that may not write: then only clicks count */
export function press(at: Point, hit: Hit, isDragAllowed: boolean): Gesture {
  return { kind: 'pressed', at, hit, isDragAllowed }
}

export function move(gesture: Gesture, at: Point, hit: Hit): Gesture {
  switch (gesture.kind) {
    case 'idle':
      return gesture
    case 'pressed':
      return begin(gesture, at, hit)
    case 'selecting':
      return hit.day === gesture.day ? gesture : { ...gesture, day: hit.day }
    case 'moving':
      return hit.day === gesture.to.day && hit.row === gesture.to.row ? gesture : { ...gesture, to: hit }
    case 'stretching':
      return hit.day === gesture.day ? gesture : { ...gesture, day: hit.day }
  }
}

function begin(gesture: Gesture & { kind: 'pressed' }, at: Point, hit: Hit): Gesture {
  const { bar, row, day } = gesture.hit
  const distance = Math.hypot(at.x - gesture.at.x, at.y - gesture.at.y)
  if (!gesture.isDragAllowed || distance < (bar === null ? SELECT_THRESHOLD_PX : MOVE_THRESHOLD_PX)) return gesture
  if (bar === null) return { kind: 'selecting', row, anchor: day, day: hit.day }
  if (bar.part === 'body') return { kind: 'moving', stay: bar.stay, from: gesture.hit, to: hit }
  return { kind: 'stretching', stay: bar.stay, edge: bar.part, row, day: hit.day }
}

export function release(gesture: Gesture): Intent {
  switch (gesture.kind) {
    case 'idle':
      return { kind: 'none' }
    case 'pressed':
      return { kind: 'pick', hit: gesture.hit }
    case 'selecting':
      return { kind: 'create', ghost: selected(gesture) }
    case 'moving':
    case 'stretching': {
      const { stay } = gesture
      const ghost = ghostOf(gesture)
      const isSame = ghost === null || (ghost.row === rowOf(gesture) && isSameStay(stay, ghost))
      return isSame ? { kind: 'none' } : { kind: 'change', stay, ghost }
    }
  }
}

/** Where the stay would be if the pointer were released now; null while nothing is dragged. */
export function ghostOf(gesture: Gesture): Ghost | null {
  switch (gesture.kind) {
    case 'idle':
    case 'pressed':
      return null
    case 'selecting':
      return selected(gesture)
    case 'moving': {
      const { stay, from, to } = gesture
      const days = to.day - from.day
      return { row: to.row, arrival: stay.arrival + days, departure: stay.departure + days }
    }
    case 'stretching': {
      const { stay, edge, row, day } = gesture
      // At least a night remains.
      return edge === 'arrival'
        ? { row, arrival: Math.min(day, stay.departure - 1), departure: stay.departure }
        : { row, arrival: stay.arrival, departure: Math.max(day, stay.arrival + 1) }
    }
  }
}

/** The stay from one day to another, whichever comes first; the same day twice is one night. */
export function stayBetween(anchor: Day, day: Day): { readonly arrival: Day; readonly departure: Day } {
  const arrival = Math.min(anchor, day)
  return { arrival, departure: Math.max(anchor, day, arrival + 1) }
}

function selected({ row, anchor, day }: Gesture & { kind: 'selecting' }): Ghost {
  return { row, ...stayBetween(anchor, day) }
}

function rowOf(gesture: Gesture & { kind: 'moving' | 'stretching' }): number {
  return gesture.kind === 'moving' ? gesture.from.row : gesture.row
}

function isSameStay(a: { arrival: Day; departure: Day }, b: { arrival: Day; departure: Day }): boolean {
  return a.arrival === b.arrival && a.departure === b.departure
}
