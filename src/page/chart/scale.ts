import type { Day } from '../format/days.ts'

/** How much of the time the width of the chart shows. */
export type Zoom = 'week' | 'month' | 'quarter'

const ZOOMS = {
  week: { days: 7, dayWidthMin: 40 },
  month: { days: 31, dayWidthMin: 24 },
  quarter: { days: 91, dayWidthMin: 10 },
} as const satisfies Record<Zoom, { days: number; dayWidthMin: number }>

/** Whole pixels, so that lines between days are sharp. */
export function dayWidthOf(zoom: Zoom, widthPx: number): number {
  const { days, dayWidthMin } = ZOOMS[zoom]
  return Math.max(dayWidthMin, Math.floor(widthPx / days))
}

/** Days side by side, and rows one below the other. Pixels count from the first day's midnight and the first row's top. */
export interface Scale {
  readonly firstDay: Day
  readonly dayWidth: number
  readonly rowHeight: number
}

/** Where the midnight before a day is. */
export function midnightX({ firstDay, dayWidth }: Scale, day: Day): number {
  return (day - firstDay) * dayWidth
}

/** Where the noon of a day is: there bars begin and end. */
export function noonX(scale: Scale, day: Day): number {
  return midnightX(scale, day) + scale.dayWidth / 2
}

export function dayAt({ firstDay, dayWidth }: Scale, x: number): Day {
  return firstDay + Math.floor(x / dayWidth)
}

export function rowAt({ rowHeight }: Scale, y: number): number {
  return Math.floor(y / rowHeight)
}
