import { Type } from '@sinclair/typebox'
import type { UnitState } from '../../core/domain/unit-state.ts'
import { type Outcome, type Tagged, taggedUnlessHeld } from '../../http/answer.ts'
import { nightListJson } from '../../http/json/calendar-json.ts'
import { type NightRange, RANGE_DAYS_MAX, rangeOf } from '../../http/json/request-fields.ts'
import type { Operation } from '../../http/operation.ts'
import { notFound } from '../../http/problems.ts'
import { dateText, text } from '../../http/text-schema.ts'
import type { PartnerLedger } from './partner-route.ts'
import { partnerRoute, withInventory } from './partner-route.ts'

const GET_AVAILABILITY = {
  id: 'getAvailability',
  method: 'GET',
  path: '/partner/v1/availability',
  tag: 'Availability and prices',
  summary: "Get a unit's blocked nights",
  description:
    'The nights in `[from, to)` that are occupied (bookings, options, owner stays, maintenance) or reserved for cleaning. ' +
    `A date absent from \`blockedNights\` is sellable. \`to\` is at most ${RANGE_DAYS_MAX} days after \`from\`.`,
  scope: 'read:availability',
  isConditional: true,
  query: Type.Object({
    unit: text({ minLength: 1, description: 'Slug of the unit.', examples: ['sea-view'] }),
    from: dateText('Range start, inclusive.'),
    to: dateText(`Range end, exclusive; at most ${RANGE_DAYS_MAX} days after \`from\`.`),
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
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

export const AVAILABILITY = [
  partnerRoute(GET_AVAILABILITY, (call) => {
    const { ledger, agency, query } = call
    const range = rangeOf(query)
    if ('code' in range) return range
    return withInventory<Outcome>(ledger.catalogue, agency.id, (inventory) => {
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

interface AvailabilityQuery {
  readonly ledger: PartnerLedger
  readonly request: Request
  readonly query: { readonly unit: string; readonly from: string; readonly to: string }
}

/**
 * The tag is made from the sequence number of the last event of the unit, which nights and slug come from, and from what was asked.
 * The first part is kept until the next event, because to hash it costs what the list of nights costs. A night has five digits, so no two
 * tags are the same text by chance.
 */
function availability({ ledger, request, query }: AvailabilityQuery, state: UnitState, range: NightRange): Tagged {
  state.readerTag ??= ledger.tags.partOf(`availability ${state.unitId} ${state.seq}`)
  const tag = `"${state.readerTag}${range.from}${range.to}"`
  return taggedUnlessHeld(request, tag, () => blockedNights(state, query, range))
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
