import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { barText } from '../../chart/labels.ts'
import { dueOn, isHold, type Stay } from '../../chart/stay.ts'
import { useMutation, type WriteHeaders } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { DateInput, Select, TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { type Day, isoOf, parseDay } from '../../format/days.ts'
import { present } from '../../lib/present.ts'
import { type BookingPatch, cancelBooking, patchBooking } from '../../stays/booking-writes.ts'
import { checkOutPatch, EARLY_CHOICE, EarlyDeparture, earlyDeparture } from '../../stays/early-departure.tsx'
import type { Booking } from '../../stays/stay-name.ts'

type Action =
  | { readonly kind: 'change'; readonly change: BookingPatch }
  | { readonly kind: 'cancel'; readonly reason: string }
type Form = 'extend-hold' | 'expect' | 'check-out' | 'cancel' | null

const HOLD_EXTENSIONS = [
  { value: '24', label: '24 hours from now' },
  { value: '48', label: '48 hours from now' },
  { value: '168', label: '7 days from now' },
  { value: '336', label: '14 days from now' },
] as const

/** What can be done with a stay in its status. Each write says which version it is about. */
export function StayActions({
  stay,
  today,
  onTook,
  onMove,
}: {
  stay: Stay
  today: Day
  onTook: (booking: Booking) => void
  onMove: () => void
}) {
  const { path } = useSession()
  const [form, setForm] = useState<Form>(null)
  const write = useMutation({
    send: ({ action }: { action: Action; said: string }, headers: WriteHeaders) =>
      action.kind === 'cancel'
        ? cancelBooking(action.reason, { ...path, bookingId: stay.id }, headers)
        : patchBooking(action.change, { ...path, bookingId: stay.id }, headers),
    version: () => stay.version,
    report: 'inline',
    onDone: ({ booking }, { said }) => {
      setForm(null)
      onTook(booking)
      toast({ tone: 'good', text: `${said}: ${barText(stay)}` })
    },
  })
  const run = (action: Action, said: string) => void write.run({ action, said })
  const set = (change: BookingPatch, said: string) => run({ kind: 'change', change }, said)
  const open = (wanted: Form) => {
    write.reset()
    setForm(form === wanted ? null : wanted)
  }
  const { status, type } = stay
  const isPerson = type === 'guest' || type === 'owner_stay'
  const due = dueOn(stay, today)
  const earlyDay = earlyDeparture(stay, today)
  const isBusy = write.isRunning

  return (
    <>
      <div class="stay-actions">
        {isHold(status) && (
          <Button tone="primary" isBusy={isBusy} onClick={() => set({ status: 'confirmed' }, 'Confirmed')}>
            Confirm
          </Button>
        )}
        {/* Not before the day: here one click does it, and nothing takes it back. The booking's page asks first. */}
        {status === 'confirmed' && isPerson && today >= stay.arrival && (
          <Button
            tone={due === 'arrival' ? 'primary' : 'plain'}
            icon="arrive"
            isBusy={isBusy}
            onClick={() => set({ status: 'checked_in' }, 'Checked in')}
          >
            Check in
          </Button>
        )}
        {status === 'checked_in' && (
          <Button
            tone={due === 'departure' ? 'primary' : 'plain'}
            icon="depart"
            isBusy={isBusy}
            {...(earlyDay === null ? {} : { 'aria-expanded': form === 'check-out' })}
            onClick={() => (earlyDay === null ? set({ status: 'checked_out' }, 'Checked out') : open('check-out'))}
          >
            {earlyDay === null ? 'Check out' : 'Check out early…'}
          </Button>
        )}
        <Button onClick={onMove} icon="edit">
          Change dates or unit…
        </Button>
        {isHold(status) && (
          <Button aria-expanded={form === 'extend-hold'} onClick={() => open('extend-hold')}>
            Extend hold…
          </Button>
        )}
        {status === 'checked_in' && (
          <Button aria-expanded={form === 'expect'} onClick={() => open('expect')}>
            Expected extension…
          </Button>
        )}
        <Button tone="quiet" aria-expanded={form === 'cancel'} onClick={() => open('cancel')}>
          {isPerson ? 'Cancel stay…' : 'Remove…'}
        </Button>
      </div>
      {form === 'extend-hold' && (
        <ExtendHold
          isBusy={isBusy}
          onSubmit={(hours) =>
            set({ holdExpiresAt: new Date(present() + hours * 3_600_000).toISOString() }, 'Hold extended')
          }
        />
      )}
      {form === 'expect' && (
        <Expect
          stay={stay}
          isBusy={isBusy}
          onSubmit={(until) =>
            set({ expectedUntil: until }, until === null ? 'No longer expected to extend' : 'Expected extension saved')
          }
        />
      )}
      {form === 'check-out' && earlyDay !== null && (
        <CheckOutEarly {...{ stay, today, isBusy }} day={earlyDay} onSubmit={(change) => set(change, 'Checked out')} />
      )}
      {form === 'cancel' && (
        <Cancel
          isPerson={isPerson}
          isBusy={isBusy}
          onSubmit={(reason) => run({ kind: 'cancel', reason }, isPerson ? 'Stay cancelled' : 'Removed')}
        />
      )}
      <ErrorNote problem={write.problem} />
    </>
  )
}

function ExtendHold({ isBusy, onSubmit }: { isBusy: boolean; onSubmit: (hours: number) => void }) {
  const [hours, setHours] = useState<string>('48')
  return (
    <StayForm onSubmit={() => onSubmit(Number(hours))}>
      <Select label="New expiry" value={hours} options={HOLD_EXTENSIONS} onChange={setHours} />
      <div class="stay-form-buttons">
        <Button type="submit" tone="primary" isBusy={isBusy}>
          Extend hold
        </Button>
      </div>
    </StayForm>
  )
}

function Expect(props: { stay: Stay; isBusy: boolean; onSubmit: (until: string | null) => void }) {
  const { stay, isBusy, onSubmit } = props
  const [until, setUntil] = useState(isoOf(stay.expectedUntil ?? stay.departure + 1))
  return (
    <StayForm onSubmit={() => onSubmit(until)}>
      <DateInput
        label="Expected to stay until"
        value={until}
        min={isoOf(stay.departure + 1)}
        hint="Until then partners cannot book these nights. The departure date does not change."
        onChange={setUntil}
      />
      <div class="stay-form-buttons">
        {stay.expectedUntil !== null && <Button onClick={() => onSubmit(null)}>Clear extension</Button>}
        <Button type="submit" tone="primary" isBusy={isBusy} disabled={parseDay(until) === null}>
          Save extension
        </Button>
      </div>
    </StayForm>
  )
}

function CheckOutEarly(props: {
  stay: Stay
  day: Day
  today: Day
  isBusy: boolean
  onSubmit: (change: BookingPatch) => void
}) {
  const { stay, day, today, isBusy, onSubmit } = props
  const [choice, setChoice] = useState(EARLY_CHOICE)
  return (
    <StayForm onSubmit={() => onSubmit(checkOutPatch(stay, today, choice))}>
      <EarlyDeparture {...{ stay, day, choice }} onChange={setChoice} />
      <div class="stay-form-buttons">
        <Button type="submit" tone="primary" isBusy={isBusy}>
          Check out now
        </Button>
      </div>
    </StayForm>
  )
}

function Cancel(props: { isPerson: boolean; isBusy: boolean; onSubmit: (reason: string) => void }) {
  const [reason, setReason] = useState('')
  return (
    <StayForm onSubmit={() => props.onSubmit(reason)}>
      <TextInput label="Reason" isOptional value={reason} maxLength={255} onChange={setReason} />
      <p class="muted">The nights become free immediately. This cannot be undone.</p>
      <div class="stay-form-buttons">
        <Button type="submit" tone="danger" isBusy={props.isBusy}>
          {props.isPerson ? 'Cancel stay now' : 'Remove now'}
        </Button>
      </div>
    </StayForm>
  )
}

/** What an action has still to know. It has the focus when it opens. */
function StayForm({ onSubmit, children }: { onSubmit: () => void; children: ComponentChildren }) {
  const form = useRef<HTMLFormElement>(null)
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>('input, select')?.focus(), [])
  return (
    <form
      ref={form}
      class="stay-form"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}
