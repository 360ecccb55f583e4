import type { Preview } from '../../../api/schema.ts'
import { useSession } from '../../../data/use-session.ts'
import { Card } from '../../../design/card.tsx'
import { Note } from '../../../design/feedback.tsx'
import { Checkbox, DateInput, NumberInput } from '../../../design/inputs.tsx'
import { QuoteLines } from '../../../design/quote-lines.tsx'
import { isoOf } from '../../../format/days.ts'
import { money, plural } from '../../../format/numbers.ts'
import { useRoute } from '../../../route/router.ts'
import type { GridStay } from './price-grid.tsx'
import { dayOrNull } from './rates-draft.ts'

interface Party {
  readonly children: number
  readonly extraBed: boolean
}

/** What any stay would pay, line by line. */
export function StayQuote({
  stay,
  party,
  preview,
  saved,
  isBehind,
  onParty,
  onStay,
}: {
  stay: GridStay | null
  party: Party
  preview: Preview | null
  /** With the rates as they are saved; null: the same. */
  saved: Preview | null
  isBehind: boolean
  onParty: (party: Party) => void
  onStay: (dates: { arrival?: string; departure?: string }) => void
}) {
  const { query } = useRoute()
  const [arrival, departure] = [query['arrival'] ?? '', query['departure'] ?? '']
  const first = dayOrNull(arrival)
  const isBackwards = first !== null && departure !== '' && (dayOrNull(departure) ?? first) <= first
  return (
    <Card title="Price of a stay">
      <div class="form">
        <div class="price-stay-fields">
          <DateInput label="Arrival" value={arrival} onChange={(value) => onStay({ arrival: value })} />
          <DateInput
            label="Departure"
            value={departure}
            {...(first === null ? {} : { min: isoOf(first + 1) })}
            error={isBackwards ? 'Must be after the arrival.' : undefined}
            onChange={(value) => onStay({ departure: value })}
          />
          <NumberInput
            label="Children"
            min={0}
            max={50}
            value={party.children}
            onChange={(children) => onParty({ ...party, children: Math.max(0, Math.floor(children ?? 0)) })}
          />
          <Checkbox
            label="Extra bed"
            isChecked={party.extraBed && party.children > 0}
            disabled={party.children === 0}
            onChange={(extraBed) => onParty({ ...party, extraBed })}
          />
        </div>
        {stay !== null && preview !== null && (
          <div class={isBehind ? 'preview-shown preview-behind' : 'preview-shown'} aria-live="polite">
            <Quote preview={preview} saved={saved} />
          </div>
        )}
      </div>
    </Card>
  )
}

function Quote({ preview: { quote, refusal }, saved }: { preview: Preview; saved: Preview | null }) {
  const { currency } = useSession()
  if (refusal !== null)
    return (
      <Note tone="warn">
        Too short. Minimum stay for this arrival: {plural(refusal.minStay, 'night')}. Partners cannot book it.
        {saved?.quote != null && ` At the saved rates it costs ${money(saved.quote.total, currency)}.`}
      </Note>
    )
  if (quote === null) return null
  return (
    <>
      <QuoteLines lines={quote.lines} total={quote.total} currency={currency} />
      {saved?.quote != null && saved.quote.total !== quote.total && (
        <p class="price-saved numeric">
          At the saved rates: {money(saved.quote.total, currency)} ({quote.total > saved.quote.total ? '+' : '−'}
          {money(Math.abs(quote.total - saved.quote.total), currency)})
        </p>
      )}
      {saved?.refusal != null && (
        <p class="price-saved">
          At the saved rates this stay is too short: minimum {plural(saved.refusal.minStay, 'night')}.
        </p>
      )}
    </>
  )
}
