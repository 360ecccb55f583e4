import { Type } from '@sinclair/typebox'
import { SCOPES } from '../../core/catalogue/agency.ts'
import { timestampOf, timestampOrNull } from '../../http/json/booking-json.ts'
import type { Operation } from '../../http/operation.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import { partnerRoute } from './partner-route.ts'

const nullableText = (description: string) => nullable(Type.String({ description }))
const nullableTimestamp = (description: string) => nullable(Type.String({ format: 'date-time', description }))

/** The surfaces that share a key's budget (docs/contract.md#ratelimit-and-quota). */
const SHARED_WITH = ['rest', 'mcp'] as const

const GET_ME = {
  id: 'getMe',
  method: 'GET',
  path: '/partner/v1/me',
  tag: 'Account',
  summary: 'Get the agency, key, rate limit and quota',
  scope: null,
  answer: {
    status: 200,
    description: 'The agency, the key, and the remaining rate limit and quota.',
    schema: Type.Object({
      tenant: Type.Object(
        {
          id: Type.String(),
          name: Type.String(),
          slug: Type.String(),
          currency: Type.String({
            description: 'All amounts are in the minor unit of this currency.',
            examples: ['EUR'],
          }),
          timezone: Type.String({ description: 'IANA time zone name.', examples: ['Europe/Lisbon'] }),
        },
        { $id: 'Tenant' },
      ),
      key: Type.Object(
        {
          id: Type.String(),
          name: nullableText('The name given by the agency.'),
          prefix: nullableText('Leading part of the key, to identify it.'),
          scopes: Type.Array(choice(SCOPES)),
          createdAt: nullableTimestamp('When the key was created.'),
          expiresAt: nullableTimestamp('After this time the key gets 401. Null: no expiry.'),
        },
        { $id: 'Key' },
      ),
      rateLimit: Type.Object(
        {
          requestsPerMinute: Type.Integer({ minimum: 1, description: 'Per key, over a rolling minute.' }),
          sharedWith: Type.Array(choice(SHARED_WITH)),
        },
        { $id: 'RateLimit' },
      ),
      quota: Type.Object(
        {
          month: Type.String({ description: '`YYYY-MM`, UTC.', examples: ['2027-03'] }),
          used: Type.Integer({ minimum: 0, description: "Requests this month, across all of the agency's keys." }),
          quota: Type.Integer({ minimum: 1 }),
          remaining: Type.Integer({ minimum: 0 }),
          resetsAt: Type.String({ format: 'date-time' }),
        },
        { $id: 'Quota' },
      ),
    }),
  },
} as const satisfies Operation

export const ME = [
  partnerRoute(GET_ME, ({ ledger, agency, key }) => {
    const { id, name, slug, currency, timezone, plan } = agency
    const { month, used, quota, remaining, resetsAt } = ledger.usage.position(id, plan.requestsPerMonth)
    return JSON.stringify({
      tenant: { id, name, slug, currency, timezone },
      key: {
        id: key.id,
        name: key.name,
        prefix: key.prefix,
        scopes: key.scopes,
        createdAt: timestampOf(key.createdAt),
        expiresAt: timestampOrNull(key.expiresAt),
      },
      rateLimit: { requestsPerMinute: plan.requestsPerMinute, sharedWith: SHARED_WITH },
      quota: { month, used, quota, remaining, resetsAt },
    })
  }),
]
