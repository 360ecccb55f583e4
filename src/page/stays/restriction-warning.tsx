import type { Schema } from '../api/schema.ts'
import { Note } from '../design/feedback.tsx'
import { dayOf, dayText } from '../format/days.ts'
import { refusalSentence } from './restrictions.ts'

/** The restrictions that would refuse a stay to partners, and the alternatives. The agency can still book it. Draws nothing without warnings. */
export function RestrictionWarning({ warnings }: { warnings: Schema<'Warnings'> | undefined }) {
  if (warnings === undefined) return null
  const { previousArrival, nextArrival } = warnings.alternatives
  const others = [previousArrival, nextArrival].flatMap((iso) => (iso === null ? [] : [dayText(dayOf(iso), 'short')]))
  return (
    <Note tone="warn" role="status">
      <p>
        <strong>Partners could not book this stay.</strong> You can still save it.
      </p>
      <ul>
        {warnings.restrictions.map((refusal) => (
          <li key={refusal.rule}>{refusalSentence(refusal)}.</li>
        ))}
      </ul>
      <p>
        {others.length === 0
          ? 'They could not book the same number of nights from any arrival within 30 days.'
          : `They could book the same number of nights from ${others.join(' or ')}.`}
      </p>
    </Note>
  )
}
