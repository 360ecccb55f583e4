import { type Static, Type } from '@sinclair/typebox'
import { RETENTION, type Retention } from '../../accounts/retention.ts'
import { choice } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, portalRoute, settled } from './portal-route.ts'

const { bookingYears, guestMonths, logYears, deliveryDays } = RETENTION

const FIELDS = {
  bookingYears: Type.Integer({
    ...bookingYears,
    description: 'Years after departure until a booking is deleted, but never before its journal entries are archived.',
  }),
  guestMonths: Type.Integer({
    ...guestMonths,
    description: 'Guests are erased so many months after their last departure, unless `keep` is set for a guest.',
  }),
  logYears: Type.Integer({
    ...logYears,
    description: 'Journal and audit trail, in whole months: kept until no agency needs the month any longer.',
  }),
  deliveryDays: Type.Integer({
    ...deliveryDays,
    description: 'Webhook deliveries with their attempts, in whole months: kept at least as long, like the log.',
  }),
}

/** Answers to an `Idempotency-Key`: what partners rely on. */
const HOURS = Type.Literal(24, { description: 'Answers kept for an `Idempotency-Key`. Cannot be changed.' })

const RetentionJson = Type.Object({ ...FIELDS, idempotencyHours: HOURS }, { $id: 'Retention' })

const SettingsJson = Type.Object(
  {
    retention: RetentionJson,
    defaults: Type.Object(
      { ...FIELDS, idempotencyHours: HOURS },
      { description: "The operator's, which apply to what the agency has not set." },
    ),
  },
  { $id: 'RetentionSettings' },
)

const answer = { status: 200, description: 'How long the agency keeps what.', schema: SettingsJson } as const

const GET_RETENTION = {
  id: 'getRetention',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/retention`,
  tag: 'Agencies',
  summary: 'Get how long an agency keeps what',
  answer,
} as const satisfies PortalOperation

const SET_RETENTION = {
  id: 'setRetention',
  role: 'owner',
  method: 'PUT',
  path: `${AGENCY_PATH}/retention`,
  tag: 'Agencies',
  summary: 'Set how long an agency keeps what',
  description:
    "Members left out follow the operator's defaults. Takes effect with the next daily round: what is due by then is removed, and cannot be recovered. The answer of GET can be sent as it is; what it shows of the defaults is then set for this agency.",
  body: Type.Partial(Type.Object({ ...FIELDS, idempotencyHours: HOURS }), { additionalProperties: false }),
  bodyWithin: 'retention',
  bodyExample: { bookingYears: 10, guestMonths: 24, logYears: 10, deliveryDays: 30 },
  answer,
} as const satisfies PortalOperation

const RUN_RETENTION = {
  id: 'runRetention',
  role: 'operator',
  method: 'POST',
  path: '/portal/v1/retention/run',
  tag: 'Agencies',
  summary: 'Remove now what agencies no longer keep',
  description:
    'What the service does once a day. In a cluster, the node that answers does it for its own agencies. May be repeated.',
  isWrite: false,
  takesDryRun: true,
  query: Type.Object({
    dryRun: Type.Optional(
      choice(['true', 'false'], {
        default: 'false',
        description: 'With `true`, nothing is removed: the answer says what would be.',
      }),
    ),
  }),
  answer: {
    status: 200,
    description: 'What was removed.',
    schema: Type.Object({
      removed: Type.Object({
        guests: Type.Integer({ description: 'Guests that were erased.' }),
        bookings: Type.Integer({ description: 'Bookings that were deleted.' }),
        deliveriesBefore: Type.String({ format: 'date', description: 'Deliveries of earlier months are removed.' }),
        monthsToArchive: Type.Integer({ description: 'Months that no agency keeps any longer: archive them.' }),
      }),
    }),
  },
} as const satisfies PortalOperation

function json(own: Partial<Retention>, defaults: Retention): Static<typeof SettingsJson> {
  const hours = { idempotencyHours: 24 } as const
  return { retention: { ...defaults, ...own, ...hours }, defaults: { ...defaults, ...hours } }
}

export const RETENTION_ROUTES = [
  agencyRoute(GET_RETENTION, async ({ ledger, agency }) => {
    const { retention } = ledger
    return JSON.stringify(json(await retention.find(agency), retention.defaults))
  }),
  agencyRoute(SET_RETENTION, async ({ ledger, agency, caller, keep, body }) => {
    const { idempotencyHours: _, ...own } = body
    const { retention } = ledger
    const shown = (set: Partial<Retention>) => json(set, retention.defaults)
    return settled(await retention.set(agency, own, caller, keep.of(shown)), 'agency', shown)
  }),
  portalRoute(RUN_RETENTION, async ({ ledger, request, query }) => {
    const isDryRun = query.dryRun === 'true'
    const removed = await ledger.withoutIdleTimeout(request, () => ledger.retention.run(isDryRun))
    return JSON.stringify({ removed })
  }),
]
