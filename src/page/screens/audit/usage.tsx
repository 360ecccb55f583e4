import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { BarChart } from '../../design/bar-chart.tsx'
import { LinkButton } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { EmptyState, LoadStatus, Note } from '../../design/feedback.tsx'
import { dayOf, dayText, isoOf, monthStart } from '../../format/days.ts'
import { count, percent } from '../../format/numbers.ts'
import { realTime } from '../../lib/present.ts'
import { hashOf } from '../../route/route.ts'
import { dailyShare, everyDay, withoutDay } from './usage-days.ts'

type Month = Schema<'UsageMonth'>

/** Months in the chart. */
const SHOWN = 12
/** From this share of the quota on, the person should act. */
const NEARLY_ALL = 0.8
/** From this share of the quota on, the chart shows it. */
const QUOTA_SHOWN_FROM = 0.25
/** Before that, too little of the month has passed to say how it ends. */
const PACE_MIN = 100
const PACE_MS_MIN = 3 * 86_400_000

/** How many requests partners make, and how many the plan allows. */
export function Usage() {
  const { path } = useSession()
  const { data, error, refresh } = useResource('usage', (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/usage', { params: { path, query: { pageSize: SHOWN } }, signal }),
    ),
  )
  const [current] = data?.usage ?? []
  return (
    <>
      <LoadStatus of={{ data, error, refresh }} lines={6} isCard />
      {data !== undefined && current !== undefined && (
        <div class="usage">
          <ThisMonth month={current} now={realTime()} />
          {data.days.some(({ used }) => used > 0) && <UsageByDay month={current} days={data.days} />}
          <Card title="Requests by month" aside="All keys, in UTC">
            {data.usage.every(({ used }) => used === 0) ? (
              <EmptyState
                icon="keys"
                title="No requests yet"
                action={<LinkButton href={hashOf('keys')}>See the API keys</LinkButton>}
              >
                Give a partner an API key, and its requests are counted here.
              </EmptyState>
            ) : (
              <Chart months={data.usage} />
            )}
          </Card>
        </div>
      )}
    </>
  )
}

/** The quota is the top of the chart once the months come near it; before, it would flatten them. */
function Chart({ months }: { months: readonly Month[] }) {
  const quota = months[0]?.quota ?? null
  const most = Math.max(...months.map(({ used }) => used))
  const isNear = quota !== null && most >= quota * QUOTA_SHOWN_FROM
  return (
    <>
      <BarChart
        title="Requests by month"
        valueHead="Requests"
        bars={barsOf(months)}
        {...(isNear ? { max: Math.max(quota, most) } : {})}
      />
      {isNear && most <= quota && <p class="muted usage-legend">The upper line is the quota of {count(quota)}.</p>}
    </>
  )
}

function ThisMonth({ month: { month, used, quota, resetsAt }, now }: { month: Month; now: number }) {
  const { agency } = useSession()
  const share = quota === null || quota === 0 ? 0 : used / quota
  const expected = paceOf({ month, used, now })
  const { requestsPerMinute, apiAccess } = agency.plan
  return (
    <Card
      title={dayText(dayOf(`${month}-01`), 'month')}
      aside={resetsAt === null ? '' : `Resets on ${dayText(dayOf(resetsAt.slice(0, 10)))}`}
    >
      <div class="usage-month">
        <p class="usage-figure">
          <strong class="numeric">{count(used)}</strong>
          {quota !== null && (
            <span class="muted">
              {' '}
              of {count(quota)} requests, {shareText(share)}
            </span>
          )}
        </p>
        {quota !== null && (
          <progress
            class={share >= NEARLY_ALL ? 'usage-bar usage-bar-full' : 'usage-bar'}
            max={quota}
            value={Math.min(used, quota)}
            aria-label="Requests used of this month’s quota"
          />
        )}
        <p class="muted">
          {expected !== null && `At this pace, about ${count(expected)} by the end of the month. `}
          Each key may make {count(requestsPerMinute)} requests a minute.
        </p>
        {!apiAccess && (
          <Note tone="warn">
            <p>The plan does not include the API, so partners are refused. The operator can change the plan.</p>
          </Note>
        )}
        {quota !== null && used >= quota && (
          <Note tone="bad">
            <p>This month’s quota is used up, so partners are refused until it resets. The operator can raise it.</p>
          </Note>
        )}
        {quota !== null && used < quota && expected !== null && expected > quota && (
          <Note tone="warn">
            <p>At this pace, the quota will be used up before the month ends. The operator can raise it.</p>
          </Note>
        )}
      </div>
    </Card>
  )
}

function shareText(share: number): string {
  return share > 0 && share < 0.01 ? `less than ${percent(0.01)}` : percent(share)
}

/** What the month will come to if it continues like this, to two figures; null while it is too early to say. */
function paceOf({ month, used, now }: { month: string; used: number; now: number }): number | null {
  const start = dayOf(`${month}-01`)
  const startMs = start * 86_400_000
  const lengthMs = monthStart(start, 1) * 86_400_000 - startMs
  const passedMs = now - startMs
  if (passedMs < PACE_MS_MIN || passedMs >= lengthMs || used === 0) return null
  const whole = (used * lengthMs) / passedMs
  // A handful of requests has no pace.
  if (whole < PACE_MIN) return null
  const step = 10 ** Math.max(0, Math.floor(Math.log10(whole)) - 1)
  return Math.round(whole / step) * step
}

/** Oldest first, a bar for each month of the last `SHOWN`: one without requests is not in the answer. */
function barsOf(months: readonly Month[]) {
  const byMonth = new Map(months.map((month) => [month.month, month.used]))
  const newest = dayOf(`${months[0]?.month}-01`)
  return Array.from({ length: SHOWN }, (_, index) => {
    const start = monthStart(newest, index - SHOWN + 1)
    const value = byMonth.get(isoOf(start).slice(0, 7)) ?? 0
    const isCurrent = start === newest
    return {
      label: dayText(start, 'shortMonth'),
      value,
      text: count(value),
      isCurrent,
      isOpen: isCurrent,
    }
  })
}

/** A day of the week in which labels come, counted back from today. */
const LABEL_EVERY = 7
/** From this part of the daily share on, the chart shows it. Before, it would flatten the days. */
const SHARE_SHOWN_FROM = 0.25

/** On which days the requests were made, against what the quota allows a day. @param days newest first, with today */
function UsageByDay({ month, days: answered }: { month: Schema<'UsageMonth'>; days: readonly Schema<'UsageDay'>[] }) {
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
