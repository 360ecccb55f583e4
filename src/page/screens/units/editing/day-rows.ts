/** Days laid out in rows, by month or by week. Pure. */
import { type Day, dayText, isoOf, monthStart, weekdayOf } from '../../../format/days.ts'

export const MONTHS = 12

export interface GridCell {
  readonly day: Day
  /** From 0. */
  readonly column: number
}

export interface GridRow {
  readonly key: number
  readonly label: string
  /** Only for the first month shown of a year. */
  readonly year: string | null
  readonly cells: readonly GridCell[]
}

/** One row for each of twelve months, with equal days of the week below each other. @param start first day of a month */
export function monthRows(start: Day): GridRow[] {
  return Array.from({ length: MONTHS }, (_, index) => {
    const [first, end] = [monthStart(start, index), monthStart(start, index + 1)]
    const isNewYear = index === 0 || isoOf(first).endsWith('-01-01')
    return {
      key: first,
      label: dayText(first, 'shortMonth'),
      year: isNewYear ? dayText(first, 'year') : null,
      cells: cellsOf(first, end, columnOf(first)),
    }
  })
}

/** The weeks of one month. */
export function weekRows(start: Day): GridRow[] {
  const end = monthStart(start, 1)
  const rows: GridRow[] = []
  for (let from = start; from < end; ) {
    const to = Math.min(end, from + 7 - columnOf(from))
    rows.push({ key: from, label: dayText(from, 'medium'), year: null, cells: cellsOf(from, to, columnOf(from)) })
    from = to
  }
  return rows
}

/** Monday: 0. */
function columnOf(day: Day): number {
  return weekdayOf(day) - 1
}

function cellsOf(from: Day, to: Day, column: number): GridCell[] {
  return Array.from({ length: to - from }, (_, index) => ({ day: from + index, column: column + index }))
}

/** The day that an arrow key leads to. */
export function nextDay(rows: readonly GridRow[], day: Day, key: string): Day | undefined {
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
