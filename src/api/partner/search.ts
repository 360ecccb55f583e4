import { Type } from '@sinclair/typebox'
import { STEPS_PER_PART } from '../../core/bookings/offer-search.ts'
import type { Outcome } from '../../http/answer.ts'
import { OffersJson, offersText } from '../../http/json/offers-json.ts'
import { PAGE_QUERY, pageOf } from '../../http/json/page.ts'
import { SEARCH_FIELDS, SEARCH_NIGHTS_MAX, searchOf, WINDOW_DAYS_MAX } from '../../http/json/search-query.ts'
import type { Operation } from '../../http/operation.ts'
import { choice } from '../../http/text-schema.ts'
import { partnerRoute, withInventory } from './partner-route.ts'

export const SEARCH_STAYS = {
  id: 'searchStays',
  method: 'GET',
  path: '/partner/v1/search',
  isLarge: true,
  tag: 'Availability and prices',
  summary: 'Search stays that can be booked',
  description:
    'All units at once. Ask for a stay of given dates with `arrival` and `departure`, or for any stay of `nights` nights (1 to ' +
    `${SEARCH_NIGHTS_MAX}) in a window of at most ${WINDOW_DAYS_MAX} days with \`from\`, \`to\` and \`nights\`. An offer is a stay that creating a ` +
    'booking would accept at that moment, and its `total` is that of a quote with the same `children` and `extraBed`.',
  scope: 'read:rates',
  query: Type.Object({
    ...SEARCH_FIELDS,
    extraBed: Type.Optional(
      choice(['true', 'false'], {
        default: 'false',
        description: 'Adds the extra bed to the total. Ignored without children.',
      }),
    ),
    ...PAGE_QUERY,
  }),
  answer: { status: 200, description: 'A page of offers.', schema: OffersJson },
  problems: ['VALIDATION'],
} as const satisfies Operation

export const SEARCH = [
  partnerRoute(SEARCH_STAYS, ({ ledger, agency, open, query }) => {
    const page = pageOf(query)
    const search = searchOf(query, query.extraBed === 'true', page)
    if ('code' in search) return search
    return withInventory<Outcome>(ledger.catalogue, open.admission.holder, async (inventory) => {
      const found = await ledger.commands.search(agency, inventory, search)
      await ledger.access.takeParts(agency.id, found.steps / STEPS_PER_PART)
      return offersText(agency, found, search.window.nights, page)
    })
  }),
]
