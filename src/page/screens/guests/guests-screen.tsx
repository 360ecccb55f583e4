import { useRoute } from '../../route/router.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { GuestList } from './guest-list.tsx'
import { GuestPage } from './guest-page.tsx'

const LIVE = ['guests', 'bookings']

/** `#/guests` lists, `#/guests/gst_…` shows one. */
export function GuestsScreen() {
  const { path } = useRoute()
  useLiveStays(LIVE)
  const id = path[1]
  return id === undefined ? <GuestList /> : <GuestPage key={id} guestId={id} />
}
