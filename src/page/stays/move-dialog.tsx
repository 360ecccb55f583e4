import './move-dialog.css'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useSession } from '../data/use-session.ts'
import { FormDialog } from '../design/dialog.tsx'
import { ErrorNote } from '../design/feedback.tsx'
import { FieldSet, Radio, Select } from '../design/inputs.tsx'
import { QuoteLines } from '../design/quote-lines.tsx'
import { type Day, dayRange, isoOf } from '../format/days.ts'
import { money, plural } from '../format/numbers.ts'
import { useSettled } from '../lib/hooks.ts'
import { type Pricing, tryPatch, useTried } from './booking-writes.ts'
import { RestrictionWarning } from './restriction-warning.tsx'
import { StayDates } from './stay-dates.tsx'

/** Where and when a stay is. */
export interface Placement {
  /** Slug. */
  readonly unit: string
  readonly arrival: Day
  readonly departure: Day
}

interface MovedStay extends Placement {
  readonly id: string
  readonly version: number
  readonly type: 'guest' | 'owner_stay' | 'maintenance' | 'block'
  /** Minor units; null where the service gives no price. */
  readonly total: number | null
}

interface MoveDialogProps {
  readonly units: readonly { readonly slug: string; readonly name: string; readonly isArchived: boolean }[]
  readonly name: string
  /** As it is now. */
  readonly stay: MovedStay
  readonly to: Placement
  readonly onProposed: (to: Placement) => void
  readonly onConfirm: (to: Placement, pricing: Pricing) => void
  readonly onClose: () => void
  readonly isBusy?: boolean
  /** Why an earlier attempt changed nothing. */
  readonly notice?: ComponentChildren
  /** The stay was changed by somebody else in the meantime, as `notice` tells. */
  readonly isConflict?: boolean
}

/** Other dates or another unit: before and after, and whether the price changes too. Nothing is written before it is confirmed. */
export function MoveDialog(props: MoveDialogProps) {
  const { units, name, stay, to, onProposed, onConfirm, onClose, isConflict = false } = props
  const { path, currency } = useSession()
  const [pricing, setPricing] = useState<Pricing>('reprice')
  const isSame = to.unit === stay.unit && to.arrival === stay.arrival && to.departure === stay.departure
  // Nothing has been dragged: what is wanted is entered here.
  const [areFieldsOpen] = useState(isSame)
  const change = { unit: to.unit, arrival: isoOf(to.arrival), departure: isoOf(to.departure) }
  const settled = useSettled(isSame ? null : JSON.stringify(change))
  const isSettled = settled === (isSame ? null : JSON.stringify(change))
  const { tried, problem, isLoading, retry } = useTried(
    settled === null ? null : { id: stay.id, version: stay.version, settled },
    (signal) => tryPatch(JSON.parse(settled ?? '{}'), { ...path, bookingId: stay.id }, signal),
  )
  const isWaiting = !isSame && (isLoading || !isSettled)
  const nameOf = (slug: string) => units.find((unit) => unit.slug === slug)?.name ?? slug
  const isPriced = stay.type === 'guest'
  const before = stay.total ?? 0
  const after = isSame ? before : problem !== null ? null : (tried?.booking.totalAmount ?? null)
  const priceText = () => {
    if (after === null) return problem === null ? 'Calculating…' : '—'
    return money(pricing === 'keep' ? before : after, currency)
  }
  const nights = (placement: Placement) => plural(placement.departure - placement.arrival, 'night')
  const title = isSame ? 'Change dates or unit' : to.unit === stay.unit ? 'Change dates' : 'Move stay'

  const fields = (
    <div class="form">
      <Select
        label="Unit"
        value={to.unit}
        options={units
          .filter(({ slug, isArchived }) => !isArchived || slug === stay.unit)
          .map((unit) => ({ value: unit.slug, label: unit.name }))}
        onChange={(unit) => onProposed({ ...to, unit })}
      />
      <StayDates at={to} keepsLength onChange={(dates) => onProposed({ ...to, ...dates })} />
    </div>
  )

  return (
    <FormDialog
      title={`${title}: ${name}`}
      onClose={onClose}
      onSubmit={() => !isSame && onConfirm(to, isPriced && after !== before ? pricing : 'reprice')}
      action={isSame ? 'Change stay' : isConflict ? `${title} anyway` : title}
      cancel={isConflict ? 'Discard' : 'Cancel'}
      isBusy={props.isBusy === true}
      // Until the price of what is asked for is shown, nobody can agree to it.
      isDisabled={isSame || isWaiting || problem !== null}
    >
      {props.notice}
      {areFieldsOpen && fields}
      <table class="move-table">
        <thead>
          <tr>
            <td />
            <th scope="col">Now</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          <Compared
            name="Dates"
            before={dayRange(stay.arrival, stay.departure)}
            after={dayRange(to.arrival, to.departure)}
          />
          <Compared name="Nights" before={nights(stay)} after={nights(to)} />
          <Compared name="Unit" before={nameOf(stay.unit)} after={nameOf(to.unit)} />
          {isPriced && (
            <Compared name="Price" before={money(before, currency)} after={priceText()} isFaded={isWaiting} />
          )}
        </tbody>
      </table>
      {!isSame && !isWaiting && problem === null && <p class="move-free">The nights are free.</p>}
      {!isSame && !isWaiting && problem === null && (
        <RestrictionWarning
          warnings={tried?.warnings}
          onArrival={(day) => onProposed({ ...to, arrival: day, departure: day + to.departure - to.arrival })}
        />
      )}
      {isPriced && after !== null && (
        <PriceChoice before={before} after={after} pricing={pricing} onChoose={setPricing} />
      )}
      {!isSame && tried?.quote != null && pricing === 'reprice' && (
        <details class="move-lines">
          <summary>The new price by line</summary>
          <QuoteLines lines={tried.quote.lines} total={tried.quote.total} currency={currency} isFaded={isWaiting} />
        </details>
      )}
      {!isSame && <ErrorNote problem={problem} onRetry={problem?.isPassing ? retry : undefined} />}
      {!areFieldsOpen && (
        <details class="move-fields">
          <summary>Other dates or another unit</summary>
          {fields}
        </details>
      )}
    </FormDialog>
  )
}

function Compared(props: { name: string; before: string; after: string; isFaded?: boolean }) {
  const { name, before, after, isFaded = false } = props
  const names = [before === after ? 'muted' : 'move-new', isFaded ? 'is-faded' : ''].join(' ')
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="numeric">{before}</td>
      <td class={`numeric ${names}`}>{after}</td>
    </tr>
  )
}

/** Whether the price follows a change of the stay. Draws nothing when it is the same either way. */
export function PriceChoice({
  before,
  after,
  pricing,
  onChoose,
}: {
  /** Minor units: as agreed. */
  before: number
  /** At the present rates. */
  after: number
  pricing: Pricing
  onChoose: (pricing: Pricing) => void
}) {
  const { currency } = useSession()
  if (after === before) return null
  const difference = `${money(Math.abs(after - before), currency)} ${after > before ? 'more' : 'less'} than now`
  return (
    <FieldSet legend="Price">
      <Radio
        group="pricing"
        isChosen={pricing === 'reprice'}
        onChoose={() => onChoose('reprice')}
        label={<span class="numeric">New price: {money(after, currency)}</span>}
        hint={`At today’s rates and fees, ${difference}`}
      />
      <Radio
        group="pricing"
        isChosen={pricing === 'keep'}
        onChoose={() => onChoose('keep')}
        label={<span class="numeric">Keep the price: {money(before, currency)}</span>}
        hint="As agreed with the guest"
      />
    </FieldSet>
  )
}
