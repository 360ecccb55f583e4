import './history-list.css'
import type { ComponentChildren } from 'preact'
import { useSession } from '../data/use-session.ts'
import { Icon, type IconName } from '../design/icon.tsx'
import { instantText, relativeTime } from '../format/instants.ts'
import {
  actionWords,
  actorWords,
  type ChangedMember,
  changeAction,
  changedMembers,
  type HistoryLine,
  outcomeWords,
} from './history-words.ts'

/** What happened to one booking, newest first: who did what, when, and what was different before. */
export function HistoryList({ entries }: { entries: readonly HistoryLine[] }) {
  return (
    <ol class="history">
      {entries.map((entry) => (
        <Line key={entry.id} entry={entry} />
      ))}
    </ol>
  )
}

function Line({ entry }: { entry: HistoryLine }) {
  const { agency, currency } = useSession()
  const { reason, tone } = outcomeWords(entry.outcome)
  const members = entry.change === null ? [] : changedMembers(entry.change, { currency, timezone: agency.timezone })
  return (
    <li class="history-line">
      <span class={`history-mark history-mark-${reason === null ? 'good' : tone}`}>
        <Icon name={markOf(entry)} size={14} />
      </span>
      <div class="history-text">
        <p>
          <Action entry={entry} />
        </p>
        {members.length > 0 && (
          <ul class="history-members">
            {members.map((member) => (
              <li key={member.label}>
                <MemberText member={member} />
              </li>
            ))}
          </ul>
        )}
        {entry.pricing === 'keep' && <p class="muted">The price was kept.</p>}
        <time class="history-time" dateTime={entry.at} title={instantText(entry.at, agency.timezone)}>
          {relativeTime(entry.at)} · {instantText(entry.at, agency.timezone)}
        </time>
      </div>
    </li>
  )
}

/** `Demo desk confirmed it`; of what was refused: `Harbour website tried to cancel it, but …`. */
function Action({ entry }: { entry: HistoryLine }): ComponentChildren {
  const { name, kind } = actorWords(entry)
  const who = (
    <>
      <strong>{name}</strong>
      {kind !== null && <span class="muted"> ({kind})</span>}
    </>
  )
  const { reason } = outcomeWords(entry.outcome)
  if (reason !== null) {
    const plain = actionWords(entry.route).plain.replace('a booking', 'it')
    return (
      <>
        {who} tried to {plain}, but {reason}
        {entry.count > 1 && `, ${entry.count} times`}
      </>
    )
  }
  if (entry.outcome === 'REPLAYED') return <>{who} repeated a request that had already been carried out</>
  if (entry.route === 'hold timer') return <>The hold expired, and the nights are free again</>
  const action =
    entry.change === null ? actionWords(entry.route).past.replace('a booking', 'it') : changeAction(entry.change)
  return (
    <>
      {who} {action}
    </>
  )
}

function MemberText({ member: { label, before, after } }: { member: ChangedMember }) {
  return (
    <>
      <span class="history-label">{label}</span>
      <span>
        {before !== null && (
          <>
            <del>{before}</del> <span class="visually-hidden">is now</span>
            <span aria-hidden="true">→</span>{' '}
          </>
        )}
        {after}
      </span>
    </>
  )
}

function markOf({ outcome, change, route }: HistoryLine): IconName {
  if (outcomeWords(outcome).reason !== null) return 'warning'
  if (route === 'hold timer') return 'clock'
  if (change === null || change.after === null) return 'edit'
  if (change.kind === 'booking_created') return 'plus'
  if (change.kind === 'booking_cancelled') return 'close'
  if (change.before?.status === change.after.status) return 'edit'
  return change.after.status === 'checked_in' ? 'arrive' : change.after.status === 'checked_out' ? 'depart' : 'check'
}
