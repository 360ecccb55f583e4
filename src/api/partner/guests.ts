import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { GUEST_STAYS_MAX, GuestJson, GuestWithStaysJson, guestJson, guestWithStaysJson } from '../json/guest-json.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema } from '../json/page.ts'
import { described } from '../openapi/described.ts'
import type { Operation } from '../operation.ts'
import { notFound } from '../problems/problems.ts'
import { charactersOf, text } from '../schema/text-schema.ts'
import type { PartnerSurface } from './partner-dependencies.ts'
import { isIdShaped, partnerRoute } from './partner-route.ts'

/** Contract, Limits: a search is applied from so many characters. */
const SEARCH_LENGTH_MIN = 2

const LIST_GUESTS = {
  id: 'listGuests',
  method: 'GET',
  path: '/partner/v1/guests',
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
  pathParameter: { name: 'id', description: 'Id of the guest.', example: 'gst_019a2b3c4d5e7f008192a3b4c5d6e7f8' },
  answer: {
    status: 200,
    description: `The guest with the ${GUEST_STAYS_MAX} most recent stays.`,
    schema: Type.Object({ guest: GuestWithStaysJson }),
  },
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

export const guests = (surface: PartnerSurface) => {
  const { catalogue, guestList, bookingList } = surface.ledger
  return new Elysia()
    .get(
      LIST_GUESTS.path,
      partnerRoute(surface, LIST_GUESTS, async ({ agency, query }) => {
        const page = pageOf(query)
        const { search = '' } = query
        const { rows, total } = await guestList.list(
          agency.id,
          charactersOf(search) < SEARCH_LENGTH_MIN ? null : search,
          { offset: page.offset, limit: page.pageSize },
        )
        return JSON.stringify({ guests: rows.map(guestJson), ...pageMembers(page, total) })
      }),
      described(LIST_GUESTS),
    )
    .get(
      '/partner/v1/guests/:id',
      partnerRoute(surface, GET_GUEST, async ({ agency, path }) => {
        const guest = isIdShaped(path) ? await guestList.find(agency.id, path) : null
        if (guest === null) return notFound('guest')
        const stays = await bookingList.ofGuest(agency.id, guest.id, GUEST_STAYS_MAX)
        const inventory = await catalogue.inventory(agency.id)
        return JSON.stringify({ guest: guestWithStaysJson(guest, stays, inventory) })
      }),
      described(GET_GUEST),
    )
}
