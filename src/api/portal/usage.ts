import { Type } from '@sinclair/typebox'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../json/page.ts'
import { nullable } from '../schema/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute } from './portal-route.ts'

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

const LIST_USAGE = {
  id: 'listUsage',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/usage`,
  tag: 'Audit and usage',
  summary: 'List usage by month, newest first',
  description: 'The current month is counted up to now.',
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('usage', MonthJson) },
} as const satisfies PortalOperation

export const USAGE = [
  agencyRoute(LIST_USAGE, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const months = await ledger.usageOf(agency.id)
    const { month, used, quota, remaining, resetsAt } = ledger.usage.position(agency.id, agency.plan.requestsPerMonth)
    const past = months
      .filter((other) => other.month < month)
      .map((other) => ({ month: other.month, used: other.used, quota: null, remaining: null, resetsAt: null }))
    const all = [{ month, used, quota, remaining, resetsAt }, ...past]
    return JSON.stringify({
      usage: sliceOf(all, page),
      ...pageMembers(page, all.length),
    })
  }),
]
