import type { Instant } from '../../core/domain/booking.ts'
import type { Month } from '../../core/journal/shard.ts'
import type { CoarseReason, UNREADABLE_REASON } from './guarded-post.ts'
import type { WokenAgencies } from './woken-agencies.ts'

/**
 * `held`: pending, and its endpoint is disabled. `dead`: every attempt failed, or it was a ping that failed. `dropped`:
 * the agency chose to drop it, or deleted the endpoint.
 */
type DeliveryStatus = 'pending' | 'held' | 'delivered' | 'dead' | 'dropped'

/** `attempt` counts from 1. Exactly one of `httpStatus` and `reason` is not null. */
export interface Attempt {
  readonly attempt: number
  readonly at: Instant
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly reason: CoarseReason | typeof UNREADABLE_REASON | null
}

/** One event to be delivered to one endpoint, with all attempts so far. */
export interface WebhookDelivery {
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly event: 'booking.created' | 'booking.updated' | 'booking.cancelled' | 'ping'
  /** Of the event; null for a ping, and for one whose month is archived. */
  readonly bookingId: string | null
  readonly status: DeliveryStatus
  readonly attempts: readonly Attempt[]
  /** Null unless pending. */
  readonly nextAttemptAt: Instant | null
  readonly createdAt: Instant
  readonly finishedAt: Instant | null
}

/**
 * Unfinished deliveries of all agencies. Events for which the sender has made no delivery yet count as well: a sender that is down
 * makes none.
 */
export interface DeliveryBacklog {
  /**
   * Pending deliveries, including those of disabled endpoints, and events that wait for active ones; counted up to
   * `BACKLOG_COUNTED_MAX`.
   */
  readonly pending: number
  /** When the oldest of them for an active endpoint fell or falls due; null when there is none. */
  readonly oldestDueAt: Instant | null
}

/** Counting reads one index entry per delivery. A backlog above this size is too large whatever its exact number. */
export const BACKLOG_COUNTED_MAX = 10_000

/** A due delivery that only this sender may attempt, with the endpoint as of the claim. */
export interface ClaimedDelivery {
  readonly agencyId: string
  readonly deliveryId: string
  readonly eventId: string
  readonly event: WebhookDelivery['event']
  /** The request body, identical on every attempt; null when the event's journal entry cannot be read. */
  readonly body: string | null
  /** From the request that caused the event; null: it belongs to no trace. */
  readonly traceparent: string | null
  readonly attempts: number
  readonly tries: number
  readonly nextAttemptAt: Instant
  /** Its attempts are of the moments when they fall due, by the clock of the sandbox. */
  readonly isSandbox: boolean
  /** The month that its row is stored in. */
  readonly month: Month
  readonly endpoint: {
    readonly id: string
    readonly url: string
    readonly secretSealed: string
    readonly previousSecretSealed: string | null
    readonly previousSecretUntil: Instant | null
    readonly consecutiveFailures: number
    /** Incremented each time the agency changes url or status. */
    readonly revision: number
  }
}

/** The outcome of a claim. Without `attempt`, the delivery is requeued unchanged or postponed. */
export interface Settled {
  readonly agencyId: string
  readonly deliveryId: string
  readonly month: Month
  readonly attemptsBefore: number
  readonly attempts: number
  readonly tries: number
  readonly status: 'pending' | 'delivered' | 'dead'
  readonly nextAttemptAt: Instant | null
  readonly finishedAt: Instant | null
  /** `detail`: internal name of the cause. */
  readonly attempt: (Attempt & { readonly detail: string | null }) | null
  readonly endpoint: {
    readonly id: string
    readonly revision: number
    readonly consecutiveFailures: number
    readonly status: 'active' | 'disabled'
    readonly disabledReason: string | null
    readonly at: Instant
  } | null
}

/** Another sender has replaced this one, or its service is no longer the writer. Nothing more may be sent. */
export class SenderReplacedError extends Error {
  override readonly name = 'SenderReplacedError'
}

/**
 * The port behind the sender. A sender that was replaced but still runs does no harm: its claims are void for the next
 * one, its outcomes are ignored, and it makes no deliveries. Every method may reject with an operational error. `record` is idempotent and can
 * then be repeated.
 */
export interface SenderStore {
  /**
   * Makes this the only sender.
   * @returns its term
   * @throws SenderReplacedError when `epoch` is no longer the writer's
   */
  takeOver(epoch: number): Promise<number>
  /**
   * Makes deliveries of the entries that came after the cursors of active endpoints, and moves these cursors, in one statement: after
   * a lost reply it is either done or not, and may be repeated. Agencies take turns.
   * @param options.now a delivery is due when its event happened, or its endpoint was last changed, but never after this time
   * @param options.room entries considered, at most, whether they are announced or not
   * @returns the number of deliveries, and whether more entries may wait
   * @throws SenderReplacedError when another sender has taken over
   */
  makeDeliveries(options: {
    term: number
    agencyIds: WokenAgencies
    now: Instant
    room: number
  }): Promise<{ readonly made: number; readonly mayHaveMore: boolean }>
  /**
   * The agencies with active endpoints that this sender sends for, so that each can be asked for alone.
   * @throws SenderReplacedError when another sender has taken over
   */
  agencies(term: number): Promise<readonly string[]>
  /**
   * Claims at most `room` due deliveries of active endpoints. Agencies take turns.
   * @param windows how many more deliveries an endpoint may have; `windowFresh` for endpoints not listed
   * @throws SenderReplacedError when another sender has taken over
   */
  claim(options: {
    term: number
    dueUntil: Instant
    room: number
    windowFresh: number
    windows: Readonly<Record<string, number>>
  }): Promise<readonly ClaimedDelivery[]>
  /** Releases every claim of this sender except `held`. Call it only while no claim is in flight. */
  release(term: number, held: readonly string[]): Promise<void>
  /** When the next delivery after `dueAfter` falls due; null when there is none. */
  nextDue(dueAfter: Instant): Promise<Instant | null>
  /** Writes all outcomes or none. If an endpoint occurs more than once, the last one counts. */
  record(term: number, settled: readonly Settled[]): Promise<void>
}
