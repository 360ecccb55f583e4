import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSettled } from '../../data/use-settled.ts'
import { ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Radio } from '../../design/radio.tsx'
import { money } from '../../format/money.ts'
import { useSession } from '../../session/use-session.ts'
import type { Booking } from '../../stays/stay-name.ts'
import { Lines } from './booking-price.tsx'
import type { BookingPatch } from './patch-booking.ts'

export type Pricing = 'reprice' | 'keep'

/** What a move would cost before anything is written, and whether the price follows. `change`: null while it is none. */
export function MovePrice({
  booking,
  change,
  pricing,
  onPricing,
}: {
  booking: Booking
  change: BookingPatch | null
  pricing: Pricing
  onPricing: (pricing: Pricing) => void
}) {
  const { path, currency } = useSession()
  const asked = useSettled(change === null ? null : JSON.stringify(change))
  const { data, error, refresh, isLoading } = useResource(
    asked === null ? null : `tried/${booking.id}/${booking.version}?${asked}`,
    (signal) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', {
          params: { path: { ...path, bookingId: booking.id }, query: { dryRun: 'true' } },
          body: JSON.parse(asked ?? '{}'),
          signal,
        }),
      ),
  )
  if (change === null || asked === null) return null
  if (error !== null) return <ErrorNote problem={error} onRetry={error.isPassing ? refresh : undefined} />
  if (data === undefined) return isLoading ? <Skeleton lines={2} /> : null
  const quote = data.quote ?? null
  if (quote === null) return <p class="booking-free">The nights are free.</p>
  const difference = quote.total - booking.totalAmount
  return (
    <>
      <p class="booking-free">The nights are free.</p>
      {difference === 0 ? (
        <p>The price stays {money(quote.total, currency)}.</p>
      ) : (
        <fieldset class="booking-choice">
          <legend class="field-label">Price</legend>
          <Radio
            group="pricing"
            isChosen={pricing === 'reprice'}
            onChoose={() => onPricing('reprice')}
            label={`New price: ${money(quote.total, currency)}`}
            hint={`${money(Math.abs(difference), currency)} ${difference > 0 ? 'more' : 'less'} than now`}
          />
          <Radio
            group="pricing"
            isChosen={pricing === 'keep'}
            onChoose={() => onPricing('keep')}
            label={`Keep ${money(booking.totalAmount, currency)}`}
            hint="As agreed with the guest"
          />
        </fieldset>
      )}
      <details class="booking-tried">
        <summary>The new price by line</summary>
        <Lines lines={quote.lines} total={quote.total} currency={currency} />
      </details>
    </>
  )
}
