import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Problem } from '../../api/problem.ts'
import type { Schema } from '../../api/schema.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Card } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Select } from '../../design/inputs.tsx'
import { QuoteLines } from '../../design/quote-lines.tsx'
import { dayRange, isoOf, todayIn } from '../../format/days.ts'
import { useUnits } from '../../stays/use-units.ts'

export const EXAMPLE_NIGHTS = 4
/** Late enough to be a stay that someone would book now. */
const EXAMPLE_IN_DAYS = 30

type Unit = Schema<'Unit'>

export interface ExampleStay {
  readonly units: readonly Unit[]
  readonly unit: Unit | undefined
  /** Days, the last one excluded. */
  readonly arrival: number
  readonly departure: number
  readonly lines: readonly Schema<'QuoteLine'>[]
  readonly total: number
  /** Minor units: the nights after discounts, which percentages are of. */
  readonly accommodation: number
  readonly isLoading: boolean
  readonly error: Problem | null
  choose(slug: string): void
}

/** Four nights for two in one of the agency's units, priced by the service. The unit's minimum stay is left aside. */
export function useExampleStay(): ExampleStay {
  const { path, agency } = useSession()
  const [chosen, choose] = useState<string | null>(null)
  const { data: all, error: unitsError } = useUnits()
  const units = (all ?? []).filter(({ status, maxGuests }) => status !== 'archived' && maxGuests >= 2)
  const unit = units.find(({ slug }) => slug === chosen) ?? units[0]
  const arrival = todayIn(agency.timezone) + EXAMPLE_IN_DAYS
  const departure = arrival + EXAMPLE_NIGHTS
  const { data, error, isLoading } = useResource(
    unit === undefined ? null : `fees/example?unit=${unit.slug}`,
    async (signal) => {
      const params = { path: { ...path, unitSlug: unit?.slug ?? '' } }
      const { rates } = await answerOf(
        client.GET('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates', { params, signal }),
      )
      const stay = { arrival: isoOf(arrival), departure: isoOf(departure), adults: 2 }
      const seasons = rates.seasons.map((season) => ({ ...season, minStay: null }))
      return answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates/preview', {
          params,
          body: {
            rates: { ...rates, seasons },
            unit: { minStay: 1 },
            from: stay.arrival,
            to: stay.departure,
            stay,
          },
          signal,
        }),
      )
    },
  )
  const lines = data?.quote?.lines ?? []
  const accommodation = lines
    .filter(({ kind }) => kind === 'accommodation' || kind === 'discount')
    .reduce((sum, { amount }) => sum + amount, 0)
  return {
    units,
    unit,
    arrival,
    departure,
    lines,
    accommodation,
    isLoading,
    choose,
    total: data?.quote?.total ?? 0,
    error: unitsError ?? error,
  }
}

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
