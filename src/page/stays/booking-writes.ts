/** The requests that change a booking, and the dry run that says beforehand what would come of it. */
import { answerOf, client } from '../api/client.ts'
import type { Schema } from '../api/schema.ts'
import type { WriteHeaders } from '../data/use-mutation.ts'
import type { Booking } from './stay-name.ts'

/** Members left out stay as they are. */
export interface BookingPatch {
  readonly status?: Booking['status']
  readonly arrival?: string
  readonly departure?: string
  readonly unit?: string
  readonly pricing?: Pricing
  /** ISO 8601. */
  readonly holdExpiresAt?: string
  readonly expectedUntil?: string | null
}

/** Of new dates or another unit: whether the price follows. */
export type Pricing = 'reprice' | 'keep'

/** The price of a stay, in minor units. */
interface Quote {
  readonly nights: number
  readonly total: number
  readonly lines: readonly Schema<'QuoteLine'>[]
}

/** What a write would do. */
export interface Tried {
  readonly booking: Booking
  /** Null when nobody pays for the stay. */
  readonly quote: Quote | null
}

export interface BookingPath {
  readonly agencySlug: string
  readonly bookingId: string
}

/** @throws Problem */
export function patchBooking(
  body: BookingPatch,
  path: BookingPath,
  header: WriteHeaders,
): Promise<{ booking: Booking }> {
  return answerOf(
    client.PATCH('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params: { path, header }, body }),
  )
}

/** @throws Problem the refusal that the write would get */
export async function tryPatch(body: BookingPatch, path: BookingPath, signal: AbortSignal): Promise<Tried> {
  const params = { path, query: { dryRun: 'true' as const } }
  const { booking, quote = null } = await answerOf(
    client.PATCH('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params, body, signal }),
  )
  return { booking, quote }
}

/** @param reason as entered; empty: none. @throws Problem */
export function cancelBooking(reason: string, path: BookingPath, header: WriteHeaders): Promise<{ booking: Booking }> {
  const body = reason.trim() === '' ? {} : { reason: reason.trim() }
  return answerOf(
    client.POST('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/cancel', { params: { path, header }, body }),
  )
}
