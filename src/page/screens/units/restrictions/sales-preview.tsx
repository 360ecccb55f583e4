import { useMemo } from 'preact/hooks'
import type { Problem } from '../../../api/problem.ts'
import type { RestrictionsPreview } from '../../../api/schema.ts'
import { Card } from '../../../design/card.tsx'
import { ErrorNote, Skeleton } from '../../../design/feedback.tsx'
import { NumberInput } from '../../../design/inputs.tsx'
import { dayOf, dayRange, dayText } from '../../../format/days.ts'
import { plural } from '../../../format/numbers.ts'
import { type Run, runsOf } from './sales-runs.ts'

const RUNS_MAX = 8

interface SalesPreviewProps {
  preview: RestrictionsPreview | null
  isBehind: boolean
  problem: Problem | null
  /** As typed; null: the service chooses. */
  nights: number | null
  onNights: (nights: number | null) => void
  isUnsaved: boolean
  /** `between 3 Jul 2027 and 2 Jul 2028`. */
  window: string
}

/** Which stays partners could no longer book, and which they newly could, shown before the rules are saved. */
export function SalesPreview({ preview, isBehind, problem, nights, onNights, ...rest }: SalesPreviewProps) {
  return (
    <Card title="What changes for partners">
      <div class="form">
        <div class="restriction-nights">
          <NumberInput
            label="Length of the stays"
            suffix="nights"
            min={1}
            max={366}
            value={nights ?? preview?.nights ?? null}
            onChange={(value) => onNights(value === null ? null : Math.min(366, Math.max(1, Math.round(value))))}
          />
          <p class="units-text">
            Existing bookings stay as they are, and you can still book any stay yourself: you are only warned.
          </p>
        </div>
        <ErrorNote problem={problem} />
        {preview === null && problem === null && <Skeleton lines={3} />}
        {preview !== null && (
          <div class={isBehind ? 'preview-shown preview-behind' : 'preview-shown'} aria-live="polite">
            <Outcome preview={preview} {...rest} />
          </div>
        )}
      </div>
    </Card>
  )
}

function Outcome({
  preview,
  isUnsaved,
  window,
}: Pick<SalesPreviewProps, 'isUnsaved' | 'window'> & { preview: RestrictionsPreview }) {
  const { nights, soldNow, soldThen, changes } = preview
  const runs = useMemo(() => runsOf(changes), [changes])
  const stays = `Stays of ${plural(nights, 'night')}`
  if (changes.length === 0)
    return (
      <p>
        {stays} can be booked for {plural(soldNow, 'arrival')} {window}.
        {isUnsaved && ' Your changes make no difference to them.'}
      </p>
    )
  const lost = runs.filter(({ isSold }) => !isSold)
  const gained = runs.filter(({ isSold }) => isSold)
  return (
    <>
      <p>
        {stays} can be booked for {plural(soldNow, 'arrival')} {window} now, and for <strong>{soldThen}</strong> once
        you save.
      </p>
      <Runs title="No longer bookable" runs={lost} sign="−" />
      <Runs title="Newly bookable" runs={gained} sign="+" />
    </>
  )
}

function Runs({ title, runs, sign }: { title: string; runs: readonly Run[]; sign: '−' | '+' }) {
  if (runs.length === 0) return null
  const rest = runs.slice(RUNS_MAX).reduce((sum, { count }) => sum + count, 0)
  const all = runs.reduce((sum, { count }) => sum + count, 0)
  return (
    <section class="restriction-runs">
      <h3>
        {title}: {plural(all, 'arrival')}
      </h3>
      <ul>
        {runs.slice(0, RUNS_MAX).map(({ from, last, isSold, reasons }) => (
          <li key={from} class={isSold ? 'restriction-run restriction-run-gained' : 'restriction-run'}>
            <span class="restriction-change" aria-hidden="true">
              {sign}
            </span>
            <span class="numeric">
              {from === last ? dayText(dayOf(from), 'short') : dayRange(dayOf(from), dayOf(last))}
            </span>
            <span class="muted">{isSold ? `until now: ${reasons}` : reasons}</span>
          </li>
        ))}
      </ul>
      {rest > 0 && <p class="muted">and {plural(rest, 'arrival')} more</p>}
    </section>
  )
}
