import type { BookingFilter } from '../../core/bookings/booking-list.ts'
import type { Inventory } from '../../core/catalogue/inventory.ts'
import { BOOKING_STATUSES } from '../../core/domain/booking.ts'
import { nightOf } from './stay-fields.ts'

/**
 * The filter that a request asks for; its dates have passed the schema. Null: nothing can match (docs/design.md#order-of-checks:
 * an unknown unit or status gives an empty list).
 */
export function bookingFilterOf(
  asked: { from?: string; to?: string; status?: string; unit?: string },
  inventory: Inventory,
): BookingFilter | null {
  const status = asked.status === undefined ? null : BOOKING_STATUSES.find((known) => known === asked.status)
  const unit = asked.unit === undefined ? null : (inventory.unitBySlug(asked.unit) ?? undefined)
  if (status === undefined || unit === undefined) return null
  return {
    from: asked.from === undefined ? null : nightOf(asked.from),
    to: asked.to === undefined ? null : nightOf(asked.to),
    status,
    unitId: unit?.id ?? null,
  }
}
