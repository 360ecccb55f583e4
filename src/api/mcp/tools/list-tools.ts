import { Type } from '@sinclair/typebox'
import { BOOKING_STATUSES } from '../../../core/domain/booking.ts'
import { BookingJson, bookingFilterOf, bookingJson } from '../../../http/json/booking-json.ts'
import { pageMembers, pageSchema } from '../../../http/json/page.ts'
import { UnitJson, unitJson } from '../../../http/json/unit-json.ts'
import { choice, dateText, text } from '../../../http/text-schema.ts'
import { PAGE_ARGUMENTS, toolOf, toolPageOf, unknownUnit } from './tool.ts'

const CURRENCY = Type.String({ description: 'Currency of all amounts, which are in its minor unit.' })

/** The tool for GET /units: the same units in the same order, a page at a time. */
export const LIST_UNITS = toolOf({
  name: 'list_units',
  title: 'List units',
  scope: 'read:units',
  description:
    "Lists the agency's rental units by name: slug (needed by the other tools), size, base price, cleaning fee, " +
    'minimum stay in nights, check-in and check-out times. Amounts are integers in the minor unit of `currency` ' +
    '(12345 means 123.45 in EUR). It returns 25 units per page by default and at most 200; draft units are included, ' +
    'archived ones are not. It gives neither free nights nor the price of a stay: `basePrice` excludes seasons, ' +
    'discounts and fees, so use get_availability and quote_stay for those.',
  input: Type.Object(PAGE_ARGUMENTS, { additionalProperties: false }),
  output: Type.Object({
    ...pageSchema('units', UnitJson).properties,
    currency: CURRENCY,
    timezone: Type.String({ description: 'IANA time zone of all dates and of check-in and check-out times.' }),
  }),
  run: async ({ catalogue }, { id, currency, timezone }, args) => {
    const page = toolPageOf(args)
    const { listed } = catalogue.peekInventory(id) ?? (await catalogue.inventory(id))
    const units = listed.slice(page.offset, page.offset + page.pageSize).map(unitJson)
    return JSON.stringify({ units, ...pageMembers(page, listed.length), currency, timezone })
  },
})

/**
 * The tool for GET /bookings. An unknown unit or status is an error, not an empty list: an agent would conclude
 * that there are no bookings.
 */
export const LIST_BOOKINGS = toolOf({
  name: 'list_bookings',
  title: 'List bookings',
  scope: 'read:bookings',
  description:
    "Lists the agency's bookings, newest arrival first, without guest personal data. `from` and `to` select " +
    'the bookings that depart on or after `from` and arrive on or before `to` (YYYY-MM-DD). A booking is half-open: ' +
    'the guest leaves on `departure`. Amounts are integers in the minor unit of `currency`. It returns 25 bookings per ' +
    'page by default and at most 200. All types and statuses are included unless you filter by `status`: count only those ' +
    'of type `guest` that are not `cancelled` as stays. Nothing can be booked, changed or cancelled here.',
  input: Type.Object(
    {
      from: Type.Optional(dateText('Only bookings departing on or after this date, YYYY-MM-DD.')),
      to: Type.Optional(dateText('Only bookings arriving on or before this date, YYYY-MM-DD.')),
      status: Type.Optional(choice(BOOKING_STATUSES, { description: 'Only bookings with this status.' })),
      unit: Type.Optional(
        text({ minLength: 1, description: 'Only bookings of the unit with this slug.', examples: ['sea-view'] }),
      ),
      group: Type.Optional(text({ minLength: 1, description: 'Only bookings of the group with this `groupId`.' })),
      ...PAGE_ARGUMENTS,
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    ...pageSchema('bookings', BookingJson).properties,
    currency: CURRENCY,
  }),
  run: async ({ catalogue, bookingList }, { id, currency }, args) => {
    const page = toolPageOf(args)
    const filter = bookingFilterOf(args, await catalogue.inventory(id))
    // The status has passed the schema, so it is the unit.
    if (filter === null) return unknownUnit(args.unit ?? '')
    const { rows, total } = await bookingList.list(id, filter, { offset: page.offset, limit: page.pageSize })
    // Read again: a unit created meanwhile may have a booking on the page.
    const inventory = await catalogue.inventory(id)
    const bookings = rows.map((booking) => bookingJson(booking, inventory))
    return JSON.stringify({ bookings, ...pageMembers(page, total), currency })
  },
})
