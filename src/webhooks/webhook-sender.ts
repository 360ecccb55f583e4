import type { Instant } from '../core/domain/booking.ts'
import { assert } from '../lib/assert.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { causeName } from './attempt-outcome.ts'
import { FairTurns } from './fair-turns.ts'
import { OutcomeRecorder } from './outcome-recorder.ts'
import type { PostOnce, PostResult } from './post-once.ts'
import { type SecretBox, SecretBoxError } from './secret-box.ts'
import { PARK_AFTER_MS, POOL_LIMITS, type PoolLimits, SendPool } from './send-pool.ts'
import { newStats, type SenderStats } from './sender-stats.ts'
import { type ClaimedDelivery, SenderOverError, type SenderStore, type Settled } from './sender-store.ts'
import { signedHeaders } from './signature.ts'
import { openSecrets } from './signing-secret.ts'
import { type Begun, WebhookActor, WINDOW_FRESH } from './webhook-actor.ts'

/*
 * W1  An attempt counts when it has finished and is recorded. One that a crash cuts is made again, with the same number.
 * W2  Only the newest sender's claims hold; what a replaced one still sends may arrive twice, and nothing is lost.
 * W3  Id and body bytes of an event are the same on every attempt; only the signature's time is new.
 * W4  No attempt is made before its time, and none to an endpoint that is off.
 */

/** Claimed and not recorded, at most; bounds the sender's memory. */
const CLAIMED_MAX = 4_096
/** Between two claims, so that wakes that come together are one claim. */
const CLAIM_GAP_MS = 4
/** Looks even if nobody called: the safety net under wakes and the timer of the next one due. */
export const POLL_MS = 2_000
/** What falls due next is asked for at most so often, and else looked for as often. */
export const LOOK_AHEAD_MS = 250
const AFTER_FAILURE_MS = 250
/** A secret that cannot be opened is a fault of ours: the delivery waits for it to be mended. */
const POSTPONE_MS = 60_000
/** A statement whose answer is awaited no longer has ended after so long, in one way or the other. */
const LOST_CLAIM_MS = 10_000
const ACTOR_IDLE_MS = 60_000

/** What the sender reports of itself; a log line each. Fields never carry a secret, a URL or a body. */
export interface SenderWatch {
  onSwitchedOff(fields: { agencyId: string; endpointId: string; reason: string | null }): void
  onFailure(fields: { action: 'claim' | 'record'; err: unknown }): void
  onSecretClosed(fields: { agencyId: string; endpointId: string }): void
  /** Another sender has taken over; this one sends nothing more. */
  onOver(cause: unknown): void
}

/** Sends what is due: claims, attempts, records. One per service; many endpoints side by side. */
export class WebhookSender {
  readonly #store: SenderStore
  readonly #post: PostOnce
  readonly #box: SecretBox
  readonly #clock: Clock
  readonly #dice: () => number
  readonly #watch: SenderWatch
  readonly #term: number
  readonly #pool: SendPool
  readonly #recorder: OutcomeRecorder
  readonly #actors = new Map<string, WebhookActor>()
  readonly #settledBy = new WeakMap<Settled, WebhookActor>()
  /** Endpoints with something to send: those that answer, those nothing is known of, those that fail or keep us waiting. */
  readonly #proven = new FairTurns<WebhookActor>()
  readonly #fresh = new FairTurns<WebhookActor>()
  readonly #suspect = new FairTurns<WebhookActor>()
  readonly #stats: SenderStats
  #state: 'running' | 'stopping' | 'over' = 'running'
  /** Claimed and not recorded: deliveries, and how often; one given back may be claimed anew before its record is known. */
  readonly #held = new Map<string, number>()
  /** When a claim whose answer never came is surely over, so that what it took can be let go; null when there is none. */
  #releaseAt: Instant | null = null
  #claimNumber = 0
  #turn = 0
  #lookedAheadAt = Number.NEGATIVE_INFINITY
  #isClaiming = false
  #isWanted = false
  /** The last claim ended at its own limit, not at what is due. */
  #isShort = false
  #callOffTimer = () => {}
  #onQuiet = () => {}

  /** @param term as `takeOver` of the store gave it */
  constructor(options: {
    store: SenderStore
    post: PostOnce
    box: SecretBox
    clock: Clock
    /** 0 up to 1. */
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
    this.#pool = new SendPool(options.limits ?? POOL_LIMITS, () => this.#pump())
    this.#recorder = new OutcomeRecorder({
      store: options.store,
      clock: options.clock,
      term: options.term,
      onRecorded: (settled) => this.#recorded(settled),
      onFailure: (err) => {
        this.#stats.recordFailures += 1
        this.#watch.onFailure({ action: 'record', err })
      },
      onOver: (cause) => this.#end(cause),
    })
  }

  get stats(): SenderStats {
    return {
      ...this.#stats,
      inFlightFast: this.#pool.fast,
      inFlightParked: this.#pool.parked,
      claimed: this.#held.size,
      endpoints: this.#actors.size,
    }
  }

  /** Something may be due. Cheap, and may be called as often as there is news. */
  wake(): void {
    this.#isWanted = true
    if (this.#state === 'running' && !this.#isClaiming) void this.#claimAll()
  }

  /** The agency changed an endpoint: what waits for it is looked up again, so that nothing goes out as it was before. */
  endpointChanged(endpointId: string): void {
    const actor = this.#actors.get(endpointId)
    if (actor !== undefined) this.#requeue(actor)
    this.wake()
  }

  /** Begins nothing more, and waits for what is under way. What is cut off then is sent again by the next sender (W1). */
  async stop(withinMs: number): Promise<void> {
    if (this.#state !== 'running') return
    this.#state = 'stopping'
    this.#callOffTimer()
    for (const actor of this.#actors.values()) this.#requeue(actor)
    const quiet = new Promise<void>((resolve) => {
      this.#onQuiet = resolve
    })
    if (this.#isQuiet) return
    await Promise.race([quiet, sleep(this.#clock, withinMs)])
  }

  get #isQuiet(): boolean {
    return this.#held.size === 0 && !this.#isClaiming
  }

  async #claimAll(): Promise<void> {
    assert(!this.#isClaiming, 'Cannot claim: a claim is in flight')
    this.#isClaiming = true
    this.#callOffTimer()
    let waitMs: number | null = AFTER_FAILURE_MS
    try {
      while (this.#isWanted && this.#state === 'running') {
        this.#isWanted = false
        const since = this.#clock.monotonicMs()
        waitMs = await this.#claimOnce()
        // As long again as it took: the database has other work too.
        await sleep(this.#clock, Math.max(CLAIM_GAP_MS, this.#clock.monotonicMs() - since))
      }
    } catch (error) {
      if (error instanceof SenderOverError) this.#end(error)
      else {
        this.#stats.claimFailures += 1
        this.#releaseAt = this.#clock.now() + LOST_CLAIM_MS
        this.#watch.onFailure({ action: 'claim', err: error })
      }
    }
    this.#isClaiming = false
    if (this.#state === 'running') this.#callOffTimer = this.#clock.after(waitMs ?? POLL_MS, () => this.wake())
    else if (this.#isQuiet) this.#onQuiet()
  }

  /** @returns how long to wait for the next claim, unless something calls earlier */
  async #claimOnce(): Promise<number> {
    await this.#releaseLost()
    const dueUntil = this.#clock.now()
    const room = CLAIMED_MAX - this.#held.size
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
      this.#isShort = claimed.length >= room
      isEmpty = claimed.length === 0
      this.#take(claimed, windows)
    }
    this.#forgetIdle()
    if (!isEmpty || this.#clock.monotonicMs() - this.#lookedAheadAt < LOOK_AHEAD_MS) return LOOK_AHEAD_MS
    this.#lookedAheadAt = this.#clock.monotonicMs()
    const next = await this.#store.nextDue(dueUntil)
    return next === null ? POLL_MS : Math.min(POLL_MS, Math.max(0, next - this.#clock.now()))
  }

  /** A claim may have been made though its answer was lost; nobody would ever send what it took. */
  async #releaseLost(): Promise<void> {
    if (this.#releaseAt === null || this.#clock.now() < this.#releaseAt) return
    await this.#store.release(this.#term, [...this.#held.keys()])
    this.#releaseAt = null
  }

  /** Endpoints that may have another number than a fresh one. */
  #windows(): Record<string, number> {
    const windows: Record<string, number> = {}
    for (const actor of this.#actors.values()) {
      if (actor.room !== WINDOW_FRESH) windows[actor.endpointId] = actor.room
    }
    return windows
  }

  #take(claimed: readonly ClaimedDelivery[], windows: Readonly<Record<string, number>>): void {
    const now = this.#clock.now()
    const given = new Map<WebhookActor, number>()
    for (const delivery of claimed) {
      const { endpoint, agencyId } = delivery
      const actor = this.#actors.get(endpoint.id) ?? new WebhookActor(agencyId, endpoint, now)
      this.#actors.set(endpoint.id, actor)
      actor.take(delivery, this.#claimNumber)
      this.#held.set(delivery.deliveryId, (this.#held.get(delivery.deliveryId) ?? 0) + 1)
      given.set(actor, (given.get(actor) ?? 0) + 1)
      this.#stats.claimLagMsLast = Math.max(0, now - delivery.nextAttemptAt)
    }
    for (const actor of this.#actors.values()) {
      actor.isHungry = (given.get(actor) ?? 0) >= (windows[actor.endpointId] ?? WINDOW_FRESH)
    }
    for (const actor of given.keys()) {
      if (this.#state === 'running') this.#offer(actor)
      else this.#requeue(actor)
    }
    this.#pump()
  }

  #offer(actor: WebhookActor): void {
    if (!actor.canBegin) return
    if (actor.isSuspect) this.#suspect.add(actor)
    else if (actor.isProven) this.#proven.add(actor)
    else this.#fresh.add(actor)
  }

  /** Those that are known to answer go first, as many unknown ones may turn out to hang; every fourth turn is theirs. */
  #takeQuick(mayGo: (agencyId: string) => boolean): WebhookActor | undefined {
    this.#turn += 1
    const [first, second] = this.#turn % 4 === 0 ? [this.#fresh, this.#proven] : [this.#proven, this.#fresh]
    return first.take(mayGo) ?? second.take(mayGo)
  }

  /** Begins whatever may begin. */
  #pump(): void {
    const mayGo = (agencyId: string) => this.#pool.hasRoomFor(agencyId)
    while (this.#state === 'running') {
      const quick = this.#pool.hasRoom('fast') ? this.#takeQuick(mayGo) : undefined
      const actor = quick ?? (this.#pool.hasRoom('parked') ? this.#suspect.take(mayGo) : undefined)
      if (actor === undefined) return
      // It may have changed since it was offered.
      if (quick !== undefined && actor.isSuspect) this.#offer(actor)
      else if (actor.canBegin) this.#begin(actor, quick === undefined ? 'parked' : 'fast')
    }
  }

  #begin(actor: WebhookActor, place: 'fast' | 'parked'): void {
    const startedAt = this.#clock.now()
    const begun = actor.takeAttempt(startedAt)
    const headers = this.#headers(actor, begun, startedAt)
    if (headers === null) {
      this.#stats.postponed += 1
      this.#settle(actor, [actor.postpone(begun, { now: startedAt, until: startedAt + POSTPONE_MS })])
      return
    }
    const slot = this.#pool.start(actor.agencyId, place)
    let wasSlow = false
    const callOff = this.#clock.after(PARK_AFTER_MS, () => {
      wasSlow = true
      actor.slowed()
      slot.park()
    })
    void this.#post(begun.url, { headers, body: begun.delivery.body }).then((result) => {
      callOff()
      this.#finish(actor, begun, result, { startedAt, wasSlow })
      slot.end()
    })
    this.#offer(actor)
  }

  #headers(actor: WebhookActor, { delivery }: Begun, at: Instant): Record<string, string> | null {
    try {
      const owner = { agencyId: actor.agencyId, endpointId: actor.endpointId }
      const secrets = openSecrets(actor.endpoint, { owner, at, box: this.#box })
      return signedHeaders({ eventId: delivery.eventId, body: delivery.body, at, secrets })
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error
      this.#watch.onSecretClosed({ agencyId: actor.agencyId, endpointId: actor.endpointId })
      return null
    }
  }

  #finish(
    actor: WebhookActor,
    begun: Begun,
    result: PostResult,
    { startedAt, wasSlow }: { startedAt: Instant; wasSlow: boolean },
  ): void {
    const endedAt = this.#clock.now()
    const settled = actor.finish(begun, result, { startedAt, endedAt, dice: this.#dice(), wasSlow })
    this.#count(settled, result)
    this.#settle(actor, [settled])
    if (settled.endpoint?.status === 'disabled') {
      const { agencyId, endpointId } = actor
      this.#watch.onSwitchedOff({ agencyId, endpointId, reason: settled.endpoint.disabledReason })
      this.#requeue(actor)
    }
    this.#offer(actor)
    if (actor.isHungry || this.#isShort) this.wake()
  }

  #requeue(actor: WebhookActor): void {
    for (const turns of [this.#proven, this.#fresh, this.#suspect]) turns.delete(actor)
    this.#settle(actor, actor.requeue())
  }

  #settle(actor: WebhookActor, settled: readonly Settled[]): void {
    for (const one of settled) this.#settledBy.set(one, actor)
    if (settled.length > 0 && this.#state !== 'over') this.#recorder.add(settled)
  }

  #recorded(settled: readonly Settled[]): void {
    for (const one of settled) {
      this.#settledBy.get(one)?.recorded(this.#claimNumber)
      const times = (this.#held.get(one.deliveryId) ?? 0) - 1
      if (times > 0) this.#held.set(one.deliveryId, times)
      else this.#held.delete(one.deliveryId)
    }
    if (this.#state === 'stopping' && this.#isQuiet) this.#onQuiet()
    // What was given back may be due.
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

  #end(cause: unknown): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#callOffTimer()
    this.#onQuiet()
    this.#watch.onOver(cause)
  }
}
