import type { Schema } from '../../api/schema.ts'
import { BarChart } from '../../design/bar-chart.tsx'
import { Card } from '../../design/card.tsx'
import { dayText } from '../../format/days.ts'
import { count } from '../../format/numbers.ts'
import { dailyShare, everyDay, withoutDay } from './usage-days.ts'

/** A day of the week in which labels come, counted back from today. */
const LABEL_EVERY = 7
/** From this part of the daily share on, the chart shows it. Before, it would flatten the days. */
const SHARE_SHOWN_FROM = 0.25

/** On which days the requests were made, against what the quota allows a day. @param days newest first, with today */
export function UsageByDay({
  month,
  days: answered,
}: {
  month: Schema<'UsageMonth'>
  days: readonly Schema<'UsageDay'>[]
}) {
  const days = everyDay(answered)
  const most = Math.max(...days.map(({ used }) => used))
  const share = month.quota === null || month.quota === 0 ? null : dailyShare(month.quota, month.month)
  const isShown = share !== null && most >= share * SHARE_SHOWN_FROM
  const unknown = withoutDay(month, answered)
  return (
    <Card title="Requests by day" aside="All keys, in UTC">
      <BarChart
        title="Requests by day"
        labelHead="Day"
        valueHead="Requests"
        {...(isShown ? { max: Math.max(share, most), line: share } : {})}
        bars={days.map(({ day, used }, index) => {
          const fromToday = days.length - 1 - index
          return {
            label: fromToday % LABEL_EVERY === 0 ? dayText(day, 'dayMonth') : '',
            fullLabel: dayText(day, 'short'),
            value: used,
            text: count(used),
            isCurrent: fromToday === 0,
            isOpen: fromToday === 0,
          }
        })}
      />
      <p class="muted usage-legend">
        {share !== null && month.quota !== null && (
          <>
            {isShown ? 'Dashed line: ' : ''}
            {count(share)} requests every day would use up the month’s quota of {count(month.quota)}.{' '}
          </>
        )}
        {unknown > 0 && `${count(unknown)} requests of this month were made before they were counted by day. `}
      </p>
    </Card>
  )
}
