/** The cell that has the keyboard, and the nights selected from it. Pure. */

import { type Day, monthStart } from '../format/days.ts'
import { stayOn } from './chart-rows.ts'
import { type Ghost, stayBetween } from './gesture.ts'
import type { Stay } from './stay.ts'

export interface Cursor {
  readonly row: number
  readonly day: Day
  /** Where the selection began; null when nothing is selected. */
  readonly anchor: Day | null
}

export interface CursorLimits {
  readonly rows: number
  readonly firstDay: Day
  /** Exclusive. */
  readonly endDay: Day
  /** How many rows a page has. */
  readonly rowsPerPage: number
  readonly today: Day
}

interface CursorKey {
  readonly key: string
  readonly shiftKey: boolean
  readonly ctrlKey: boolean
}

/**
 * The cursor after a key, or null if the key means nothing to it. A bar is one stop: left and right go past it.
 * @param stays of the cursor's row, sorted by arrival
 */
export function moveCursor(
  cursor: Cursor,
  { key, shiftKey, ctrlKey }: CursorKey,
  stays: readonly Stay[],
  limits: CursorLimits,
): Cursor | null {
  const { row, day } = cursor
  const isSelecting = shiftKey || cursor.anchor !== null
  const stay = stayOn(stays, day)
  // While nights are selected every day is a stop: the departure may be the day of another arrival.
  const isOnBar = stay !== null && !isSelecting
  const to = (() => {
    switch (key) {
      case 'ArrowLeft':
        return { row, day: isOnBar ? stay.arrival - 1 : day - 1 }
      case 'ArrowRight':
        return { row, day: isOnBar ? stay.departure : day + 1 }
      case 'ArrowUp':
        return { row: row - 1, day }
      case 'ArrowDown':
        return { row: row + 1, day }
      case 'PageUp':
        return shiftKey ? { row, day: monthStart(day, -1) } : { row: row - limits.rowsPerPage, day }
      case 'PageDown':
        return shiftKey ? { row, day: monthStart(day, 1) } : { row: row + limits.rowsPerPage, day }
      case 'Home':
        return { row: ctrlKey ? 0 : row, day: limits.today }
      case 'End':
        return { row: ctrlKey ? limits.rows - 1 : row, day: limits.endDay - 1 }
      default:
        return null
    }
  })()
  if (to === null) return null
  const isSideways = to.row === row && (key === 'ArrowLeft' || key === 'ArrowRight')
  const next = { row: clamp(to.row, 0, limits.rows - 1), day: clamp(to.day, limits.firstDay, limits.endDay - 1) }
  // A selection is of one unit, and begins on a free night.
  if (!isSelecting || !isSideways) return { ...next, anchor: null }
  if (cursor.anchor === null && stay !== null) return { ...next, anchor: null }
  return { ...next, anchor: cursor.anchor ?? day }
}

/** The nights selected with the keys. */
export function selectionOf({ row, day, anchor }: Cursor): Ghost | null {
  return anchor === null ? null : { row, ...stayBetween(anchor, day) }
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value))
}
