import type { Instant } from '../core/domain/booking.ts'
import type { Attempt, WebhookDelivery } from './delivery.ts'

/** A due delivery that only this sender may attempt, with the endpoint as it was when it was claimed. */
export interface ClaimedDelivery {
  readonly agencyId: string
  readonly deliveryId: string
  readonly eventId: string
  readonly event: WebhookDelivery['event']
  /** The bytes that are sent, the same on every attempt. */
  readonly body: string
  readonly attempts: number
  readonly tries: number
  readonly nextAttemptAt: Instant
  readonly endpoint: {
    readonly id: string
    readonly url: string
    readonly secretSealed: string
    readonly previousSecretSealed: string | null
    readonly previousSecretUntil: Instant | null
    readonly consecutiveFailures: number
    /** Counts the agency's changes of url and status. */
    readonly revision: number
  }
}

/** What became of a claim. Without `attempt` it is given back as it was, or put off. */
export interface Settled {
  readonly agencyId: string
  readonly deliveryId: string
  readonly attemptsBefore: number
  readonly attempts: number
  readonly tries: number
  readonly status: 'pending' | 'delivered' | 'dead'
  readonly nextAttemptAt: Instant | null
  readonly finishedAt: Instant | null
  /** `detail`: our own name for the cause. */
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

/** Another sender has taken over, or our process is no longer the writer: nothing more is to be sent. */
export class SenderOverError extends Error {
  override readonly name = 'SenderOverError'
}

/**
 * The port behind the sender. Claims are safe against a sender that was replaced and still runs: its claims are void for
 * the next one, and what it writes about them is ignored. Everything may reject with an operational error; `record` may be
 * sent again then, as it changes nothing twice.
 */
export interface SenderStore {
  /**
   * Makes this the only sender. @returns its term
   * @throws SenderOverError when `epoch` is no longer the writer's
   */
  takeOver(epoch: number): Promise<number>
  /**
   * At most `room` due deliveries of active endpoints, agencies taking turns.
   * @param windows how many more an endpoint may have; `windowFresh` for those it does not name
   * @throws SenderOverError when another sender has taken over
   */
  claim(options: {
    term: number
    dueUntil: Instant
    room: number
    windowFresh: number
    windows: Readonly<Record<string, number>>
  }): Promise<readonly ClaimedDelivery[]>
  /** Lets go of everything this sender has claimed but `held`. Only while no claim is in flight. */
  release(term: number, held: readonly string[]): Promise<void>
  /** When the next delivery after `dueAfter` falls due; null when none waits. */
  nextDue(dueAfter: Instant): Promise<Instant | null>
  /** All of it or nothing. Of an endpoint named more than once, the last counts. */
  record(term: number, settled: readonly Settled[]): Promise<void>
}
