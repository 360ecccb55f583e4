import { Type } from '@sinclair/typebox'
import { ENTRIES_PER_PART } from '../../core/bookings/units-as-of.ts'
import { timeOf } from '../../core/catalogue/agency-time.ts'
import type { UnitState } from '../../core/domain/unit-state.ts'
import { type Outcome, type Tagged, taggedUnlessHeld } from '../../http/answer.ts'
import { asOfField, asOfInstant, problemOfAsOf } from '../../http/json/as-of.ts'
import { nightListJson } from '../../http/json/calendar-json.ts'
import { type NightRange, RANGE_DAYS_MAX, rangeOf } from '../../http/json/request-fields.ts'
import { chargeMore } from '../../http/key-admission.ts'
import type { Operation } from '../../http/operation.ts'
import { notFound } from '../../http/problems.ts'
import { dateText, text } from '../../http/text-schema.ts'
import type { PartnerCall } from './partner-route.ts'
import { partnerRoute, withInventory } from './partner-route.ts'

/** What an answer about the past costs (docs/partner-additions.md#10-what-was-known-when). */
const AS_OF_REQUESTS = 10

const GET_AVAILABILITY = {
  id: 'getAvailability',
  method: 'GET',
  path: '/partner/v1/availability',
  tag: 'Availability and prices',
  summary: "Get a unit's blocked nights",
  description:
    'The nights in `[from, to)` that are occupied (bookings, options, owner stays, maintenance), reserved for cleaning or not for sale. ' +
    `A date absent from \`blockedNights\` is sellable. \`to\` is at most ${RANGE_DAYS_MAX} days after \`from\`. With \`asOf\`, the answer is that ` +
    'of an earlier moment. It then also needs the scope `read:bookings`, and costs ten requests, of the minute and of the month; a refusal ' +
    'costs one. If the unit did not exist at that moment, the answer is 404; if its history is no longer kept, 410.',
  scope: 'read:availability',
  scopesWith: { parameter: 'asOf', scopes: 'read:bookings' },
  isConditional: true,
  query: Type.Object({
    unit: text({ minLength: 1, description: 'Slug of the unit.', examples: ['sea-view'] }),
    from: dateText('Range start, inclusive.'),
    to: dateText(`Range end, exclusive; at most ${RANGE_DAYS_MAX} days after \`from\`.`),
    asOf: asOfField('Answers as of this moment, with the bookings and rules of that time.'),
  }),
  answer: {
    status: 200,
    description: 'The blocked nights.',
    schema: Type.Object({
      unit: Type.String(),
      from: dateText('As requested.'),
      to: dateText('As requested.'),
      blockedNights: Type.Array(dateText('An unavailable night.'), {
        maxItems: RANGE_DAYS_MAX,
        description: 'In ascending order.',
      }),
    }),
  },
  problems: ['VALIDATION', 'NOT_FOUND', 'HISTORY_EXPIRED'],
} as const satisfies Operation

type Call = PartnerCall<typeof GET_AVAILABILITY>

export const AVAILABILITY = [
  partnerRoute(GET_AVAILABILITY, (call) => {
    const { ledger, agency, query, open } = call
    const range = rangeOf(query)
    if ('code' in range) return range
    if (query.asOf !== undefined) return availabilityAsOf(call, query.asOf, range)
    return withInventory<Outcome>(ledger.catalogue, open.admission.holder, (inventory) => {
      const unit = inventory.sellableUnit(query.unit)
      if (unit === null) return notFound('unit')
      const state = ledger.commands.calendar(agency, unit)
      if (state instanceof Promise) return state.then((loaded) => availability(call, loaded, range))
      return availability(call, state, range)
    })
  }),
]

/** Text that JSON writes as it is: every slug of ours. */
const PLAIN = /^[a-z0-9-]+$/

/**
 * The tag is made from the sequence number of the last event of the unit, which nights and slug come from, and from what was asked.
 * The first part is kept until the next event, because to hash it costs what the list of nights costs. A night has five digits, so no two
 * tags are the same text by chance.
 */
function availability({ ledger, request, query }: Call, state: UnitState, range: NightRange): Tagged {
  state.readerTag ??= ledger.tags.partOf(`availability ${state.unitId} ${state.seq}`)
  const tag = `"${state.readerTag}${range.from}${range.to}"`
  return taggedUnlessHeld(request, tag, () => blockedNights(state, query, range))
}

/** The unit is found by its current slug, and must be listed now. The tag is never that of a current answer, which may have another slug. */
async function availabilityAsOf(call: Call, asOf: string, range: NightRange): Promise<Outcome> {
  const { ledger, agency, query, open, request } = call
  const at = asOfInstant(asOf, timeOf(agency, ledger.clock))
  if (typeof at !== 'number') return at
  const unit = (await ledger.catalogue.inventory(agency.id)).sellableUnit(query.unit)
  if (unit === null) return notFound('unit')
  const pay = () => chargeMore(ledger.access, open, AS_OF_REQUESTS - 1)
  const found = await ledger.unitsAsOf.read({ agencyId: agency.id, unitId: unit.id }, at, pay)
  if (found.kind !== 'found') return problemOfAsOf(found)
  await ledger.access.takeParts(agency.id, found.entries / ENTRIES_PER_PART)
  const tag = ledger.tags.of(`availability ${unit.id} ${unit.slug} as of ${found.state.seq} ${range.from} ${range.to}`)
  return taggedUnlessHeld(request, tag, () => blockedNights(found.state, query, range))
}

/** The answer's text, written directly: this is the most requested route. Values that have passed the schema are echoed. */
function blockedNights(
  state: UnitState,
  params: { unit: string; from: string; to: string },
  { from, to }: NightRange,
): string {
  const nights = nightListJson(state.occupied, state.closed, from, to)
  const unit = PLAIN.test(params.unit) ? params.unit : JSON.stringify(params.unit).slice(1, -1)
  return `{"unit":"${unit}","from":"${params.from}","to":"${params.to}","blockedNights":${nights}}`
}
