import type { Instant } from '../domain/booking.ts'
import type { AttemptOutcome } from './attempt-outcome.ts'
import type { WebhookDelivery } from './delivery.ts'
import type { WebhookEndpoint } from './webhook-endpoint.ts'

/** An endpoint with what the agency does not see. */
export interface StoredEndpoint extends WebhookEndpoint {
  readonly agencyId: string
  readonly secretSealed: string
  readonly previousSecretSealed: string | null
}

/** What happens to deliveries that were held while an endpoint was off (design, Webhooks). */
export type PendingChoice = 'resend' | 'drop'

/** A finished ping, written as one event, one delivery and one attempt. */
export interface PingRecord {
  readonly agencyId: string
  readonly endpointId: string
  readonly eventId: string
  readonly deliveryId: string
  readonly body: string
  readonly at: Instant
  readonly durationMs: number
  readonly outcome: AttemptOutcome
}

/** The port behind the agency's commands. Deleted endpoints are not there, except where it says so. */
export interface EndpointRows {
  /** Newest first. */
  list(agencyId: string): Promise<readonly StoredEndpoint[]>
  find(agencyId: string, endpointId: string): Promise<StoredEndpoint | null>
  /** @returns false when the agency has `max` endpoints already */
  insert(endpoint: StoredEndpoint, max: number): Promise<boolean>
  /** Another address begins without failures. */
  changeUrl(change: { agencyId: string; endpointId: string; url: string; at: Instant }): Promise<StoredEndpoint | null>
  describe(change: {
    agencyId: string
    endpointId: string
    description: string | null
    at: Instant
  }): Promise<StoredEndpoint | null>
  /** Ends what is pending as the choice says, then switches on with no failures. Safe to repeat after a crash. */
  enable(change: {
    agencyId: string
    endpointId: string
    pending: PendingChoice
    at: Instant
  }): Promise<StoredEndpoint | null>
  /** Switches off for good, drops what is pending, forgets the secrets. @returns the endpoint as it was */
  delete(change: { agencyId: string; endpointId: string; at: Instant }): Promise<StoredEndpoint | null>
  replaceSecret(change: {
    agencyId: string
    endpointId: string
    secretSealed: string
    previousSecretUntil: Instant | null
    at: Instant
  }): Promise<StoredEndpoint | null>

  /** Newest first, ties by id. `total`: how many there are. */
  deliveries(
    agencyId: string,
    endpointId: string,
    page: { offset: number; limit: number },
  ): Promise<{ readonly rows: readonly WebhookDelivery[]; readonly total: number }>
  findDelivery(agencyId: string, deliveryId: string): Promise<WebhookDelivery | null>
  /** Begins a new schedule at once; an attempt that is under way is left alone. */
  resend(agencyId: string, deliveryId: string, at: Instant): Promise<void>
  recordPing(ping: PingRecord): Promise<void>
}
