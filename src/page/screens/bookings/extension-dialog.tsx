import { useState } from 'preact/hooks'
import { Checkbox, DateInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { dayOf, dayText, isoOf } from '../../format/days.ts'
import { patchBooking } from '../../stays/booking-writes.ts'
import { type Booking, stayName } from '../../stays/stay-name.ts'
import { ActionDialog } from './action-dialog.tsx'
import { useVersionedWrite } from './versioned-write.ts'

/** The guest in house is likely to stay on: partners are not sold the nights meanwhile. */
export function ExtensionDialog({ booking, onClose }: { booking: Booking; onClose: () => void }) {
  const departure = dayOf(booking.departure)
  const [until, setUntil] = useState(booking.expectedUntil ?? isoOf(departure + 1))
  const [isOver, setOver] = useState(false)
  const write = useVersionedWrite<{ expectedUntil: string | null }>({
    booking,
    send: patchBooking,
    onDone: ({ expectedUntil, ...changed }) => {
      const said = expectedUntil === null ? 'leaves as booked' : `may stay until ${dayText(dayOf(expectedUntil))}`
      toast({ tone: 'good', text: `${stayName(changed)} ${said}` })
      onClose()
    },
  })
  return (
    <ActionDialog
      title={`Expected extension: ${stayName(booking)}`}
      action="Save"
      write={write}
      canSubmit={isOver || until !== ''}
      onSubmit={() => write.run({ expectedUntil: isOver ? null : until })}
      onClose={onClose}
    >
      <p>
        The booked departure stays {dayText(departure, 'long')}. Partners are not sold the nights after it while the
        guest is expected to stay on; you can still book them.
      </p>
      <DateInput
        label="Expected to stay until"
        min={isoOf(departure + 1)}
        value={until}
        disabled={isOver}
        onChange={setUntil}
        error={write.problem?.of('expectedUntil')}
      />
      {booking.expectedUntil !== null && (
        <Checkbox label="The guest leaves on the booked date after all" isChecked={isOver} onChange={setOver} />
      )}
    </ActionDialog>
  )
}
