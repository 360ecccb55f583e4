/** The dialog of an action on a booking, and its write, which is refused when a colleague has changed the booking since. */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { useMutation, type WriteHeaders } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { relativeTime } from '../../format/instants.ts'
import { type ActorWords, actorWords, changedMembers } from '../../history/history-words.ts'
import { present } from '../../lib/present.ts'
import type { BookingPath } from '../../stays/booking-writes.ts'
import type { Booking } from '../../stays/stay-name.ts'

/** What a colleague has done in the meantime. */
export interface Conflict {
  readonly seen: Booking
  readonly now: Booking
  /** Null if the trail does not say. */
  readonly by: { readonly who: ActorWords; readonly at: string } | null
}

export interface VersionedWrite<Input> {
  /** Sends it, based on the booking that was seen; after a conflict, on the booking as it is now. */
  run(input: Input): void
  /** The booking that it is based on. */
  readonly base: Booking
  readonly isRunning: boolean
  /** Why it was refused, unless that is told by `conflict`. */
  readonly problem: Problem | null
  readonly conflict: Conflict | null
}

interface VersionedInput<Input> {
  readonly input: Input
  readonly version: number
}

/** @param options.send the write itself, with the headers it is given */
export function useVersionedWrite<Input>({
  booking,
  send,
  onDone,
}: {
  booking: Booking
  send: (input: Input, path: BookingPath, headers: WriteHeaders) => Promise<{ booking: Booking }>
  onDone: (booking: Booking) => void
}): VersionedWrite<Input> {
  const { path } = useSession()
  const bookingPath = { ...path, bookingId: booking.id }
  // As it was when the dialog was opened: what is on the screen behind it may be reloaded meanwhile.
  const [seen, setSeen] = useState(booking)
  const [conflict, setConflict] = useState<Conflict | null>(null)
  const mutation = useMutation<VersionedInput<Input>, { booking: Booking }>({
    send: async ({ input }, headers) => {
      try {
        return await send(input, bookingPath, headers)
      } catch (error) {
        if (problemOf(error).code === 'VERSION_CHANGED') {
          const now = await current(bookingPath)
          setConflict({ seen, now, by: await lastChange(bookingPath) })
          setSeen(now)
        }
        throw error
      }
    },
    version: ({ version }) => version,
    invalidates: ['bookings', 'audit', 'guests', 'overview', 'tape'],
    report: 'inline',
    onDone: ({ booking: changed }) => onDone(changed),
  })
  const isConflict = mutation.problem?.code === 'VERSION_CHANGED'
  return {
    run: (input) => void mutation.run({ input, version: seen.version }),
    base: seen,
    isRunning: mutation.isRunning,
    problem: isConflict && conflict !== null ? null : mutation.problem,
    conflict: isConflict ? conflict : null,
  }
}

async function current(path: BookingPath): Promise<Booking> {
  const { booking } = await answerOf(
    client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', { params: { path } }),
  )
  return booking
}

/** The newest line of the trail that changed it. */
async function lastChange({ bookingId, agencySlug }: BookingPath): Promise<Conflict['by']> {
  const query = { booking: bookingId, outcome: 'OK', pageSize: 1 }
  const { audit } = await answerOf(
    client.GET('/portal/v1/agencies/{agencySlug}/audit', { params: { path: { agencySlug }, query } }),
  )
  const [entry] = audit
  return entry === undefined ? null : { who: actorWords(entry), at: entry.at }
}

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
  const now = present()
  // Clocks differ a little: what has just happened may seem to come.
  return now - Date.parse(instant) < 60_000 ? 'just now' : relativeTime(instant, now)
}

/** One action on a booking: what it is about, and what came of it. What was entered stays until it succeeds. */
export function ActionDialog({
  title,
  action,
  tone = 'primary',
  write,
  canSubmit = true,
  onSubmit,
  onClose,
  children,
  width = 's',
}: {
  title: string
  /** On the button: "Check in". */
  action: string
  tone?: 'primary' | 'danger'
  write: Pick<VersionedWrite<never>, 'isRunning' | 'problem' | 'conflict'>
  canSubmit?: boolean
  onSubmit: () => void
  onClose: () => void
  children: ComponentChildren
  width?: 's' | 'm'
}) {
  const { isRunning, problem, conflict } = write
  return (
    <FormDialog
      title={title}
      width={width}
      onClose={onClose}
      onSubmit={onSubmit}
      action={conflict === null ? action : `${action} anyway`}
      cancel={conflict === null ? 'Back' : 'Discard'}
      tone={tone}
      isBusy={isRunning}
      isDisabled={!canSubmit}
    >
      {children}
      <ChangedMeanwhile conflict={conflict} />
      <ErrorNote problem={problem} />
    </FormDialog>
  )
}
