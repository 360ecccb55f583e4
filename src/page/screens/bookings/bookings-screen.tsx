import { useRoute } from '../../route/router.ts'
import { BookingList } from './booking-list.tsx'
import { BookingPage } from './booking-page.tsx'

/** `#/bookings` lists, `#/bookings/bkg_…` shows one. */
export function BookingsScreen() {
  const { path } = useRoute()
  const id = path[1]
  return id === undefined ? <BookingList /> : <BookingPage key={id} bookingId={id} />
}
