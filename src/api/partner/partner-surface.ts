import type { AnyElysia } from 'elysia'
import { partnerDocument } from '../openapi/partner-document.ts'
import { availability } from './availability.ts'
import { book } from './book.ts'
import { bookings } from './bookings.ts'
import { cancel } from './cancel.ts'
import { feeTypes } from './fee-types.ts'
import { guests } from './guests.ts'
import { me } from './me.ts'
import { openapi } from './openapi.ts'
import type { PartnerSurface } from './partner-dependencies.ts'
import { quote } from './quote.ts'
import { units } from './units.ts'

export const PARTNER_PREFIX = '/partner/v1'

/** Every route of the contract, one Elysia instance per resource. */
export function partnerResources(surface: PartnerSurface): AnyElysia[] {
  const resources: AnyElysia[] = [
    me(surface),
    units(surface),
    availability(surface),
    quote(surface),
    feeTypes(surface),
    bookings(surface),
    book(surface),
    cancel(surface),
    guests(surface),
    openapi(surface, () => document),
  ]
  const document = partnerDocument(resources)
  // Awaited by whoever reads it; a fault in it is found by the first one.
  document.catch(() => {})
  return resources
}
