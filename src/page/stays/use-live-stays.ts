import { useEffect } from 'preact/hooks'
import { answerOf, client } from '../api/client.ts'
import { problemOf } from '../api/problem.ts'
import { resources } from '../data/resources.ts'
import { useSession } from '../data/use-session.ts'
import { ChangeStream } from '../screens/calendar/change-stream.ts'

/** Changes that come together are read together. */
const GATHER_MS = 300
/** By then what follows from a change, such as a delivery, has been made: as a rule, and on a busy machine. */
const FOLLOW_UPS_MS = [2_000, 10_000]
const AGAIN_MS = 10_000

const STAYS = ['booking.']

/**
 * While it is drawn, every change of a booking, by whomever, reads anew what is under these prefixes.
 * @param events how the names of other changes begin, to follow those instead
 */
export function useLiveStays(prefixes: readonly string[], events: readonly string[] = STAYS): void {
  const { actor, path } = useSession()
  const { agencySlug } = path
  useEffect(() => {
    const closing = new AbortController()
    let stream: ChangeStream | null = null
    let gathering: ReturnType<typeof setTimeout> | undefined
    let following: ReturnType<typeof setTimeout>[] = []
    let opening: ReturnType<typeof setTimeout> | undefined
    const readAnew = () => {
      for (const prefix of prefixes) resources.follow(prefix)
    }
    const onChange = () => {
      // Not put off by further changes: where they never pause, they would never be shown.
      gathering ??= setTimeout(() => {
        gathering = undefined
        readAnew()
      }, GATHER_MS)
      for (const timer of following) clearTimeout(timer)
      following = FOLLOW_UPS_MS.map((ms) => setTimeout(readAnew, ms))
    }
    const open = async () => {
      try {
        const { signal } = closing
        // Without a cursor: from now on.
        const { cursor } = await answerOf(
          client.GET('/portal/v1/agencies/{agencySlug}/changes', { params: { path: { agencySlug } }, signal }),
        )
        if (signal.aborted) return
        stream = new ChangeStream({ agencySlug }, cursor, {
          onChange: ({ event }) => void (events.some((start) => event.startsWith(start)) && onChange()),
          onExpired: () => void open(),
        })
        // What was read before the cursor was given may be older than it, and nothing would announce the changes in between.
        readAnew()
      } catch (error) {
        // The session's end is told elsewhere, and who has signed in again begins anew.
        if (!closing.signal.aborted && problemOf(error).status !== 401)
          opening = setTimeout(() => void open(), AGAIN_MS)
      }
    }
    void open()
    return () => {
      closing.abort()
      stream?.close()
      for (const timer of [gathering, ...following, opening]) clearTimeout(timer)
    }
    // Signing in again, also as the same person, gives another actor: this may have been refused until then.
  }, [agencySlug, actor])
}
