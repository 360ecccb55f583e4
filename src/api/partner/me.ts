import { Type } from '@sinclair/typebox'
import { SCOPES } from '../../core/catalogue/agency.ts'
import { timestampOf, timestampOrNull } from '../json/booking-json.ts'
import type { Operation } from '../operation.ts'
import { choice, nullable } from '../schema/text-schema.ts'
import { partnerRoute } from './partner-route.ts'

const nullableText = (description: string) => nullable(Type.String({ description }))
const nullableTimestamp = (description: string) => nullable(Type.String({ format: 'date-time', description }))

/** The surfaces that share a key's budget (contract, RateLimit). */
const SHARED_WITH = ['rest', 'mcp'] as const

const GET_ME = {
  id: 'getMe',
  method: 'GET',
  path: '/partner/v1/me',
  tag: 'Account',
  summary: 'Tenant, key, rate limit and quota',
  scope: null,
  answer: {
    status: 200,
    description: 'Who the key belongs to, and what is left of its budgets.',
    schema: Type.Object({
      tenant: Type.Object(
        {
          id: Type.String(),
          name: Type.String(),
          slug: Type.String(),
          currency: Type.String({ description: 'All amounts are in its minor unit.', examples: ['EUR'] }),
          timezone: Type.String({ description: 'IANA name.', examples: ['Europe/Lisbon'] }),
        },
        { $id: 'Tenant' },
      ),
      key: Type.Object(
        {
          id: Type.String(),
          name: nullableText('As the agency named it.'),
          prefix: nullableText('Leading part of the key, for recognition.'),
          scopes: Type.Array(choice(SCOPES)),
          createdAt: nullableTimestamp('When the key was made.'),
          expiresAt: nullableTimestamp('After that moment the key gets 401; null means no expiry.'),
        },
        { $id: 'Key' },
      ),
      rateLimit: Type.Object(
        {
          requestsPerMinute: Type.Integer({ minimum: 1, description: 'Per key, rolling minute.' }),
          sharedWith: Type.Array(choice(SHARED_WITH)),
        },
        { $id: 'RateLimit' },
      ),
      quota: Type.Object(
        {
          month: Type.String({ description: '`YYYY-MM`, UTC.', examples: ['2027-03'] }),
          used: Type.Integer({ minimum: 0, description: 'Requests this month, all keys of the agency together.' }),
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
