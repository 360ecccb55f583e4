import './price-preview.css'
import { useMemo, useState } from 'preact/hooks'
import { answerOf, client } from '../../../api/client.ts'
import type { Preview } from '../../../api/schema.ts'
import { useSession } from '../../../data/use-session.ts'
import { Button, IconButton } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { ErrorNote, Skeleton } from '../../../design/feedback.tsx'
import { type Day, dayText, isoOf, monthStart, todayIn } from '../../../format/days.ts'
import { money } from '../../../format/numbers.ts'
import { setQuery, useRoute } from '../../../route/router.ts'
import { MONTHS, monthRows, weekRows } from '../editing/day-rows.ts'
import { usePreview } from '../editing/use-preview.ts'
import { HEAT_STEPS, NightPrices } from './night-prices.ts'
import { type GridStay, PriceGrid } from './price-grid.tsx'
import { changedPrices, dayOrNull, type Prices, type Rates, ratesOf } from './rates-draft.ts'
import { StayQuote } from './stay-quote.tsx'
import type { RatesEditing } from './use-rates.ts'

/** A row of a month begins on any day of the week and ends on any. */
const YEAR_COLUMNS = 37
const WEEK_COLUMNS = 7

/** What the rates in the fields come to, before they are saved. */
export function PricePreview({ editing }: { editing: RatesEditing }) {
  const { agency } = useSession()
  const { query } = useRoute()
  const today = todayIn(agency.timezone)
  const month = dayOrNull(query['month'] ?? '')
  const isMonth = month !== null
  const start = monthStart(month ?? dayOrNull(query['from'] ?? '') ?? today)
  const [party, setParty] = useState({ children: 0, extraBed: false })
  const [arrival, setArrival] = useState<Day | null>(null)
  const stay = stayOf(query)
  const { base, draft, errors, isUnsaved, slug } = editing
  const requested = stay === null ? null : { arrival: isoOf(stay.arrival), departure: isoOf(stay.departure), ...party }
  const window = { from: start, to: monthStart(start, MONTHS), stay: requested }
  const request: PreviewRequest | null =
    errors.size > 0 ? null : { ...window, rates: ratesOf(draft), prices: changedPrices(base.prices, draft) }
  const { preview, isBehind, problem } = useRatesPreview(slug, request)
  // What is saved, to tell what the changes would change.
  const { preview: savedPreview } = useRatesPreview(
    slug,
    isUnsaved ? { ...window, rates: base.rates, prices: {} } : null,
  )
  const nights = useMemo(() => (preview === null ? null : new NightPrices(preview.nights)), [preview])
  const before = useMemo(
    () => (savedPreview === null || !isUnsaved ? null : new NightPrices(savedPreview.nights)),
    [savedPreview, isUnsaved],
  )
  const changed = useMemo(
    () => (nights === null || before === null ? new Set<Day>() : nights.differingFrom(before)),
    [nights, before],
  )
  const choose = (day: Day) => {
    if (arrival === null || day <= arrival) {
      setArrival(day)
      return
    }
    setArrival(null)
    setQuery({ arrival: isoOf(arrival), departure: isoOf(day) }, { replace: true })
  }
  return (
    <div class="price-preview">
      <Card
        title={
          isMonth
            ? dayText(start, 'month')
            : `${dayText(start, 'shortMonthYear')} – ${dayText(monthStart(start, MONTHS - 1), 'shortMonthYear')}`
        }
        aside={<Steps start={start} isMonth={isMonth} stay={stay} />}
      >
        <div class="price-body">
          {errors.size > 0 && (
            <p class="price-behind" role="status">
              These prices do not include your last change. Complete the marked fields first.
            </p>
          )}
          <ErrorNote problem={problem} />
          {nights === null && problem === null && <Skeleton lines={8} />}
          {nights !== null && (
            <div class={isBehind || errors.size > 0 ? 'preview-shown preview-behind' : 'preview-shown'}>
              <PriceGrid
                label={`Price of every night. ${changed.size > 0 ? `${changed.size} nights change.` : ''}`}
                rows={isMonth ? weekRows(start) : monthRows(start)}
                columns={isMonth ? WEEK_COLUMNS : YEAR_COLUMNS}
                showsPrices={isMonth}
                {...{ nights, before, changed, stay, arrival, today }}
                onChoose={choose}
              />
              <Legend nights={nights} changedCount={changed.size} isMonth={isMonth} />
            </div>
          )}
        </div>
      </Card>
      <StayQuote
        {...{ stay, party, preview, isBehind: isBehind || errors.size > 0 }}
        saved={isUnsaved ? savedPreview : null}
        onParty={setParty}
        onStay={(change) => setQuery(change, { replace: true })}
      />
    </div>
  )
}

function Steps({ start, isMonth, stay }: { start: Day; isMonth: boolean; stay: GridStay | null }) {
  const step = isMonth ? 1 : MONTHS
  const go = (months: number) =>
    setQuery({ [isMonth ? 'month' : 'from']: isoOf(monthStart(start, months)) }, { replace: true })
  const isStayShown = stay !== null && stay.arrival >= start && stay.arrival < monthStart(start, MONTHS)
  const month = isoOf(monthStart(isStayShown ? stay.arrival : start))
  return (
    <div class="day-steps">
      <Button size="s" onClick={() => setQuery({ month: isMonth ? null : month }, { replace: true })}>
        {isMonth ? 'Show year' : 'Show month'}
      </Button>
      <IconButton icon="left" label={isMonth ? 'Month before' : 'Year before'} onClick={() => go(-step)} />
      <IconButton icon="right" label={isMonth ? 'Month after' : 'Year after'} onClick={() => go(step)} />
    </div>
  )
}

function Legend({ nights, changedCount, isMonth }: { nights: NightPrices; changedCount: number; isMonth: boolean }) {
  const { currency } = useSession()
  return (
    <p class="price-legend">
      <span class="numeric">{money(nights.lowest, currency)}</span>
      <span class={isMonth ? 'price-legend-scale day-grid-weeks' : 'price-legend-scale'} aria-hidden="true">
        {Array.from({ length: HEAT_STEPS }, (_, heat) => (
          <span key={heat} class={`day-cell price-heat-${heat}`} />
        ))}
      </span>
      <span class="numeric">{money(nights.highest, currency)}</span>
      {changedCount > 0 && (
        <span class="price-legend-changed">
          <span class="day-cell price-changed" aria-hidden="true" />
          {changedCount === 1 ? '1 night changes' : `${changedCount} nights change`}
        </span>
      )}
    </p>
  )
}

function stayOf(query: Readonly<Record<string, string>>): GridStay | null {
  const [arrival, departure] = [dayOrNull(query['arrival'] ?? ''), dayOrNull(query['departure'] ?? '')]
  return arrival === null || departure === null || departure <= arrival ? null : { arrival, departure }
}

interface PreviewStay {
  /** `YYYY-MM-DD`. */
  readonly arrival: string
  readonly departure: string
  readonly children: number
  readonly extraBed: boolean
}

interface PreviewRequest {
  readonly rates: Rates
  readonly prices: Partial<Prices>
  readonly from: Day
  /** Exclusive. */
  readonly to: Day
  readonly stay: PreviewStay | null
}

/** What the service would charge. */
function useRatesPreview(unitSlug: string, request: PreviewRequest | null) {
  const { path } = useSession()
  return usePreview(
    request && { ...request, unitSlug },
    ({ rates, prices, from, to, stay }, signal): Promise<Preview> => {
      const { turnoverNights: _, ...unit } = prices
      return answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates/preview', {
          params: { path: { ...path, unitSlug } },
          body: { rates, unit, from: isoOf(from), to: isoOf(to), stay },
          signal,
        }),
      )
    },
  )
}
