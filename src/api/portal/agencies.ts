import { type Static, Type } from '@sinclair/typebox'
import type { AgencyChange } from '../../accounts/agency-commands.ts'
import { type Agency, isSandbox } from '../../core/catalogue/agency.ts'
import { HOLD_HOURS_MAX } from '../../core/domain/booking.ts'
import { currencyDigits } from '../../core/domain/money.ts'
import { timestampOf } from '../../http/json/booking-json.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../../http/json/page.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, portalRoute, settled } from './portal-route.ts'
import { currency, label, slug, timezone } from './portal-schema.ts'

const PLAN = {
  apiAccess: Type.Boolean({ default: true, description: 'If false, partners get 403 FEATURE_DISABLED.' }),
  requestsPerMinute: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 60, description: 'Per API key.' }),
  requestsPerMonth: Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000_000,
    default: 50_000,
    description: 'All keys together, per calendar month (UTC).',
  }),
}
const holdHours = () =>
  Type.Integer({
    minimum: 1,
    maximum: HOLD_HOURS_MAX,
    default: 48,
    description: 'Lifetime of holds created without one.',
  })
const planChange = () => Type.Partial(Type.Object(PLAN))

export const AgencyJson = Type.Object(
  {
    id: Type.String(),
    slug: Type.String(),
    name: Type.String(),
    currency: Type.String(),
    currencyDigits: Type.Integer({ description: 'How many digits the minor unit of the currency has.' }),
    timezone: Type.String(),
    status: choice(['active', 'suspended']),
    plan: Type.Object(PLAN),
    defaultHoldHours: Type.Integer(),
    createdAt: Type.String({ format: 'date-time' }),
    sandboxOf: nullable(Type.String({ description: 'Of a sandbox: id of the live agency.' })),
  },
  { $id: 'Agency' },
)

export function agencyJson(agency: Agency): Static<typeof AgencyJson> {
  const { id, slug, name, currency, timezone, status, plan, defaultHoldHours, createdAt } = agency
  return {
    id,
    slug,
    name,
    currency,
    currencyDigits: currencyDigits(currency),
    timezone,
    // A deleted one is not in the catalogue.
    status: status === 'active' ? status : 'suspended',
    plan: { ...plan },
    defaultHoldHours,
    createdAt: timestampOf(createdAt),
    sandboxOf: agency.sandboxOf ?? null,
  }
}

const agencyAnswer = { description: 'The agency.', schema: Type.Object({ agency: AgencyJson }) }

const CREATE_AGENCY = {
  id: 'createAgency',
  role: 'operator',
  method: 'POST',
  path: '/portal/v1/agencies',
  tag: 'Agencies',
  summary: 'Create an agency',
  body: Type.Object({
    slug: slug('Stable identifier of the agency in URLs; unique in the service.'),
    name: label(120, 'Shown to partners.'),
    currency: currency(),
    timezone: timezone(),
    plan: Type.Optional(planChange()),
    defaultHoldHours: Type.Optional(holdHours()),
  }),
  bodyExample: { slug: 'harbour', name: 'Harbour Stays', currency: 'EUR', timezone: 'Europe/Lisbon' },
  answer: { status: 201, ...agencyAnswer },
  problems: ['SLUG_TAKEN'],
} as const satisfies PortalOperation

const LIST_AGENCIES = {
  id: 'listAgencies',
  role: 'operator',
  method: 'GET',
  path: '/portal/v1/agencies',
  tag: 'Agencies',
  summary: 'List agencies, by slug',
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('agencies', AgencyJson) },
} as const satisfies PortalOperation

const GET_AGENCY = {
  id: 'getAgency',
  role: 'viewer',
  method: 'GET',
  path: AGENCY_PATH,
  tag: 'Agencies',
  summary: 'Get an agency',
  answer: { status: 200, ...agencyAnswer },
} as const satisfies PortalOperation

const CHANGE_AGENCY = {
  id: 'changeAgency',
  role: 'operator',
  method: 'PATCH',
  path: AGENCY_PATH,
  tag: 'Agencies',
  summary: 'Change an agency',
  description: 'Takes effect with the next request. Slug, currency and time zone cannot be changed.',
  body: Type.Object({
    name: Type.Optional(label(120, 'Shown to partners.')),
    status: Type.Optional(choice(['active', 'suspended'], { description: 'Keys of a suspended agency get 401.' })),
    plan: Type.Optional(planChange()),
    defaultHoldHours: Type.Optional(holdHours()),
  }),
  bodyExample: { status: 'suspended' },
  answer: { status: 200, ...agencyAnswer },
} as const satisfies PortalOperation

const shown = (agency: Agency) => ({ agency: agencyJson(agency) })

export const AGENCIES = [
  portalRoute(
    CREATE_AGENCY,
    async ({ ledger, request, caller, keep, body }) => {
      const { slug, name, currency, timezone, defaultHoldHours = 48 } = body
      const { apiAccess = true, requestsPerMinute = 60, requestsPerMonth = 50_000 } = body.plan ?? {}
      const plan = { apiAccess, requestsPerMinute, requestsPerMonth }
      const draft = { slug, name, currency, timezone, plan, defaultHoldHours }
      const id = ledger.newAgencyId(request)
      return settled(await ledger.agencies.create(draft, caller, keep.of(shown), id), 'agency', shown)
    },
    { agency: ({ ledger, body }) => ledger.catalogue.agencyBySlug(body.slug) },
  ),
  portalRoute(LIST_AGENCIES, async ({ ledger, query }) => {
    const page = pageOf(query)
    // A sandbox is shown with its agency, and counts as none.
    const all = (await ledger.allAgencies()).filter((agency) => !isSandbox(agency))
    const agencies = sliceOf(all, page).map(agencyJson)
    return JSON.stringify({ agencies, ...pageMembers(page, all.length) })
  }),
  agencyRoute(GET_AGENCY, ({ agency }) => JSON.stringify(shown(agency))),
  agencyRoute(
    CHANGE_AGENCY,
    async ({ ledger, caller, keep, agency, body }) =>
      settled(await ledger.agencies.change(agency.id, changeOf(body), caller, keep.of(shown)), 'agency', shown),
    { isRevocation: ({ body }) => body.status === 'suspended' },
  ),
]

/** What the body names of these members, and nothing else. */
function changeOf(body: Static<(typeof CHANGE_AGENCY)['body']>): AgencyChange {
  const { name, status, plan, defaultHoldHours } = body
  const { apiAccess, requestsPerMinute, requestsPerMonth } = plan ?? {}
  return {
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
    ...(defaultHoldHours === undefined ? {} : { defaultHoldHours }),
    plan: {
      ...(apiAccess === undefined ? {} : { apiAccess }),
      ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
      ...(requestsPerMonth === undefined ? {} : { requestsPerMonth }),
    },
  }
}
