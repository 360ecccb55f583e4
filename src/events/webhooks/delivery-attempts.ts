import type { Instant } from '../../core/domain/booking.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { childOf } from '../../lib/traceparent.ts'
import type { Span, SpanEnd, Tracer } from '../../lib/tracer.ts'
import { causeName, isAccepted, type PostOnce, type PostResult } from './guarded-post.ts'
import { openSecrets, type SecretBox, SecretBoxError, signedHeaders } from './secret-box.ts'
import { FairTurns, PARK_AFTER_MS, type PoolLimits, SANDBOX_BURST, SANDBOX_BURST_MS, SendPool } from './send-pool.ts'
import type { SenderWatch } from './sender-process.ts'
import type { SenderStats } from './sender-stats.ts'
import type { Settled } from './sender-store.ts'
import type { StartedAttempt, WebhookActor } from './webhook-actor.ts'

type MayGo = (agencyId: string) => boolean

/**
 * Endpoints with queued deliveries, and whose turn it is: those that answer reliably, those about which nothing is known, and those that
 * fail or are slow.
 */
export class EndpointTurns {
  readonly #proven = new FairTurns<WebhookActor>()
  readonly #fresh = new FairTurns<WebhookActor>()
  readonly #suspect = new FairTurns<WebhookActor>()
  #turn = 0

  /** One that cannot begin an attempt is left out. */
  add(actor: WebhookActor): void {
    if (!actor.canBegin) return
    if (actor.isSuspect) this.#suspect.add(actor)
    else if (actor.isProven) this.#proven.add(actor)
    else this.#fresh.add(actor)
  }

  delete(actor: WebhookActor): void {
    for (const turns of [this.#proven, this.#fresh, this.#suspect]) turns.delete(actor)
  }

  /**
   * Reliable endpoints go first, because many unknown ones may turn out to hang. Every fourth turn, unknown ones go
   * first.
   */
  nextFast(mayGo: MayGo): WebhookActor | undefined {
    this.#turn += 1
    const [first, second] = this.#turn % 4 === 0 ? [this.#fresh, this.#proven] : [this.#proven, this.#fresh]
    return first.take(mayGo) ?? second.take(mayGo)
  }

  nextSuspect(mayGo: MayGo): WebhookActor | undefined {
    return this.#suspect.take(mayGo)
  }
}

/** A secret that cannot be decrypted is an internal fault: the delivery waits until it is fixed. */
const POSTPONE_MS = 60_000

interface AttemptOptions {
  readonly post: PostOnce
  readonly box: SecretBox
  readonly clock: Clock
  /** Random number in [0, 1). */
  readonly dice: () => number
  readonly tracer: Tracer | null
  readonly watch: SenderWatch
  readonly limits: PoolLimits
  /** Where endpoints wait for room. */
  readonly turns: EndpointTurns
  /** Counts attempts and their outcomes. */
  readonly stats: SenderStats
  /** No attempt begins unless this holds. */
  isRunning(): boolean
  /** What became of deliveries is to be recorded. */
  onSettled(actor: WebhookActor, settled: readonly Settled[]): void
  /** The endpoint was disabled: nothing more is sent to it. */
  onDisabled(actor: WebhookActor): void
  /** One of the endpoint's deliveries is finished, so it may have another. */
  onRoom(actor: WebhookActor): void
}

/** Attempts that begin together, and whose outcomes are recorded together unless they take longer. */
interface Burst {
  begun: number
  readonly ended: Promise<void>
}

/** Attempts in flight: sends what has its turn, as far as there is room, and says what became of it. */
export class DeliveryAttempts {
  readonly #options: AttemptOptions
  readonly #pool: SendPool
  /** Of sandboxes, by agency. */
  readonly #bursts = new Map<string, Burst>()

  constructor(options: AttemptOptions) {
    this.#options = options
    this.#pool = new SendPool(options.limits, () => this.start())
  }

  get inFlight(): { readonly inFlightFast: number; readonly inFlightParked: number } {
    return { inFlightFast: this.#pool.fast, inFlightParked: this.#pool.parked }
  }

  /** Starts every attempt that the pools have room for. */
  start(): void {
    const { turns, isRunning } = this.#options
    const mayGo = (agencyId: string) =>
      this.#pool.hasRoomFor(agencyId) && (this.#bursts.get(agencyId)?.begun ?? 0) < SANDBOX_BURST
    while (isRunning()) {
      const fast = this.#pool.hasRoom('fast') ? turns.nextFast(mayGo) : undefined
      const actor = fast ?? (this.#pool.hasRoom('parked') ? turns.nextSuspect(mayGo) : undefined)
      if (actor === undefined) return
      // The endpoint may have become suspect since it was queued.
      if (fast !== undefined && actor.isSuspect) turns.add(actor)
      else if (actor.canBegin) this.#begin(actor, fast === undefined ? 'parked' : 'fast')
    }
  }

  #begin(actor: WebhookActor, place: 'fast' | 'parked'): void {
    const { clock, turns, stats, post, onSettled } = this.#options
    const startedAt = clock.now()
    const started = actor.takeAttempt(startedAt)
    const { body, traceparent } = started.delivery
    if (body === null) {
      this.#giveUp(actor, started, momentOf(started, startedAt))
      return
    }
    const headers = this.#headers(actor, { eventId: started.delivery.eventId, body, at: startedAt })
    if (headers === null) {
      stats.postponed += 1
      onSettled(actor, [actor.postpone(started, { now: startedAt, until: momentOf(started, startedAt) + POSTPONE_MS })])
      return
    }
    const span = traceparent === null ? null : this.#spanOf(traceparent)
    if (span !== null) headers['traceparent'] = span.traceparent
    const slot = this.#pool.start(actor.agencyId, place)
    const burst = started.delivery.isSandbox ? this.#joinBurst(actor.agencyId) : null
    let wasSlow = false
    const cancelSlowTimer = clock.after(PARK_AFTER_MS, () => {
      wasSlow = true
      actor.slowed()
      slot.park()
    })
    void post(started.url, { headers, body }).then(async (result) => {
      cancelSlowTimer()
      span?.end(endOf(started, result))
      await burst?.ended
      this.#finish(actor, started, result, { startedAt, wasSlow })
      slot.end()
    })
    turns.add(actor)
  }

  /** The receiver continues the trace from the attempt, whether or not the attempt is exported as a span. */
  #spanOf(traceparent: string): Span {
    return this.#options.tracer?.start('delivery', traceparent) ?? { traceparent: childOf(traceparent), end() {} }
  }

  #joinBurst(agencyId: string): Burst {
    const burst = this.#bursts.get(agencyId) ?? {
      begun: 0,
      ended: sleep(this.#options.clock, SANDBOX_BURST_MS).then(() => {
        this.#bursts.delete(agencyId)
        this.start()
      }),
    }
    burst.begun += 1
    this.#bursts.set(agencyId, burst)
    return burst
  }

  #giveUp(actor: WebhookActor, started: StartedAttempt, at: Instant): void {
    const { stats, watch, turns, onSettled, onRoom } = this.#options
    const { deliveryId, eventId } = started.delivery
    stats.unreadable += 1
    stats.dead += 1
    watch.onEventUnreadable({ agencyId: actor.agencyId, deliveryId, eventId })
    onSettled(actor, [actor.giveUp(started, at)])
    turns.add(actor)
    onRoom(actor)
  }

  #headers(
    actor: WebhookActor,
    { eventId, body, at }: { eventId: string; body: string; at: Instant },
  ): Record<string, string> | null {
    const { box, watch } = this.#options
    try {
      const owner = { agencyId: actor.agencyId, endpointId: actor.endpointId }
      const secrets = openSecrets(actor.endpoint, { owner, at, box })
      return signedHeaders({ eventId, body, at, secrets })
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error
      watch.onSecretUnreadable({ agencyId: actor.agencyId, endpointId: actor.endpointId })
      return null
    }
  }

  #finish(
    actor: WebhookActor,
    started: StartedAttempt,
    result: PostResult,
    { startedAt, wasSlow }: { startedAt: Instant; wasSlow: boolean },
  ): void {
    const { clock, dice, watch, turns, onSettled, onDisabled, onRoom } = this.#options
    const now = clock.now()
    // The clock of a sandbox stands while it is sent to: the next attempt is exactly as much later as the schedule says.
    const { isSandbox } = started.delivery
    const endedAt = momentOf(started, now)
    const times = { startedAt: momentOf(started, startedAt), endedAt, dice: isSandbox ? 0 : dice() }
    const settled = actor.finish(started, result, { ...times, wasSlow })
    actor.lastUsedAt = now
    this.#count(settled, result)
    onSettled(actor, [settled])
    if (settled.endpoint?.status === 'disabled') {
      const { agencyId, endpointId } = actor
      watch.onSwitchedOff({ agencyId, endpointId, reason: settled.endpoint.disabledReason })
      onDisabled(actor)
    }
    turns.add(actor)
    onRoom(actor)
  }

  #count(settled: Settled, { outcome, durationMs }: PostResult): void {
    const { stats } = this.#options
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
}

/** Without the URL: an endpoint's URL may contain a secret. */
function endOf({ delivery }: StartedAttempt, { outcome }: PostResult): SpanEnd {
  const { agencyId, endpoint, eventId, event, attempts } = delivery
  const attributes = {
    'nightledger.agency_id': agencyId,
    'nightledger.endpoint_id': endpoint.id,
    'nightledger.event_id': eventId,
    'nightledger.event': event,
    'nightledger.attempt': attempts + 1,
    ...(outcome.kind === 'answered' && { 'http.response.status_code': outcome.httpStatus }),
  }
  return { attributes, isError: !isAccepted(outcome) }
}

/** The moment of an attempt: of a sandbox's, when it fell due by its own clock; otherwise `now`. */
function momentOf({ delivery }: StartedAttempt, now: Instant): Instant {
  return delivery.isSandbox ? delivery.nextAttemptAt : now
}
