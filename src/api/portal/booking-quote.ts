import { Type } from '@sinclair/typebox'
import { priceStay } from '../../core/domain/pricing.ts'
import { quoteJson } from '../../http/json/quote-json.ts'
import { notFound } from '../../http/problems.ts'
import { QuoteJson } from '../../http/quote-schema.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { nullable } from '../../http/text-schema.ts'
import { assert } from '../../lib/assert.ts'
import { BOOKING_PATH } from './bookings.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute } from './portal-route.ts'

const QUOTE_BOOKING = {
  id: 'quoteBooking',
  role: 'viewer',
  method: 'GET',
  path: `${BOOKING_PATH}/quote`,
  tag: 'Bookings',
  summary: 'Price the stay of a booking at current rates and fees, line by line',
  description:
    'The total of a booking is fixed when it is made or moved, and its lines are not stored. If the rates have not changed since, ' +
    'these are its lines; otherwise the totals differ. Null for a booking that is not a guest stay, which has no price.',
  answer: { status: 200, description: 'The price.', schema: Type.Object({ quote: nullable(QuoteJson) }) },
} as const satisfies PortalOperation

export const BOOKING_QUOTE = [
  agencyRoute(QUOTE_BOOKING, async ({ ledger, agency, path: { bookingId } }) => {
    const found = isIdShaped(bookingId) ? await ledger.bookings.find(agency.id, bookingId) : null
    if (found === null) return notFound('booking')
    const { type, unitId, arrival, departure, children, extraBed } = found.booking
    if (type !== 'guest') return JSON.stringify({ quote: null })
    const inventory = await ledger.catalogue.inventory(agency.id)
    const unit = inventory.unitById(unitId)
    assert(unit !== null, 'Cannot price a booking: its unit is not in the catalogue')
    const { feeTypes } = inventory
    const { rules } = await ledger.commands.calendar(agency, unit)
    const params = { rules, stay: { arrival, departure }, children, extraBed, feeTypes, currency: agency.currency }
    return JSON.stringify({ quote: quoteJson(priceStay(params)) })
  }),
]
