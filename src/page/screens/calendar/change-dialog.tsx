import './change-dialog.css'
import { useState } from 'preact/hooks'
import type { Problem } from '../../api/problem.ts'
import { parseDay } from '../../chart/day.ts'
import { barText } from '../../chart/labels.ts'
import type { ChartUnit, Stay } from '../../chart/stay.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { DateInput, FieldRow, FieldSet, Select } from '../../design/inputs.tsx'
import { plural } from '../../format/count.ts'
import { dayRange, isoOf } from '../../format/days.ts'
import { money } from '../../format/money.ts'
import { useSession } from '../../session/use-session.ts'
import { tryChange } from './calendar-writes.ts'
import type { Placement } from './use-stay-changes.ts'
import { useTried } from './use-tried.ts'

export interface ChangeDialogProps {
  readonly units: readonly ChartUnit[]
  /** As it is now. */
  readonly stay: Stay
  readonly to: Placement
  /** Why the change was refused, if it was tried already. */
  readonly refusal: Problem | null
  readonly onProposed: (to: Placement) => void
  readonly onConfirm: (to: Placement, pricing: 'reprice' | 'keep') => void
  readonly onClose: () => void
}

/** Other dates or another unit: before and after, and whether the price changes too. Nothing is written before it is confirmed. */
export function ChangeDialog({ units, stay, to, refusal, onProposed, onConfirm, onClose }: ChangeDialogProps) {
  const { path, currency } = useSession()
  const [pricing, setPricing] = useState<'reprice' | 'keep'>('reprice')
  const isSame = to.unit === stay.unit && to.arrival === stay.arrival && to.departure === stay.departure
  const change = { unit: to.unit, arrival: isoOf(to.arrival), departure: isoOf(to.departure) }
  const { tried, problem, isLoading } = useTried(
    isSame || to.departure <= to.arrival ? null : { id: stay.id, version: stay.version, ...change },
    (signal) => tryChange(path, stay.id, change, signal),
  )
  const nameOf = (slug: string) => units.find((unit) => unit.slug === slug)?.name ?? slug
  const [before, after] = [stay.total ?? 0, isSame ? (stay.total ?? 0) : (tried?.booking.totalAmount ?? null)]
  const isPriced = stay.type === 'guest'
  const isOtherPrice = isPriced && after !== null && after !== before
  const nights = (placement: Placement) => plural(placement.departure - placement.arrival, 'night')
  const title = to.unit !== stay.unit ? 'Move stay' : 'Change dates'

  return (
    <Dialog
      title={`${title}: ${barText(stay)}`}
      onClose={onClose}
      onSubmit={() => onConfirm(to, isOtherPrice ? pricing : 'reprice')}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" disabled={isSame || problem !== null || to.departure <= to.arrival}>
            {title}
          </Button>
        </>
      }
    >
      {refusal?.code === 'VERSION_CHANGED' ? (
        <Note tone="warn" role="alert">
          Someone else has changed this stay in the meantime, so nothing was moved. It is shown as it is now: check that
          your change still makes sense, then try again.
        </Note>
      ) : (
        <ErrorNote problem={refusal} />
      )}
      <table class="change-table">
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
            <Compared
              name="Price"
              before={money(before, currency)}
              after={
                problem !== null
                  ? '—'
                  : after === null
                    ? 'Calculating…'
                    : money(pricing === 'keep' ? before : after, currency)
              }
              isFaded={isLoading && !isSame}
            />
          )}
        </tbody>
      </table>
      {isOtherPrice && (
        <FieldSet legend="Price">
          <Choice
            label={`New price: ${money(after, currency)}`}
            hint="At today’s rates and fees."
            isChosen={pricing === 'reprice'}
            onChoose={() => setPricing('reprice')}
          />
          <Choice
            label={`Keep the price: ${money(before, currency)}`}
            hint="As agreed with the guest."
            isChosen={pricing === 'keep'}
            onChoose={() => setPricing('keep')}
          />
        </FieldSet>
      )}
      <ErrorNote problem={problem} />
      <details class="change-fields">
        <summary>Other dates or another unit</summary>
        <div class="form">
          <Select
            label="Unit"
            value={to.unit}
            options={units
              .filter(({ slug, isArchived }) => !isArchived || slug === stay.unit)
              .map(({ slug, name }) => ({ value: slug, label: name }))}
            onChange={(unit) => onProposed({ ...to, unit })}
          />
          <FieldRow>
            <DateInput
              label="Arrival"
              value={isoOf(to.arrival)}
              onChange={(text) => {
                const day = parseDay(text)
                if (day !== null) onProposed({ ...to, arrival: day, departure: Math.max(to.departure, day + 1) })
              }}
            />
            <DateInput
              label="Departure"
              value={isoOf(to.departure)}
              onChange={(text) => {
                const day = parseDay(text)
                if (day !== null) onProposed({ ...to, departure: day, arrival: Math.min(to.arrival, day - 1) })
              }}
            />
          </FieldRow>
        </div>
      </details>
    </Dialog>
  )
}

function Compared({
  name,
  before,
  after,
  isFaded = false,
}: {
  name: string
  before: string
  after: string
  isFaded?: boolean
}) {
  const names = [before === after ? 'muted' : 'change-new', isFaded ? 'is-faded' : ''].join(' ')
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="numeric">{before}</td>
      <td class={`numeric ${names}`}>{after}</td>
    </tr>
  )
}

function Choice(props: { label: string; hint: string; isChosen: boolean; onChoose: () => void }) {
  return (
    <label class="change-choice">
      <input type="radio" name="pricing" checked={props.isChosen} onChange={props.onChoose} />
      <span>
        <span class="numeric">{props.label}</span>
        <span class="field-hint">{props.hint}</span>
      </span>
    </label>
  )
}
