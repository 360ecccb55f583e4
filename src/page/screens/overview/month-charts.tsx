import { useSession } from '../../data/use-session.ts'
import { BarChart } from '../../design/bar-chart.tsx'
import { Card } from '../../design/card.tsx'
import { type Day, dayText, monthStart } from '../../format/days.ts'
import { money, percent, shortMoney } from '../../format/numbers.ts'
import { useIsPhone } from '../../lib/hooks.ts'
import type { Month } from './day-sheet.ts'

/** Occupancy and revenue by month; months that are not over are hatched, because more may be sold. */
export function MonthCharts({ months: all, today }: { months: readonly Month[]; today: Day }) {
  const { currency } = useSession()
  // As many as have room for their figures.
  const months = useIsPhone() ? all.slice(2, 10) : all
  const parts = months.map(({ soldNights, nights }) => (nights === 0 ? 0 : soldNights / nights))
  const thisMonth = monthStart(today)
  const common = ({ start }: Month) => ({
    label: dayText(start, 'shortMonth'),
    fullLabel: dayText(start, 'month'),
    isOpen: start >= thisMonth,
    isCurrent: start === thisMonth,
  })
  return (
    <div class="overview-charts">
      <Card title="Occupancy" aside="Share of nights sold to guests">
        <BarChart
          title="Occupancy by month"
          valueHead="Occupancy"
          max={parts.some((part) => part > 0.5) ? 1 : 0.5}
          bars={months.map((month, index) => {
            const part = parts[index] ?? 0
            return { ...common(month), value: part, text: percent(part) }
          })}
        />
      </Card>
      <Card title="Revenue" aside="Guest stays, spread over their nights">
        <BarChart
          title="Revenue by month"
          valueHead="Revenue"
          bars={months.map((month) => ({
            ...common(month),
            value: month.revenue,
            text: money(month.revenue, currency),
            shortText: shortMoney(month.revenue, currency),
          }))}
        />
      </Card>
    </div>
  )
}
