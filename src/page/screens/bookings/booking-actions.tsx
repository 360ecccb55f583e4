import { useState } from 'preact/hooks'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { ErrorNote, RoleNote } from '../../design/feedback.tsx'
import { Menu, type MenuItem } from '../../design/menu.tsx'
import { toast } from '../../design/toast.tsx'
import { dayOf, isoOf, todayIn } from '../../format/days.ts'
import { money } from '../../format/numbers.ts'
import { useIsPhone } from '../../lib/hooks.ts'
import { type BookingPatch, patchBooking } from '../../stays/booking-writes.ts'
import { MoveDialog, type Placement } from '../../stays/move-dialog.tsx'
import { type Booking, stayName, stayPlace } from '../../stays/stay-name.ts'
import { useUnits } from '../../stays/use-units.ts'
import { ChangedMeanwhile, useVersionedWrite } from './action-dialog.tsx'
import { ExtensionDialog, HoldDialog } from './hold-dialog.tsx'
import { CancelDialog, cancelWords, type Step, StepDialog, stepAfter } from './step-dialog.tsx'

const MOVE = 'Change dates or unit'

type Open = 'step' | 'move' | 'hold' | 'extension' | 'cancel'

/** What can be done with a booking now: its next step as a button, the rest in a menu. */
export function BookingActions({ booking }: { booking: Booking }) {
  const { may, agency } = useSession()
  const isPhone = useIsPhone()
  const [open, setOpen] = useState<Open | null>(null)
  if (booking.status === 'cancelled') return <RoleNote>Cancelled. The nights are free again.</RoleNote>
  if (!may('desk')) return <RoleNote>You can view this, but changing it needs the role Desk or a higher one.</RoleNote>
  const step = stepAfter(booking)
  const close = () => setOpen(null)
  return (
    <>
      {!isPhone && (
        <Button icon="calendar" onClick={() => setOpen('move')}>
          {MOVE}
        </Button>
      )}
      {step !== null && (
        <Button
          tone={isDue(step, booking, todayIn(agency.timezone)) ? 'primary' : 'plain'}
          icon={step.icon}
          onClick={() => setOpen('step')}
        >
          {step.action}
        </Button>
      )}
      <span class="booking-menu">
        <Menu
          label="More actions"
          items={[
            ...(isPhone ? [{ label: MOVE, icon: 'calendar' as const, onSelect: () => setOpen('move') }] : []),
            ...moreActions(booking, setOpen),
          ]}
        />
      </span>
      {open === 'step' && step !== null && <StepDialog step={step} booking={booking} onClose={close} />}
      {open === 'move' && <MoveBooking booking={booking} onClose={close} />}
      {open === 'hold' && <HoldDialog booking={booking} onClose={close} />}
      {open === 'extension' && <ExtensionDialog booking={booking} onClose={close} />}
      {open === 'cancel' && <CancelDialog booking={booking} onClose={close} />}
    </>
  )
}

function moreActions({ status, type }: Booking, open: (which: Open) => void): MenuItem[] {
  const isHold = status === 'option' || status === 'draft'
  return [
    ...(isHold ? [{ label: 'Extend the hold', icon: 'clock' as const, onSelect: () => open('hold') }] : []),
    ...(status === 'checked_in'
      ? [{ label: 'Expected extension', icon: 'clock' as const, onSelect: () => open('extension') }]
      : []),
    { label: cancelWords({ status, type }), icon: 'close', isDanger: true, onSelect: () => open('cancel') },
  ]
}

/** Whether the step is what the booking waits for today. A hold always waits. */
function isDue({ to }: Step, { arrival, departure }: Booking, today: number): boolean {
  if (to === 'confirmed') return true
  return today >= dayOf(to === 'checked_in' ? arrival : departure)
}

/** Moves a booking to other dates, another unit, or both. */
function MoveBooking({ booking, onClose }: { booking: Booking; onClose: () => void }) {
  const { currency } = useSession()
  const units = useUnits().data ?? []
  // Members left out: as the booking has them, also when a colleague has changed that meanwhile.
  const [proposed, setProposed] = useState<Partial<Placement>>({})
  const write = useVersionedWrite<BookingPatch>({
    booking,
    send: patchBooking,
    onDone: (changed) => {
      const price = changed.type === 'guest' ? `, ${money(changed.totalAmount, currency)}` : ''
      toast({ tone: 'good', text: `${stayName(changed)}: ${stayPlace(changed)}${price}` })
      onClose()
    },
  })
  const { base, conflict } = write
  const stay = {
    id: base.id,
    version: base.version,
    type: base.type,
    total: base.totalAmount,
    unit: base.unitSlug,
    arrival: dayOf(base.arrival),
    departure: dayOf(base.departure),
  }
  const now: Placement = { unit: stay.unit, arrival: stay.arrival, departure: stay.departure }
  const to = { ...now, ...proposed }
  return (
    <MoveDialog
      name={stayName(booking)}
      units={
        units.length === 0
          ? [{ slug: base.unitSlug, name: base.unitName, isArchived: false }]
          : units.map(({ slug, name, status }) => ({ slug, name, isArchived: status === 'archived' }))
      }
      stay={stay}
      // A colleague may have changed the other end of the stay.
      to={{ ...to, departure: Math.max(to.departure, to.arrival + 1) }}
      isBusy={write.isRunning}
      isConflict={conflict !== null}
      notice={
        <>
          <ChangedMeanwhile conflict={conflict} />
          <ErrorNote problem={write.problem} />
        </>
      }
      onProposed={(next) => setProposed(differences(now, next))}
      onConfirm={(chosen, pricing) => {
        const { unit, arrival, departure } = differences(now, chosen)
        write.run({
          ...(unit === undefined ? {} : { unit }),
          ...(arrival === undefined ? {} : { arrival: isoOf(arrival) }),
          ...(departure === undefined ? {} : { departure: isoOf(departure) }),
          ...(base.type === 'guest' ? { pricing } : {}),
        })
      }}
      onClose={onClose}
    />
  )
}

/** The members of `to` that are not as they are now. */
function differences(now: Placement, to: Placement): Partial<Placement> {
  return {
    ...(to.unit === now.unit ? {} : { unit: to.unit }),
    ...(to.arrival === now.arrival ? {} : { arrival: to.arrival }),
    ...(to.departure === now.departure ? {} : { departure: to.departure }),
  }
}
