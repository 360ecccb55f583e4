import './calendar.css'
import { useState } from 'preact/hooks'
import type { Problem } from '../../api/problem.ts'
import type { ChartUnit } from '../../chart/stay.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { SidePanel } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { FieldRow, FieldSet, NumberInput, TextArea, TextInput } from '../../design/inputs.tsx'
import { QuoteLines } from '../../design/quote-lines.tsx'
import { Segments } from '../../design/segments.tsx'
import { dayOf, dayRange, dayText } from '../../format/days.ts'
import { money, plural } from '../../format/numbers.ts'
import { nameText } from '../../format/texts.ts'
import { createStays, type NewStays, type TriedStay, tryStays, useTried } from '../../stays/booking-writes.ts'
import type { Placement } from '../../stays/move-dialog.tsx'
import type { Booking } from '../../stays/stay-name.ts'
import { type Party, StayFields, StayOfSeveral } from './stay-fields.tsx'

const KINDS = [
  { value: 'booking', label: 'Booking', action: 'Create booking', actions: 'Create bookings' },
  { value: 'hold', label: 'Hold', action: 'Place hold', actions: 'Place holds' },
  { value: 'owner', label: 'Owner stay', action: 'Add owner stay', actions: 'Add owner stays' },
  { value: 'maintenance', label: 'Maintenance', action: 'Add maintenance', actions: 'Add maintenance' },
  { value: 'block', label: 'Block', action: 'Block nights', actions: 'Block nights' },
] as const

type Kind = (typeof KINDS)[number]['value']

const TYPES = {
  booking: 'guest',
  hold: 'guest',
  owner: 'owner_stay',
  maintenance: 'maintenance',
  block: 'block',
} as const satisfies Record<Kind, Booking['type']>

/** As many as the service books at once. */
const STAYS_MAX = 20
const COUPLE: Party = { adults: 2, children: 0, extraBed: false }

interface NewStayPanelProps {
  readonly units: readonly ChartUnit[]
  /** At least one. Several are booked together, all or none. */
  readonly stays: readonly Placement[]
  readonly isFree: (at: Placement) => boolean
  /** The dates or the unit of a stay were changed in the panel, or a stay was added or removed. */
  readonly onProposed: (stays: readonly Placement[]) => void
  readonly onCreated: (bookings: readonly Booking[]) => void
  readonly onClose: () => void
}

/** Makes a booking, hold or block, or several at once for the same guest. A dry run shows the price before anything is written. */
export function NewStayPanel({ units, stays, isFree, onProposed, onCreated, onClose }: NewStayPanelProps) {
  const { path, currency } = useSession()
  const [kind, setKind] = useState<Kind>('booking')
  const [parties, setParties] = useState<readonly Party[]>(stays.map(() => COUPLE))
  const [guest, setGuest] = useState({ firstName: '', lastName: '', email: '', phone: '' })
  const [holdHours, setHoldHours] = useState<number | null>(48)
  const [notes, setNotes] = useState('')
  const [isSubmitted, setSubmitted] = useState(false)
  const type = TYPES[kind]
  const isStay = type === 'guest' || type === 'owner_stay'
  const priced: NewStays = {
    stays: stays.map((stay, i) => {
      const { adults, children, extraBed } = parties[i] ?? COUPLE
      return { ...stay, adults: adults ?? 0, children: children ?? 0, extraBed }
    }),
    type,
    notes: '',
    guest: null,
    status: kind === 'hold' ? 'option' : 'confirmed',
    holdHours: kind === 'hold' ? holdHours : null,
  }
  const areDated = stays.every(({ arrival, departure }) => departure > arrival)
  const { tried, problem, isLoading } = useTried(areDated ? priced : null, (signal) => tryStays(path, priced, signal))
  const creation = useMutation({
    send: (wanted: NewStays, headers) => createStays(path, wanted, headers),
    invalidates: ['bookings'],
    onDone: onCreated,
    report: 'inline',
  })
  // While the dry run is repeated, the last answer may be about other stays.
  const isTriedOfThese = tried?.length === stays.length
  const totals = (isTriedOfThese ? tried : []).flatMap(({ quote }) => quote?.total ?? [])
  const total = totals.length === 0 ? null : totals.reduce((sum, each) => sum + each, 0)
  const { action, actions } = KINDS.find(({ value }) => value === kind) ?? KINDS[0]
  const title = stays.length === 1 ? action : actions

  const isNamed = guest.firstName.trim() !== '' || guest.lastName.trim() !== ''
  const isNameMissing = isStay && !isNamed && (guest.email.trim() !== '' || guest.phone.trim() !== '')
  const areHoursMissing = kind === 'hold' && holdHours === null
  const wanted: NewStays = { ...priced, notes, guest: isStay && isNamed ? guest : null }
  // The stays may have been made: then they refuse the dry run themselves, while repeating the write answers with them.
  const isUnanswered = creation.isUnanswered(wanted)
  // Whoever submits has seen the price, unless it cannot be asked for now.
  const isTried = problem === null ? !isLoading : problem.isPassing
  const refusals = isUnanswered ? NO_REFUSALS : refusalsOf(problem ?? creation.problem)

  function submit() {
    setSubmitted(true)
    if (!isNameMissing) void creation.run(wanted)
  }

  function add() {
    const last = stays[stays.length - 1] as Placement
    onProposed([...stays, { ...last, unit: nextUnit(units, stays, isFree) }])
    setParties([...parties, COUPLE])
  }

  const fieldsOf = (at: Placement, place: number) => ({
    units,
    at,
    party: isStay ? (parties[place] ?? COUPLE) : null,
    warnings: problem === null && !isLoading && isTriedOfThese ? tried[place]?.warnings : undefined,
    refusal: refusals.get(place) ?? null,
    onPlaced: (next: Placement) => onProposed(stays.with(place, next)),
    onParty: (party: Party) => setParties(parties.with(place, party)),
  })

  return (
    <SidePanel
      title={title}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            tone="primary"
            isBusy={creation.isRunning}
            disabled={!areDated || areHoursMissing || !(isTried || isUnanswered)}
          >
            {title}
            {total !== null && kind !== 'owner' && ` · ${money(total, currency)}`}
          </Button>
        </>
      }
    >
      <Segments label="Kind of stay" value={kind} options={KINDS} onChange={setKind} />
      {stays.length === 1 ? (
        <StayFields {...fieldsOf(stays[0] as Placement, 0)} />
      ) : (
        stays.map((at, place) => (
          <StayOfSeveral
            // Stays have no id before they are made.
            key={place}
            {...fieldsOf(at, place)}
            place={place + 1}
            onRemove={() => {
              onProposed(stays.toSpliced(place, 1))
              setParties(parties.toSpliced(place, 1))
            }}
          />
        ))
      )}
      {stays.length < STAYS_MAX && units.length > 1 && (
        <div>
          <Button size="s" icon="plus" onClick={add}>
            Add another unit
          </Button>
        </div>
      )}
      {isStay && (
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
        !isUnanswered && refusals.size === 0 && <ErrorNote problem={problem} />
      ) : total === null ? (
        !isLoading && <p class="muted">No charge for these nights.</p>
      ) : (
        <Prices {...{ units, stays, total }} tried={tried ?? []} isFaded={isLoading} />
      )}
      {(problem === null || isUnanswered) && refusals.size === 0 && <ErrorNote problem={creation.problem} />}
      {areHoursMissing && <Note tone="warn">Enter the number of hours after which the hold expires.</Note>}
    </SidePanel>
  )
}

interface PricesProps {
  readonly units: readonly ChartUnit[]
  readonly stays: readonly Placement[]
  readonly tried: readonly TriedStay[]
  /** Of all stays, in minor units. */
  readonly total: number
  readonly isFaded: boolean
}

/** The price of a stay, line by line; for several stays, the lines of each are folded. */
function Prices({ units, stays, tried, total, isFaded }: PricesProps) {
  const { currency } = useSession()
  const [first] = tried
  if (stays.length === 1 && first?.quote != null) {
    const { lines, nights } = first.quote
    return <QuoteLines {...{ lines, total, currency, isFaded }} totalHead={`Total, ${plural(nights, 'night')}`} />
  }
  return (
    <section class={isFaded ? 'stay-prices is-faded' : 'stay-prices'} aria-label="Prices" aria-busy={isFaded}>
      {stays.map(({ unit, arrival, departure }, place) => {
        const quote = tried[place]?.quote ?? null
        return (
          <details key={place}>
            <summary>
              <span>
                {nameText(units.find(({ slug }) => slug === unit)?.name ?? unit)}, {dayRange(arrival, departure)}
              </span>
              <span class="numeric">{quote === null ? 'no charge' : money(quote.total, currency)}</span>
            </summary>
            {quote !== null && <QuoteLines lines={quote.lines} total={quote.total} currency={currency} />}
          </details>
        )
      })}
      <p class="stay-total">
        <span>Total of {plural(stays.length, 'stay')}</span>
        <strong class="numeric">{money(total, currency)}</strong>
      </p>
    </section>
  )
}

/** The next unit after the last one that is free on the same dates; if all are taken, any other unit. */
function nextUnit(
  units: readonly ChartUnit[],
  stays: readonly Placement[],
  isFree: (at: Placement) => boolean,
): string {
  const last = stays[stays.length - 1] as Placement
  const taken = new Set(stays.map(({ unit }) => unit))
  const after = units.findIndex(({ slug }) => slug === last.unit) + 1
  const others = [...units.slice(after), ...units.slice(0, after)].filter(
    ({ slug, isArchived }) => !isArchived && !taken.has(slug),
  )
  return (others.find(({ slug }) => isFree({ ...last, unit: slug })) ?? others[0])?.slug ?? last.unit
}

const NO_REFUSALS: ReadonlyMap<number, string> = new Map()

/** Why stays of a group are refused, by index. */
function refusalsOf(problem: Problem | null): ReadonlyMap<number, string> {
  const refusals = problem?.body['refusals']
  if (!Array.isArray(refusals)) return NO_REFUSALS
  return new Map(refusals.map((refusal: GroupRefusal) => [refusal.stay, refusalText(refusal)]))
}

interface GroupRefusal {
  readonly stay: number
  readonly code: string
  readonly conflict?: { readonly nights?: readonly string[] }
}

const NIGHTS_SAID_MAX = 5

function refusalText({ code, conflict }: GroupRefusal): string {
  if (code === 'NOT_FOUND') return 'This unit is no longer offered. Choose another one.'
  const nights = conflict?.nights ?? []
  if (nights.length === 0) return 'This stay cannot be booked on these dates. Choose other dates or another unit.'
  const said = nights.slice(0, NIGHTS_SAID_MAX).map((night) => dayText(dayOf(night), 'short'))
  const more = nights.length > said.length ? ` and ${nights.length - said.length} more` : ''
  return `Already booked, or chosen above, on ${said.join(', ')}${more}.`
}
