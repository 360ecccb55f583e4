import { type Static, Type } from '@sinclair/typebox'
import type { GuestChange } from '../../admin/guest-commands.ts'
import { GUEST_STAYS_MAX, GuestJson, GuestWithStaysJson, guestJson, guestWithStaysJson } from '../json/guest-json.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema } from '../json/page.ts'
import { notFound } from '../problems/problems.ts'
import { charactersOf, EMAIL_LENGTH_MAX, text } from '../schema/text-schema.ts'
import { AGENCY_PATH, type PortalOperation } from './portal-operation.ts'
import { agencyRoute, answer, isIdShaped, refuse, settled } from './portal-route.ts'
import { nullable } from './portal-schema.ts'

/** Contract, Limits: guest search. */
const SEARCH_LENGTH_MIN = 2

const LIST_GUESTS = {
  id: 'listGuests',
  method: 'GET',
  path: `${AGENCY_PATH}/guests`,
  tag: 'Guests',
  summary: 'List guests, newest first',
  query: Type.Object({
    ...PAGE_QUERY,
    search: Type.Optional(text({ description: 'Part of a name, e-mail or phone. Ignored below 2 characters.' })),
  }),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('guests', GuestJson) },
} as const satisfies PortalOperation

const GET_GUEST = {
  id: 'getGuest',
  method: 'GET',
  path: `${AGENCY_PATH}/guests/{guestId}`,
  tag: 'Guests',
  summary: 'Get a guest with recent stays',
  answer: { status: 200, description: 'The guest.', schema: Type.Object({ guest: GuestWithStaysJson }) },
} as const satisfies PortalOperation

const CHANGE_GUEST = {
  id: 'changeGuest',
  method: 'PATCH',
  path: `${AGENCY_PATH}/guests/{guestId}`,
  tag: 'Guests',
  summary: 'Change a guest',
  body: Type.Object({
    firstName: Type.Optional(text({ maxLength: 80 })),
    lastName: Type.Optional(text({ maxLength: 80 })),
    email: Type.Optional(nullable(text({ format: 'email', maxLength: EMAIL_LENGTH_MAX }))),
    phone: Type.Optional(nullable(text({ maxLength: 60 }))),
    nationality: Type.Optional(nullable(text({ maxLength: 60 }))),
  }),
  bodyExample: { phone: '+351 21 000 0000' },
  answer: { status: 200, description: 'The guest.', schema: Type.Object({ guest: GuestJson }) },
  problems: ['EMAIL_TAKEN'],
} as const satisfies PortalOperation

export const GUESTS = [
  agencyRoute(LIST_GUESTS, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const search = query.search !== undefined && charactersOf(query.search) >= SEARCH_LENGTH_MIN ? query.search : null
    const { rows, total } = await ledger.guestList.list(agency.id, search, {
      offset: page.offset,
      limit: page.pageSize,
    })
    return answer({ guests: rows.map(guestJson), ...pageMembers(page, total) })
  }),
  agencyRoute(GET_GUEST, async ({ ledger, agency, path }) => {
    const guestId = path['guestId']
    const guest = isIdShaped(guestId) ? await ledger.guestList.find(agency.id, guestId) : null
    if (guest === null) return refuse(notFound('guest'))
    const stays = await ledger.bookingList.ofGuest(agency.id, guest.id, GUEST_STAYS_MAX)
    return answer({ guest: guestWithStaysJson(guest, stays, await ledger.catalogue.inventory(agency.id)) })
  }),
  agencyRoute(CHANGE_GUEST, async ({ ledger, caller, agency, path, body }) => {
    const guestId = path['guestId']
    if (!isIdShaped(guestId)) return refuse(notFound('guest'))
    return settled(await ledger.guests.change(agency, guestId, changeOf(body), caller), 'guest', (guest) => ({
      guest: guestJson(guest),
    }))
  }),
]

/** What the body names of these members, and nothing else. */
function changeOf(body: Static<(typeof CHANGE_GUEST)['body']>): GuestChange {
  const { firstName, lastName, email, phone, nationality } = body
  return {
    ...(firstName === undefined ? {} : { firstName }),
    ...(lastName === undefined ? {} : { lastName }),
    ...(email === undefined ? {} : { email }),
    ...(phone === undefined ? {} : { phone }),
    ...(nationality === undefined ? {} : { nationality }),
  }
}
