import './webhooks.css'
import { useState } from 'preact/hooks'
import { useSession } from '../../data/use-session.ts'
import { EndpointState, endpointName, isWaiting, useEndpoints, waitingText } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, LoadStatus, Note, RoleNote } from '../../design/feedback.tsx'
import { Table } from '../../design/table.tsx'
import { relativeTime } from '../../format/instants.ts'
import { hashOf } from '../../route/route.ts'
import { useRoute } from '../../route/router.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { RegisterEndpoint } from './endpoint-form.tsx'
import { EndpointPage } from './endpoint-page.tsx'

const LIVE = ['webhooks']

/** `#/webhooks` lists, `#/webhooks/whe_…` shows one. */
export function WebhooksScreen() {
  const { path } = useRoute()
  useLiveStays(LIVE)
  const id = path[1]
  return id === undefined ? <EndpointList /> : <EndpointPage key={id} endpointId={id} />
}

/** The addresses that every booking is reported to. */
function EndpointList() {
  const { may } = useSession()
  const [isRegistering, setRegistering] = useState(false)
  const { data, error, refresh } = useEndpoints()
  const isOwner = may('owner')
  const endpoints = data?.webhookEndpoints ?? []
  const off = endpoints.filter(({ status }) => status === 'disabled')
  const register = isOwner && (
    <Button tone="primary" icon="plus" onClick={() => setRegistering(true)}>
      Register endpoint
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Webhooks"
        description="An endpoint is the address of another system, such as a channel manager or a cleaning planner. It is notified whenever a booking is made, changed or cancelled."
        actions={register}
      />
      <LoadStatus of={{ data, error, refresh }} isCard />
      {off.length > 0 && (
        <Note tone="bad">
          <p>
            {off.length === 1 ? 'One endpoint is' : `${off.length} endpoints are`} switched off and receive
            {off.length === 1 ? 's' : ''} nothing. Open {off.length === 1 ? 'it' : 'each one'} to see why and to switch
            it on again.
          </p>
        </Note>
      )}
      {data !== undefined && (
        <Card isFlush>
          {endpoints.length === 0 ? (
            <EmptyState icon="webhooks" title="No endpoints yet" action={register}>
              {isOwner
                ? 'Register the address that the other system gave you. It gets its first message with the next booking.'
                : 'An owner of the agency can register one.'}
            </EmptyState>
          ) : (
            <Table
              caption="Webhook endpoints"
              columns={[
                {
                  key: 'name',
                  head: 'Endpoint',
                  cell: (endpoint) => (
                    <span class="webhooks-name">
                      {endpointName(endpoint)}
                      <span class="webhooks-url">{endpoint.url}</span>
                    </span>
                  ),
                },
                { key: 'state', head: 'State', cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
                {
                  key: 'waiting',
                  head: 'Waiting',
                  cell: (endpoint) =>
                    isWaiting(endpoint) ? waitingText(endpoint) : <span class="muted">nothing</span>,
                },
                {
                  key: 'since',
                  head: 'Registered',
                  isMinor: true,
                  cell: ({ createdAt }) => <span class="muted">{relativeTime(createdAt)}</span>,
                },
              ]}
              rows={endpoints}
              rowKey={({ id }) => id}
              rowHref={({ id }) => hashOf(['webhooks', id])}
            />
          )}
        </Card>
      )}
      {endpoints.length > 0 && !isOwner && (
        <RoleNote>Only an owner of the agency can register or change endpoints.</RoleNote>
      )}
      {isRegistering && <RegisterEndpoint onClose={() => setRegistering(false)} />}
    </>
  )
}
