import { useRoute } from '../../route/router.ts'
import { GuestList } from './guest-list.tsx'
import { GuestPage } from './guest-page.tsx'

/** `#/guests` lists, `#/guests/gst_…` shows one. */
export function GuestsScreen() {
  const { path } = useRoute()
  const id = path[1]
  return id === undefined ? <GuestList /> : <GuestPage key={id} guestId={id} />
}
