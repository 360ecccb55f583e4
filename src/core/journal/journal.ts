/**
 * The journal: every change of the process goes through it, in group commits. It has a few lanes, which append side by side: while
 * the database executes the batch of one, the process encodes the next one for another.
 *
 * - J1 One append in flight per shard. A batch holds its shards (shard-logs.ts); their records wait for it, whichever lane is free.
 * - J5 The only writer that is fenced for one shard stops as a whole. It stops serving first, then refuses what waits; every lane
 *   finds out the outcome of its batch in flight. A process of a cluster loses the fenced shards, and continues with the others.
 * - J8 A shard that a lock holds up is sent alone, and never by the last free lane while others have one.
 */
import { assert, unreachable } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { HeldUp } from '../../lib/measures.ts'
import type { ShardHead } from './batch.ts'
import { BatchLimit } from './batch.ts'
import type { EncodedEntry } from './entry-codec.ts'
import { fenced, type JournalError, journalClosed, journalFull, notOwner } from './journal-error.ts'
import type { JournalStore, WriterTerm } from './journal-store.ts'
import { Lane } from './lane.ts'
import type { JournalRecord } from './record.ts'
import type { Month } from './shard.ts'
import { shardOf } from './shard.ts'
import { ShardLogs } from './shard-logs.ts'
import {
  type Appended,
  JournalCounters,
  type JournalStats,
  type WaitingRecord,
  WaitingRecords,
} from './waiting-records.ts'

export interface JournalLimits {
  /** Records that may wait for a batch; one more is refused. */
  readonly waitingMax: number
  /** Those of one agency; left out: as many as of all. */
  readonly agencyWaitingMax?: number
  /** Entries in one batch; a record without an entry counts as one. */
  readonly batchMax: number
  /** How long a record waits for a database that is away or too slow, before it is refused as not written. */
  readonly queuedMsMax: number
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'flushing' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'fenced'; readonly cause: unknown }

/**
 * While a batch is in flight, the next one is sent beside it once it has this many records: a smaller one costs the database more
 * than the wait (docs/decisions.md#speed).
 */
const BESIDE_MIN = 16

/** After a batch has been in flight for this long, the next one is sent however small it is: it must not wait for a slow one. */
const BESIDE_AFTER_MS = 10

export class Journal {
  readonly #clock: Clock
  readonly #logs: ShardLogs
  readonly #lanes: readonly Lane[]
  /** Lanes that have a batch. */
  readonly #busy = new Set<Lane>()
  /** Those of them that have had it for `BESIDE_AFTER_MS`. */
  readonly #slow = new Set<Lane>()
  readonly #waiting: WaitingRecords
  /** How many of the waiting records are of shards that no batch holds. */
  #ready = 0
  readonly #limit: BatchLimit
  readonly #heldUp = new HeldUp<number>()
  readonly #counters = new JournalCounters()
  readonly #onFenced: (cause: unknown, settled: Promise<void>) => void
  /** Null: this process is the only writer. */
  readonly #onShardsLost: ((shards: readonly number[], cause: unknown) => void) | null
  /** Called when a batch has ended. */
  readonly #settling = new Set<() => void>()
  /** Called once nothing that was appended is open. */
  readonly #drained: (() => void)[] = []
  readonly #atEndOfTurn: (task: () => void) => void
  #state: State = { kind: 'idle' }
  #isDispatchDue = false
  #stopWatching: () => void = () => {}

  constructor(options: {
    store: JournalStore
    clock: Clock
    limits: JournalLimits
    /** How many batches may be in flight, each of other shards. */
    lanes: number
    term: WriterTerm
    /** Of the shards' chains, by shard. */
    chainKeys: readonly Uint8Array[]
    /**
     * Called once, immediately: the process must stop serving, and exit non-zero when `settled` resolves. By then every caller
     * has its outcome; this may take as long as `wasWritten`, and longer while the rest of a batch is in doubt.
     */
    onFenced: (cause: unknown, settled: Promise<void>) => void
    /**
     * Given in a cluster: the process owns the shards of its term, and may `adopt` others and `retire` some. Called immediately when
     * another writer turns out to have taken some, which are retired already.
     */
    onShardsLost?: (shards: readonly number[], cause: unknown) => void
    /** Called with the entries of each batch that has become durable, before anyone who appended them is told. Must be cheap. */
    onDurable?: (entries: readonly EncodedEntry[]) => void
    newRenewalId: () => string
    /**
     * Runs a task when all requests that arrived together have been looked at, so that they share a batch. The default, a microtask, runs
     * after the first of them if each comes with a turn of its own, as with HTTP.
     */
    atEndOfTurn?: (task: () => void) => void
  }) {
    const { store, clock, limits } = options
    this.#atEndOfTurn = options.atEndOfTurn ?? queueMicrotask
    this.#clock = clock
    this.#onShardsLost = options.onShardsLost ?? null
    this.#logs = new ShardLogs({ ...options, isPartial: this.#onShardsLost !== null })
    this.#limit = new BatchLimit(limits.batchMax)
    this.#onFenced = options.onFenced
    this.#waiting = new WaitingRecords({ clock, ...limits })
    this.#lanes = Array.from(
      { length: options.lanes },
      (_, lane) =>
        new Lane({
          store: store.lane(lane),
          clock,
          logs: this.#logs,
          limit: this.#limit,
          waiting: this.#waiting,
          heldUp: this.#heldUp,
          counters: this.#counters,
          newRenewalId: options.newRenewalId,
          refusalOf: (shard) => this.#refusalOf(shard),
          fencedError: this.#onShardsLost === null ? fenced : notOwner,
          onFenced: (cause, shards) => this.#fencedBy(cause, shards),
          onDurable: options.onDurable ?? (() => {}),
        }),
    )
  }

  /** The epoch of this writer for the agency's shard. It rises whenever a doubt has to be settled. */
  epochOf(agencyId: string): number {
    return this.#logs.epochOf(shardOf(agencyId))
  }

  /** The same by shard; of one that is not owned, what it was last. */
  epochOfShard(shard: number): number {
    return this.#logs.epochOf(shard)
  }

  /** The epoch under which the process writes what belongs to no agency: that of shard 0. */
  get epoch(): number {
    return this.#logs.epochOf(0)
  }

  /** The end of the log of the agency's shard: everything that this process knows to be durable. */
  endOf(agencyId: string): ShardHead {
    return this.#logs.headOf(shardOf(agencyId))
  }

  /** Whether the process may append to the shard. */
  isOwned(shard: number): boolean {
    return this.#logs.isOwned(shard)
  }

  /** In a cluster: shards were taken over. Nothing of them may be in flight here: call it after `settled`. */
  adopt(term: WriterTerm): void {
    this.#logs.adopt(term)
  }

  /**
   * In a cluster: appends nothing more to these shards; what waits for them is refused as not written. The outcome of a batch in
   * flight becomes known as always: `settled` waits for it.
   */
  retire(shards: ReadonlySet<number>): void {
    this.#logs.retire(shards)
    this.#waiting.refuse(
      ({ shard }) => shards.has(shard),
      () => notOwner(),
    )
    this.#ready = this.#waiting.count(this.#isReady)
    for (const check of [...this.#settling]) check()
  }

  /** Resolves when no record of these shards waits or is in flight. */
  async settled(shards: ReadonlySet<number>): Promise<void> {
    const isOpen = () =>
      [...shards].some((shard) => this.#logs.isHeld(shard)) || this.#waiting.count(({ shard }) => shards.has(shard)) > 0
    if (!isOpen()) return
    await new Promise<void>((resolve) => {
      const check = () => {
        if (isOpen()) return
        this.#settling.delete(check)
        resolve()
      }
      this.#settling.add(check)
    })
  }

  /** The newest month that is known to have partitions; empty: none is known. */
  get newestMonth(): Month {
    return this.#logs.newestMonth
  }

  /** Partitions now exist up to this month. Ignored if a newer month is already known. */
  setNewestMonth(month: Month): void {
    this.#logs.setNewestMonth(month)
  }

  get stats(): JournalStats {
    const now = this.#clock.monotonicMs()
    const inFlight = this.#lanes.flatMap((lane) => lane.inFlight ?? [])
    return {
      ...this.#counters.read(),
      state: this.#state.kind,
      waiting: this.#waiting.size,
      resends: this.#lanes.reduce((sum, { resends }) => sum + resends, 0),
      inFlightMs: Math.max(0, ...inFlight.map(({ at }) => now - at)),
      oldestMs: now - Math.min(this.#waiting.oldest ?? now, ...inFlight.map(({ oldest }) => oldest)),
      batchMax: this.#limit.max,
    }
  }

  /**
   * Settles when the record is durable, or when it is not and never will be. While the outcome is unknown, it stays pending.
   * @param since when the caller started to wait (monotonic milliseconds): the record may wait for `queuedMsMax` from then on
   * @throws JournalError when the record was not written
   */
  append(record: JournalRecord, since = this.#clock.monotonicMs()): Promise<Appended> {
    return new Promise((resolve, rejectPromise) => {
      const reject = (error: JournalError): void => rejectPromise(this.#counters.countRefusal(error))
      switch (this.#state.kind) {
        case 'closed':
          return reject(journalClosed())
        case 'fenced':
          return reject(fenced(this.#state.cause))
        case 'idle':
        case 'flushing':
          break
        default:
          unreachable(this.#state)
      }
      const shard = shardOf(record.agencyId)
      if (!this.#logs.isOwned(shard)) return reject(notOwner())
      const waiting = { record, shard, since, resolve, reject }
      if (!this.#waiting.push(waiting)) return reject(journalFull(this.#waiting.size))
      if (this.#state.kind === 'idle') {
        this.#state = { kind: 'flushing' }
        this.#stopWatching = this.#waiting.watch()
      }
      if (this.#isReady(waiting)) this.#ready += 1
      this.#dispatchSoon()
    })
  }

  readonly #isReady = ({ shard }: WaitingRecord): boolean => !this.#logs.isHeld(shard)

  /** Later, so that records of the same turn share a batch. */
  #dispatchSoon(): void {
    if (this.#isDispatchDue || !this.#isNextDue()) return
    this.#isDispatchDue = true
    this.#atEndOfTurn(() => {
      this.#isDispatchDue = false
      this.#dispatch()
      // All that waited may have been refused meanwhile.
      this.#rest()
    })
  }

  /** Whether the next batch should be sent now. */
  #isNextDue(): boolean {
    if (this.#busy.size === 0) return this.#waiting.size > 0
    if (this.#busy.size === this.#lanes.length || this.#ready === 0) return false
    return this.#slow.size > 0 || this.#ready >= Math.min(BESIDE_MIN, this.#limit.max)
  }

  #dispatch(): void {
    while (this.#state.kind === 'flushing' && this.#isNextDue()) {
      const lane = this.#lanes.find((each) => !this.#busy.has(each))
      assert(lane !== undefined, 'Cannot send a batch: every lane has one')
      const batch = this.#take()
      // Those that were counted as ready have been refused meanwhile.
      if (batch.length === 0) return
      void this.#send(lane, batch)
    }
  }

  /** The records of the next batch. Empty: what waits is held up, or a batch holds its shard. */
  #take(): WaitingRecord[] {
    const { max } = this.#limit
    const heldUp = this.#heldUp
    if (heldUp.isEmpty) return this.#waiting.take(max, this.#isReady)
    const ofShard = (shard: number) => this.#waiting.take(max, (waiting) => waiting.shard === shard)
    const next = this.#waiting.find((waiting) => this.#isReady(waiting) && !heldUp.isAtFault(waiting.shard))
    // Each takes a lane for as long as it waits for its lock: one at a time, beside the others.
    const { atFault } = heldUp
    if ((next === undefined || this.#lanes.length > 1) && !atFault.some((shard) => this.#logs.isHeld(shard))) {
      const shard = atFault.find((each) => this.#waiting.find((waiting) => waiting.shard === each) !== undefined)
      if (shard !== undefined) return ofShard(shard)
    }
    if (next === undefined) return []
    if (heldUp.goesAlone(next.shard)) return ofShard(next.shard)
    return this.#waiting.take(max, (waiting) => this.#isReady(waiting) && !heldUp.goesAlone(waiting.shard))
  }

  async #send(lane: Lane, batch: readonly WaitingRecord[]): Promise<void> {
    const shards = new Set(batch.map(({ shard }) => shard))
    this.#logs.hold(shards)
    this.#busy.add(lane)
    this.#ready = this.#waiting.count(this.#isReady)
    const stopTimer = this.#clock.after(BESIDE_AFTER_MS, () => {
      this.#slow.add(lane)
      this.#dispatch()
    })
    await lane.send(batch)
    stopTimer()
    this.#logs.release(shards)
    this.#busy.delete(lane)
    this.#slow.delete(lane)
    this.#ready = this.#waiting.count(this.#isReady)
    this.#dispatch()
    this.#rest()
  }

  /** Called after `#dispatch`: if nothing was sent and nothing is in flight, nothing waits either. */
  #rest(): void {
    for (const check of [...this.#settling]) check()
    if (this.#busy.size > 0) return
    this.#stopWatching()
    if (this.#state.kind === 'flushing') this.#state = { kind: 'idle' }
    for (const resolve of this.#drained.splice(0)) resolve()
  }

  /** Waits until everything appended so far is settled, then refuses what comes later. */
  async close(): Promise<void> {
    if (this.#state.kind === 'flushing') await this.#untilDrained()
    if (this.#state.kind === 'idle') this.#state = { kind: 'closed' }
  }

  #untilDrained(): Promise<void> {
    return new Promise((resolve) => this.#drained.push(resolve))
  }

  #refusalOf(shard: number): JournalError | null {
    if (this.#state.kind === 'fenced') return fenced(this.#state.cause)
    return this.#logs.isOwned(shard) ? null : notOwner()
  }

  #fencedBy(cause: unknown, shards: readonly number[]): void {
    if (this.#onShardsLost === null) {
      this.#stopServing(cause)
      return
    }
    this.retire(new Set(shards))
    this.#onShardsLost(shards, cause)
  }

  /** Serving ends before anything is looked up: until then reads come from memory that may be stale (J5). */
  #stopServing(cause: unknown): void {
    if (this.#state.kind === 'fenced') return
    this.#state = { kind: 'fenced', cause }
    this.#waiting.refuseAll(() => fenced(cause))
    this.#onFenced(cause, this.#untilDrained())
  }
}
