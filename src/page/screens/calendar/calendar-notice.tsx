import type { Problem } from '../../api/problem.ts'
import { LinkButton } from '../../design/button.tsx'
import { EmptyState, ErrorNote, Note } from '../../design/feedback.tsx'
import { hashOf } from '../../route/route.ts'

/** Why a change that was confirmed came to nothing. */
export function Refusal({ problem }: { problem: Problem | null }) {
  if (problem?.code !== 'VERSION_CHANGED') return <ErrorNote problem={problem} />
  return (
    <Note tone="warn" role="alert">
      Someone else has changed this stay in the meantime, so nothing was moved. It is shown as it is now: check that
      your change still makes sense, then try again.
    </Note>
  )
}

/** What stands on the chart while it cannot be shown whole. */
export function CalendarNotice(props: {
  state: { readonly isLoading: boolean; readonly problem: Problem | null }
  isReady: boolean
  units: number
  shown: number
  onRetry: () => void
}) {
  const { state, isReady, units, shown, onRetry } = props
  if (state.problem !== null && state.problem.status !== 401)
    return (
      <div class="calendar-notice">
        <ErrorNote problem={state.problem} onRetry={onRetry} />
      </div>
    )
  if (!isReady || shown > 0) return null
  return (
    <div class="calendar-notice">
      {units === 0 ? (
        <EmptyState
          icon="units"
          title="No units yet"
          action={<LinkButton href={hashOf('units')}>Add a unit</LinkButton>}
        >
          Each unit that you rent out becomes a row here.
        </EmptyState>
      ) : (
        <EmptyState icon="filter" title="No unit matches the filters">
          Change or clear the filters.
        </EmptyState>
      )}
    </div>
  )
}

const KINDS = [
  ['draft', 'Draft'],
  ['hold', 'Hold'],
  ['confirmed', 'Confirmed'],
  ['checked-in', 'Checked in'],
  ['checked-out', 'Checked out'],
  ['owner', 'Owner stay'],
  ['maintenance', 'Maintenance'],
  ['block', 'Block'],
] as const

const CLOSED = [
  ['stopped', 'Not for sale'],
  ['no-arrival', 'Closed to arrival'],
  ['no-departure', 'Closed to departure'],
] as const

/** What the looks of the bars mean. */
export function CalendarLegend({ hasClosed }: { hasClosed: boolean }) {
  return (
    <ul class="calendar-legend" aria-label="Legend">
      {KINDS.map(([kind, label]) => (
        <li key={kind}>
          <span class={`chart-bar chart-bar-${kind} calendar-swatch`} aria-hidden="true" />
          {label}
        </li>
      ))}
      <li>
        <span class="chart-bar chart-bar-confirmed is-due calendar-swatch" aria-hidden="true" />
        Due today
      </li>
      <li>
        <span class="calendar-swatch calendar-swatch-cleaning" aria-hidden="true" />
        Cleaning
      </li>
      <li>
        <span class="calendar-swatch calendar-swatch-extension" aria-hidden="true" />
        Expected extension
      </li>
      {hasClosed &&
        CLOSED.map(([kind, label]) => (
          <li key={kind}>
            <span class={`calendar-swatch chart-closed-${kind}`} aria-hidden="true" />
            {label}
          </li>
        ))}
    </ul>
  )
}
