/** Webhook endpoints: what they are called, and how they do. */
import { answerOf, client } from '../api/client.ts'
import type { Schema } from '../api/schema.ts'
import { useResource } from '../data/use-resource.ts'
import { useSession } from '../data/use-session.ts'
import { Badge } from '../design/badge.tsx'
import { count, plural } from '../format/numbers.ts'

export type Endpoint = Schema<'WebhookEndpoint'>

/** More than an agency can have. */
const ENDPOINTS_MAX = 200

export function useEndpoints() {
  const { path } = useSession()
  return useResource('webhooks', (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/webhook-endpoints', {
        params: { path, query: { pageSize: ENDPOINTS_MAX } },
        signal,
      }),
    ),
  )
}

/** What people call it: its description, or where it is. */
export function endpointName({ description, url }: Pick<Endpoint, 'description' | 'url'>): string {
  return description !== null && description.trim() !== '' ? description : hostOf(url)
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}

export type EndpointEvent = Endpoint['events'][number]

/** What the agency can choose to send to an endpoint. */
export const EVENT_CHOICES: readonly {
  readonly events: readonly EndpointEvent[]
  readonly label: string
  readonly short: string
  readonly hint: string
}[] = [
  {
    events: ['booking.created', 'booking.updated', 'booking.cancelled'],
    label: 'Changes to bookings',
    short: 'bookings',
    hint: 'A booking is made, changed or cancelled',
  },
  {
    events: ['rates.updated'],
    label: 'Changes to rates',
    short: 'rates',
    hint: 'Rates or restrictions change: the message names the unit and the dates, not the prices',
  },
  {
    events: ['unit.updated'],
    label: 'Changes to units',
    short: 'units',
    hint: 'A unit is added, or its details or base price change',
  },
]

/** `Changes to bookings and rates`. */
export function eventsText(events: readonly EndpointEvent[]): string {
  const chosen = EVENT_CHOICES.filter((choice) => choice.events.some((event) => events.includes(event)))
  return `Changes to ${new Intl.ListFormat('en-GB').format(chosen.map(({ short }) => short))}`
}

/** As the service counts: after so many failures in a row an endpoint is switched off. */
export const FAILURES_IN_A_ROW_MAX = 20
/** As the service counts: it says no more than this. */
const WAITING_COUNTED_MAX = 10_000

export function EndpointState({ endpoint: { status, consecutiveFailures } }: { endpoint: Endpoint }) {
  if (status === 'disabled') return <Badge tone="bad">Switched off</Badge>
  if (consecutiveFailures > 0) return <Badge tone="warn">{plural(consecutiveFailures, 'failure')} in a row</Badge>
  return <Badge tone="good">Active</Badge>
}

type Waiting = Pick<Endpoint, 'waitingEvents' | 'waitingDeliveries'>

/** Whether anything is not done: what has been tried, and events that nothing has been made of yet. */
export function isWaiting({ waitingEvents, waitingDeliveries }: Waiting): boolean {
  return waitingEvents > 0 || waitingDeliveries > 0
}

/** `22 messages and 3 later events`, `10,000 messages or more`. Only where something waits. */
export function waitingText({ waitingEvents, waitingDeliveries }: Waiting): string {
  const parts = [
    ...(waitingDeliveries > 0 ? [countedText(waitingDeliveries, 'message')] : []),
    ...(waitingEvents > 0 ? [countedText(waitingEvents, waitingDeliveries > 0 ? 'later event' : 'event')] : []),
  ]
  return parts.join(' and ')
}

function countedText(counted: number, what: string): string {
  return counted >= WAITING_COUNTED_MAX ? `${count(WAITING_COUNTED_MAX)} ${what}s or more` : plural(counted, what)
}
