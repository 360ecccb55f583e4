import { useSession } from '../../data/use-session.ts'
import { Card } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Select } from '../../design/inputs.tsx'
import { QuoteLines } from '../../design/quote-lines.tsx'
import { dayRange } from '../../format/days.ts'
import { EXAMPLE_NIGHTS, type ExampleStay } from './example-stay.ts'

/** What a stay of a few nights pays with the fees as they are. */
export function ExampleCard({ example }: { example: ExampleStay }) {
  const { currency } = useSession()
  const { units, unit, arrival, departure, lines, total, error, isLoading, choose } = example
  return (
    <Card title={`Price of ${EXAMPLE_NIGHTS} nights for 2 guests`}>
      <div class="form">
        <ErrorNote problem={error} />
        {unit === undefined && !isLoading && error === null && (
          <EmptyState title="No unit to show it with">Add a unit, and its price appears here.</EmptyState>
        )}
        {unit !== undefined && (
          <Select
            label="Unit"
            value={unit.slug}
            onChange={choose}
            options={units.map(({ slug, name }) => ({ value: slug, label: name }))}
            hint={dayRange(arrival, departure)}
          />
        )}
        {unit !== undefined && lines.length === 0 && error === null && <Skeleton />}
        {lines.length > 0 && (
          <QuoteLines lines={lines} total={total} currency={currency} isMarked={({ kind }) => kind === 'fee'} />
        )}
      </div>
    </Card>
  )
}
