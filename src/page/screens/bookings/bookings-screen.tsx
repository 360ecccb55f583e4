import { useRoute } from '../../route/router.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { BookingList } from './booking-list.tsx'
import { BookingPage } from './booking-page.tsx'

const LIVE = ['bookings', 'audit']

/** `#/bookings` lists, `#/bookings/bkg_…` shows one. */
export function BookingsScreen() {
  const { path } = useRoute()
  useLiveStays(LIVE)
  const id = path[1]
  return id === undefined ? <BookingList /> : <BookingPage key={id} bookingId={id} />
}
