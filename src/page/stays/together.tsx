/** Stays that were booked together: a list of them, and a button that cancels all. */
import './together.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../api/client.ts'
import { useMutation, type WriteHeaders } from '../data/use-mutation.ts'
import { useResource } from '../data/use-resource.ts'
import { useSession } from '../data/use-session.ts'
import { StatusBadge } from '../design/badge.tsx'
import { Button } from '../design/button.tsx'
import { FormDialog } from '../design/dialog.tsx'
import { ErrorNote, LoadStatus } from '../design/feedback.tsx'
import { TextInput } from '../design/inputs.tsx'
import { toast } from '../design/toast.tsx'
import { money, plural } from '../format/numbers.ts'
import { cancelGroup } from './booking-writes.ts'
import { type Booking, stayDates, stayName, stayPlace } from './stay-name.ts'

/** As many as the service books at once. */
const STAYS_MAX = 20

interface TogetherProps {
  readonly groupId: string
  /** The stay that is shown, and its version: the list is read again when either changes. */
  readonly id: string
  readonly version: number
  readonly hrefOf: (id: string) => string
  /** Called with all stays of the group after they were cancelled. */
  readonly onCancelled?: (bookings: readonly Booking[]) => void
}

export function Together({ groupId, id, version, hrefOf, onCancelled }: TogetherProps) {
  const { path, currency, may } = useSession()
  const [isCancelling, setCancelling] = useState(false)
  const { data, error, refresh } = useResource(`bookings?group=${groupId}&of=${id}&version=${version}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings', {
        params: { path, query: { group: groupId, order: 'earliest_first', pageSize: STAYS_MAX } },
        signal,
      }),
    ),
  )
  const bookings = data?.bookings ?? []
  const left = bookings.filter(({ status }) => status !== 'cancelled')
  const total = left.reduce((sum, { totalAmount }) => sum + totalAmount, 0)
  return (
    <div class="together">
      <LoadStatus of={{ data, error, refresh }} lines={2} />
      <ul>
        {bookings.map((booking) => (
          <li key={booking.id} class={booking.status === 'cancelled' ? 'is-cancelled' : undefined}>
            {booking.id === id ? (
              <strong aria-current="true">{booking.unitName}</strong>
            ) : (
              <a href={hrefOf(booking.id)}>{booking.unitName}</a>
            )}
            <span class="numeric muted">{stayDates(booking)}</span>
            <StatusBadge status={booking.status} type={booking.type} />
          </li>
        ))}
      </ul>
      {left.length > 1 && left.every(({ type }) => type === 'guest') && (
        <p class="together-total">
          <span>Total of {plural(left.length, 'stay')}</span>
          <strong class="numeric">{money(total, currency)}</strong>
        </p>
      )}
      {left.length > 1 && may('desk') && (
        <div>
          <Button size="s" onClick={() => setCancelling(true)}>
            Cancel all {plural(left.length, 'stay')}…
          </Button>
        </div>
      )}
      {isCancelling && (
        <CancelGroup
          {...{ groupId, left }}
          onDone={(cancelled) => {
            setCancelling(false)
            onCancelled?.(cancelled)
          }}
          onClose={() => setCancelling(false)}
        />
      )}
    </div>
  )
}

interface CancelGroupProps {
  readonly groupId: string
  /** The stays that are not cancelled. */
  readonly left: readonly Booking[]
  readonly onDone: (bookings: readonly Booking[]) => void
  readonly onClose: () => void
}

function CancelGroup({ groupId, left, onDone, onClose }: CancelGroupProps) {
  const { path } = useSession()
  const [reason, setReason] = useState('')
  const what = plural(left.length, 'stay')
  const write = useMutation({
    send: (said: string, headers: WriteHeaders) => cancelGroup(said, { ...path, groupId }, headers),
    invalidates: ['bookings'],
    report: 'inline',
    onDone: ({ bookings }) => {
      const [first] = left
      toast({ tone: 'good', text: `${what} cancelled${first === undefined ? '' : `: ${stayName(first)}`}` })
      onDone(bookings)
    },
  })
  return (
    <FormDialog
      title={`Cancel ${what}`}
      width="s"
      onClose={onClose}
      onSubmit={() => void write.run(reason)}
      action={`Cancel ${what}`}
      cancel="Keep them"
      tone="danger"
      isBusy={write.isRunning}
    >
      <p>All of these are cancelled at once. Their nights become free immediately. This cannot be undone.</p>
      <ul class="together-list">
        {left.map((booking) => (
          <li key={booking.id}>{stayPlace(booking)}</li>
        ))}
      </ul>
      <TextInput label="Reason" isOptional value={reason} maxLength={255} onChange={setReason} />
      <ErrorNote problem={write.problem} />
    </FormDialog>
  )
}
