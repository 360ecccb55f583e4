import { Type } from '@sinclair/typebox'
import type { UnitState } from '../../core/domain/unit-state.ts'
import { nightListJson } from '../json/night-list-json.ts'
import { type NightRange, RANGE_DAYS_MAX, rangeOf } from '../json/night-range.ts'
import type { Operation } from '../operation.ts'
import { notFound } from '../problems/problems.ts'
import type { Outcome } from '../route/outcome.ts'
import { dateText, text } from '../schema/text-schema.ts'
import { partnerRoute } from './partner-route.ts'
import { withInventory } from './with-inventory.ts'

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
  partnerRoute(GET_AVAILABILITY, ({ ledger, agency, query }) => {
    const range = rangeOf(query)
    if ('code' in range) return range
    return withInventory<Outcome>(ledger.catalogue, agency.id, (inventory) => {
      const unit = inventory.sellableUnit(query.unit)
      if (unit === null) return notFound('unit')
      const state = ledger.commands.calendar(agency, unit)
      if (state instanceof Promise) return state.then((loaded) => blockedNights(loaded, query, range))
      return blockedNights(state, query, range)
    })
  }),
]

/** The answer's text, written directly: this is the most requested route. Values that have passed the schema are echoed. */
function blockedNights(
  state: UnitState,
  asked: { unit: string; from: string; to: string },
  { from, to }: NightRange,
): string {
  const nights = nightListJson(state.occupied, state.cleaning, from, to)
  const unit = JSON.stringify(asked.unit)
  return `{"unit":${unit},"from":"${asked.from}","to":"${asked.to}","blockedNights":${nights}}`
}
