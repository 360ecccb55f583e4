/** What is around the rows: the days above, the units beside, the backdrop behind, and the ghost of a stay that is dragged. */
import { type Day, dayOfMonth, isWeekend, monthStart, weekdayOf } from '../format/days.ts'
import { Memo } from './chart-row.tsx'
import type { Ghost } from './gesture.ts'
import { bedroomsText, type DayWords } from './labels.ts'
import { midnightX, noonX, type Scale } from './scale.ts'
import type { ChartUnit } from './stay.ts'

interface ChartHeadProps {
  readonly scale: Scale
  readonly unitWidth: number
  readonly from: Day
  readonly to: Day
  readonly today: Day
  readonly words: DayWords
  readonly corner: string
}

/** Below this, only Mondays have their number. */
const EVERY_DAY_WIDTH_MIN_PX = 22
const WEEKDAY_WIDTH_MIN_PX = 30

/** Months above days. Both stay at the top while rows scroll. */
export class ChartHead extends Memo<ChartHeadProps> {
  override render({ scale, unitWidth, from, to, today, words, corner }: ChartHeadProps) {
    const days = Array.from({ length: to - from }, (_, i) => from + i)
    const months: Day[] = []
    for (let month = monthStart(from); month < to; month = monthStart(month, 1)) months.push(month)
    const { dayWidth } = scale
    const isEveryDay = dayWidth >= EVERY_DAY_WIDTH_MIN_PX
    const x = (day: Day) => unitWidth + midnightX(scale, day)
    return (
      <div class={isEveryDay ? 'chart-head' : 'chart-head is-dense'} role="rowgroup">
        <div class="chart-head-row" role="row" aria-rowindex={1}>
          <div class="chart-corner" role="columnheader" aria-colindex={1}>
            {corner}
          </div>
          {months.map((month) => (
            <div
              key={`m${month}`}
              class="chart-month"
              aria-hidden="true"
              style={{ left: `${x(month)}px`, width: `${(monthStart(month, 1) - month) * dayWidth}px` }}
            >
              <span>{words.month(month)}</span>
            </div>
          ))}
          {days.map((day) => {
            const isShown = isEveryDay || day === today || (weekdayOf(day) === 1 && Math.abs(day - today) > 1)
            return (
              <div
                key={day}
                class={`chart-day${isWeekend(day) ? ' is-weekend' : ''}${day === today ? ' is-today' : ''}`}
                role="columnheader"
                aria-colindex={2 + day - scale.firstDay}
                aria-label={words.long(day)}
                aria-current={day === today ? 'date' : undefined}
                style={{ left: `${x(day)}px`, width: `${dayWidth}px` }}
              >
                {dayWidth >= WEEKDAY_WIDTH_MIN_PX && <span class="chart-weekday">{words.weekday(day)}</span>}
                {isShown && <span class="chart-date">{dayOfMonth(day)}</span>}
              </div>
            )
          })}
        </div>
      </div>
    )
  }
}

interface ChartUnitsProps {
  readonly units: readonly ChartUnit[]
  readonly rowFrom: number
  readonly rowTo: number
  readonly rowHeight: number
}

/**
 * The column of units, for the eye: the rows say the same to assistive technology. One sticky element: a sticky cell in each row
 * would be a layer each.
 */
export class ChartUnits extends Memo<ChartUnitsProps> {
  override render({ units, rowFrom, rowTo, rowHeight }: ChartUnitsProps) {
    return (
      <div class="chart-units" aria-hidden="true">
        {units.slice(rowFrom, rowTo).map(({ slug, name, bedrooms, area, isArchived }, i) => (
          <div
            key={slug}
            class={isArchived ? 'chart-unit is-archived' : 'chart-unit'}
            title={name}
            style={{ top: `${(rowFrom + i) * rowHeight}px` }}
          >
            <span class="chart-unit-name">{name}</span>
            <span class="chart-unit-more">
              {bedroomsText(bedrooms)}
              {area !== null && ` · ${area}`}
            </span>
          </div>
        ))}
      </div>
    )
  }
}

interface ChartBackdropProps {
  readonly scale: Scale
  readonly unitWidth: number
  readonly from: Day
  readonly to: Day
  readonly firstDay: Day
  readonly endDay: Day
  readonly today: Day
  /** Days of which the stays are known. */
  readonly loadedFrom: Day
  readonly loadedTo: Day
}

/** What lies behind the bars of all rows: weekends, lines between days and months, today, and days not yet loaded. */
export class ChartBackdrop extends Memo<ChartBackdropProps> {
  override render({ scale, unitWidth, from, to, firstDay, endDay, today, loadedFrom, loadedTo }: ChartBackdropProps) {
    const x = (day: Day) => `${unitWidth + midnightX(scale, day)}px`
    const width = (days: number) => `${days * scale.dayWidth}px`
    const saturdays: Day[] = []
    for (let day = from - (weekdayOf(from) % 7) - 1; day < to; day += 7) saturdays.push(day)
    const months: Day[] = []
    for (let month = monthStart(from, 1); month < to; month = monthStart(month, 1)) months.push(month)
    return (
      <div class="chart-backdrop" aria-hidden="true">
        {saturdays.map((day) => (
          <div key={day} class="chart-weekend" style={{ left: x(day), width: width(2) }} />
        ))}
        <div
          class="chart-lines"
          style={{ left: x(from), width: width(to - from), backgroundSize: `${scale.dayWidth}px` }}
        />
        {months.map((month) => (
          <div key={month} class="chart-month-line" style={{ left: x(month) }} />
        ))}
        <div class="chart-today" style={{ left: x(today), width: width(1) }} />
        {loadedFrom > firstDay && (
          <div class="chart-unknown" style={{ left: x(firstDay), width: width(Math.max(0, loadedFrom - firstDay)) }} />
        )}
        {loadedTo < endDay && (
          <div class="chart-unknown" style={{ left: x(loadedTo), width: width(endDay - loadedTo) }} />
        )}
      </div>
    )
  }
}

interface ChartGhostProps {
  readonly ghost: Ghost
  readonly scale: Scale
  readonly unitWidth: number
  readonly text: string
  readonly isRefused: boolean
}

/** Where a stay would be, with its dates. */
export function ChartGhost({ ghost, scale, unitWidth, text, isRefused }: ChartGhostProps) {
  const left = unitWidth + noonX(scale, ghost.arrival)
  const width = (ghost.departure - ghost.arrival) * scale.dayWidth
  return (
    <div
      class={isRefused ? 'chart-ghost is-refused' : 'chart-ghost'}
      aria-hidden="true"
      style={{ transform: `translate(${left}px, ${ghost.row * scale.rowHeight}px)`, width: `${width}px` }}
    >
      <span class="chart-ghost-text">{text}</span>
    </div>
  )
}
