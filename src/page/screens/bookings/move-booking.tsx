import { useState } from 'preact/hooks'
import { useSession } from '../../data/use-session.ts'
import { ErrorNote } from '../../design/feedback.tsx'
import { toast } from '../../design/toast.tsx'
import { dayOf, isoOf } from '../../format/days.ts'
import { money } from '../../format/numbers.ts'
import { type BookingPatch, patchBooking } from '../../stays/booking-writes.ts'
import { MoveDialog, type Placement } from '../../stays/move-dialog.tsx'
import { type Booking, stayDates, stayName } from '../../stays/stay-name.ts'
import { useUnits } from '../../stays/use-units.ts'
import { ChangedMeanwhile } from './changed-meanwhile.tsx'
import { useVersionedWrite } from './versioned-write.ts'

/** Moves a booking to other dates, another unit, or both. */
export function MoveBooking({ booking, onClose }: { booking: Booking; onClose: () => void }) {
  const { currency } = useSession()
  const units = useUnits().data ?? []
  // Members left out: as the booking has them, also when a colleague has changed that meanwhile.
  const [proposed, setProposed] = useState<Partial<Placement>>({})
  const write = useVersionedWrite<BookingPatch>({
    booking,
    send: patchBooking,
    onDone: (changed) => {
      const price = changed.type === 'guest' ? `, ${money(changed.totalAmount, currency)}` : ''
      toast({ tone: 'good', text: `${stayName(changed)}: ${changed.unitName}, ${stayDates(changed)}${price}` })
      onClose()
    },
  })
  const { base, conflict } = write
  const stay = {
    ...{ id: base.id, version: base.version, type: base.type, total: base.totalAmount },
    ...{ unit: base.unitSlug, arrival: dayOf(base.arrival), departure: dayOf(base.departure) },
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
