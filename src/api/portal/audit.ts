import { type Static, Type } from '@sinclair/typebox'
import type { AuditEntry } from '../../accounts/audit-list.ts'
import type { Agency, Inventory } from '../../core/catalogue/agency.ts'
import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import { PRICINGS } from '../../core/domain/booking.ts'
import { ACTOR_KINDS, type Actor } from '../../core/journal/record.ts'
import { timestampOf } from '../../http/json/booking-json.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema } from '../../http/json/page.ts'
import { choice, nullable, text } from '../../http/text-schema.ts'
import { AuditChangeJson, auditChangeJson, ErasedGuestJson } from './audit-change-json.ts'
import type { PortalLedger } from './portal-dependencies.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute } from './portal-route.ts'
import { agencyInstant, instantOrDate } from './portal-schema.ts'

const AuditEntryJson = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ format: 'date-time' }),
    actor: Type.Object({
      kind: choice(ACTOR_KINDS, {
        description:
          '`key`: a partner; `access_token`: a program of the agency; `person`: one of its people; `portal`: the operator; `system`: a timer.',
      }),
      id: nullable(Type.String({ description: 'Id of the API key, access token or person.' })),
      name: nullable(Type.String({ description: 'Name of the API key, access token or person.' })),
    }),
    route: Type.String({ description: 'Method and path template.' }),
    outcome: Type.String({
      description:
        '`OK`, `REPLAYED`, or the code of the refusal. `INTERNAL`: answered with 500, and nothing was changed. ' +
        '`OUTCOME_UNKNOWN`: answered with 500 while the outcome was unknown; if the change was made, there is an `OK` entry too.',
    }),
    bookingId: nullable(Type.String()),
    requestId: nullable(Type.String()),
    traceId: nullable(Type.String({ description: 'Trace ID of a request with a `traceparent` header.' })),
    pricing: nullable(
      choice(PRICINGS, {
        description:
          'Whether a move priced the stay again or kept its total. Null for everything else, and for moves made before this choice existed.',
      }),
    ),
    count: Type.Integer({
      minimum: 1,
      description:
        'Number of attempts this entry represents. Attempts answered with 401, 429 or 500 are counted per key or token, outcome and minute. Of bookings that were deleted because they are no longer kept, their number.',
    }),
    change: nullable(Type.Union([AuditChangeJson, ErasedGuestJson])),
  },
  { $id: 'AuditEntry' },
)

function auditEntryJson(
  { at, actor, event, ...entry }: AuditEntry,
  name: string | null,
  inventory: Inventory,
): Static<typeof AuditEntryJson> {
  return {
    ...entry,
    actor: { ...actor, name },
    at: timestampOf(at),
    change: event === null ? null : auditChangeJson(event, inventory),
  }
}

/** Keys, tokens and people keep their names after they have ended. */
function nameOf({ kind, id }: Actor, agency: Agency, catalogue: Catalogue): string | null {
  if (id === null) return null
  if (kind === 'key') return catalogue.keys.byId(agency.id, id)?.name ?? null
  if (kind !== 'access_token' && kind !== 'person') return null
  // The people of a sandbox are those of its live agency.
  return catalogue.member(kind, agency.sandboxOf ?? agency.id, id)?.member.name ?? null
}

/** The names of people whom memory has forgotten, because they were removed long ago. */
async function formerNames(
  { catalogue, personNamesOf }: PortalLedger,
  { id, sandboxOf }: Agency,
  entries: readonly AuditEntry[],
): Promise<ReadonlyMap<string, string>> {
  const agencyId = sandboxOf ?? id
  const people = entries.flatMap(({ actor }) => (actor.kind === 'person' && actor.id !== null ? [actor.id] : []))
  const unknown = [...new Set(people)].filter((personId) => catalogue.personById(agencyId, personId) === null)
  return unknown.length === 0 ? new Map() : personNamesOf(agencyId, unknown)
}

const LIST_AUDIT = {
  id: 'listAudit',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/audit`,
  tag: 'Audit and usage',
  summary: 'List audit entries, newest first',
  query: Type.Object({
    ...PAGE_QUERY,
    from: Type.Optional(instantOrDate('At or after this time.')),
    to: Type.Optional(instantOrDate('Before this time.')),
    actor: Type.Optional(choice(ACTOR_KINDS)),
    key: Type.Optional(text({ description: 'Id of the API key.' })),
    token: Type.Optional(text({ description: 'Id of the access token.' })),
    person: Type.Optional(text({ description: 'Id of the person.' })),
    outcome: Type.Optional(text({ description: '`OK`, or the code of a refusal.' })),
    booking: Type.Optional(text({ description: 'Id of the booking.' })),
    request: Type.Optional(text({ description: 'Request id.' })),
    trace: Type.Optional(text({ description: 'Trace id.' })),
  }),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('audit', AuditEntryJson) },
} as const satisfies PortalOperation

export const AUDIT = [
  agencyRoute(LIST_AUDIT, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const { rows, total } = await ledger.auditList.list(
      agency.id,
      {
        from: query.from === undefined ? null : agencyInstant(agency, query.from),
        to: query.to === undefined ? null : agencyInstant(agency, query.to),
        actorKind: query.actor ?? null,
        keyId: query.key ?? null,
        tokenId: query.token ?? null,
        personId: query.person ?? null,
        outcome: query.outcome ?? null,
        bookingId: query.booking ?? null,
        requestId: query.request ?? null,
        traceId: query.trace ?? null,
      },
      page,
    )
    const inventory = await ledger.catalogue.inventory(agency.id)
    const former = await formerNames(ledger, agency, rows)
    const named = (actor: Actor) => nameOf(actor, agency, ledger.catalogue) ?? former.get(actor.id ?? '') ?? null
    return JSON.stringify({
      audit: rows.map((row) => auditEntryJson(row, named(row.actor), inventory)),
      ...pageMembers(page, total),
    })
  }),
]
