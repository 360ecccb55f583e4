import { type Static, Type } from '@sinclair/typebox'
import type { GuestChange } from '../../accounts/guest-commands.ts'
import type { Guest } from '../../core/bookings/booking-lists.ts'
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
import { GUEST_FIELDS } from '../../http/json/request-fields.ts'
import { notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { text } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, settled } from './portal-route.ts'

const KEEP = Type.Boolean({ description: 'Whether the guest is kept however long ago the last stay was.' })

/** All that partners read of a guest, and what only its agency sees. */
const AgencyGuestJson = Type.Object({ ...GuestJson.properties, keep: KEEP }, { $id: 'AgencyGuest' })
const AgencyGuestWithStaysJson = Type.Object(
  { ...GuestWithStaysJson.properties, keep: KEEP },
  { $id: 'AgencyGuestWithStays' },
)

const LIST_GUESTS = {
  id: 'listGuests',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/guests`,
  tag: 'Guests',
  summary: 'List guests, newest first',
  query: Type.Object({
    ...PAGE_QUERY,
    search: Type.Optional(
      text({ description: `Part of a name, e-mail or phone. Ignored below ${SEARCH_LENGTH_MIN} characters.` }),
    ),
  }),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('guests', AgencyGuestJson) },
} as const satisfies PortalOperation

const GET_GUEST = {
  id: 'getGuest',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/guests/{guestId}`,
  tag: 'Guests',
  summary: 'Get a guest with recent stays',
  answer: { status: 200, description: 'The guest.', schema: Type.Object({ guest: AgencyGuestWithStaysJson }) },
} as const satisfies PortalOperation

const CHANGE_GUEST = {
  id: 'changeGuest',
  role: 'desk',
  method: 'PATCH',
  path: `${AGENCY_PATH}/guests/{guestId}`,
  tag: 'Guests',
  summary: 'Change a guest',
  body: Type.Partial(Type.Object({ ...GUEST_FIELDS, keep: KEEP })),
  bodyExample: { phone: '+351 21 000 0000' },
  answer: { status: 200, description: 'The guest.', schema: Type.Object({ guest: AgencyGuestJson }) },
  problems: ['EMAIL_TAKEN'],
} as const satisfies PortalOperation

const agencyGuestJson = (guest: Guest) => ({ ...guestJson(guest), keep: guest.keep })
const shown = (guest: Guest) => ({ guest: agencyGuestJson(guest) })

export const GUESTS = [
  agencyRoute(LIST_GUESTS, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const { rows, total } = await ledger.guestList.list(agency.id, searchOf(query), page)
    return JSON.stringify({ guests: rows.map(agencyGuestJson), ...pageMembers(page, total) })
  }),
  agencyRoute(GET_GUEST, async ({ ledger, agency, path }) => {
    const guestId = path.guestId
    const guest = isIdShaped(guestId) ? await ledger.guestList.find(agency.id, guestId) : null
    if (guest === null) return notFound('guest')
    const stays = await ledger.bookingList.ofGuest(agency.id, guest.id, GUEST_STAYS_MAX)
    const shownWithStays = guestWithStaysJson(guest, stays, await ledger.catalogue.inventory(agency.id))
    return JSON.stringify({ guest: { ...shownWithStays, keep: guest.keep } })
  }),
  agencyRoute(CHANGE_GUEST, async ({ ledger, caller, keep, agency, path, body }) => {
    const guestId = path.guestId
    if (!isIdShaped(guestId)) return notFound('guest')
    return settled(await ledger.guests.change(agency, guestId, changeOf(body), caller, keep.of(shown)), 'guest', shown)
  }),
]

/** What the body names of these members, and nothing else. */
function changeOf(body: Static<(typeof CHANGE_GUEST)['body']>): GuestChange {
  const { firstName, lastName, email, phone, nationality, keep } = body
  return {
    ...(firstName === undefined ? {} : { firstName }),
    ...(lastName === undefined ? {} : { lastName }),
    ...(email === undefined ? {} : { email }),
    ...(phone === undefined ? {} : { phone }),
    ...(nationality === undefined ? {} : { nationality }),
    ...(keep === undefined ? {} : { keep }),
  }
}
