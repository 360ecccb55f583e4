import './restriction-grid.css'
import { useRef } from 'preact/hooks'
import { type Day, dayOfMonth, dayText } from '../../../format/days.ts'
import { DATE_RULES, type RestrictedDays, RULES, ruleText } from '../../../stays/restrictions.ts'
import { DayMonth, dayOfEvent, useDayGrid } from '../editing/day-grid.tsx'
import { type GridCell, weekRows } from '../editing/day-rows.ts'
import { RuleMark } from './restriction-marks.tsx'

/** Both ends inclusive. `anchor`: the first day chosen, while the other end is still being chosen. */
export interface DaySpan {
  readonly first: Day
  readonly last: Day
  readonly anchor: Day | null
}

interface RestrictionGridProps {
  /** First days of the months that are shown. */
  months: readonly Day[]
  days: RestrictedDays
  /** Arrivals that partners could no longer book once the draft is saved, and those that they newly could. */
  changes: ReadonlyMap<Day, 'lost' | 'gained'>
  today: Day
  selected: DaySpan | null
  /** Left out: days cannot be selected. */
  onSelect: ((selected: DaySpan | null) => void) | undefined
}

function spanOf(a: Day, b: Day, anchor: Day | null = null): DaySpan {
  return { first: Math.min(a, b), last: Math.max(a, b), anchor }
}

/** Days by week, month beside month. The mouse drags over days; touch and Enter choose the first day, then the last. */
export function RestrictionGrid({ months, days, changes, today, selected, onSelect }: RestrictionGridProps) {
  const weeks = months.map((month) => weekRows(month))
  const { pointed, tabStop, setFocused, onArrow, pointing } = useDayGrid(weeks.flat(), today)
  const dragFrom = useRef<Day | null>(null)
  /** The click ends a press of the mouse, which has already selected. */
  const isMouse = useRef(false)
  const choose = (day: Day) =>
    onSelect?.(selected?.anchor == null ? spanOf(day, day, day) : spanOf(selected.anchor, day))
  const onKeyDown = (event: KeyboardEvent) => {
    const day = dayOfEvent(event)
    if (day === null) return
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      choose(day)
    } else if (event.key === 'Escape') onSelect?.(null)
    else {
      const next = onArrow(event, day)
      if (next === undefined || onSelect === undefined) return
      const anchor = selected?.anchor ?? null
      if (event.shiftKey) {
        const fixed = selected === null ? day : selected.first === day ? selected.last : selected.first
        onSelect(spanOf(anchor ?? fixed, next))
      } else if (anchor !== null) onSelect(spanOf(anchor, next, anchor))
    }
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a table cannot have a month beside the other */}
      <div
        {...pointing}
        role="grid"
        aria-label="Rules of every day"
        aria-multiselectable={onSelect !== undefined}
        aria-describedby={onSelect === undefined ? undefined : 'restriction-keys'}
        class={`restriction-grid day-months day-grid-weeks${onSelect === undefined ? ' restriction-grid-fixed' : ''}`}
        style={{ '--day-columns': 7 }}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          const day = dayOfEvent(event)
          if (day === null || event.pointerType !== 'mouse' || event.button !== 0) return
          isMouse.current = true
          dragFrom.current = event.shiftKey && selected !== null ? selected.first : day
          onSelect?.(spanOf(dragFrom.current, day))
        }}
        onPointerMove={(event) => {
          if ((event.buttons & 1) === 0) dragFrom.current = null
          const day = dayOfEvent(event)
          if (dragFrom.current === null || day === null) return
          const span = spanOf(dragFrom.current, day)
          if (span.first !== selected?.first || span.last !== selected.last) onSelect?.(span)
        }}
        onClick={(event) => {
          const day = dayOfEvent(event)
          if (day === null) return
          setFocused(day)
          if (!isMouse.current) choose(day)
          isMouse.current = false
        }}
      >
        {months.map((month, index) => (
          <DayMonth key={month} month={month} weeks={weeks[index] ?? []}>
            {(cell) => (
              <Cell
                key={cell.day}
                {...{ cell, days, today }}
                change={changes.get(cell.day)}
                isTabStop={cell.day === tabStop}
                isSelected={selected !== null && cell.day >= selected.first && cell.day <= selected.last}
              />
            )}
          </DayMonth>
        ))}
      </div>
      <p class="day-readout" aria-live="off">
        {pointed === null ? (
          <span class="muted">{hintOf(selected, onSelect !== undefined)}</span>
        ) : (
          <>
            <strong>{dayText(pointed, 'long')}</strong> {dayWords(days, pointed, changes.get(pointed))}
          </>
        )}
      </p>
      <span id="restriction-keys" hidden>
        Arrow keys move between days. Enter chooses the first day, then the last; Shift and arrow keys select days;
        Escape cancels the selection.
      </span>
    </>
  )
}

function hintOf(selected: DaySpan | null, maySelect: boolean): string {
  if (!maySelect) return 'Point at a day for its rules.'
  if (selected?.anchor != null) return `From ${dayText(selected.anchor, 'short')}. Now choose the last day.`
  return 'Drag over days, or tap the first and the last, to set a rule for them.'
}

interface CellProps {
  cell: GridCell
  days: RestrictedDays
  change: 'lost' | 'gained' | undefined
  today: Day
  isTabStop: boolean
  isSelected: boolean
}

function Cell({ cell: { day, column }, days, change, today, isTabStop, isSelected }: CellProps) {
  const held = days.on(day)
  const rules = DATE_RULES.flatMap((rule) => {
    const value = held.get(rule)
    return value === undefined ? [] : [{ rule, value }]
  })
  const classes = [
    'day-cell',
    held.has('stopSell') ? 'restriction-stopped' : '',
    change === undefined ? '' : `restriction-${change}`,
    isSelected ? 'restriction-selected' : '',
    day < today ? 'day-over' : '',
    day === today ? 'day-today' : '',
  ]
  return (
    // biome-ignore lint/a11y/useSemanticElements: see the grid
    <div
      role="gridcell"
      tabIndex={isTabStop ? 0 : -1}
      class={classes.filter(Boolean).join(' ')}
      data-day={day}
      aria-selected={isSelected}
      style={{ gridColumn: column + 2 }}
    >
      <span class="visually-hidden">{`${dayText(day, 'long')}: ${dayWords(days, day, change)}`}</span>
      <span class="day-date" aria-hidden="true">
        {dayOfMonth(day)}
        {change !== undefined && <span class="restriction-change">{SIGNS[change]}</span>}
      </span>
      <span class="restriction-marks" aria-hidden="true">
        {rules.map(({ rule, value }) => (
          <RuleMark key={rule} rule={rule} value={value} />
        ))}
      </span>
    </div>
  )
}

function dayWords(days: RestrictedDays, day: Day, change: 'lost' | 'gained' | undefined): string {
  const held = days.on(day)
  const words = DATE_RULES.flatMap((rule) => {
    const value = held.get(rule)
    return value === undefined ? [] : [ruleText(rule, value)]
  })
  if (words.length === 0) words.push('No rules')
  if (change !== undefined) words.push(CHANGES[change])
  return words.join(' · ')
}

const SIGNS = { lost: '−', gained: '+' } as const
const CHANGES = { lost: 'arrival no longer bookable', gained: 'arrival newly bookable' } as const

/** What the marks mean. */
export function MarksLegend({ hasChanges }: { hasChanges: boolean }) {
  return (
    <ul class="day-legend" aria-label="Legend">
      {DATE_RULES.map((rule) => (
        <li key={rule}>
          <span class={rule === 'stopSell' ? 'day-swatch restriction-stopped' : 'day-swatch'} aria-hidden="true">
            <RuleMark rule={rule} value={RULES[rule].off === null ? 3 : true} />
          </span>
          {RULES[rule].label}
        </li>
      ))}
      {hasChanges &&
        (['lost', 'gained'] as const).map((change) => (
          <li key={change}>
            <span class={`day-swatch restriction-${change}`} aria-hidden="true">
              <span class="restriction-change">{SIGNS[change]}</span>
            </span>
            Once saved: {CHANGES[change]}
          </li>
        ))}
    </ul>
  )
}
