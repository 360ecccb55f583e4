/** A grid of days in rows that is one tab stop: arrow keys move in it. Its user decides what a day shows and what choosing it does. */
import './day-grid.css'
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type Day, dayText, weekdayText } from '../../../format/days.ts'
import { type GridCell, type GridRow, nextDay } from './day-rows.ts'

/** The day of the cell that an event is in: its `data-day`. */
export function dayOfEvent(event: Event): Day | null {
  const { day } = (event.target as HTMLElement).closest<HTMLElement>('[data-day]')?.dataset ?? {}
  return day === undefined ? null : Number(day)
}

export function useDayGrid(rows: readonly GridRow[], start: Day) {
  const [pointed, setPointed] = useState<Day | null>(null)
  const [focused, setFocused] = useState<Day>(() => rows[0]?.cells[0]?.day ?? start)
  const grid = useRef<HTMLDivElement>(null)
  const first = rows[0]?.cells[0]?.day ?? 0
  const last = rows.at(-1)?.cells.at(-1)?.day ?? 0
  return {
    /** Null also if the pointed day is no longer shown. */
    pointed: pointed !== null && pointed >= first && pointed <= last ? pointed : null,
    tabStop: focused < first || focused > last ? first : focused,
    setFocused,
    /** Follows an arrow key. @returns the day it leads to; undefined for other keys */
    onArrow(event: KeyboardEvent, day: Day): Day | undefined {
      const next = nextDay(rows, day, event.key)
      if (next === undefined) return undefined
      event.preventDefault()
      setFocused(next)
      setPointed(next)
      grid.current?.querySelector<HTMLElement>(`[data-day="${next}"]`)?.focus()
      return next
    },
    /** Props to spread on the grid. */
    pointing: {
      ref: grid,
      onPointerOver: (event: Event) => setPointed(dayOfEvent(event)),
      onPointerLeave: () => setPointed(null),
      onFocusIn: (event: Event) => setPointed(dayOfEvent(event)),
    },
  }
}

/** The days of the week above the columns. Hidden from screen readers, because the name of each day includes its own. */
export function Weekdays({ columns }: { columns: number }) {
  const style = columns > 7 ? 'narrowWeekday' : 'weekday'
  return (
    <div class="day-row day-weekdays" aria-hidden="true">
      {Array.from({ length: columns }, (_, column) => (
        <span key={column} class={column % 7 > 4 ? 'day-weekend' : undefined} style={{ gridColumn: column + 2 }}>
          {weekdayText((column % 7) + 1, style)}
        </span>
      ))}
    </div>
  )
}

export function DayRow({ row, children }: { row: GridRow; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table cannot have what stands between the rows
    // biome-ignore lint/a11y/useFocusableInteractive: only days can be chosen
    <div class="day-row" role="row">
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: only days can be chosen */}
      <span class="day-row-label" role="rowheader">
        {row.label}
        {row.year !== null && <span class="day-row-year"> {row.year}</span>}
      </span>
      {children}
    </div>
  )
}

/** A month beside others: its name and its weeks. */
export function DayMonth({
  month,
  weeks,
  children,
}: {
  month: Day
  weeks: readonly GridRow[]
  children: (cell: GridCell) => ComponentChildren
}) {
  const name = dayText(month, 'month')
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table cannot have a month beside the other
    <div class="day-grid" role="rowgroup" aria-label={name}>
      <p class="day-month-name" aria-hidden="true">
        {name}
      </p>
      <Weekdays columns={7} />
      {weeks.map((row) => (
        <DayRow key={row.key} row={row}>
          {row.cells.map(children)}
        </DayRow>
      ))}
    </div>
  )
}
