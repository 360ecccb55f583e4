import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { DeliveryList, isAwaited } from '../../deliveries/delivery-list.tsx'
import { Card } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Pager } from '../../design/table.tsx'
import { count } from '../../format/numbers.ts'
import { usePolling } from '../../lib/hooks.ts'
import { hashOf } from '../../route/route.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { stayDates, stayName } from '../../stays/stay-name.ts'

const PAGE_SIZE = 20
const POLL_MS = 4_000

/** What it was sent, newest first, with every attempt. */
export function EndpointDeliveries({ endpointId }: { endpointId: string }) {
  const { path } = useSession()
  const { query: route } = useRoute()
  const page = Math.max(1, Number.parseInt(route['page'] ?? '1', 10) || 1)
  const query = { page, pageSize: PAGE_SIZE }
  const { data, error, refresh } = useResource(`webhooks/${endpointId}/deliveries?page=${page}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}/deliveries', {
        params: { path: { ...path, endpointId }, query },
        signal,
      }),
    ),
  )
  const deliveries = data?.deliveries ?? []
  usePolling(refresh, { isActive: isAwaited(deliveries), everyMs: POLL_MS })
  return (
    <Card title="Deliveries" isFlush aside={data === undefined ? '' : count(data.totalItems)}>
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && <Skeleton lines={4} />}
      {deliveries.length > 0 && (
        <DeliveryList
          deliveries={deliveries}
          about={({ bookingId, event }) =>
            bookingId !== null ? <BookingName id={bookingId} /> : event === 'ping' ? 'Sent from this page' : ''
          }
          link={({ bookingId }) => bookingId !== null && <a href={hashOf(['bookings', bookingId])}>Open the booking</a>}
        />
      )}
      {data !== undefined && deliveries.length === 0 && (
        <EmptyState icon="webhooks" title="Nothing sent yet">
          The first message goes out when a booking is made, changed or cancelled. Send a test to check that the
          receiver answers.
        </EmptyState>
      )}
      <Pager
        page={page}
        pageSize={PAGE_SIZE}
        totalItems={data?.totalItems ?? 0}
        onPage={(next) => setQuery({ page: next === 1 ? null : next })}
      />
    </Card>
  )
}

function BookingName({ id }: { id: string }) {
  const { path } = useSession()
  const { data } = useResource(`bookings/${id}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}', {
        params: { path: { ...path, bookingId: id } },
        signal,
      }),
    ),
  )
  return data === undefined ? '…' : `${stayName(data.booking)}, ${data.booking.unitName}, ${stayDates(data.booking)}`
}
