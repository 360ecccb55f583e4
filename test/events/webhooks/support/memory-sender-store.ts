import type { ShardEpoch } from '../../../../src/core/journal/journal-store.ts'
import { monthOf, SHARDS, shardOf } from '../../../../src/core/journal/shard.ts'
import {
  type ClaimedDelivery,
  SenderReplacedError,
  type SenderStore,
  type Settled,
} from '../../../../src/events/webhooks/sender-store.ts'
import { sampleId } from '../../../support/samples.ts'

/** What the sender reads of an entry of the journal. */
export interface MemoryEntry {
  readonly agencyId: string
  readonly seq: number
  /** `evt_…` */
  readonly id: string
  readonly at: number
  readonly isAnnounced: boolean
  /** Called at every claim, which is when the body is rendered; null when the entry cannot be read. */
  body(): string | null
}

export interface MemoryEndpoint {
  readonly agencyId: string
  readonly id: string
  /** The last entry of its agency that was considered. */
  madeSeq: number
  updatedAt: number
  url: string
  secretSealed: string
  previousSecretSealed: string | null
  previousSecretUntil: number | null
  status: 'active' | 'disabled' | 'deleted'
  disabledReason: string | null
  consecutiveFailures: number
  revision: number
}

export interface MemoryDelivery {
  readonly agencyId: string
  readonly endpointId: string
  readonly deliveryId: string
  readonly eventId: string
  readonly body: () => string | null
  readonly traceparent?: string
  status: 'pending' | 'delivered' | 'dead' | 'dropped'
  attempts: number
  tries: number
  nextAttemptAt: number | null
  finishedAt: number | null
  claimedBy: number | null
  readonly log: NonNullable<Settled['attempt']>[]
}

/** That of every delivery here: the present one, which a database has a partition for. */
export const MEMORY_MONTH = monthOf(Date.now())

const ALL_SHARDS: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard)

/** An in-memory implementation of the sender's store, with the same answers as Postgres. */
export class MemorySenderStore implements SenderStore {
  epoch = 1
  /** Of the last sender that took over all shards; it is replaced when it is higher than that. */
  term = 0
  /** Of senders of nodes. */
  readonly #nodeTerms = new Set<number>()
  /** By shard: the term of the sender of a node. */
  readonly #sending = new Map<number, number>()
  /** Called with shards that have another sender from now on. */
  onPassed: (shards: readonly number[]) => void = () => {}
  /** What a broken database does not look at: which shards a sender sends for, or that a claim is of a sender that has lost the shard. */
  unchecked: 'shards' | 'lost claims' | null = null
  readonly endpoints = new Map<string, MemoryEndpoint>()
  readonly deliveries = new Map<string, MemoryDelivery>()
  readonly makes: Parameters<SenderStore['makeDeliveries']>[0][] = []
  /** Agencies that have a clock of their own. */
  readonly sandboxes = new Set<string>()
  readonly claims: Parameters<SenderStore['claim']>[0][] = []
  /** Errors to throw, each once, before or after the call takes effect. */
  failures: { call: 'make' | 'claim' | 'record'; when: 'before' | 'after'; error: Error }[] = []

  /**
   * @param journal returns the entries so far, in order
   * @param epochOf the present epoch of a shard
   */
  constructor(
    readonly journal: () => readonly MemoryEntry[] = () => [],
    readonly epochOf: (shard: number) => number = () => this.epoch,
  ) {}

  addEndpoint(change: Partial<MemoryEndpoint> & { id: string }): MemoryEndpoint {
    const endpoint: MemoryEndpoint = {
      agencyId: sampleId('agc', 'a'),
      url: 'https://hooks.example/in',
      madeSeq: 0,
      updatedAt: 0,
      secretSealed: 'sealed',
      previousSecretSealed: null,
      previousSecretUntil: null,
      status: 'active',
      disabledReason: null,
      consecutiveFailures: 0,
      revision: 0,
      ...change,
    }
    this.endpoints.set(endpoint.id, endpoint)
    return endpoint
  }

  addDelivery(endpointId: string, at: number, change: Partial<MemoryDelivery> = {}): MemoryDelivery {
    const number = String(this.deliveries.size + 1).padStart(32, '0')
    const { deliveryId = `dlv_${number}` } = change
    const { eventId = deliveryId.replace('dlv', 'evt') } = change
    const delivery: MemoryDelivery = {
      agencyId: this.#endpoint(endpointId).agencyId,
      endpointId,
      deliveryId,
      eventId,
      body: () => `{"id":"${eventId}"}`,
      status: 'pending',
      attempts: 0,
      tries: 0,
      nextAttemptAt: at,
      finishedAt: null,
      claimedBy: null,
      log: [],
      ...change,
    }
    this.deliveries.set(delivery.deliveryId, delivery)
    return delivery
  }

  async takeOver(epoch: number): Promise<number> {
    if (epoch !== this.epoch) throw new SenderReplacedError('fenced')
    this.term += 1
    this.#nodeTerms.clear()
    this.#sending.clear()
    this.onPassed(ALL_SHARDS)
    return this.term
  }

  /** As `join_sending`. */
  async join(): Promise<number> {
    this.term += 2
    this.#nodeTerms.add(this.term - 1)
    return this.term - 1
  }

  /** As `send_for`. */
  async sendFor(term: number, wanted: readonly ShardEpoch[]): Promise<readonly number[]> {
    if (!this.#nodeTerms.has(term)) throw new SenderReplacedError('the term is over')
    const passed = wanted.filter(({ shard, epoch }) => this.epochOf(shard) === epoch && this.senderOf(shard) !== term)
    for (const { shard } of passed) this.#sending.set(shard, term)
    const kept = new Set(wanted.map(({ shard }) => shard))
    for (const [shard, sender] of this.#sending) if (sender === term && !kept.has(shard)) this.#sending.delete(shard)
    if (passed.length > 0) this.onPassed(passed.map(({ shard }) => shard))
    const sent = [...this.#sending].flatMap(([shard, sender]) => (sender === term ? shard : []))
    return sent.sort((a, b) => a - b)
  }

  /** The term of the sender that sends for the shard; null when none does. */
  senderOf(shard: number): number | null {
    return this.#sending.get(shard) ?? (this.#nodeTerms.size === 0 ? this.term : null)
  }

  /**
   * As `sent_shards`.
   * @returns whether an agency is of the shards that the sender sends for
   */
  #sends(term: number): (of: { readonly agencyId: string }) => boolean {
    if (term === this.term) return () => true
    if (!this.#nodeTerms.has(term)) throw new SenderReplacedError('the term is over')
    return ({ agencyId }) => this.unchecked === 'shards' || this.#sending.get(shardOf(agencyId)) === term
  }

  async makeDeliveries(options: Parameters<SenderStore['makeDeliveries']>[0]) {
    this.makes.push(options)
    this.#fail('make', 'before')
    const { term, agencyIds, room, now } = options
    const sends = this.#sends(term)
    const waiting = [...this.endpoints.values()].flatMap((endpoint) => {
      const isAsked = (agencyIds === 'all' || agencyIds.includes(endpoint.agencyId)) && sends(endpoint)
      const entries = isAsked && endpoint.status === 'active' ? this.#entriesAfterCursor(endpoint) : []
      return entries.length === 0 ? [] : [{ endpoint, entries }]
    })
    const before = this.deliveries.size
    let considered = 0
    for (let turn = 0; considered < room && waiting.some(({ entries }) => turn < entries.length); turn++) {
      for (const { endpoint, entries } of waiting) {
        const entry = entries[turn]
        if (entry === undefined || considered >= room) continue
        considered += 1
        endpoint.madeSeq = entry.seq
        if (entry.isAnnounced) this.#make(entry, endpoint, Math.min(Math.max(entry.at, endpoint.updatedAt), now))
      }
    }
    this.#fail('make', 'after')
    const mayHaveMore = waiting.some(({ endpoint }) => this.#entriesAfterCursor(endpoint).length > 0)
    return { made: this.deliveries.size - before, mayHaveMore }
  }

  /** As `sent_shards` says. */
  async agencies(term: number): Promise<readonly string[]> {
    const sends = this.#sends(term)
    const active = [...this.endpoints.values()].filter((endpoint) => endpoint.status === 'active' && sends(endpoint))
    return [...new Set(active.map(({ agencyId }) => agencyId))]
  }

  #entriesAfterCursor({ agencyId, madeSeq }: MemoryEndpoint): MemoryEntry[] {
    return this.journal().filter((entry) => entry.agencyId === agencyId && entry.seq > madeSeq)
  }

  #make(entry: MemoryEntry, endpoint: MemoryEndpoint, at: number): void {
    const deliveryId = `${entry.id} to ${endpoint.id}`
    this.addDelivery(endpoint.id, at, { deliveryId, eventId: entry.id, body: () => entry.body() })
  }

  async claim(options: Parameters<SenderStore['claim']>[0]): Promise<readonly ClaimedDelivery[]> {
    this.claims.push(options)
    this.#fail('claim', 'before')
    const sends = this.#sends(options.term)
    const given = new Map<string, number>()
    const turns: { delivery: MemoryDelivery; turn: number }[] = []
    const ofAgency = new Map<string, number>()
    const due = [...this.deliveries.values()]
      .filter(({ nextAttemptAt }) => nextAttemptAt !== null && nextAttemptAt <= options.dueUntil)
      .filter((delivery) => this.#isClaimable(delivery, options.term) && sends(delivery))
      .sort((a, b) => (a.nextAttemptAt ?? 0) - (b.nextAttemptAt ?? 0) || (a.deliveryId < b.deliveryId ? -1 : 1))
    for (const delivery of due) {
      const had = given.get(delivery.endpointId) ?? 0
      if (had >= (options.windows[delivery.endpointId] ?? options.windowFresh)) continue
      given.set(delivery.endpointId, had + 1)
      const turn = (ofAgency.get(delivery.agencyId) ?? 0) + 1
      ofAgency.set(delivery.agencyId, turn)
      turns.push({ delivery, turn })
    }
    const claimed = turns.sort((a, b) => a.turn - b.turn).slice(0, options.room)
    for (const { delivery } of claimed) delivery.claimedBy = options.term
    this.#fail('claim', 'after')
    return claimed.map(({ delivery }) => this.#claimed(delivery))
  }

  async release(term: number, held: readonly string[]): Promise<void> {
    for (const delivery of this.deliveries.values()) {
      if (delivery.claimedBy === term && !held.includes(delivery.deliveryId)) delivery.claimedBy = null
    }
  }

  async nextDue(dueAfter: number): Promise<number | null> {
    const times = [...this.deliveries.values()]
      .filter(({ status, endpointId }) => status === 'pending' && this.#endpoint(endpointId).status === 'active')
      .flatMap(({ nextAttemptAt }) => (nextAttemptAt !== null && nextAttemptAt > dueAfter ? nextAttemptAt : []))
    return times.length === 0 ? null : Math.min(...times)
  }

  async record(term: number, settled: readonly Settled[]): Promise<void> {
    this.#fail('record', 'before')
    // The deliveries of a sender that was replaced are written all the same, its endpoints are not.
    const sends = term === this.term || this.#nodeTerms.has(term) ? this.#sends(term) : () => false
    for (const one of settled) {
      const delivery = this.deliveries.get(one.deliveryId)
      if (delivery?.claimedBy === term && delivery.attempts === one.attemptsBefore) {
        if (one.attempt !== null) delivery.log.push(one.attempt)
        const isDropped = delivery.status === 'dropped' && one.status === 'pending'
        delivery.status = isDropped ? 'dropped' : one.status
        delivery.attempts = one.attempts
        delivery.tries = one.tries
        delivery.nextAttemptAt = one.nextAttemptAt
        delivery.finishedAt = one.finishedAt
        delivery.claimedBy = null
      }
      const change = one.endpoint
      const endpoint = change === null ? undefined : this.endpoints.get(change.id)
      if (change === null || endpoint === undefined || !sends(endpoint)) continue
      if (endpoint.revision !== change.revision || endpoint.status === 'deleted') continue
      endpoint.status = change.status
      endpoint.consecutiveFailures = change.consecutiveFailures
      endpoint.disabledReason = change.disabledReason
    }
    this.#fail('record', 'after')
  }

  #isClaimable({ status, claimedBy, endpointId }: MemoryDelivery, term: number): boolean {
    const isFree = this.unchecked === 'lost claims' ? claimedBy === null : claimedBy !== term
    return status === 'pending' && isFree && this.#endpoint(endpointId).status === 'active'
  }

  #claimed(delivery: MemoryDelivery): ClaimedDelivery {
    const endpoint = this.#endpoint(delivery.endpointId)
    return {
      agencyId: delivery.agencyId,
      deliveryId: delivery.deliveryId,
      eventId: delivery.eventId,
      event: 'booking.created',
      body: delivery.body(),
      traceparent: delivery.traceparent ?? null,
      attempts: delivery.attempts,
      tries: delivery.tries,
      nextAttemptAt: delivery.nextAttemptAt ?? 0,
      isSandbox: this.sandboxes.has(delivery.agencyId),
      month: MEMORY_MONTH,
      endpoint: {
        id: endpoint.id,
        url: endpoint.url,
        secretSealed: endpoint.secretSealed,
        previousSecretSealed: endpoint.previousSecretSealed,
        previousSecretUntil: endpoint.previousSecretUntil,
        consecutiveFailures: endpoint.consecutiveFailures,
        revision: endpoint.revision,
      },
    }
  }

  #endpoint(id: string): MemoryEndpoint {
    const endpoint = this.endpoints.get(id)
    if (endpoint === undefined) throw new Error(`No endpoint ${id} in the store`)
    return endpoint
  }

  #fail(call: 'make' | 'claim' | 'record', when: 'before' | 'after'): void {
    const index = this.failures.findIndex((failure) => failure.call === call && failure.when === when)
    if (index === -1) return
    const [failure] = this.failures.splice(index, 1)
    throw failure?.error
  }
}
