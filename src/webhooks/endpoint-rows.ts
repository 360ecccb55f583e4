import type { Instant } from '../core/domain/booking.ts'
import type { AuditDraft } from '../core/journal/record.ts'
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

/** What an agency may change of an endpoint; members left out stay as they are. */
export interface EndpointChange {
  /** Another address begins without failures. */
  readonly url?: string
  readonly description?: string | null
  /** Switches on with no failures, after ending what is pending as the choice says. Of an active endpoint nothing changes. */
  readonly pending?: PendingChoice
}

/**
 * The port behind the agency's commands. Deleted endpoints are not there, except where it says so. Each change is one statement
 * with its line of the audit trail, under the fence (J5): it throws JournalError when another process writes by now, and an
 * error that says what is known of the outcome.
 */
export interface EndpointRows {
  /** Newest first. */
  list(agencyId: string): Promise<readonly StoredEndpoint[]>
  find(agencyId: string, endpointId: string): Promise<StoredEndpoint | null>
  /** @returns false when the agency has `max` endpoints already */
  insert(endpoint: StoredEndpoint, max: number, audit: AuditDraft): Promise<boolean>
  /** Where very many deliveries are pending, some are ended before the rest of the change: to be repeated if it fails. */
  change(
    change: EndpointChange & { agencyId: string; endpointId: string; at: Instant },
    audit: AuditDraft,
  ): Promise<StoredEndpoint | null>
  /**
   * Switches off for good, drops what is pending, forgets the secrets. Where very many deliveries are pending, some are dropped
   * afterwards; repeated, it drops what is left.
   * @returns the endpoint as it was
   */
  delete(
    change: { agencyId: string; endpointId: string; at: Instant },
    audit: AuditDraft,
  ): Promise<StoredEndpoint | null>
  replaceSecret(
    change: {
      agencyId: string
      endpointId: string
      secretSealed: string
      previousSecretUntil: Instant | null
      at: Instant
    },
    audit: AuditDraft,
  ): Promise<StoredEndpoint | null>

  /** Newest first, ties by id. `total`: how many there are. */
  deliveries(
    agencyId: string,
    endpointId: string,
    page: { offset: number; limit: number },
  ): Promise<{ readonly rows: readonly WebhookDelivery[]; readonly total: number }>
  findDelivery(agencyId: string, deliveryId: string): Promise<WebhookDelivery | null>
  /**
   * Begins a new schedule at once; an attempt that is under way is left alone.
   * @returns the delivery, null when its endpoint is deleted
   */
  resend(delivery: WebhookDelivery, agencyId: string, at: Instant, audit: AuditDraft): Promise<WebhookDelivery | null>
  recordPing(ping: PingRecord, audit: AuditDraft): Promise<void>
}
