import { useState } from 'preact/hooks'
import { useSession } from '../../data/use-session.ts'
import { DescriptionList } from '../../design/card.tsx'
import { Note } from '../../design/feedback.tsx'
import type { IconName } from '../../design/icon.tsx'
import { TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { dayOf, dayText, todayIn } from '../../format/days.ts'
import { money } from '../../format/numbers.ts'
import { type BookingPatch, cancelBooking, patchBooking } from '../../stays/booking-writes.ts'
import { checkOutPatch, EARLY_CHOICE, EarlyDeparture, earlyDeparture } from '../../stays/early-departure.tsx'
import { type Booking, partyText, stayDates, stayName } from '../../stays/stay-name.ts'
import { ActionDialog, useVersionedWrite } from './action-dialog.tsx'

/** The way of a booking from a hold to the departure. There is no way back, so each step is asked for. */
export interface Step {
  readonly to: 'confirmed' | 'checked_in' | 'checked_out'
  readonly action: string
  readonly icon: IconName
  readonly done: (name: string) => string
}

const CONFIRM: Step = { to: 'confirmed', action: 'Confirm', icon: 'check', done: (name) => `${name} is confirmed` }
const CHECK_IN: Step = { to: 'checked_in', action: 'Check in', icon: 'arrive', done: (name) => `${name} is in house` }
const CHECK_OUT: Step = {
  to: 'checked_out',
  action: 'Check out',
  icon: 'depart',
  done: (name) => `${name} is checked out`,
}

/** The next step; null at the end of the way, and for what nobody arrives for. */
export function stepAfter({ status, type }: Booking): Step | null {
  if (status === 'option' || status === 'draft') return CONFIRM
  if (type !== 'guest' && type !== 'owner_stay') return null
  return status === 'confirmed' ? CHECK_IN : status === 'checked_in' ? CHECK_OUT : null
}

/** @param step the next one; that of the opening stays, also when the booking has taken it while the dialog is still closing */
export function StepDialog({
  step: initialStep,
  booking,
  onClose,
}: {
  step: Step
  booking: Booking
  onClose: () => void
}) {
  const [step] = useState(initialStep)
  const { currency, agency } = useSession()
  const [early, setEarly] = useState(EARLY_CHOICE)
  const write = useVersionedWrite<BookingPatch>({
    booking,
    send: patchBooking,
    onDone: (changed) => {
      toast({ tone: 'good', text: step.done(stayName(changed)) })
      onClose()
    },
  })
  const { base } = write
  const { type, totalAmount, arrival, departure, unitName } = base
  const today = todayIn(agency.timezone)
  const warning = warningOf(step, base, today)
  const stay = {
    id: base.id,
    version: base.version,
    type,
    total: totalAmount,
    arrival: dayOf(arrival),
    departure: dayOf(departure),
  }
  const earlyDay = step.to === 'checked_out' ? earlyDeparture(stay, today) : null
  return (
    <ActionDialog
      title={`${step.action}: ${stayName(booking)}`}
      action={step.action}
      write={write}
      onSubmit={() => write.run(step.to === 'checked_out' ? checkOutPatch(stay, today, early) : { status: step.to })}
      onClose={onClose}
    >
      <DescriptionList
        items={[
          ['Unit', unitName],
          ['Arrival', dayText(dayOf(arrival), 'short')],
          ['Departure', dayText(dayOf(departure), 'short')],
          ['Party', partyText(base)],
          ...(type === 'guest' ? [['Total', money(totalAmount, currency)] as const] : []),
        ]}
      />
      {warning !== null && (
        <Note tone="warn">
          <p>{warning}</p>
        </Note>
      )}
      {earlyDay !== null && <EarlyDeparture stay={stay} day={earlyDay} choice={early} onChange={setEarly} />}
    </ActionDialog>
  )
}

/** What is unusual about taking the step today. */
function warningOf({ to }: Step, { arrival }: Booking, today: number): string | null {
  if (to === 'checked_in' && dayOf(arrival) > today)
    return `The arrival is only on ${dayText(dayOf(arrival), 'long')}. Checking in cannot be taken back.`
  return null
}

const REASON_LENGTH_MAX = 255

/** What cancelling it is called. */
export function cancelWords({ status, type }: Pick<Booking, 'status' | 'type'>): string {
  if (status === 'option' || status === 'draft') return 'Release the hold'
  return type === 'guest' ? 'Cancel the booking' : 'Remove it'
}

export function CancelDialog({ booking, onClose }: { booking: Booking; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const write = useVersionedWrite<string>({
    booking,
    send: cancelBooking,
    onDone: (changed) => {
      toast({ tone: 'good', text: `${stayName(changed)} is cancelled. The nights are free.` })
      onClose()
    },
  })
  const { base } = write
  const action = cancelWords(base)
  return (
    <ActionDialog
      title={`${action}: ${stayName(booking)}`}
      action={action}
      tone="danger"
      write={write}
      onSubmit={() => write.run(reason)}
      onClose={onClose}
    >
      <p>
        The nights of {stayDates(base)} in {base.unitName} become free immediately. This cannot be undone: someone else
        may book them.
      </p>
      <TextInput
        label="Reason"
        isOptional
        hint="Visible to partners who can read the booking."
        maxLength={REASON_LENGTH_MAX}
        value={reason}
        onChange={setReason}
        autocomplete="off"
        autofocus
        error={write.problem?.of('reason')}
      />
    </ActionDialog>
  )
}
