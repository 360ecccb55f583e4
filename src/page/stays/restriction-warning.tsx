import type { Schema } from '../api/schema.ts'
import { Note } from '../design/feedback.tsx'
import { dayOf, dayText } from '../format/days.ts'
import { refusalSentence } from './restrictions.ts'

/** What would refuse a stay to partners, and when it would be sold. The agency may book it all the same. Draws nothing without warnings. */
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
          ? 'No arrival within 30 days either way would be sold for as many nights.'
          : `For as many nights, an arrival on ${others.join(' or ')} is sold.`}
      </p>
    </Note>
  )
}
