import { useState } from 'preact/hooks'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Checkbox, DateInput, FieldRow, TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { dayOf, dayText, isoOf } from '../../format/days.ts'
import { instantOf, instantText, localTime, timeLeft } from '../../format/instants.ts'
import { present } from '../../lib/present.ts'
import { patchBooking } from '../../stays/booking-writes.ts'
import { type Booking, stayName } from '../../stays/stay-name.ts'
import { ActionDialog, useVersionedWrite } from './action-dialog.tsx'

const HOUR_MS = 3_600_000
const LONGER = [
  { label: '+ 1 day', ms: 24 * HOUR_MS },
  { label: '+ 3 days', ms: 72 * HOUR_MS },
  { label: '+ 1 week', ms: 168 * HOUR_MS },
]

export function HoldDialog({ booking, onClose }: { booking: Booking; onClose: () => void }) {
  const { timezone } = useSession().agency
  const before = Date.parse(booking.holdExpiresAt ?? '') || present()
  const [until, setUntil] = useState(() => localTime(before + 24 * HOUR_MS, timezone))
  const write = useVersionedWrite<{ holdExpiresAt: string }>({
    booking,
    send: patchBooking,
    onDone: ({ holdExpiresAt, ...changed }) => {
      const lasts = holdExpiresAt === null ? 'has ended' : `is held until ${instantText(holdExpiresAt, timezone)}`
      toast({ tone: 'good', text: `${stayName(changed)} ${lasts}` })
      onClose()
    },
  })
  const at = instantOf(until, timezone)
  const isPast = at !== null && at <= present()
  return (
    <ActionDialog
      title={`Extend the hold: ${stayName(booking)}`}
      action="Extend hold"
      write={write}
      canSubmit={at !== null && !isPast}
      onSubmit={() => at !== null && write.run({ holdExpiresAt: new Date(at).toISOString() })}
      onClose={onClose}
    >
      <p>
        Now held until {instantText(before, timezone)}, {timeLeft(before)} from now. After that the nights are free
        again.
      </p>
      <div class="booking-presets">
        {LONGER.map(({ label, ms }) => (
          <Button key={label} size="s" onClick={() => setUntil(localTime(before + ms, timezone))}>
            {label}
          </Button>
        ))}
      </div>
      <FieldRow>
        <DateInput
          label="Held until"
          min={localTime(present(), timezone).date}
          value={until.date}
          onChange={(date) => setUntil({ ...until, date })}
          error={isPast ? 'That is in the past.' : write.problem?.of('holdExpiresAt')}
        />
        <TextInput label="At" type="time" value={until.time} onChange={(time) => setUntil({ ...until, time })} />
      </FieldRow>
      <p class="muted">Dates and times are those of {timezone.replaceAll('_', ' ')}.</p>
    </ActionDialog>
  )
}

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
