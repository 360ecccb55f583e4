import '../bookings/bookings.css'
import './webhooks.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { DeliveryList, isAwaited } from '../../deliveries/delivery-list.tsx'
import {
  type Endpoint,
  EndpointState,
  endpointName,
  eventsText,
  FAILURES_IN_A_ROW_MAX,
  isWaiting,
  waitingText,
} from '../../deliveries/endpoints.tsx'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, DescriptionList, PageHeader } from '../../design/card.tsx'
import { EmptyState, LoadStatus, Note, RoleNote } from '../../design/feedback.tsx'
import { Icon } from '../../design/icon.tsx'
import { Menu } from '../../design/menu.tsx'
import { Pager } from '../../design/table.tsx'
import { instantText } from '../../format/instants.ts'
import { count } from '../../format/numbers.ts'
import { usePolling } from '../../lib/hooks.ts'
import { realTime } from '../../lib/present.ts'
import { hashOf, pageOf } from '../../route/route.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { stayName, stayPlace } from '../../stays/stay-name.ts'
import { DeleteEndpoint, Ping, SwitchOn } from './endpoint-actions.tsx'
import { ChangeEndpoint } from './endpoint-form.tsx'
import { ResendSince } from './resend-since.tsx'
import { RotateSecret } from './rotate-secret.tsx'

/** One endpoint: how it does, what it was sent, and what can be done with it. */
export function EndpointPage({ endpointId }: { endpointId: string }) {
  const { path } = useSession()
  const { data, error, refresh } = useResource(`webhooks/${endpointId}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}', {
        params: { path: { ...path, endpointId } },
        signal,
      }),
    ),
  )
  return (
    <>
      <a class="booking-back" href={hashOf('webhooks')}>
        <Icon name="left" size={14} />
        Webhooks
      </a>
      {data !== undefined && error?.status !== 404 && <Known endpoint={data.webhookEndpoint} />}
      {(data === undefined || error?.status === 404) && <PageHeader title="Webhook endpoint" />}
      {error?.status === 404 ? (
        <Card>
          <EmptyState
            icon="webhooks"
            title="Endpoint not found"
            action={<LinkButton href={hashOf('webhooks')}>See all endpoints</LinkButton>}
          >
            It may have been deleted.
          </EmptyState>
        </Card>
      ) : (
        <LoadStatus of={{ data, error, refresh }} lines={5} isCard />
      )}
    </>
  )
}

type Open = 'ping' | 'resend' | 'change' | 'rotate' | 'delete' | 'switch-on'

function Known({ endpoint }: { endpoint: Endpoint }) {
  const { may } = useSession()
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const isOff = endpoint.status === 'disabled'
  return (
    <>
      <PageHeader
        title={endpointName(endpoint)}
        description={
          <span class="booking-subtitle">
            <span class="webhooks-url">{endpoint.url}</span>
            <EndpointState endpoint={endpoint} />
          </span>
        }
        actions={
          may('manager') ? (
            <>
              <Button icon="webhooks" onClick={() => setOpen('ping')}>
                Send a test
              </Button>
              {!isOff && (
                <Button icon="refresh" onClick={() => setOpen('resend')}>
                  Send again…
                </Button>
              )}
              {may('owner') && (
                <span class="booking-menu">
                  <Menu
                    label="More actions"
                    items={[
                      { label: 'Change address, name or events', icon: 'edit', onSelect: () => setOpen('change') },
                      { label: 'Rotate the secret', icon: 'keys', onSelect: () => setOpen('rotate') },
                      { label: 'Delete endpoint', icon: 'close', isDanger: true, onSelect: () => setOpen('delete') },
                    ]}
                  />
                </span>
              )}
            </>
          ) : (
            <RoleNote>
              You can view this. Managers and owners can send a test, and only owners can make changes.
            </RoleNote>
          )
        }
      />
      {isOff && <WhyOff endpoint={endpoint} onSwitchOn={may('owner') ? () => setOpen('switch-on') : undefined} />}
      <div class="booking-columns">
        <EndpointDeliveries endpointId={endpoint.id} />
        <Facts endpoint={endpoint} />
      </div>
      {open === 'ping' && <Ping endpoint={endpoint} onClose={close} />}
      {open === 'resend' && <ResendSince endpoint={endpoint} onClose={close} />}
      {open === 'change' && <ChangeEndpoint endpoint={endpoint} onClose={close} />}
      {open === 'rotate' && <RotateSecret endpoint={endpoint} onClose={close} />}
      {open === 'delete' && <DeleteEndpoint endpoint={endpoint} onClose={close} />}
      {open === 'switch-on' && <SwitchOn endpoint={endpoint} onClose={close} />}
    </>
  )
}

function WhyOff({ endpoint, onSwitchOn }: { endpoint: Endpoint; onSwitchOn: (() => void) | undefined }) {
  return (
    <Note tone="bad" role="status">
      <div class="webhooks-off">
        <div>
          <p>
            <strong>Switched off automatically.</strong>{' '}
            {endpoint.disabledReason ?? 'Too many deliveries in a row failed'}.
          </p>
          <p>
            {isWaiting(endpoint) ? `Waiting to be sent: ${waitingText(endpoint)}.` : 'Nothing is waiting to be sent.'}{' '}
            {onSwitchOn === undefined
              ? 'An owner of the agency can switch it on again.'
              : 'Fix the receiver, send a test, then switch the endpoint on again.'}
          </p>
        </div>
        {onSwitchOn !== undefined && (
          <Button tone="primary" onClick={onSwitchOn}>
            Switch on…
          </Button>
        )}
      </div>
    </Note>
  )
}

function Facts({ endpoint }: { endpoint: Endpoint }) {
  const { timezone } = useSession().agency
  const { events, previousSecretUntil, consecutiveFailures, createdAt, updatedAt } = endpoint
  const hasOldSecret = previousSecretUntil !== null && Date.parse(previousSecretUntil) > realTime()
  return (
    <Card title="Endpoint">
      <DescriptionList
        items={[
          ['State', <EndpointState endpoint={endpoint} />],
          ['Sent to it', eventsText(events)],
          [
            'Failures in a row',
            consecutiveFailures === 0
              ? 'None'
              : endpoint.status === 'disabled'
                ? consecutiveFailures
                : `${consecutiveFailures}. It is switched off after ${FAILURES_IN_A_ROW_MAX}.`,
          ],
          ['Waiting', isWaiting(endpoint) ? waitingText(endpoint) : 'Nothing'],
          ...(hasOldSecret
            ? [['Old secret', `Also signs until ${instantText(previousSecretUntil, timezone)}`] as const]
            : []),
          ['Registered', instantText(createdAt, timezone)],
          ['Last changed', instantText(updatedAt, timezone)],
        ]}
      />
    </Card>
  )
}

const PAGE_SIZE = 20
const POLL_MS = 4_000

/** What it was sent, newest first, with every attempt. */
function EndpointDeliveries({ endpointId }: { endpointId: string }) {
  const { path } = useSession()
  const page = pageOf(useRoute())
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
      <LoadStatus of={{ data, error, refresh }} lines={4} />
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
  return data === undefined ? '…' : `${stayName(data.booking)}, ${stayPlace(data.booking)}`
}
