import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Card } from '../../design/card.tsx'
import { ErrorNote, Note, Skeleton } from '../../design/feedback.tsx'
import { QuoteLines } from '../../design/quote-lines.tsx'
import { money } from '../../format/numbers.ts'
import type { Booking } from '../../stays/stay-name.ts'

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
        <QuoteLines
          lines={quote.lines}
          total={quote.total}
          currency={currency}
          totalHead={isAsBooked ? 'Total' : 'Total at today’s rates'}
        />
      )}
    </Card>
  )
}
