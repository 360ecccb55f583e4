/**
 * The journal: every change of the process goes through it. It has lanes (lane.ts) that append side by side: while the database
 * executes a batch of one lane, the process encodes the next batch of another.
 *
 * - J1 One append in flight per shard: a lane has one, and a shard belongs to one lane.
 * - J5 A process that is fenced for one shard stops as a whole. It stops serving first; then every lane refuses what waits, and
 *   finds out the outcome of its batch in flight.
 */
import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { JournalCounters, type JournalStats } from './journal-stats.ts'
import type { JournalStore, WriterTerm } from './journal-store.ts'
import { type Appended, Lane } from './lane.ts'
import type { Month } from './month.ts'
import type { JournalRecord } from './record.ts'
import { SHARDS, shardOf } from './shard.ts'
import { WaitingRecords } from './waiting-records.ts'

export interface JournalLimits {
  /** Records that may wait for a batch, in all lanes together; one more is refused. */
  readonly waitingMax: number
  /** Records in one batch. */
  readonly batchMax: number
  /** How long a record waits for a database that is away or too slow, before it is refused as not written. */
  readonly queuedMsMax: number
}

export class Journal {
  readonly #clock: Clock
  readonly #lanes: readonly Lane[]
  readonly #onFenced: (cause: unknown, settled: Promise<void>) => void
  #newestMonth: Month
  readonly #counters = new JournalCounters()

  constructor(options: {
    store: JournalStore
    clock: Clock
    limits: JournalLimits
    /** How many lanes: shard n belongs to lane n modulo this. */
    lanes: number
    term: WriterTerm
    /** Of the shards' chains, by shard. */
    chainKeys: readonly Uint8Array[]
    /**
     * Called once, immediately: the process must stop serving, and exit non-zero when `settled` resolves. By then every caller
     * has its outcome; this may take as long as `wasWritten`, and longer while the rest of a batch is in doubt.
     */
    onFenced: (cause: unknown, settled: Promise<void>) => void
    newRenewalId: () => string
  }) {
    const { store, clock, limits, chainKeys, lanes } = options
    const { shards, newestMonth } = options.term
    assert(shards.length === SHARDS && chainKeys.length === SHARDS, 'Cannot open the journal: a shard is missing')
    assert(Number.isInteger(lanes) && lanes >= 1, `Cannot open the journal: it cannot have ${lanes} lanes`)
    this.#clock = clock
    this.#newestMonth = newestMonth
    this.#onFenced = options.onFenced
    this.#lanes = Array.from(
      { length: lanes },
      (_, lane) =>
        new Lane({
          ...{ store: store.lane(lane), clock, batchMax: limits.batchMax, newRenewalId: options.newRenewalId },
          owns: (shard) => shard % lanes === lane,
          heads: shards.map(({ lastSeq, lastMonth, lastLink }) => ({ lastSeq, lastMonth, lastLink })),
          epochs: shards.map(({ epoch }) => epoch),
          logEnd: () => ({ chainKeys, newestMonth: this.#newestMonth }),
          waiting: new WaitingRecords({ clock, ...limits, waitingInAll: () => this.#waiting }),
          counters: this.#counters,
          onFenced: (cause) => this.#stopServing(cause),
        }),
    )
  }

  /** The epoch of this writer for the agency's shard. It rises whenever a doubt has to be settled. */
  epochOf(agencyId: string): number {
    const shard = shardOf(agencyId)
    return this.#laneOf(shard).epochOf(shard)
  }

  /** The epoch under which the process writes what belongs to no agency: that of shard 0. */
  get epoch(): number {
    return this.#laneOf(0).epochOf(0)
  }

  /** Partitions now exist up to this month. Ignored if a newer month is already known. */
  setNewestMonth(month: Month): void {
    if (month > this.#newestMonth) this.#newestMonth = month
  }

  get stats(): JournalStats {
    const lanes = this.#lanes
    const now = this.#clock.monotonicMs()
    return {
      ...this.#counters.read(),
      state: this.#state,
      waiting: this.#waiting,
      resends: lanes.reduce((sum, { resends }) => sum + resends, 0),
      inFlightMs: Math.max(...lanes.map(({ sentAt }) => now - (sentAt ?? now))),
      oldestMs: Math.max(...lanes.map(({ oldest }) => now - (oldest ?? now))),
      batchMax: Math.min(...lanes.map(({ batchMax }) => batchMax)),
    }
  }

  /** All lanes are fenced at once; they are closed one by one, and the journal is when all are. */
  get #state(): JournalStats['state'] {
    const states = new Set(this.#lanes.map(({ state }) => state))
    return (['fenced', 'flushing', 'idle'] as const).find((state) => states.has(state)) ?? 'closed'
  }

  /** Records that wait for a batch, in all lanes. */
  get #waiting(): number {
    let waiting = 0
    for (const lane of this.#lanes) waiting += lane.waiting
    return waiting
  }

  /**
   * Settles when the record is durable, or when it is not and never will be. While the outcome is unknown, it stays pending.
   * @param since when the caller started to wait (monotonic milliseconds): the record may wait for `queuedMsMax` from then on
   * @throws JournalError when the record was not written
   */
  append(record: JournalRecord, since = this.#clock.monotonicMs()): Promise<Appended> {
    return this.#laneOf(shardOf(record.agencyId)).append(record, since)
  }

  /** Waits until everything appended so far is settled, then refuses what comes later. */
  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()))
  }

  #laneOf(shard: number): Lane {
    const lane = this.#lanes[shard % this.#lanes.length]
    assert(lane !== undefined, `Cannot find the lane of shard ${shard}`)
    return lane
  }

  /**
   * Serving ends before anything is looked up: until then reads come from memory that may be stale (J5). What other lanes have in
   * flight is decided by the database: it is written where the shards are still this writer's.
   */
  #stopServing(cause: unknown): void {
    if (this.#state === 'fenced') return
    for (const lane of this.#lanes) lane.fence(cause)
    const settled = Promise.all(this.#lanes.map((lane) => lane.drained()))
    this.#onFenced(
      cause,
      settled.then(() => {}),
    )
  }
}
