import { useState } from 'preact/hooks'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { RoleNote } from '../../design/feedback.tsx'
import { Menu, type MenuItem } from '../../design/menu.tsx'
import { dayOf, todayIn } from '../../format/days.ts'
import { useIsPhone } from '../../lib/hooks.ts'
import type { Booking } from '../../stays/stay-name.ts'
import { CancelDialog, cancelWords } from './cancel-dialog.tsx'
import { ExtensionDialog } from './extension-dialog.tsx'
import { HoldDialog } from './hold-dialog.tsx'
import { MoveBooking } from './move-booking.tsx'
import { type Step, StepDialog, stepAfter } from './step-dialog.tsx'

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
