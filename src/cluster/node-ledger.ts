import { calendarMonthAt } from '../accounts/calendar-periods.ts'
import type { SessionRows } from '../accounts/portal-sessions.ts'
import { admittedRequests } from '../accounts/rate-slots.ts'
import type { Journal } from '../core/journal/journal.ts'
import { shardOf } from '../core/journal/shard.ts'
import type { SenderProcess } from '../events/webhooks/sender-process.ts'
import { assert } from '../lib/assert.ts'
import { bootTime, type Clock } from '../lib/clock.ts'
import type { PostgresShards } from '../postgres/stores/postgres-shards.ts'
import { type Engine, NodeShards, type ShardContents } from './node-shards.ts'
import type { Ownership, RateRows } from './ownership.ts'
import { type OwnedStores, type TakenOver, type TakeOverSteps, warmUpStatements } from './take-over.ts'

/** The sender is told again, in case it was not possible at a change. */
const SEND_FOR_AGAIN_MS = 5_000
/** What a node on etcd shows is confirmed shard by shard (C6), not by a heartbeat. */
const OF_A_NODE = { isAwaited: false } as const

/** Tells the sender of a node for which shards it sends: at every change, and again every few seconds. */
export function sendForOwned(of: {
  readonly shards: Pick<NodeShards, 'owned' | 'watch'>
  readonly journal: Pick<Journal, 'epochOfShard'>
  readonly sender: Pick<SenderProcess, 'sendFor'>
  readonly clock: Clock
}): void {
  const { shards, journal, sender, clock } = of
  const tell = () => {
    const owned = [...shards.owned].sort((a, b) => a - b)
    sender.sendFor(owned.map((shard) => ({ shard, epoch: journal.epochOfShard(shard) })))
  }
  const repeat = () => {
    tell()
    clock.after(SEND_FOR_AGAIN_MS, repeat)
  }
  shards.watch(tell)
  repeat()
}

/** One node of several: it begins without a shard, and `shards` gets and gives them. */
export class NodeLedger implements Ownership {
  readonly shards: NodeShards
  readonly sessions: SessionRows
  readonly #stores: OwnedStores
  readonly #shardStore: PostgresShards
  readonly #clock: Clock
  readonly #hasStandby: boolean
  #journal: Pick<Journal, 'epochOf' | 'epochOfShard'> | null = null
  #rateTerm: number | null = null

  /**
   * @param options.onFailure something that makes the next owner slower, or its counts lower, has failed
   * @param options.hasStandby another process may wait until this one is silent, and then take over everything (P3). Not behind nodes on
   *   etcd, which replace each other
   */
  constructor(options: {
    stores: OwnedStores
    shardStore: PostgresShards
    clock: Clock
    onFailure: (error: unknown) => void
    hasStandby: boolean
  }) {
    const { stores, shardStore, clock, onFailure, hasStandby } = options
    this.#hasStandby = hasStandby
    this.#stores = stores
    this.#shardStore = shardStore
    this.#clock = clock
    this.shards = new NodeShards({ clock, store: shardStore, load: (shards) => this.#read(shards), onFailure })
    this.sessions = stores.sessionRows.writtenByNode(
      (agencyId) => this.#writing.epochOf(agencyId),
      () => this.shards.owned,
    )
  }

  readonly termOf = (agencyId: string): number | null => this.shards.termOfAgency(agencyId)

  readonly lostTo = (shards: readonly number[]): void => this.shards.lostTo(shards)

  owned(): Iterable<number> {
    return this.shards.owned
  }

  epoch(): null {
    return null
  }

  async warmUp(): Promise<void> {
    await Promise.all([warmUpStatements(this.#stores), this.#shardStore.open(), this.#read([])])
  }

  /** Reads what every shard needs, and the sessions of the operator, which belong to none. */
  async acquire({ prepare, turn, isCancelled }: TakeOverSteps): Promise<TakenOver> {
    const { chainKeys, sessionRows, rateRows } = this.#stores
    const [keys, sessions, rateTerm] = await Promise.all([
      chainKeys.open(),
      sessionRows.load('operator'),
      rateRows.newNodeTerm(),
    ])
    this.#rateTerm = rateTerm
    await prepare()
    await turn()
    if (isCancelled()) throw new Error('Cannot join the cluster: the process is shutting down')
    const since = this.#hasStandby ? this.#clock.monotonicMs() : Number.POSITIVE_INFINITY
    return { since, term: { shards: [], newestMonth: '' }, chainKeys: keys, used: [], passed: [], sessions }
  }

  serveWith(engine: Engine & { readonly journal: Journal }): void {
    this.#journal = engine.journal
    this.shards.serveWith(engine)
  }

  async findLost(): Promise<void> {
    await this.shards.confirm().catch(() => {})
  }

  async beat(): Promise<{ readonly isAwaited: boolean }> {
    const { writers, writerId } = this.#stores
    // Until the database was asked, a standby may wait: what comes first may be the loss of the database.
    if (this.shards.owned.size === 0) return { isAwaited: this.#hasStandby }
    const beaten = await writers.beat(writerId)
    // A process that takes over all shards deletes the rows of all nodes.
    if (beaten === null) await this.shards.confirm()
    return (this.#hasStandby ? beaten : null) ?? OF_A_NODE
  }

  async openRateRows(): Promise<RateRows> {
    const { rateRows } = this.#stores
    const term = this.#rateTerm
    assert(term !== null, 'Cannot keep requests: nothing was acquired')
    return { shardOf, persist: (keep) => rateRows.keepOfNode(term, keep) }
  }

  sendWith(sender: Pick<SenderProcess, 'sendFor'>): void {
    sendForOwned({ shards: this.shards, journal: this.#writing, clock: this.#clock, sender })
  }

  release(): Promise<void> {
    return this.shards.release([...this.shards.owned])
  }

  async end(): Promise<void> {
    await this.#stores.writers.forget(this.#stores.writerId)
  }

  close(): Promise<void> {
    return this.#shardStore.close()
  }

  get #writing() {
    assert(this.#journal !== null, 'Cannot write: the ledger is not open')
    return this.#journal
  }

  /** What is read of shards after they were taken (C3). @throws what the database rejects with */
  async #read(shards: readonly number[]): Promise<ShardContents> {
    const { catalogueStore, usageRows, rateRows, sessionRows } = this.#stores
    const [part, used, slots, sessions] = await Promise.all([
      catalogueStore.readShards(shards),
      usageRows.loadFrom(calendarMonthAt(this.#clock.now()).name, shards),
      rateRows.loadOf(shards),
      sessionRows.load(shards),
    ])
    // The age of a slot is that of the moment when it was read.
    const passed = admittedRequests(slots, { wallMs: this.#clock.now(), boot: bootTime() })
    return { ...part, used, sessions, passed }
  }
}
