import { Type } from '@sinclair/typebox'
import {
  GUEST_STAYS_MAX,
  GuestJson,
  GuestWithStaysJson,
  guestJson,
  guestWithStaysJson,
  SEARCH_LENGTH_MIN,
  searchOf,
} from '../../http/json/guest-json.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema } from '../../http/json/page.ts'
import type { Operation } from '../../http/operation.ts'
import { notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { text } from '../../http/text-schema.ts'
import { partnerRoute } from './partner-route.ts'

const LIST_GUESTS = {
  id: 'listGuests',
  method: 'GET',
  path: '/partner/v1/guests',
  isLarge: true,
  tag: 'Guests',
  summary: 'List guests',
  description: 'Newest first. Personal data: requires the scope `read:guests`.',
  scope: 'read:guests',
  query: Type.Object({
    search: Type.Optional(
      text({
        description: `Part of a first name, last name, e-mail or phone. Ignored below ${SEARCH_LENGTH_MIN} characters.`,
        examples: ['reis'],
      }),
    ),
    ...PAGE_QUERY,
  }),
  answer: { status: 200, description: 'A page of guests.', schema: pageSchema('guests', GuestJson) },
  problems: ['VALIDATION'],
} as const satisfies Operation

const GET_GUEST = {
  id: 'getGuest',
  method: 'GET',
  path: '/partner/v1/guests/{id}',
  tag: 'Guests',
  summary: 'Get a guest with recent stays',
  scope: 'read:guests',
  pathParameters: { id: { description: 'Id of the guest.', example: 'gst_019a2b3c4d5e7f008192a3b4c5d6e7f8' } },
  answer: {
    status: 200,
    description: `The guest with the ${GUEST_STAYS_MAX} most recent stays.`,
    schema: Type.Object({ guest: GuestWithStaysJson }),
  },
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

export const GUESTS = [
  partnerRoute(LIST_GUESTS, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const { rows, total } = await ledger.guestList.list(agency.id, searchOf(query), page)
    return JSON.stringify({ guests: rows.map(guestJson), ...pageMembers(page, total) })
  }),
  partnerRoute(GET_GUEST, async ({ ledger, agency, path: { id } }) => {
    const guest = isIdShaped(id) ? await ledger.guestList.find(agency.id, id) : null
    if (guest === null) return notFound('guest')
    const stays = await ledger.bookingList.ofGuest(agency.id, guest.id, GUEST_STAYS_MAX)
    const inventory = await ledger.catalogue.inventory(agency.id)
    return JSON.stringify({ guest: guestWithStaysJson(guest, stays, inventory) })
  }),
]
