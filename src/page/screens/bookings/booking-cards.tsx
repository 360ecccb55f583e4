/** The cards on the page of a booking: the stay, its guest, price and history, and what webhook endpoints were told. */
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { DeliveryList, isAwaited } from '../../deliveries/delivery-list.tsx'
import { endpointName, useEndpoints } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { Card, DescriptionList } from '../../design/card.tsx'
import { EmptyState, LoadStatus, Note } from '../../design/feedback.tsx'
import { QuoteLines } from '../../design/quote-lines.tsx'
import { CopyButton } from '../../design/secret-dialog.tsx'
import { TYPE_LOOKS } from '../../design/status-looks.ts'
import { dayOf, dayText } from '../../format/days.ts'
import { instantText, timeLeft } from '../../format/instants.ts'
import { count, money } from '../../format/numbers.ts'
import { countryText, mailLink, phoneLink } from '../../format/texts.ts'
import { HistoryList } from '../../history/history-list.tsx'
import { isHistoryLine } from '../../history/history-words.ts'
import { usePolling } from '../../lib/hooks.ts'
import { hashOf } from '../../route/route.ts'
import { type Booking, guestName, partyText, sourceText } from '../../stays/stay-name.ts'

type Item = readonly [name: string, value: preact.ComponentChildren]

export function BookingFacts({ booking }: { booking: Booking }) {
  const { agency } = useSession()
  const at = (instant: string) => instantText(instant, agency.timezone)
  const { holdExpiresAt, expectedUntil, cancelledAt, cancelReason, sourceRef } = booking
  const items: (Item | null)[] = [
    ['Unit', <a href={hashOf(['units', booking.unitSlug])}>{booking.unitName}</a>],
    ['Arrival', dayText(dayOf(booking.arrival), 'long')],
    ['Departure', dayText(dayOf(booking.departure), 'long')],
    expectedUntil === null ? null : ['Expected to stay until', dayText(dayOf(expectedUntil), 'long')],
    booking.type === 'guest' ? null : ['Type', TYPE_LOOKS[booking.type].label],
    holdExpiresAt === null ? null : ['Held until', `${at(holdExpiresAt)} (${timeLeft(holdExpiresAt)} left)`],
    cancelledAt === null ? null : ['Cancelled', at(cancelledAt)],
    cancelledAt === null ? null : ['Reason', cancelReason === 'hold_expired' ? 'The hold expired' : cancelReason],
    partyText(booking) === '' ? null : ['Party', partyText(booking)],
    booking.extraBed ? ['Extra bed', 'Yes'] : null,
    ['Source', sourceText(booking.source)],
    sourceRef === null ? null : ['Reference', sourceRef],
    ['Booked', at(booking.createdAt)],
    [
      'Booking id',
      <span class="booking-id">
        <code>{booking.id}</code>
        <CopyButton text={booking.id} label="Copy the booking id" />
      </span>,
    ],
  ]
  return (
    <Card title="Stay">
      <DescriptionList items={items.filter((item) => item !== null)} />
    </Card>
  )
}

export function GuestCard({ booking: { guest } }: { booking: Booking }) {
  if (guest === null)
    return (
      <Card title="Guest">
        <p class="muted">No guest name was given with this booking.</p>
      </Card>
    )
  const { email, phone } = guest
  return (
    <Card title="Guest" aside={<a href={hashOf(['guests', guest.id])}>Contact and stays</a>}>
      <DescriptionList
        items={[
          ['Name', guestName(guest)],
          ['E-mail', email === null ? null : <a href={mailLink(email)}>{email}</a>],
          ['Phone', phone === null ? null : <a href={phoneLink(phone)}>{phone}</a>],
          ['Nationality', guest.nationality === null ? null : countryText(guest.nationality)],
        ]}
      />
    </Card>
  )
}

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
      <LoadStatus of={{ data, error, refresh }} lines={4} />
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

/** Lines shown at first, and added by each press. */
const STEP = 20
/** The most that the service gives at once. */
const LINES_MAX = 200

/** Who did what with it, and when. */
export function BookingHistory({ booking: { id, version } }: { booking: Booking }) {
  const { path } = useSession()
  const [shown, setShown] = useState(STEP)
  const query = { booking: id, pageSize: shown }
  const { data, error, refresh } = useResource(`audit?booking=${id}&version=${version}&shown=${shown}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/audit', { params: { path, query }, signal })),
  )
  return (
    <Card title="History">
      <LoadStatus of={{ data, error, refresh }} lines={4} />
      {data !== undefined && <HistoryList entries={data.audit.filter(isHistoryLine)} />}
      {data !== undefined && data.totalItems > data.audit.length && shown < LINES_MAX && (
        <div class="booking-more">
          <Button size="s" onClick={() => setShown(Math.min(LINES_MAX, shown + STEP))}>
            Show older
          </Button>
        </div>
      )}
    </Card>
  )
}

const DELIVERIES_MAX = 50
const POLL_MS = 4_000

/** What webhook endpoints were told about the booking. */
export function BookingDeliveries({ booking: { id, version } }: { booking: Booking }) {
  const { path } = useSession()
  const endpoints = useEndpoints().data?.webhookEndpoints ?? []
  const { data, error, refresh } = useResource(`bookings/${id}/deliveries?version=${version}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/deliveries', {
        params: { path: { ...path, bookingId: id }, query: { pageSize: DELIVERIES_MAX } },
        signal,
      }),
    ),
  )
  const deliveries = data?.deliveries ?? []
  usePolling(refresh, { isActive: isAwaited(deliveries), everyMs: POLL_MS })
  const nameOf = (endpointId: string) => {
    const found = endpoints.find((endpoint) => endpoint.id === endpointId)
    return found === undefined ? 'to a deleted endpoint' : `to ${endpointName(found)}`
  }
  const hidden = (data?.totalItems ?? 0) - deliveries.length
  return (
    <Card
      title="Webhook deliveries"
      isFlush
      {...(hidden > 0 ? { aside: `The newest ${DELIVERIES_MAX} of ${count(data?.totalItems ?? 0)}` } : {})}
    >
      <LoadStatus of={{ data, error, refresh }} lines={2} />
      {data !== undefined && deliveries.length > 0 && (
        <DeliveryList
          deliveries={deliveries}
          about={({ endpointId }) => nameOf(endpointId)}
          link={({ endpointId }) =>
            endpoints.some(({ id: known }) => known === endpointId) && (
              <a href={hashOf(['webhooks', endpointId])}>Open the endpoint</a>
            )
          }
        />
      )}
      {data !== undefined && deliveries.length === 0 && (
        <EmptyState icon="webhooks" title="Nothing sent">
          {endpoints.length === 0
            ? 'No webhook endpoint is registered. An endpoint receives every change made after it is registered.'
            : 'This booking has not changed since the endpoints were registered. They will receive its next change.'}
        </EmptyState>
      )}
    </Card>
  )
}
