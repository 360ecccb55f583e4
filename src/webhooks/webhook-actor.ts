import type { Instant } from '../core/domain/booking.ts'
import { assert } from '../lib/assert.ts'
import { afterAttempt } from './after-attempt.ts'
import { causeName, coarseReason, isAccepted } from './attempt-outcome.ts'
import type { PostResult } from './post-once.ts'
import type { ClaimedDelivery, Settled } from './sender-store.ts'

/** Attempts at once for an endpoint of which nothing is known yet; each success adds one, a failure leaves one. */
export const WINDOW_FRESH = 2
export const WINDOW_MAX = 16

/** An attempt under way. `revision`: of the endpoint when it began. */
export interface Begun {
  readonly delivery: ClaimedDelivery
  readonly url: string
  readonly revision: number
}

/**
 * One endpoint in the sender: what is claimed for it, how many attempts it may have at once, and how it fares. Does no
 * I/O. Between a finished attempt and its record the counter lives here only; the row is adopted whenever nothing of that
 * kind is open, so that a restart and the agency's changes find the same path.
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
  /** True when the last claim gave all it was asked for: more may be due. */
  isHungry = false
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

  /** Nothing of it is in memory only. */
  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#inFlight === 0 && this.#unrecorded === 0
  }

  /** It failed last, or keeps an attempt waiting: it gets no place of those that are quick. */
  get isSuspect(): boolean {
    return this.#endpoint.consecutiveFailures > 0 || this.#slow > 0
  }

  /** It has answered well since it last failed. */
  get isProven(): boolean {
    return !this.isSuspect && this.#window > WINDOW_FRESH
  }

  get canBegin(): boolean {
    return this.#endpoint.status === 'active' && this.#queue.length > 0 && this.#inFlight < this.#windowNow
  }

  /** How many more may be claimed: enough that the next is at hand when one ends. */
  get room(): number {
    if (this.#endpoint.status === 'disabled') return this.#unrecorded > 0 ? 0 : WINDOW_FRESH
    return Math.max(0, 2 * this.#windowNow - this.#inFlight - this.#queue.length)
  }

  get #windowNow(): number {
    return this.isSuspect ? 1 : this.#window
  }

  /** @param claim the number of the claim that gave it, counting up */
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

  takeAttempt(now: Instant): Begun {
    assert(this.canBegin, 'Cannot begin an attempt: none may')
    const delivery = this.#queue.shift()
    assert(delivery !== undefined, 'Cannot begin an attempt: nothing waits')
    this.#inFlight += 1
    this.lastUsedAt = now
    return { delivery, url: this.#endpoint.url, revision: this.#endpoint.revision }
  }

  /** An attempt of it is slow. The caller says so at most once for each, and `wasSlow` when it ends. */
  slowed(): void {
    this.#slow += 1
  }

  /** @param times `startedAt` and `endedAt` on the wall clock; `dice` 0 up to 1 */
  finish(
    { delivery, revision }: Begun,
    { outcome, durationMs }: PostResult,
    { startedAt, endedAt, dice, wasSlow }: { startedAt: Instant; endedAt: Instant; dice: number; wasSlow: boolean },
  ): Settled {
    this.#ended(wasSlow, endedAt)
    const after = afterAttempt(delivery, this.#endpoint, outcome, { endedAt, dice })
    // What the old address did says nothing about the new one.
    const counts = revision === this.#endpoint.revision
    if (counts) {
      if (after.endpoint !== null) this.#endpoint = { ...this.#endpoint, ...after.endpoint }
      this.#window = isAccepted(outcome) ? Math.min(WINDOW_MAX, this.#window + 1) : 1
    }
    this.#unrecorded += 1
    return {
      agencyId: this.agencyId,
      deliveryId: delivery.deliveryId,
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

  /** Nothing was sent, for a reason of ours: the delivery is due again at `until`, and no attempt is counted. */
  postpone({ delivery }: Begun, { now, until }: { now: Instant; until: Instant }): Settled {
    this.#ended(false, now)
    this.#unrecorded += 1
    return { ...this.#asItWas(delivery), nextAttemptAt: until }
  }

  /** Everything that waits, as it was: the endpoint has changed or is off, or the sender stops. */
  requeue(): Settled[] {
    const given = this.#queue.map((delivery) => this.#asItWas(delivery))
    this.#queue = []
    this.#unrecorded += given.length
    return given
  }

  /** @param claim the number of the last claim that has begun */
  recorded(claim: number): void {
    this.#unrecorded -= 1
    this.#lastRecordedIn = claim
    assert(this.#unrecorded >= 0, 'Cannot note a record: none was open')
  }

  #ended(wasSlow: boolean, now: Instant): void {
    this.#inFlight -= 1
    if (wasSlow) this.#slow -= 1
    this.lastUsedAt = now
    assert(this.#inFlight >= 0 && this.#slow >= 0, 'Cannot end an attempt: none was under way')
  }

  #asItWas(delivery: ClaimedDelivery): Settled {
    return {
      agencyId: this.agencyId,
      deliveryId: delivery.deliveryId,
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
