import { instantText, relativeTime } from '../format/instants.ts'
import { realTime } from '../lib/present.ts'
import { useSession } from './use-session.ts'

/** The service stores the minute of the last use, not the second, so anything within two minutes may be now. */
const NOW_MS = 2 * 60_000

/** How long ago something happened, with the moment itself as the title. Null: never. */
export function When({ instant }: { instant: string | null }) {
  const { agency } = useSession()
  if (instant === null) return <span class="muted">Never</span>
  const isNow = realTime() - Date.parse(instant) < NOW_MS
  return (
    <time dateTime={instant} title={instantText(instant, agency.timezone)}>
      {isNow ? 'just now' : relativeTime(instant)}
    </time>
  )
}
