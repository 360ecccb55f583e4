import { Type } from '@sinclair/typebox'
import { calendarDayAt } from '../../accounts/calendar-periods.ts'
import type { DayUsed, MonthUsed } from '../../accounts/usage-meter.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../../http/json/page.ts'
import { nullable } from '../../http/text-schema.ts'
import { DAY_MS } from '../../lib/clock.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute } from './portal-route.ts'

/** A month, and some days of the one before, so that there is something to compare with on the 1st. */
export const DAYS_SHOWN = 35

/**
 * The stored days, and today up to now: what is not yet written is of today. At most once a day, for half a second after midnight, that
 * counts the last requests of yesterday as today's.
 * @param days newest first
 * @param months stored, read with `days`
 * @param used of the current month, up to now
 */
export function daysToNow(
  days: readonly DayUsed[],
  { today, months, used }: { today: string; months: readonly MonthUsed[]; used: number },
): readonly { day: string; used: number }[] {
  const month = today.slice(0, 7)
  const totals = days.filter(({ day }) => day.startsWith(month)).map(({ total }) => total)
  // The days' own totals, because a flush may lie between the two reads. Without any, the month is older than its days.
  const stored = totals.length > 0 ? Math.max(...totals) : (months.find((other) => other.month === month)?.used ?? 0)
  const ofToday = days.find(({ day }) => day === today)?.used ?? 0
  return [
    { day: today, used: ofToday + Math.max(0, used - stored) },
    ...days.filter(({ day }) => day < today).map((past) => ({ day: past.day, used: past.used })),
  ]
}

const onlyCurrent = (description: string) =>
  nullable(Type.Integer({ description: `${description} Null for past months.` }))

const MonthJson = Type.Object(
  {
    month: Type.String({ description: '`YYYY-MM`, UTC.' }),
    used: Type.Integer({ minimum: 0, description: 'Requests made with all keys.' }),
    quota: onlyCurrent('Requests allowed by the plan.'),
    remaining: onlyCurrent('Requests left.'),
    resetsAt: nullable(Type.String({ format: 'date-time' })),
  },
  { $id: 'UsageMonth' },
)

const DayJson = Type.Object(
  {
    day: Type.String({ format: 'date', description: 'In UTC.' }),
    used: Type.Integer({ minimum: 0, description: 'Requests made with all keys.' }),
  },
  { $id: 'UsageDay' },
)

const UsageJson = Type.Object({
  ...pageSchema('usage', MonthJson).properties,
  days: Type.Array(DayJson, {
    maxItems: DAYS_SHOWN,
    description: `The last ${DAYS_SHOWN} days, today included, newest first, the same on every page. Other days without requests are left out, as are days before requests were counted by day.`,
  }),
})

const LIST_USAGE = {
  id: 'listUsage',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/usage`,
  tag: 'Audit and usage',
  summary: 'List usage by month and by day, newest first',
  description: 'The current month and the current day are counted up to now.',
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: UsageJson },
} as const satisfies PortalOperation

export const USAGE = [
  agencyRoute(LIST_USAGE, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const now = ledger.clock.now()
    const from = calendarDayAt(now - (DAYS_SHOWN - 1) * DAY_MS).name
    const [months, days] = await Promise.all([ledger.usageOf(agency.id), ledger.usageDaysOf(agency.id, from)])
    const { month, used, quota, remaining, resetsAt } = ledger.usage.position(agency.id, agency.plan.requestsPerMonth)
    const past = months
      .filter((other) => other.month < month)
      .map((other) => ({ month: other.month, used: other.used, quota: null, remaining: null, resetsAt: null }))
    const all = [{ month, used, quota, remaining, resetsAt }, ...past]
    return JSON.stringify({
      usage: sliceOf(all, page),
      ...pageMembers(page, all.length),
      days: daysToNow(days, { today: calendarDayAt(now).name, months, used }),
    })
  }),
]
