import '../bookings/booking-page.css'
import './webhooks.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import {
  type Endpoint,
  EndpointState,
  endpointName,
  FAILURES_IN_A_ROW_MAX,
  isWaiting,
  waitingText,
} from '../../deliveries/endpoints.tsx'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, DescriptionList, PageHeader } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Note, RoleNote, Skeleton } from '../../design/feedback.tsx'
import { Icon } from '../../design/icon.tsx'
import { Menu } from '../../design/menu.tsx'
import { instantText } from '../../format/instants.ts'
import { hashOf } from '../../route/route.ts'
import { ChangeEndpoint } from './change-endpoint.tsx'
import { DeleteEndpoint } from './delete-endpoint.tsx'
import { EndpointDeliveries } from './endpoint-deliveries.tsx'
import { Ping } from './ping.tsx'
import { RotateSecret } from './rotate-secret.tsx'
import { SwitchOn } from './switch-on.tsx'

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
        <ErrorNote problem={error} onRetry={refresh} />
      )}
      {data === undefined && error === null && (
        <Card isFlush>
          <Skeleton lines={5} />
        </Card>
      )}
    </>
  )
}

type Open = 'ping' | 'change' | 'rotate' | 'delete' | 'switch-on'

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
              {may('owner') && (
                <span class="booking-menu">
                  <Menu
                    label="More actions"
                    items={[
                      { label: 'Change address or name', icon: 'edit', onSelect: () => setOpen('change') },
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
  const { previousSecretUntil, consecutiveFailures, createdAt, updatedAt } = endpoint
  const hasOldSecret = previousSecretUntil !== null && Date.parse(previousSecretUntil) > Date.now()
  return (
    <Card title="Endpoint">
      <DescriptionList
        items={[
          ['State', <EndpointState endpoint={endpoint} />],
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
