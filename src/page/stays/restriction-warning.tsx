import './restriction-warning.css'
import type { Schema } from '../api/schema.ts'
import { Button } from '../design/button.tsx'
import { Note } from '../design/feedback.tsx'
import { type Day, dayOf, dayText } from '../format/days.ts'
import { refusalSentence } from './restrictions.ts'

interface RestrictionWarningProps {
  readonly warnings: Schema<'Warnings'> | undefined
  /** Chooses another arrival for as many nights. Left out where the arrival cannot change: then none is offered. */
  readonly onArrival?: (day: Day) => void
}

/** The restrictions that would refuse a stay to partners, and the alternatives. The agency can still book it. Draws nothing without warnings. */
export function RestrictionWarning({ warnings, onArrival }: RestrictionWarningProps) {
  if (warnings === undefined) return null
  const { previousArrival, nextArrival } = warnings.alternatives
  const others = [previousArrival, nextArrival].flatMap((iso) => (iso === null ? [] : [dayOf(iso)]))
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
      {onArrival !== undefined && others.length === 0 && (
        <p>They could not book the same number of nights from any arrival within 30 days.</p>
      )}
      {onArrival !== undefined && others.length > 0 && (
        <p class="restriction-others">
          They could book the same number of nights from:
          {others.map((day) => (
            <Button key={day} size="s" onClick={() => onArrival(day)}>
              Arrival {dayText(day, 'short')}
            </Button>
          ))}
        </p>
      )}
    </Note>
  )
}
