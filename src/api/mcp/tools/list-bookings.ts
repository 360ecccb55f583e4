import { Type } from '@sinclair/typebox'
import { BOOKING_STATUSES } from '../../../core/domain/booking.ts'
import { BookingJson, bookingFilterOf, bookingJson } from '../../json/booking-json.ts'
import { pageMembers, pageSchema } from '../../json/page.ts'
import { choice, dateText, text } from '../../schema/text-schema.ts'
import { PAGE_ARGUMENTS, toolPageOf } from './page-arguments.ts'
import { toolOf, unknownUnit } from './tool.ts'

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
      ...PAGE_ARGUMENTS,
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    ...pageSchema('bookings', BookingJson).properties,
    currency: Type.String({ description: 'Currency of all amounts, which are in its minor unit.' }),
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
