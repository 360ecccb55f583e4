import { type Day, dayOfMonth, isWeekend, monthStart, weekdayOf } from '../format/days.ts'
import type { DayWords } from './labels.ts'
import { Memo } from './memo.ts'
import { midnightX, type Scale } from './scale.ts'

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
