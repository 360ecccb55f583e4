/** Prices of nights, laid out by month or by week. Pure. */

import type { Preview } from '../../../api/schema.ts'
import { type Day, dayOf, dayText, isoOf, monthStart } from '../../../format/days.ts'

export interface NightPrice {
  readonly day: Day
  /** Minor units. */
  readonly price: number
  readonly minStay: number
  readonly season: string | null
}

export class NightPrices {
  readonly #nights: Preview['nights']
  readonly #from: Day
  readonly lowest: number
  readonly highest: number

  constructor(nights: Preview['nights']) {
    this.#nights = nights
    this.#from = dayOf(nights.from)
    this.lowest = Math.min(...nights.prices)
    this.highest = Math.max(...nights.prices)
  }

  /** Undefined outside of what was asked for. */
  at(day: Day): NightPrice | undefined {
    const index = day - this.#from
    const price = this.#nights.prices[index]
    if (price === undefined) return undefined
    return {
      day,
      price,
      minStay: this.#nights.minStay[index] ?? 1,
      season: this.#nights.season[index] ?? null,
    }
  }

  /** How high a price is among all: 0 (lowest) to HEAT_STEPS - 1. */
  heat(price: number): number {
    if (this.highest === this.lowest) return 0
    const part = (price - this.lowest) / (this.highest - this.lowest)
    return Math.min(HEAT_STEPS - 1, Math.floor(part * HEAT_STEPS))
  }

  /** Nights that cost something else, or ask for another minimum stay, in the other. */
  differingFrom(other: NightPrices): ReadonlySet<Day> {
    const days = new Set<Day>()
    for (let index = 0; index < this.#nights.prices.length; index++) {
      const day = this.#from + index
      const [mine, theirs] = [this.at(day), other.at(day)]
      if (theirs !== undefined && (mine?.price !== theirs.price || mine.minStay !== theirs.minStay)) days.add(day)
    }
    return days
  }
}

export const HEAT_STEPS = 5
export const MONTHS = 12

/** 0 (Monday) to 6. */
function weekdayOf(day: Day): number {
  return (day + 3) % 7
}

export interface GridCell {
  readonly day: Day
  /** From 0. */
  readonly column: number
}

export interface GridRow {
  readonly key: number
  readonly label: string
  /** Of the first month that is shown of a year. */
  readonly year: string | null
  readonly cells: readonly GridCell[]
}

/** One row for each of twelve months, in which the days of the week stand below each other. @param start first day of a month */
export function monthRows(start: Day): GridRow[] {
  return Array.from({ length: MONTHS }, (_, index) => {
    const [first, end] = [monthStart(start, index), monthStart(start, index + 1)]
    const isNewYear = index === 0 || isoOf(first).endsWith('-01-01')
    return {
      key: first,
      label: dayText(first, 'shortMonth'),
      year: isNewYear ? dayText(first, 'year') : null,
      cells: cellsOf(first, end, weekdayOf(first)),
    }
  })
}

/** The weeks of one month. */
export function weekRows(start: Day): GridRow[] {
  const end = monthStart(start, 1)
  const rows: GridRow[] = []
  for (let from = start; from < end; ) {
    const to = Math.min(end, from + 7 - weekdayOf(from))
    rows.push({ key: from, label: dayText(from, 'medium'), year: null, cells: cellsOf(from, to, weekdayOf(from)) })
    from = to
  }
  return rows
}

function cellsOf(from: Day, to: Day, column: number): GridCell[] {
  return Array.from({ length: to - from }, (_, index) => ({ day: from + index, column: column + index }))
}

/** Consecutive cells of a row in one season. Columns from 0, `to` exclusive. */
interface SeasonRun {
  readonly name: string
  readonly from: number
  readonly to: number
}

export function seasonRuns({ cells }: GridRow, nights: NightPrices): SeasonRun[] {
  const runs: SeasonRun[] = []
  for (const { day, column } of cells) {
    const name = nights.at(day)?.season ?? null
    const last = runs.at(-1)
    if (last !== undefined && last.name === name && last.to === column)
      runs[runs.length - 1] = { ...last, to: column + 1 }
    else if (name !== null) runs.push({ name, from: column, to: column + 1 })
  }
  return runs
}

/** The night that an arrow key leads to. */
export function nextNight(rows: readonly GridRow[], day: Day, key: string): Day | undefined {
  const all = rows.flatMap(({ cells }) => cells.map((cell) => cell.day))
  const [first, last] = [all[0], all.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const within = (wanted: Day) => Math.max(first, Math.min(last, wanted))
  if (key === 'ArrowLeft') return within(day - 1)
  if (key === 'ArrowRight') return within(day + 1)
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return undefined
  const index = rows.findIndex(({ cells }) => cells.some((cell) => cell.day === day))
  const column = rows[index]?.cells.find((cell) => cell.day === day)?.column ?? 0
  const row = rows[index + (key === 'ArrowUp' ? -1 : 1)]
  if (row === undefined) return day
  const [start, end] = [row.cells[0], row.cells.at(-1)]
  if (start === undefined || end === undefined) return day
  return start.day + Math.max(0, Math.min(end.column, column) - start.column)
}
