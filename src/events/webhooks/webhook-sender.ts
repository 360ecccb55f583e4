import type { Instant } from '../../core/domain/booking.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import type { Tracer } from '../../lib/tracer.ts'
import { AFTER_FAILURE_MS, ClaimRounds, POLL_MS } from './claim-rounds.ts'
import { DeliveryAttempts, EndpointTurns } from './delivery-attempts.ts'
import { DeliveryMaker } from './delivery-maker.ts'
import type { PostOnce } from './guarded-post.ts'
import { OutcomeRecorder } from './outcome-recorder.ts'
import type { SecretBox } from './secret-box.ts'
import { POOL_LIMITS, type PoolLimits } from './send-pool.ts'
import type { SenderWatch } from './sender-process.ts'
import { newStats, type SenderStats } from './sender-stats.ts'
import { type ClaimedDelivery, SenderReplacedError, type SenderStore, type Settled } from './sender-store.ts'
import { WebhookActor, WINDOW_FRESH } from './webhook-actor.ts'
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
/** Minimum time between two queries for the next due delivery. In between, the sender claims at this interval. */
export const LOOK_AHEAD_MS = 250
/** A statement whose reply was lost has ended one way or the other after this time. */
const LOST_CLAIM_MS = 10_000
const ACTOR_IDLE_MS = 60_000

/**
 * Makes deliveries of what the journal announces, and sends those that are due: claims them, attempts them, records the outcomes.
 * One per service; serves many endpoints concurrently.
 */
export class WebhookSender {
  readonly #store: SenderStore
  readonly #clock: Clock
  readonly #watch: SenderWatch
  readonly #term: number
  readonly #tracer: Tracer | null
  readonly #turns = new EndpointTurns()
  readonly #attempts: DeliveryAttempts
  readonly #rounds: ClaimRounds
  readonly #maker: DeliveryMaker
  readonly #recorder: OutcomeRecorder
  readonly #actors = new Map<string, WebhookActor>()
  readonly #settledBy = new WeakMap<Settled, WebhookActor>()
  readonly #stats: SenderStats
  #state: 'running' | 'stopping' | 'ended' = 'running'
  /**
   * Number of unrecorded claims by delivery id. A requeued delivery may be claimed again before its requeue is
   * recorded.
   */
  readonly #claimed = new Map<string, number>()
  /**
   * When the first claim whose reply was lost has certainly ended, so that its deliveries can be released, and when the last one has, by
   * the monotonic clock; null when there is none.
   */
  #lostClaims: { readonly firstEndedAtMs: number; readonly lastEndedAtMs: number } | null = null
  #claimNumber = 0
  #lookedAheadAt = Number.NEGATIVE_INFINITY
  /** The last claim was limited by `room`: more deliveries may be due. */
  #wasClaimFull = false
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
    tracer?: Tracer | null
    limits?: PoolLimits
  }) {
    const { clock, watch, term, tracer = null } = options
    this.#store = options.store
    this.#clock = clock
    this.#watch = watch
    this.#term = term
    this.#tracer = tracer
    this.#stats = newStats(term)
    const isRunning = () => this.#state === 'running'
    this.#attempts = new DeliveryAttempts({
      clock,
      watch,
      post: options.post,
      box: options.box,
      dice: options.dice,
      tracer,
      limits: options.limits ?? POOL_LIMITS,
      turns: this.#turns,
      stats: this.#stats,
      isRunning,
      onSettled: (actor, settled) => this.#settle(actor, settled),
      onDisabled: (actor) => this.#requeue(actor),
      onRoom: (actor) => this.#claimMoreFor(actor),
    })
    this.#rounds = new ClaimRounds({
      clock,
      isRunning,
      claim: () => this.#claim(),
      onFailure: (error) => this.#claimFailed(error),
      onStopped: () => {
        if (this.#isIdle) this.#onIdle()
      },
    })
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
      ...this.#attempts.inFlight,
      claimed: this.#claimed.size,
      endpoints: this.#actors.size,
      spans: this.#tracer?.stats ?? null,
    }
  }

  /**
   * Something may be due, or to be made. Cheap: can be called at any rate.
   * @param agencies which have new entries in the journal
   */
  wake(agencies: WokenAgencies = []): void {
    this.#maker.wake(agencies)
    this.#rounds.wake()
  }

  /** The agency changed an endpoint. Requeues its deliveries, so that none is sent with the old settings. */
  endpointChanged({ agencyId, endpointId }: { agencyId: string; endpointId: string }): void {
    const actor = this.#actors.get(endpointId)
    if (actor !== undefined) this.#requeue(actor)
    // If it was enabled, events have waited for it.
    this.wake([agencyId])
  }

  /** Other nodes send for these agencies from now on: what is queued here is left to them. */
  leave(isIncluded: (agencyId: string) => boolean): void {
    for (const actor of this.#actors.values()) if (isIncluded(actor.agencyId)) this.#requeue(actor)
  }

  /** Starts no more attempts and waits for those in flight. The next sender repeats attempts that are cut off (W1). */
  async stop(withinMs: number): Promise<void> {
    if (this.#state !== 'running') return
    this.#state = 'stopping'
    for (const actor of this.#actors.values()) this.#requeue(actor)
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#isIdle) return
    await Promise.race([idle, sleep(this.#clock, withinMs)])
  }

  get #isIdle(): boolean {
    return this.#claimed.size === 0 && !this.#rounds.isClaiming
  }

  #claimFailed(error: unknown): void {
    if (error instanceof SenderReplacedError) this.#stopForGood(error)
    else {
      this.#stats.claimFailures += 1
      const lastEndedAtMs = this.#clock.monotonicMs() + LOST_CLAIM_MS
      this.#lostClaims = { firstEndedAtMs: this.#lostClaims?.firstEndedAtMs ?? lastEndedAtMs, lastEndedAtMs }
      this.#watch.onFailure({ action: 'claim', err: error })
    }
  }

  /** @returns milliseconds until the next claim, unless a wake comes first */
  async #claim(): Promise<number> {
    await this.#releaseLost()
    const making = await this.#maker.make()
    if (making === 'more') this.#rounds.again()
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
   * A claim may have succeeded although its reply was lost. Without this release its deliveries would never be sent. It does not wait until
   * no claim is lost any more: what later ones have claimed is released later.
   */
  async #releaseLost(): Promise<void> {
    const now = this.#clock.monotonicMs()
    if (this.#lostClaims === null || now < this.#lostClaims.firstEndedAtMs) return
    const { lastEndedAtMs } = this.#lostClaims
    await this.#store.release(this.#term, [...this.#claimed.keys()])
    this.#lostClaims = now < lastEndedAtMs ? { firstEndedAtMs: lastEndedAtMs, lastEndedAtMs } : null
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
      const actor = this.#actorOf(delivery, now)
      actor.take(delivery, this.#claimNumber)
      this.#claimed.set(delivery.deliveryId, (this.#claimed.get(delivery.deliveryId) ?? 0) + 1)
      received.set(actor, (received.get(actor) ?? 0) + 1)
      if (!delivery.isSandbox) this.#stats.claimLagMsLast = Math.max(0, now - delivery.nextAttemptAt)
    }
    for (const actor of this.#actors.values()) {
      actor.mayHaveMore = (received.get(actor) ?? 0) >= (windows[actor.endpointId] ?? WINDOW_FRESH)
    }
    for (const actor of received.keys()) {
      if (this.#state === 'running') this.#turns.add(actor)
      else this.#requeue(actor)
    }
    this.#attempts.start()
  }

  /** A reset of a sandbox passes its endpoints to another agency, with secrets sealed for that one: the former actor's state is void. */
  #actorOf({ endpoint, agencyId }: ClaimedDelivery, now: Instant): WebhookActor {
    const known = this.#actors.get(endpoint.id)
    if (known?.agencyId === agencyId) return known
    if (known !== undefined) this.#requeue(known)
    const actor = new WebhookActor(agencyId, endpoint, now)
    this.#actors.set(endpoint.id, actor)
    return actor
  }

  /** One of its deliveries is finished, so it may have another. */
  #claimMoreFor(actor: WebhookActor): void {
    if (actor.room > 0 && (actor.mayHaveMore || this.#wasClaimFull)) this.wake()
  }

  #requeue(actor: WebhookActor): void {
    this.#turns.delete(actor)
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

  #stopForGood(cause: unknown): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#onIdle()
    this.#watch.onReplaced(cause)
  }
}
