import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { DeliveryList, isAwaited } from '../../deliveries/delivery-list.tsx'
import { endpointName, useEndpoints } from '../../deliveries/endpoints.tsx'
import { Card } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { count } from '../../format/numbers.ts'
import { usePolling } from '../../lib/hooks.ts'
import { hashOf } from '../../route/route.ts'
import type { Booking } from '../../stays/stay-name.ts'

const SHOWN_MAX = 50
const POLL_MS = 4_000

/** What webhook endpoints were told about the booking. */
export function BookingDeliveries({ booking: { id, version } }: { booking: Booking }) {
  const { path } = useSession()
  const endpoints = useEndpoints().data?.webhookEndpoints ?? []
  const { data, error, refresh } = useResource(`bookings/${id}/deliveries?version=${version}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/bookings/{bookingId}/deliveries', {
        params: { path: { ...path, bookingId: id }, query: { pageSize: SHOWN_MAX } },
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
      {...(hidden > 0 ? { aside: `The newest ${SHOWN_MAX} of ${count(data?.totalItems ?? 0)}` } : {})}
    >
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && <Skeleton lines={2} />}
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
