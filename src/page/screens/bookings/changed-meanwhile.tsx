import { useSession } from '../../data/use-session.ts'
import { Note } from '../../design/feedback.tsx'
import { relativeTime } from '../../format/instants.ts'
import { changedMembers } from '../../history/history-words.ts'
import type { Conflict } from './versioned-write.ts'

/** Tells that a colleague was faster, and what is different now. */
export function ChangedMeanwhile({ conflict }: { conflict: Conflict | null }) {
  const { agency, currency } = useSession()
  if (conflict === null) return null
  const { seen, now, by } = conflict
  const members = changedMembers({ before: seen, after: now }, { currency, timezone: agency.timezone })
  return (
    <Note tone="warn" role="alert">
      <p>
        <strong>{by === null ? 'Someone else' : by.who.name}</strong> changed this booking{' '}
        {by === null ? 'in the meantime' : agoText(by.at)}, so your change was not saved.
      </p>
      {members.length > 0 && (
        <dl class="booking-diff">
          {members.map(({ label, before, after }) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                {before !== null && (
                  <>
                    <del>{before}</del> <span class="visually-hidden">is now</span>
                    <span aria-hidden="true">→</span>{' '}
                  </>
                )}
                <strong>{after}</strong>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <p>Your entries are still here. Apply them to the booking as it is now, or discard them.</p>
    </Note>
  )
}

function agoText(instant: string): string {
  const now = Date.now()
  // Clocks differ a little: what has just happened may seem to come.
  return now - Date.parse(instant) < 60_000 ? 'just now' : relativeTime(instant, now)
}
