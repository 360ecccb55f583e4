/**
 * What is kept of the answers to changes of webhook endpoints, so that a repeated request gets the first answer: what the change
 * returned, and when. Without the secrets, not even encrypted.
 */
import type { Instant } from '../../core/domain/booking.ts'
import { decoderOf, encoderOf, type Stored } from '../../core/journal/fields.ts'
import type { StoredEndpoint } from '../../events/webhooks/endpoint-rows.ts'
import type { WebhookDelivery } from '../../events/webhooks/sender-store.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { ENDPOINT } from './tables.ts'

export type EndpointRow = Stored<typeof ENDPOINT.fields> & {
  readonly waitingEvents: number
  readonly waitingDeliveries: number
}

const NO_SECRETS = { secretSealed: '', previousSecretSealed: null }
const encodeEndpoint = encoderOf(ENDPOINT.fields)
const decodeEndpoint = decoderOf(ENDPOINT.fields)

export function endpointOf(row: EndpointRow): StoredEndpoint {
  const { waitingEvents, waitingDeliveries } = row
  return { ...decodeEndpoint(row), waitingEvents, waitingDeliveries }
}

/** Of the row `changed`, an `EndpointRow`. */
export function keptEndpointRow(sql: Sql, at: Instant): Fragment {
  return sql`
    jsonb_build_object('endpoint', to_jsonb(changed) - 'secretSealed' - 'previousSecretSealed', 'at', ${at}::float8)::text`
}

/** Of an endpoint that was read before the change. */
export function keptEndpointText(
  { waitingEvents, waitingDeliveries, ...endpoint }: StoredEndpoint,
  at: Instant,
): string {
  const row = {
    ...encodeEndpoint(endpoint),
    id: uuidOf(endpoint.id),
    agencyId: uuidOf(endpoint.agencyId),
    waitingEvents,
    waitingDeliveries,
  }
  return JSON.stringify({ endpoint: { ...row, ...NO_SECRETS }, at })
}

export function keptEndpointIn(kept: string): { readonly endpoint: StoredEndpoint; readonly at: Instant } {
  const { endpoint, at } = JSON.parse(kept) as { endpoint: EndpointRow; at: Instant }
  return { endpoint: endpointOf({ ...endpoint, ...NO_SECRETS }), at }
}

/** What the statement of a resend returns. */
export interface ResendRow {
  readonly status: StoredEndpoint['status']
  readonly isResent: boolean
}

/** The delivery after it is sent again at `at`. */
export function resentDelivery(
  delivery: WebhookDelivery,
  { status, isResent }: ResendRow,
  at: Instant,
): WebhookDelivery {
  if (!isResent) return delivery
  const isActive = status === 'active'
  return {
    ...delivery,
    status: isActive ? 'pending' : 'held',
    nextAttemptAt: isActive ? at : null,
    finishedAt: null,
  }
}

/** Of the row `changed`, a `ResendRow`. */
export function keptResend(sql: Sql, delivery: WebhookDelivery, at: Instant): Fragment {
  return sql`
    jsonb_build_object('delivery', ${JSON.stringify(delivery)}::text::jsonb, 'row', to_jsonb(changed), 'at', ${at}::float8)::text`
}

export function keptDeliveryIn(kept: string): WebhookDelivery {
  const { delivery, row, at } = JSON.parse(kept) as { delivery: WebhookDelivery; row: ResendRow; at: Instant }
  return resentDelivery(delivery, row, at)
}
