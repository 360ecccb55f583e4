import type { Instant } from '../core/domain/booking.ts'
import { assert } from '../lib/assert.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { causeName } from './attempt-outcome.ts'
import { DeliveryMaker } from './delivery-maker.ts'
import { FairTurns } from './fair-turns.ts'
import { OutcomeRecorder } from './outcome-recorder.ts'
import type { PostOnce, PostResult } from './post-once.ts'
import { type SecretBox, SecretBoxError } from './secret-box.ts'
import { PARK_AFTER_MS, POOL_LIMITS, type PoolLimits, SendPool } from './send-pool.ts'
import { newStats, type SenderStats } from './sender-stats.ts'
import { type ClaimedDelivery, SenderReplacedError, type SenderStore, type Settled } from './sender-store.ts'
import { signedHeaders } from './signature.ts'
import { openSecrets } from './signing-secret.ts'
import { type StartedAttempt, WebhookActor, WINDOW_FRESH } from './webhook-actor.ts'
import type { WokenAgencies } from './woken-agencies.ts'

/*
 * W1  An attempt counts once it is finished and recorded. An attempt interrupted by a crash is repeated with the same
 *     number.
 * W2  Only the claims of the newest sender are valid, and only it makes deliveries. What a replaced sender still sends may
 *     arrive twice; nothing is lost.
 * W3  The id and body bytes of an event are identical on every attempt. Only the time in the signature changes.
 * W4  No attempt is made before it is due, and none to a disabled endpoint.
 */

/** Deliveries claimed and not yet recorded, at most. Bounds the memory of the sender. */
const CLAIMED_MAX = 4_096
/** Pause between two claims, so that wakes close together share one claim. */
const CLAIM_GAP_MS = 4
/** Polls even without a wake, as a safety net under wakes and the timer for the next due delivery. */
export const POLL_MS = 2_000
/** Minimum time between two queries for the next due delivery. In between, the sender claims at this interval. */
export const LOOK_AHEAD_MS = 250
const AFTER_FAILURE_MS = 250
/** A secret that cannot be decrypted is an internal fault: the delivery waits until it is fixed. */
const POSTPONE_MS = 60_000
/** A statement whose reply was lost has ended one way or the other after this time. */
const LOST_CLAIM_MS = 10_000
const ACTOR_IDLE_MS = 60_000

/** Events the sender reports, one log line each. Fields never contain a secret, a URL or a body. */
export interface SenderWatch {
  onSwitchedOff(fields: { agencyId: string; endpointId: string; reason: string | null }): void
  onFailure(fields: { action: 'make' | 'claim' | 'record'; err: unknown }): void
  onSecretUnreadable(fields: { agencyId: string; endpointId: string }): void
  /** The journal entry of an event is damaged, or its month was removed: the delivery is dead. */
  onEventUnreadable(fields: { agencyId: string; deliveryId: string; eventId: string }): void
  /** Another sender has replaced this one, which sends nothing more. */
  onReplaced(cause: unknown): void
}

/**
 * Makes deliveries of what the journal announces, and sends those that are due: claims them, attempts them, records the outcomes.
 * One per service; serves many endpoints concurrently.
 */
export class WebhookSender {
  readonly #store: SenderStore
  readonly #post: PostOnce
  readonly #box: SecretBox
  readonly #clock: Clock
  readonly #dice: () => number
  readonly #watch: SenderWatch
  readonly #term: number
  readonly #pool: SendPool
  readonly #maker: DeliveryMaker
  readonly #recorder: OutcomeRecorder
  readonly #actors = new Map<string, WebhookActor>()
  readonly #settledBy = new WeakMap<Settled, WebhookActor>()
  /**
   * Endpoints with queued deliveries: those that answer reliably, those about which nothing is known, and those that
   * fail or are slow.
   */
  readonly #proven = new FairTurns<WebhookActor>()
  readonly #fresh = new FairTurns<WebhookActor>()
  readonly #suspect = new FairTurns<WebhookActor>()
  readonly #stats: SenderStats
  #state: 'running' | 'stopping' | 'ended' = 'running'
  /**
   * Number of unrecorded claims by delivery id. A requeued delivery may be claimed again before its requeue is
   * recorded.
   */
  readonly #claimed = new Map<string, number>()
  /**
   * When a claim whose reply was lost has certainly ended, so that its deliveries can be released; null when there is
   * none.
   */
  #releaseAt: Instant | null = null
  #claimNumber = 0
  #turn = 0
  #lookedAheadAt = Number.NEGATIVE_INFINITY
  #isClaiming = false
  #isClaimWanted = false
  /** The last claim was limited by `room`: more deliveries may be due. */
  #wasClaimFull = false
  #cancelTimer = () => {}
  #onIdle = () => {}

  /** @param options.term as returned by `takeOver` of the store */
  constructor(options: {
    store: SenderStore
    post: PostOnce
    box: SecretBox
    clock: Clock
    /** Random number in [0, 1). */
    dice: () => number
    watch: SenderWatch
    term: number
    limits?: PoolLimits
  }) {
    this.#store = options.store
    this.#post = options.post
    this.#box = options.box
    this.#clock = options.clock
    this.#dice = options.dice
    this.#watch = options.watch
    this.#term = options.term
    this.#stats = newStats(options.term)
    this.#pool = new SendPool(options.limits ?? POOL_LIMITS, () => this.#startAttempts())
    this.#maker = new DeliveryMaker({
      store: options.store,
      clock: options.clock,
      term: options.term,
      onMade: (deliveries) => {
        this.#stats.made += deliveries
      },
      onFailure: (err) => {
        this.#stats.makeFailures += 1
        this.#watch.onFailure({ action: 'make', err })
      },
    })
    this.#recorder = new OutcomeRecorder({
      store: options.store,
      clock: options.clock,
      term: options.term,
      onRecorded: (settled) => this.#recorded(settled),
      onFailure: (err) => {
        this.#stats.recordFailures += 1
        this.#watch.onFailure({ action: 'record', err })
      },
      onReplaced: (cause) => this.#stopForGood(cause),
    })
  }

  get stats(): SenderStats {
    return {
      ...this.#stats,
      inFlightFast: this.#pool.fast,
      inFlightParked: this.#pool.parked,
      claimed: this.#claimed.size,
      endpoints: this.#actors.size,
    }
  }

  /**
   * Something may be due, or to be made. Cheap: can be called at any rate.
   * @param agencies which have new entries in the journal
   */
  wake(agencies: WokenAgencies = []): void {
    this.#maker.wake(agencies)
    this.#isClaimWanted = true
    if (this.#state === 'running' && !this.#isClaiming) void this.#claimAll()
  }

  /** The agency changed an endpoint. Requeues its deliveries, so that none is sent with the old settings. */
  endpointChanged({ agencyId, endpointId }: { agencyId: string; endpointId: string }): void {
    const actor = this.#actors.get(endpointId)
    if (actor !== undefined) this.#requeue(actor)
    // If it was enabled, events have waited for it.
    this.wake([agencyId])
  }

  /** Other nodes send for these agencies from now on: what is queued here is left to them. */
  leave(isAsked: (agencyId: string) => boolean): void {
    for (const actor of this.#actors.values()) if (isAsked(actor.agencyId)) this.#requeue(actor)
  }

  /** Starts no more attempts and waits for those in flight. The next sender repeats attempts that are cut off (W1). */
  async stop(withinMs: number): Promise<void> {
    if (this.#state !== 'running') return
    this.#state = 'stopping'
    this.#cancelTimer()
    for (const actor of this.#actors.values()) this.#requeue(actor)
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#isIdle) return
    await Promise.race([idle, sleep(this.#clock, withinMs)])
  }

  get #isIdle(): boolean {
    return this.#claimed.size === 0 && !this.#isClaiming
  }

  async #claimAll(): Promise<void> {
    assert(!this.#isClaiming, 'Cannot claim: a claim is in flight')
    this.#isClaiming = true
    this.#cancelTimer()
    let waitMs: number | null = AFTER_FAILURE_MS
    try {
      while (this.#isClaimWanted && this.#state === 'running') {
        this.#isClaimWanted = false
        const since = this.#clock.monotonicMs()
        waitMs = await this.#claimOnce()
        // Pause for as long as the claim took, to leave the database time for other work.
        await sleep(this.#clock, Math.max(CLAIM_GAP_MS, this.#clock.monotonicMs() - since))
      }
    } catch (error) {
      if (error instanceof SenderReplacedError) this.#stopForGood(error)
      else {
        this.#stats.claimFailures += 1
        this.#releaseAt = this.#clock.now() + LOST_CLAIM_MS
        this.#watch.onFailure({ action: 'claim', err: error })
      }
    }
    this.#isClaiming = false
    if (this.#state === 'running') this.#cancelTimer = this.#clock.after(waitMs ?? POLL_MS, () => this.wake())
    else if (this.#isIdle) this.#onIdle()
  }

  /** @returns milliseconds until the next claim, unless a wake comes first */
  async #claimOnce(): Promise<number> {
    await this.#releaseLost()
    const making = await this.#maker.make()
    if (making === 'more') this.#isClaimWanted = true
    const dueUntil = this.#clock.now()
    const room = CLAIMED_MAX - this.#claimed.size
    const windows = this.#windows()
    this.#claimNumber += 1
    let isEmpty = false
    if (room > 0) {
      const claimed = await this.#store.claim({
        term: this.#term,
        dueUntil,
        room,
        windowFresh: WINDOW_FRESH,
        windows,
      })
      this.#stats.claims += 1
      this.#wasClaimFull = claimed.length >= room
      isEmpty = claimed.length === 0
      this.#take(claimed, windows)
    }
    this.#forgetIdle()
    if (making === 'failed') return AFTER_FAILURE_MS
    if (!isEmpty || this.#clock.monotonicMs() - this.#lookedAheadAt < LOOK_AHEAD_MS) return LOOK_AHEAD_MS
    this.#lookedAheadAt = this.#clock.monotonicMs()
    const next = await this.#store.nextDue(dueUntil)
    return next === null ? POLL_MS : Math.min(POLL_MS, Math.max(0, next - this.#clock.now()))
  }

  /**
   * A claim may have succeeded although its reply was lost. Without this release its deliveries would never be sent.
   */
  async #releaseLost(): Promise<void> {
    if (this.#releaseAt === null || this.#clock.now() < this.#releaseAt) return
    await this.#store.release(this.#term, [...this.#claimed.keys()])
    this.#releaseAt = null
  }

  /** The endpoints whose limit differs from that of a fresh endpoint. */
  #windows(): Record<string, number> {
    const windows: Record<string, number> = {}
    for (const actor of this.#actors.values()) {
      if (actor.room !== WINDOW_FRESH) windows[actor.endpointId] = actor.room
    }
    return windows
  }

  #take(claimed: readonly ClaimedDelivery[], windows: Readonly<Record<string, number>>): void {
    const now = this.#clock.now()
    const received = new Map<WebhookActor, number>()
    for (const delivery of claimed) {
      const { endpoint, agencyId } = delivery
      const actor = this.#actors.get(endpoint.id) ?? new WebhookActor(agencyId, endpoint, now)
      this.#actors.set(endpoint.id, actor)
      actor.take(delivery, this.#claimNumber)
      this.#claimed.set(delivery.deliveryId, (this.#claimed.get(delivery.deliveryId) ?? 0) + 1)
      received.set(actor, (received.get(actor) ?? 0) + 1)
      this.#stats.claimLagMsLast = Math.max(0, now - delivery.nextAttemptAt)
    }
    for (const actor of this.#actors.values()) {
      actor.mayHaveMore = (received.get(actor) ?? 0) >= (windows[actor.endpointId] ?? WINDOW_FRESH)
    }
    for (const actor of received.keys()) {
      if (this.#state === 'running') this.#enqueue(actor)
      else this.#requeue(actor)
    }
    this.#startAttempts()
  }

  #enqueue(actor: WebhookActor): void {
    if (!actor.canBegin) return
    if (actor.isSuspect) this.#suspect.add(actor)
    else if (actor.isProven) this.#proven.add(actor)
    else this.#fresh.add(actor)
  }

  /**
   * Reliable endpoints go first, because many unknown ones may turn out to hang. Every fourth turn, unknown ones go
   * first.
   */
  #nextFast(mayGo: (agencyId: string) => boolean): WebhookActor | undefined {
    this.#turn += 1
    const [first, second] = this.#turn % 4 === 0 ? [this.#fresh, this.#proven] : [this.#proven, this.#fresh]
    return first.take(mayGo) ?? second.take(mayGo)
  }

  /** Starts every attempt that the pools have room for. */
  #startAttempts(): void {
    const mayGo = (agencyId: string) => this.#pool.hasRoomFor(agencyId)
    while (this.#state === 'running') {
      const fast = this.#pool.hasRoom('fast') ? this.#nextFast(mayGo) : undefined
      const actor = fast ?? (this.#pool.hasRoom('parked') ? this.#suspect.take(mayGo) : undefined)
      if (actor === undefined) return
      // The endpoint may have become suspect since it was queued.
      if (fast !== undefined && actor.isSuspect) this.#enqueue(actor)
      else if (actor.canBegin) this.#startAttempt(actor, fast === undefined ? 'parked' : 'fast')
    }
  }

  #startAttempt(actor: WebhookActor, place: 'fast' | 'parked'): void {
    const startedAt = this.#clock.now()
    const started = actor.takeAttempt(startedAt)
    const { body } = started.delivery
    if (body === null) {
      this.#giveUp(actor, started, startedAt)
      return
    }
    const headers = this.#headers(actor, { eventId: started.delivery.eventId, body, at: startedAt })
    if (headers === null) {
      this.#stats.postponed += 1
      this.#settle(actor, [actor.postpone(started, { now: startedAt, until: startedAt + POSTPONE_MS })])
      return
    }
    const slot = this.#pool.start(actor.agencyId, place)
    let wasSlow = false
    const cancelSlowTimer = this.#clock.after(PARK_AFTER_MS, () => {
      wasSlow = true
      actor.slowed()
      slot.park()
    })
    void this.#post(started.url, { headers, body }).then((result) => {
      cancelSlowTimer()
      this.#finish(actor, started, result, { startedAt, wasSlow })
      slot.end()
    })
    this.#enqueue(actor)
  }

  #giveUp(actor: WebhookActor, started: StartedAttempt, at: Instant): void {
    const { deliveryId, eventId } = started.delivery
    this.#stats.unreadable += 1
    this.#stats.dead += 1
    this.#watch.onEventUnreadable({ agencyId: actor.agencyId, deliveryId, eventId })
    this.#settle(actor, [actor.giveUp(started, at)])
    this.#enqueue(actor)
    this.#claimMoreFor(actor)
  }

  #headers(
    actor: WebhookActor,
    { eventId, body, at }: { eventId: string; body: string; at: Instant },
  ): Record<string, string> | null {
    try {
      const owner = { agencyId: actor.agencyId, endpointId: actor.endpointId }
      const secrets = openSecrets(actor.endpoint, { owner, at, box: this.#box })
      return signedHeaders({ eventId, body, at, secrets })
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error
      this.#watch.onSecretUnreadable({ agencyId: actor.agencyId, endpointId: actor.endpointId })
      return null
    }
  }

  #finish(
    actor: WebhookActor,
    started: StartedAttempt,
    result: PostResult,
    { startedAt, wasSlow }: { startedAt: Instant; wasSlow: boolean },
  ): void {
    const endedAt = this.#clock.now()
    const settled = actor.finish(started, result, { startedAt, endedAt, dice: this.#dice(), wasSlow })
    this.#count(settled, result)
    this.#settle(actor, [settled])
    if (settled.endpoint?.status === 'disabled') {
      const { agencyId, endpointId } = actor
      this.#watch.onSwitchedOff({ agencyId, endpointId, reason: settled.endpoint.disabledReason })
      this.#requeue(actor)
    }
    this.#enqueue(actor)
    this.#claimMoreFor(actor)
  }

  /** One of its deliveries is finished, so it may have another. */
  #claimMoreFor(actor: WebhookActor): void {
    if (actor.mayHaveMore || this.#wasClaimFull) this.wake()
  }

  #requeue(actor: WebhookActor): void {
    for (const turns of [this.#proven, this.#fresh, this.#suspect]) turns.delete(actor)
    this.#settle(actor, actor.requeue())
  }

  #settle(actor: WebhookActor, settled: readonly Settled[]): void {
    for (const one of settled) this.#settledBy.set(one, actor)
    if (settled.length > 0 && this.#state !== 'ended') this.#recorder.add(settled)
  }

  #recorded(settled: readonly Settled[]): void {
    for (const one of settled) {
      this.#settledBy.get(one)?.recorded(this.#claimNumber)
      const times = (this.#claimed.get(one.deliveryId) ?? 0) - 1
      if (times > 0) this.#claimed.set(one.deliveryId, times)
      else this.#claimed.delete(one.deliveryId)
    }
    if (this.#state === 'stopping' && this.#isIdle) this.#onIdle()
    // A requeued delivery may be due.
    if (settled.some(({ attempt }) => attempt === null)) this.wake()
  }

  #forgetIdle(): void {
    const before = this.#clock.now() - ACTOR_IDLE_MS
    for (const [id, actor] of this.#actors) {
      if (actor.isIdle && actor.lastUsedAt < before) this.#actors.delete(id)
    }
  }

  #count(settled: Settled, { outcome, durationMs }: PostResult): void {
    const stats = this.#stats
    stats.attempts += 1
    stats.attemptMsTotal += durationMs
    if (settled.status === 'delivered') stats.delivered += 1
    else {
      const cause = causeName(outcome) ?? 'status'
      stats.failures = { ...stats.failures, [cause]: (stats.failures[cause] ?? 0) + 1 }
    }
    if (settled.status === 'dead') stats.dead += 1
    if (settled.endpoint?.status === 'disabled') stats.switchedOff += 1
  }

  #stopForGood(cause: unknown): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#cancelTimer()
    this.#onIdle()
    this.#watch.onReplaced(cause)
  }
}
