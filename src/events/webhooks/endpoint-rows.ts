import type { Instant, WebhookEventKind } from '../../core/domain/booking.ts'
import type { ChangeLine } from '../../core/journal/record.ts'
import type { AttemptOutcome } from './guarded-post.ts'
import type { WebhookDelivery } from './sender-store.ts'
import type { WebhookEndpoint } from './webhook-endpoint.ts'

/** An endpoint, including the members that are hidden from the agency. */
export interface StoredEndpoint extends WebhookEndpoint {
  readonly agencyId: string
  readonly secretSealed: string
  readonly previousSecretSealed: string | null
}

/**
 * What happens to the pending deliveries of a disabled endpoint, and to the events that have waited for it, when it is enabled
 * (docs/design.md#webhooks).
 */
export type PendingChoice = 'resend' | 'drop'

/** A finished ping, written as one delivery and one attempt. */
export interface PingRecord {
  readonly agencyId: string
  readonly endpointId: string
  readonly eventId: string
  readonly deliveryId: string
  readonly at: Instant
  readonly durationMs: number
  readonly outcome: AttemptOutcome
}

/** Which deliveries of an endpoint to send again: those made from `since` to `until`, both included. */
export interface ResendSince {
  readonly agencyId: string
  readonly endpointId: string
  readonly since: Instant
  readonly until: Instant
  /** Only those that were given up. */
  readonly failedOnly: boolean
  /** The last delivery that an earlier part has looked at: `since` no longer counts. Null for the first part. */
  readonly after: string | null
  readonly at: Instant
}

/** What became of one part. */
export interface ResentPart {
  readonly resent: number
  /** Deliveries that were not looked at yet, counted up to `WAITING_COUNTED_MAX`. */
  readonly remaining: number
  readonly until: Instant
  /** Where the next part goes on: the last delivery that was looked at; null when there was none. */
  readonly after: string | null
}

/** The changes an agency can make to an endpoint; members left out stay as they are. */
export interface EndpointChange {
  /** A different address resets the failure count. */
  readonly url?: string
  readonly description?: string | null
  /** Apply to every event for which no delivery has been made, waiting ones included. */
  readonly events?: readonly WebhookEventKind[]
  /**
   * Enables the endpoint with a failure count of 0, after it resends or drops the pending deliveries and the events that have
   * waited. No effect on an active endpoint.
   */
  readonly pending?: PendingChoice
}

/** A webhook event as it was delivered. */
export interface FiredEvent {
  /** `evt_…` */
  readonly id: string
  readonly event: WebhookEventKind
  readonly body: string
}

/**
 * The port behind the agency's commands. Deleted endpoints are not found, except where noted. Each change is one
 * statement that also writes its audit line, under the fence (J5). It throws JournalError when another process has
 * become the writer, and otherwise an error that says what is known of the outcome.
 */
export interface EndpointRows {
  /** Newest first. */
  list(agencyId: string): Promise<readonly StoredEndpoint[]>
  /** The events that a booking has fired on the unit that it is in, the newest first. */
  eventsOf(agencyId: string, bookingId: string, limit: number): Promise<readonly FiredEvent[]>
  find(agencyId: string, endpointId: string): Promise<StoredEndpoint | null>
  /**
   * Its first event is the first that becomes durable afterwards.
   * @returns false when the agency has `max` endpoints already
   */
  insert(endpoint: StoredEndpoint, max: number, audit: ChangeLine): Promise<boolean>
  /**
   * When very many deliveries are pending, some are finished before the rest of the change. Repeat the call if it
   * fails.
   */
  change(
    change: EndpointChange & { agencyId: string; endpointId: string; at: Instant },
    audit: ChangeLine,
  ): Promise<StoredEndpoint | null>
  /**
   * Deletes the endpoint: drops its pending deliveries and erases its secrets. When very many deliveries are pending,
   * some are dropped afterwards; a repeated call drops the remaining ones.
   * @returns the endpoint as it was
   */
  delete(
    change: { agencyId: string; endpointId: string; at: Instant },
    audit: ChangeLine,
  ): Promise<StoredEndpoint | null>
  replaceSecret(
    change: {
      agencyId: string
      endpointId: string
      secretSealed: string
      previousSecretUntil: Instant | null
      at: Instant
    },
    audit: ChangeLine,
  ): Promise<StoredEndpoint | null>

  /** Newest first, ties by id. `total`: number of deliveries on all pages. */
  deliveries(
    agencyId: string,
    endpointId: string,
    page: { offset: number; limit: number },
  ): Promise<{ readonly rows: readonly WebhookDelivery[]; readonly total: number }>
  /** The same of a booking: of every endpoint, also of those that were deleted. */
  deliveriesOfBooking(
    agencyId: string,
    bookingId: string,
    page: { offset: number; limit: number },
  ): Promise<{ readonly rows: readonly WebhookDelivery[]; readonly total: number }>
  findDelivery(agencyId: string, deliveryId: string): Promise<WebhookDelivery | null>
  /**
   * Starts a new schedule immediately. An attempt in progress is not affected.
   * @returns the delivery; null when its endpoint is deleted
   */
  resend(delivery: WebhookDelivery, agencyId: string, at: Instant, audit: ChangeLine): Promise<WebhookDelivery | null>
  /**
   * Does the same for a part of an endpoint's deliveries (`RESEND_PART_MAX`); those that are pending stay as they are.
   * @returns null, with nothing sent again, when the endpoint is not active, or too many deliveries of the agency are due (`RESENT_DUE_MAX`)
   */
  resendSince(part: ResendSince, audit: ChangeLine): Promise<ResentPart | null>
  recordPing(ping: PingRecord, audit: ChangeLine): Promise<void>

  /** What `change`, `delete` or `replaceSecret` returned, without the secrets, and when: from what was kept of it (ChangeAnswer). */
  keptEndpoint(kept: string): { readonly endpoint: StoredEndpoint; readonly at: Instant }
  /** The same for `resend`. */
  keptDelivery(kept: string): WebhookDelivery
  /** The same for `resendSince`. */
  keptPart(kept: string): ResentPart
}
