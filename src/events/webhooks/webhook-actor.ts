import type { Instant } from '../../core/domain/booking.ts'
import { assert } from '../../lib/assert.ts'
import { afterAttempt } from './after-attempt.ts'
import type { PostResult } from './guarded-post.ts'
import { causeName, coarseReason, isAccepted, UNREADABLE_REASON } from './guarded-post.ts'
import type { ClaimedDelivery, Settled } from './sender-store.ts'

/**
 * Concurrent attempts for an endpoint about which nothing is known. Each success adds one; a failure reduces them to
 * one.
 */
export const WINDOW_FRESH = 2
const WINDOW_MAX = 16

/** What the log says of a delivery whose event cannot be read. */
const UNREADABLE = { reason: UNREADABLE_REASON, detail: 'entry_unreadable' } as const

/** An attempt in flight. `revision`: the endpoint's revision when the attempt started. */
export interface StartedAttempt {
  readonly delivery: ClaimedDelivery
  readonly url: string
  readonly revision: number
}

/**
 * The sender's state of one endpoint: its claimed deliveries, how many concurrent attempts it may have, and its
 * failures. Does no I/O.
 *
 * Between a finished attempt and its record, only this object knows the failure count. When no attempt is in flight or
 * unrecorded, the claimed row replaces this state, so a restart or a change by the agency leads to the same result.
 */
export class WebhookActor {
  readonly agencyId: string
  readonly endpointId: string
  #endpoint: ClaimedDelivery['endpoint'] & { readonly status: 'active' | 'disabled' }
  #queue: ClaimedDelivery[] = []
  #window = WINDOW_FRESH
  #inFlight = 0
  #slow = 0
  #unrecorded = 0
  #lastRecordedIn = 0
  /** The last claim returned as many deliveries as it may: more may be due. */
  mayHaveMore = false
  lastUsedAt: Instant

  constructor(agencyId: string, endpoint: ClaimedDelivery['endpoint'], now: Instant) {
    this.agencyId = agencyId
    this.endpointId = endpoint.id
    this.#endpoint = { ...endpoint, status: 'active' }
    this.lastUsedAt = now
  }

  get endpoint(): ClaimedDelivery['endpoint'] {
    return this.#endpoint
  }

  /** Everything about it is stored, so it can be evicted from memory. */
  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#inFlight === 0 && this.#unrecorded === 0
  }

  /** Its last attempt failed, or one of its attempts is slow. It gets no slot of the fast pool. */
  get isSuspect(): boolean {
    return this.#endpoint.consecutiveFailures > 0 || this.#slow > 0
  }

  /** It has succeeded since its last failure. */
  get isProven(): boolean {
    return !this.isSuspect && this.#window > WINDOW_FRESH
  }

  get canBegin(): boolean {
    return this.#endpoint.status === 'active' && this.#queue.length > 0 && this.#inFlight < this.#windowNow
  }

  /** How many more deliveries may be claimed: enough that the next one is ready when an attempt ends. */
  get room(): number {
    // A sandbox's attempts begin at a pace: what is claimed lasts for a while, and claims of one or two would cost more than the attempts.
    if (this.#queue[0]?.isSandbox === true) return 0
    if (this.#endpoint.status === 'disabled') return this.#unrecorded > 0 ? 0 : WINDOW_FRESH
    return Math.max(0, 2 * this.#windowNow - this.#inFlight - this.#queue.length)
  }

  get #windowNow(): number {
    return this.isSuspect ? 1 : this.#window
  }

  /** @param claim number of the claim that returned the delivery; increasing */
  take(delivery: ClaimedDelivery, claim: number): void {
    const row = delivery.endpoint
    const isSettled = this.#unrecorded === 0 && this.#inFlight === 0 && this.#lastRecordedIn < claim
    const known = this.#endpoint
    const isNewer = row.revision > known.revision
    if (isNewer) this.#window = WINDOW_FRESH
    this.#endpoint =
      isSettled || isNewer
        ? { ...row, status: 'active' }
        : { ...row, consecutiveFailures: known.consecutiveFailures, status: known.status }
    this.#queue.push(delivery)
  }

  takeAttempt(now: Instant): StartedAttempt {
    assert(this.canBegin, 'Cannot begin an attempt: the endpoint may have none now')
    const delivery = this.#queue.shift()
    assert(delivery !== undefined, 'Cannot begin an attempt: no delivery is queued')
    this.#inFlight += 1
    this.lastUsedAt = now
    return { delivery, url: this.#endpoint.url, revision: this.#endpoint.revision }
  }

  /** One of its attempts is slow. Call it at most once per attempt, and pass `wasSlow` when that attempt ends. */
  slowed(): void {
    this.#slow += 1
  }

  /** @param times `startedAt` and `endedAt` by the wall clock; `dice` is a random number in [0, 1) */
  finish(
    { delivery, revision }: StartedAttempt,
    { outcome, durationMs }: PostResult,
    { startedAt, endedAt, dice, wasSlow }: { startedAt: Instant; endedAt: Instant; dice: number; wasSlow: boolean },
  ): Settled {
    this.#ended(wasSlow, endedAt)
    const after = afterAttempt(delivery, this.#endpoint, outcome, { endedAt, dice })
    // The result of the old address says nothing about the new one.
    const counts = revision === this.#endpoint.revision
    if (counts) {
      if (after.endpoint !== null) this.#endpoint = { ...this.#endpoint, ...after.endpoint }
      this.#window = isAccepted(outcome) ? Math.min(WINDOW_MAX, this.#window + 1) : 1
    }
    this.#unrecorded += 1
    return {
      agencyId: this.agencyId,
      deliveryId: delivery.deliveryId,
      month: delivery.month,
      attemptsBefore: delivery.attempts,
      ...after.delivery,
      attempt: {
        attempt: after.delivery.attempts,
        at: startedAt,
        durationMs,
        httpStatus: outcome.kind === 'answered' ? outcome.httpStatus : null,
        reason: coarseReason(outcome),
        detail: causeName(outcome),
      },
      endpoint:
        counts && after.endpoint !== null ? { id: this.endpointId, revision, ...after.endpoint, at: endedAt } : null,
    }
  }

  /** Nothing was sent, for an internal reason. The delivery is due again at `until`, and no attempt is counted. */
  postpone({ delivery }: StartedAttempt, { now, until }: { now: Instant; until: Instant }): Settled {
    this.#ended(false, now)
    this.#unrecorded += 1
    return { ...this.#unchanged(delivery), nextAttemptAt: until }
  }

  /** Its event cannot be read: nothing was sent, and nothing ever will be. Says nothing about the endpoint. */
  giveUp({ delivery }: StartedAttempt, now: Instant): Settled {
    this.#ended(false, now)
    this.#unrecorded += 1
    const attempts = delivery.attempts + 1
    const attempt = { attempt: attempts, at: now, durationMs: 0, httpStatus: null, ...UNREADABLE }
    return {
      ...this.#unchanged(delivery),
      status: 'dead',
      attempts,
      tries: delivery.tries + 1,
      nextAttemptAt: null,
      finishedAt: now,
      attempt,
    }
  }

  /**
   * Empties the queue and returns its deliveries unchanged, because the endpoint changed or is disabled, or the sender
   * is stopping.
   */
  requeue(): Settled[] {
    const queued = this.#queue.map((delivery) => this.#unchanged(delivery))
    this.#queue = []
    this.#unrecorded += queued.length
    return queued
  }

  /** @param claim number of the latest claim that has started */
  recorded(claim: number): void {
    this.#unrecorded -= 1
    this.#lastRecordedIn = claim
    assert(this.#unrecorded >= 0, 'Cannot note a record: every outcome is recorded')
  }

  #ended(wasSlow: boolean, now: Instant): void {
    this.#inFlight -= 1
    if (wasSlow) this.#slow -= 1
    this.lastUsedAt = now
    assert(this.#inFlight >= 0 && this.#slow >= 0, 'Cannot end an attempt: none is in flight')
  }

  #unchanged(delivery: ClaimedDelivery): Settled {
    return {
      agencyId: this.agencyId,
      deliveryId: delivery.deliveryId,
      month: delivery.month,
      attemptsBefore: delivery.attempts,
      attempts: delivery.attempts,
      tries: delivery.tries,
      status: 'pending',
      nextAttemptAt: delivery.nextAttemptAt,
      finishedAt: null,
      attempt: null,
      endpoint: null,
    }
  }
}
