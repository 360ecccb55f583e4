import { useState } from 'preact/hooks'
import { DateInput, FieldRow, Select } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { plural } from '../../format/count.ts'
import { dayOf, isoOf } from '../../format/days.ts'
import { money } from '../../format/money.ts'
import { useSession } from '../../session/use-session.ts'
import { type Booking, stayDates, stayName } from '../../stays/stay-name.ts'
import { useUnits } from '../../stays/use-units.ts'
import { ActionDialog } from './action-dialog.tsx'
import { MovePrice, type Pricing } from './move-price.tsx'
import { type BookingPatch, patchBooking } from './patch-booking.ts'
import { useVersionedWrite } from './versioned-write.ts'

/** Other dates, another unit, or both. */
export function MoveDialog({ booking, onClose }: { booking: Booking; onClose: () => void }) {
  const { currency } = useSession()
  const units = useUnits().data ?? []
  // Null: as the booking has it, also when a colleague has changed that meanwhile.
  const [newUnit, setUnit] = useState<string | null>(null)
  const [newArrival, setArrival] = useState<string | null>(null)
  const [newDeparture, setDeparture] = useState<string | null>(null)
  const [pricing, setPricing] = useState<Pricing>('reprice')
  const write = useVersionedWrite<BookingPatch>({
    booking,
    send: patchBooking,
    onDone: (changed) => {
      const price = changed.type === 'guest' ? `, ${money(changed.totalAmount, currency)}` : ''
      toast({ tone: 'good', text: `${stayName(changed)}: ${changed.unitName}, ${stayDates(changed)}${price}` })
      onClose()
    },
  })
  const { base } = write
  const unit = newUnit ?? base.unitSlug
  const arrival = newArrival ?? base.arrival
  const departure = newDeparture ?? base.departure
  const nights = arrival === '' || departure === '' ? 0 : dayOf(departure) - dayOf(arrival)
  const change: BookingPatch = {
    ...(unit === base.unitSlug ? {} : { unit }),
    ...(arrival === base.arrival ? {} : { arrival }),
    ...(departure === base.departure ? {} : { departure }),
  }
  const isMoved = Object.keys(change).length > 0 && nights > 0
  const options = units
    .filter(({ slug, status }) => status !== 'archived' || slug === base.unitSlug)
    .map(({ slug, name }) => ({ value: slug, label: name }))
  return (
    <ActionDialog
      title={`Change dates or unit: ${stayName(booking)}`}
      action="Change the booking"
      width="m"
      write={write}
      canSubmit={isMoved}
      onSubmit={() => write.run(base.type === 'guest' ? { ...change, pricing } : change)}
      onClose={onClose}
    >
      <p>
        Now {base.unitName}, {stayDates(base)}
        {base.type === 'guest' && `, ${money(base.totalAmount, currency)}`}.
      </p>
      <Select
        label="Unit"
        value={unit}
        onChange={setUnit}
        options={options.length === 0 ? [{ value: base.unitSlug, label: base.unitName }] : options}
      />
      <FieldRow>
        <DateInput
          label="Arrival"
          value={arrival}
          onChange={(value) => {
            // The stay keeps its length until the departure is changed too.
            if (value !== '' && nights > 0) setDeparture(isoOf(dayOf(value) + nights))
            setArrival(value)
          }}
          error={write.problem?.of('arrival')}
        />
        <DateInput
          label="Departure"
          value={departure}
          min={arrival === '' ? '' : isoOf(dayOf(arrival) + 1)}
          onChange={setDeparture}
          hint={nights > 0 ? plural(nights, 'night') : undefined}
          error={nights <= 0 ? 'The departure must be after the arrival.' : write.problem?.of('departure')}
        />
      </FieldRow>
      <MovePrice booking={base} change={isMoved ? change : null} pricing={pricing} onPricing={setPricing} />
    </ActionDialog>
  )
}
