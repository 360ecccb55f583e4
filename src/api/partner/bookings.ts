import { Type } from '@sinclair/typebox'
import { BookingJson, bookingFilterOf, bookingJson } from '../../http/json/booking-json.ts'
import { LIMIT_QUERY, PAGE_QUERY, pageMembers, pageOf, pageSchema } from '../../http/json/page.ts'
import type { Operation } from '../../http/operation.ts'
import { notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { dateText, text } from '../../http/text-schema.ts'
import { partnerRoute } from './partner-route.ts'

const QUERY = Type.Object({
  from: Type.Optional(dateText('Only bookings departing on or after this date.')),
  to: Type.Optional(dateText('Only bookings arriving on or before this date.')),
  status: Type.Optional(
    text({ description: 'Exact status. An unknown status gives an empty list.', examples: ['confirmed'] }),
  ),
  unit: Type.Optional(text({ description: 'Unit slug. An unknown slug gives an empty list.', examples: ['sea-view'] })),
  group: Type.Optional(text({ description: 'Id of a group. An unknown group gives an empty list.' })),
  ...PAGE_QUERY,
  ...LIMIT_QUERY,
})

const LIST_BOOKINGS = {
  id: 'listBookings',
  method: 'GET',
  path: '/partner/v1/bookings',
  isLarge: true,
  tag: 'Bookings',
  summary: 'List bookings',
  description: 'Newest arrival first. Bookings contain no guest personal data.',
  scope: 'read:bookings',
  query: QUERY,
  answer: { status: 200, description: 'A page of bookings.', schema: pageSchema('bookings', BookingJson) },
  problems: ['VALIDATION'],
} as const satisfies Operation

const GET_BOOKING = {
  id: 'getBooking',
  method: 'GET',
  path: '/partner/v1/bookings/{id}',
  tag: 'Bookings',
  summary: 'Get a booking',
  scope: 'read:bookings',
  pathParameters: { id: { description: 'Id of the booking.', example: 'bkg_019a2b3c4d5e7f008192a3b4c5d6e7f8' } },
  answer: { status: 200, description: 'The booking.', schema: Type.Object({ booking: BookingJson }) },
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

export const BOOKINGS = [
  partnerRoute(LIST_BOOKINGS, async ({ ledger, agency, query }) => {
    const { catalogue, bookingList } = ledger
    const page = pageOf(query)
    const filter = bookingFilterOf(query, await catalogue.inventory(agency.id))
    const { rows, total } = filter === null ? { rows: [], total: 0 } : await bookingList.list(agency.id, filter, page)
    // Read again: a unit created meanwhile may have a booking on the page.
    const inventory = await catalogue.inventory(agency.id)
    const listed = rows.map((booking) => bookingJson(booking, inventory))
    return JSON.stringify({ bookings: listed, ...pageMembers(page, total) })
  }),
  partnerRoute(GET_BOOKING, async ({ ledger, agency, path: { id } }) => {
    const row = isIdShaped(id) ? await ledger.bookingRows.find(agency.id, id) : null
    if (row === null) return notFound('booking')
    return JSON.stringify({ booking: bookingJson(row.booking, await ledger.catalogue.inventory(agency.id)) })
  }),
]
