import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useResource } from '../../data/use-resource.ts'
import { Card } from '../../design/card.tsx'
import { ErrorNote, Note, Skeleton } from '../../design/feedback.tsx'
import { plural } from '../../format/count.ts'
import { dayOf, dayRange } from '../../format/days.ts'
import { type Currency, money } from '../../format/money.ts'
import { useSession } from '../../session/use-session.ts'
import type { Booking } from '../../stays/stay-name.ts'

type Line = Schema<'QuoteLine'>

/** What the stay costs, line by line. */
export function BookingPrice({ booking }: { booking: Booking }) {
  const { path, currency } = useSession()
  const { id, version, totalAmount } = booking
  const { data, error, refresh } = useResource(`bookings/${id}/quote?version=${version}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/quote', {
        params: { path: { ...path, bookingId: id } },
        signal,
      }),
    ),
  )
  const quote = data?.quote ?? null
  const isAsBooked = quote?.total === totalAmount
  return (
    <Card title="Price" aside={<strong class="numeric">{money(totalAmount, currency)}</strong>}>
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && <Skeleton lines={4} />}
      {quote !== null && !isAsBooked && (
        <div class="booking-price-note">
          <Note>
            <p>
              {money(totalAmount, currency)} was agreed when this was booked or last moved, and still applies. Rates or
              fees have changed since: today the same stay would cost {money(quote.total, currency)}, as follows.
            </p>
          </Note>
        </div>
      )}
      {quote !== null && (
        <Lines
          lines={quote.lines}
          total={quote.total}
          currency={currency}
          totalHead={isAsBooked ? 'Total' : 'Total at today’s rates'}
        />
      )}
    </Card>
  )
}

/** A price, line by line, with its sum. */
export function Lines({
  lines,
  total,
  currency,
  totalHead = 'Total',
}: {
  lines: readonly Line[]
  total: number
  currency: Currency
  totalHead?: string
}) {
  return (
    <table class="booking-lines">
      <caption class="visually-hidden">Price by line</caption>
      <thead class="visually-hidden">
        <tr>
          <th scope="col">For</th>
          <th scope="col">Amount</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={`${line.kind} ${line.label} ${line.from} ${line.feeTypeId}`}>
            <th scope="row">
              {line.label}
              <span class="booking-line-detail numeric">{detailOf(line, currency)}</span>
            </th>
            <td class="numeric">{money(line.amount, currency)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">{totalHead}</th>
          <td class="numeric">{money(total, currency)}</td>
        </tr>
      </tfoot>
    </table>
  )
}

function detailOf({ kind, from, to, quantity, unitAmount, pct }: Line, currency: Currency): string {
  if (pct !== null) return `${pct}%`
  if (quantity === null || unitAmount === null) return ''
  const price = money(unitAmount, currency)
  const perNight = kind === 'accommodation' || kind === 'extra_bed'
  const times = perNight ? `${plural(quantity, 'night')} at ${price}` : quantity === 1 ? '' : `${quantity} × ${price}`
  return from === null || to === null ? times : `${dayRange(dayOf(from), dayOf(to))}, ${times}`
}
