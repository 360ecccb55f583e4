import { Type } from '@sinclair/typebox'
import { ARRIVAL_ORDERS } from '../../core/bookings/booking-lists.ts'
import { BOOKING_STATUSES, BOOKING_TYPES, type BookingStatus, type BookingType } from '../../core/domain/booking.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema } from '../../http/json/page.ts'
import { nightOf } from '../../http/json/request-fields.ts'
import { notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { choice, dateText, text } from '../../http/text-schema.ts'
import { AgencyBookingJson, agencyBookingJson } from './booking-json.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute } from './portal-route.ts'

export const BOOKING_PATH = `${AGENCY_PATH}/bookings/{bookingId}` as const

const LIST_BOOKINGS = {
  id: 'listBookings',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/bookings`,
  tag: 'Bookings',
  summary: 'List bookings, by arrival',
  description: 'An unknown unit, status, type, guest or group gives an empty list.',
  query: Type.Object({
    ...PAGE_QUERY,
    from: Type.Optional(dateText('Only bookings departing on or after this date.')),
    to: Type.Optional(dateText('Only bookings arriving on or before this date.')),
    departedBefore: Type.Optional(dateText('Only bookings departing before this date.')),
    status: Type.Optional(text({ description: 'Exact status.' })),
    type: Type.Optional(text({ description: 'Exact type.' })),
    unit: Type.Optional(text({ description: 'Unit slug; archived units are allowed.' })),
    source: Type.Optional(text({ description: 'Exact source.' })),
    sourceRef: Type.Optional(text({ description: "Exact reference in the source's system." })),
    guest: Type.Optional(text({ description: 'Id of the guest.' })),
    group: Type.Optional(text({ description: 'Id of the group.' })),
    order: Type.Optional(
      choice(ARRIVAL_ORDERS, { default: 'latest_first', description: 'By arrival. Ties are ordered by id.' }),
    ),
  }),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('bookings', AgencyBookingJson) },
} as const satisfies PortalOperation

const GET_BOOKING = {
  id: 'getBooking',
  role: 'viewer',
  method: 'GET',
  path: BOOKING_PATH,
  tag: 'Bookings',
  summary: 'Get a booking with its guest and notes',
  answer: { status: 200, description: 'The booking.', schema: Type.Object({ booking: AgencyBookingJson }) },
} as const satisfies PortalOperation

export const BOOKINGS = [
  agencyRoute(LIST_BOOKINGS, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const inventory = await ledger.catalogue.inventory(agency.id)
    const unit = query.unit === undefined ? null : inventory.unitBySlug(query.unit)
    const isEmpty =
      (query.unit !== undefined && unit === null) ||
      (query.status !== undefined && !isStatus(query.status)) ||
      (query.type !== undefined && !isType(query.type))
    if (isEmpty) return JSON.stringify({ bookings: [], ...pageMembers(page, 0) })
    const { rows, total } = await ledger.bookings.list(
      agency.id,
      {
        from: query.from === undefined ? null : nightOf(query.from),
        to: query.to === undefined ? null : nightOf(query.to),
        departedBefore: query.departedBefore === undefined ? null : nightOf(query.departedBefore),
        status: (query.status ?? null) as BookingStatus | null,
        type: (query.type ?? null) as BookingType | null,
        unitId: unit?.id ?? null,
        groupId: query.group ?? null,
        source: query.source ?? null,
        sourceRef: query.sourceRef ?? null,
        guestId: query.guest ?? null,
      },
      { ...page, order: query.order ?? 'latest_first' },
    )
    // A unit may have been made since the inventory was read.
    const current = await ledger.catalogue.inventory(agency.id)
    return JSON.stringify({ bookings: rows.map((row) => agencyBookingJson(row, current)), ...pageMembers(page, total) })
  }),
  agencyRoute(GET_BOOKING, async ({ ledger, agency, path }) => {
    const bookingId = path.bookingId
    const found = isIdShaped(bookingId) ? await ledger.bookings.find(agency.id, bookingId) : null
    if (found === null) return notFound('booking')
    return JSON.stringify({ booking: agencyBookingJson(found, await ledger.catalogue.inventory(agency.id)) })
  }),
]

function isStatus(value: string): value is BookingStatus {
  return (BOOKING_STATUSES as readonly string[]).includes(value)
}

function isType(value: string): value is BookingType {
  return (BOOKING_TYPES as readonly string[]).includes(value)
}
