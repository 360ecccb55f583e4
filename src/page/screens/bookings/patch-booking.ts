import { answerOf, client } from '../../api/client.ts'
import type { WriteHeaders } from '../../data/use-mutation.ts'
import type { Booking } from '../../stays/stay-name.ts'

/** Members left out stay as they are. */
export interface BookingPatch {
  readonly status?: Booking['status']
  readonly arrival?: string
  readonly departure?: string
  readonly unit?: string
  readonly pricing?: 'reprice' | 'keep'
  /** ISO 8601. */
  readonly holdExpiresAt?: string
  readonly expectedUntil?: string | null
}

export function patchBooking(
  body: BookingPatch,
  path: { agencySlug: string; bookingId: string },
  header: WriteHeaders,
): Promise<{ booking: Booking }> {
  return answerOf(
    client.PATCH('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params: { path, header }, body }),
  )
}
