import './calendar.css'
import { useState } from 'preact/hooks'
import type { ChartUnit } from '../../chart/stay.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Segments } from '../../design/choices.tsx'
import { SidePanel } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import {
  Checkbox,
  DateInput,
  FieldRow,
  FieldSet,
  NumberInput,
  Select,
  TextArea,
  TextInput,
} from '../../design/inputs.tsx'
import { QuoteLines } from '../../design/quote-lines.tsx'
import { type Day, isoOf, parseDay } from '../../format/days.ts'
import { money, plural } from '../../format/numbers.ts'
import { createStay, type NewStay, tryStay, useTried } from '../../stays/booking-writes.ts'
import { RestrictionWarning } from '../../stays/restriction-warning.tsx'
import type { Booking } from '../../stays/stay-name.ts'

const KINDS = [
  { value: 'booking', label: 'Booking', action: 'Create booking' },
  { value: 'hold', label: 'Hold', action: 'Place hold' },
  { value: 'owner', label: 'Owner stay', action: 'Add owner stay' },
  { value: 'maintenance', label: 'Maintenance', action: 'Add maintenance' },
  { value: 'block', label: 'Block', action: 'Block nights' },
] as const

type Kind = (typeof KINDS)[number]['value']

const TYPES = {
  booking: 'guest',
  hold: 'guest',
  owner: 'owner_stay',
  maintenance: 'maintenance',
  block: 'block',
} as const satisfies Record<Kind, Booking['type']>

interface NewStayPanelProps {
  readonly units: readonly ChartUnit[]
  readonly unit: string
  readonly arrival: Day
  readonly departure: Day
  /** The dates or the unit were changed in the panel. */
  readonly onProposed: (stay: { readonly unit: string; readonly arrival: Day; readonly departure: Day }) => void
  readonly onCreated: (booking: Booking) => void
  readonly onClose: () => void
}

/** Makes a booking, hold or block. What it costs is asked before anything is written. */
export function NewStayPanel({ units, unit, arrival, departure, onProposed, onCreated, onClose }: NewStayPanelProps) {
  const { path, currency } = useSession()
  const [kind, setKind] = useState<Kind>('booking')
  const [party, setParty] = useState({ adults: 2 as number | null, children: 0 as number | null, extraBed: false })
  const [guest, setGuest] = useState({ firstName: '', lastName: '', email: '', phone: '' })
  const [holdHours, setHoldHours] = useState<number | null>(48)
  const [notes, setNotes] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const type = TYPES[kind]
  const isStay = type === 'guest' || type === 'owner_stay'
  const priced: NewStay = {
    unit,
    arrival,
    departure,
    type,
    notes: '',
    guest: null,
    status: kind === 'hold' ? 'option' : 'confirmed',
    adults: party.adults ?? 0,
    children: party.children ?? 0,
    extraBed: party.extraBed,
    holdHours: kind === 'hold' ? holdHours : null,
  }
  const { tried, problem, isLoading } = useTried(departure > arrival ? priced : null, (signal) =>
    tryStay(path, priced, signal),
  )
  const creation = useMutation({
    send: (stay: NewStay, headers) => createStay(path, stay, headers),
    invalidates: ['bookings'],
    onDone: onCreated,
    report: 'inline',
  })
  const total = tried?.quote?.total ?? null
  const action = KINDS.find(({ value }) => value === kind)?.action ?? ''

  const isNamed = guest.firstName.trim() !== '' || guest.lastName.trim() !== ''
  const isNameMissing = isStay && !isNamed && (guest.email.trim() !== '' || guest.phone.trim() !== '')
  const areHoursMissing = kind === 'hold' && holdHours === null
  const stay: NewStay = { ...priced, notes, guest: isStay && isNamed ? guest : null }
  // It may have been made: then the dry run is refused because of it, while trying again answers with it.
  const isUnanswered = creation.isUnanswered(stay)
  // Whoever submits has seen the price, unless it cannot be asked for now.
  const isTried = problem === null ? !isLoading : problem.isPassing

  function submit() {
    setSubmitted(true)
    if (!isNameMissing) void creation.run(stay)
  }

  return (
    <SidePanel
      title={KINDS.find(({ value }) => value === kind)?.action ?? ''}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            tone="primary"
            isBusy={creation.isRunning}
            disabled={departure <= arrival || areHoursMissing || !(isTried || isUnanswered)}
          >
            {action}
            {total !== null && kind !== 'owner' && ` · ${money(total, currency)}`}
          </Button>
        </>
      }
    >
      <Segments label="Kind of stay" value={kind} options={KINDS} onChange={setKind} />
      <Select
        label="Unit"
        value={unit}
        options={units.filter(({ isArchived }) => !isArchived).map(({ slug, name }) => ({ value: slug, label: name }))}
        onChange={(slug) => onProposed({ unit: slug, arrival, departure })}
      />
      <FieldRow>
        <DateInput
          label="Arrival"
          value={isoOf(arrival)}
          onChange={(text) => {
            const day = parseDay(text)
            if (day !== null) onProposed({ unit, arrival: day, departure: Math.max(departure, day + 1) })
          }}
        />
        <DateInput
          label="Departure"
          value={isoOf(departure)}
          min={isoOf(arrival + 1)}
          hint={plural(departure - arrival, 'night')}
          onChange={(text) => {
            const day = parseDay(text)
            if (day !== null) onProposed({ unit, arrival: Math.min(arrival, day - 1), departure: day })
          }}
        />
      </FieldRow>
      {problem === null && !isLoading && <RestrictionWarning warnings={tried?.warnings} />}
      {isStay && (
        <>
          <FieldRow>
            <NumberInput
              label="Adults"
              min={1}
              max={20}
              value={party.adults}
              onChange={(adults) => setParty({ ...party, adults })}
            />
            <NumberInput
              label="Children"
              min={0}
              max={10}
              value={party.children}
              onChange={(children) => setParty({ ...party, children })}
            />
          </FieldRow>
          {(party.children ?? 0) > 0 && (
            <Checkbox
              label="Extra bed"
              isChecked={party.extraBed}
              onChange={(extraBed) => setParty({ ...party, extraBed })}
            />
          )}
          <FieldSet legend={kind === 'owner' ? 'Owner' : 'Guest'}>
            <FieldRow>
              <TextInput
                label="First name"
                isOptional
                value={guest.firstName}
                maxLength={80}
                error={isSubmitted && isNameMissing ? 'A guest needs a name.' : creation.problem?.of('guest.firstName')}
                onChange={(firstName) => setGuest({ ...guest, firstName })}
              />
              <TextInput
                label="Last name"
                isOptional
                value={guest.lastName}
                maxLength={80}
                error={creation.problem?.of('guest.lastName')}
                onChange={(lastName) => setGuest({ ...guest, lastName })}
              />
            </FieldRow>
            <FieldRow>
              <TextInput
                label="E-mail"
                type="email"
                isOptional
                value={guest.email}
                error={creation.problem?.of('guest.email')}
                onChange={(email) => setGuest({ ...guest, email })}
              />
              <TextInput
                label="Phone"
                type="tel"
                isOptional
                value={guest.phone}
                maxLength={60}
                error={creation.problem?.of('guest.phone')}
                onChange={(phone) => setGuest({ ...guest, phone })}
              />
            </FieldRow>
          </FieldSet>
        </>
      )}
      {kind === 'hold' && (
        <NumberInput
          label="Expires after"
          suffix="hours"
          min={1}
          max={2160}
          value={holdHours}
          error={creation.problem?.of('holdHours')}
          hint="Unless it is confirmed by then, the nights are free again."
          onChange={setHoldHours}
        />
      )}
      <TextArea label="Notes" isOptional rows={2} maxLength={2000} value={notes} onChange={setNotes} />
      {problem !== null ? (
        !isUnanswered && <ErrorNote problem={problem} />
      ) : tried?.quote == null ? (
        !isLoading && <p class="muted">No charge for these nights.</p>
      ) : (
        <QuoteLines
          lines={tried.quote.lines}
          total={tried.quote.total}
          totalHead={`Total, ${plural(tried.quote.nights, 'night')}`}
          currency={currency}
          isFaded={isLoading}
        />
      )}
      {(problem === null || isUnanswered) && <ErrorNote problem={creation.problem} />}
      {areHoursMissing && <Note tone="warn">Enter the number of hours after which the hold expires.</Note>}
    </SidePanel>
  )
}
