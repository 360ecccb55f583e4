import { type Day, monthStart, weekdayOf } from '../format/days.ts'
import { Memo } from './memo.ts'
import { midnightX, type Scale } from './scale.ts'

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
