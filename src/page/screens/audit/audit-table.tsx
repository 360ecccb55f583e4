import type { ComponentChildren } from 'preact'
import type { Schema } from '../../api/schema.ts'
import { useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { STATUS_LOOKS } from '../../design/status-looks.ts'
import { type Column, Table } from '../../design/table.tsx'
import { instantText, relativeTime } from '../../format/instants.ts'
import { count } from '../../format/numbers.ts'
import {
  type AuditEntry,
  actionWords,
  actorWords,
  changeAction,
  changedMembers,
  outcomeWords,
  type WordsContext,
} from '../../history/history-words.ts'
import { hashOf } from '../../route/route.ts'
import { stayPlace } from '../../stays/stay-name.ts'

export function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  const { agency, currency } = useSession()
  return (
    <Table
      caption="Audit trail"
      columns={columnsOf({ currency, timezone: agency.timezone })}
      rows={entries}
      rowKey={({ id }) => id}
    />
  )
}

function columnsOf(context: WordsContext): Column<AuditEntry>[] {
  return [
    { key: 'what', head: 'What', cell: (entry) => <What entry={entry} context={context} /> },
    { key: 'who', head: 'Who', cell: (entry) => <Who entry={entry} /> },
    {
      key: 'outcome',
      head: 'Outcome',
      cell: ({ outcome, count: times }) => <Outcome outcome={outcome} times={times} />,
    },
    {
      key: 'when',
      head: 'When',
      cell: ({ at }) => (
        <span class="audit-when">
          <time dateTime={at}>{instantText(at, context.timezone)}</time>
          <span class="muted">{relativeTime(at)}</span>
        </span>
      ),
    },
  ]
}

/** What was done or tried, with the stay it was about, and what is different now. */
function What({ entry, context }: { entry: AuditEntry; context: WordsContext }) {
  const { change, bookingId } = entry
  const about = aboutOf(entry)
  const members =
    change === null || !('before' in change) || change.before === null ? [] : changedMembers(change, context)
  const shown = members.filter(({ before }) => before !== null)
  return (
    <div class="audit-what">
      <span class="audit-deed">{titleOf(entry)}</span>
      {about !== null && (
        <span>{bookingId === null ? about : <a href={hashOf(['bookings', bookingId])}>{about}</a>}</span>
      )}
      {shown.length > 0 && (
        <span class="audit-members">
          {shown.map(({ label, before, after }) => `${label}: ${before} → ${after}`).join(' · ')}
        </span>
      )}
    </div>
  )
}

function titleOf({ change, route, outcome }: AuditEntry): string {
  const { reason } = outcomeWords(outcome)
  if (reason !== null) return capital(`tried to ${actionWords(route).plain}, but ${reason}`)
  if (route === 'hold timer') return 'A hold expired'
  if (change === null) return capital(actionWords(route).past)
  if (change.kind === 'unit_set' || change.kind === 'guest_erased') return capital(actionWords(route).past)
  if (change.before === null && change.after !== null) return createdTitle(change.after)
  // Here the entry is not read beside its booking.
  const words = changeAction(change)
    .replace(/\bits dates\b/, 'the dates of a booking')
    .replace(/\bit\b/, 'a booking')
  return capital(words)
}

const ADDED = {
  owner_stay: 'Added an owner stay',
  maintenance: 'Added maintenance',
  block: 'Added a block',
} as const

function createdTitle({ type, status }: Schema<'AuditedStay'>): string {
  if (type !== 'guest') return ADDED[type]
  if (status === 'option' || status === 'draft') return 'Put nights on hold'
  return status === 'confirmed' ? 'Made a booking' : `Added a booking: ${STATUS_LOOKS[status].label.toLowerCase()}`
}

/** What the entry is about, by name; null when the journal says nothing of it. */
function aboutOf({ change, bookingId }: AuditEntry): ComponentChildren | null {
  if (change?.kind === 'guest_erased') return null
  if (change === null) return bookingId === null || !/^bkg_\w{32}$/.test(bookingId) ? null : 'Open the booking'
  if (change.after === null) return <a href={hashOf(['units', change.unitSlug])}>{change.unitName}</a>
  return stayPlace({ ...change.after, unitName: change.unitName })
}

function Who({ entry }: { entry: AuditEntry }) {
  const { name, kind } = actorWords(entry)
  return (
    <span class="audit-who">
      {name}
      {kind !== null && <span class="muted">{kind}</span>}
    </span>
  )
}

function Outcome({ outcome, times }: { outcome: string; times: number }) {
  const { label, tone } = outcomeWords(outcome)
  return (
    <span class="audit-outcome">
      <Badge tone={tone}>{label}</Badge>
      {times > 1 && <span class="muted">{count(times)} times</span>}
    </span>
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
