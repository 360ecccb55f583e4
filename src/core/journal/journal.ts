/**
 * The journal: every change of the process goes through it, one group commit after the other.
 *
 * - J1 One append in flight per shard: here, one of the process. The next batch forms meanwhile.
 * - J2 A batch is one statement, all or nothing.
 * - J3 Sequence numbers are assigned here, without gaps in each shard. batch-sender.ts finds out the outcome of a batch that was
 *   sent.
 * - J4 A data error is our bug: the batch is bisected, so that only the poisoned record fails.
 * - J5 A fenced writer writes nothing more than what is left of the batch in flight: the shards that are still its own. It stops
 *   serving first, then answers the callers that wait.
 */
import { assert, unreachable } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { encodeBatch, headAt, type LogEnd, type ShardHead } from './batch.ts'
import { BatchSender, type FencedPart } from './batch-sender.ts'
import type { EncodedEntry } from './entry-codec.ts'
import { fenced, type JournalError, journalClosed, journalFull, outcomeUnknown, poisoned } from './journal-error.ts'
import { JournalCounters, type JournalStats } from './journal-stats.ts'
import type { JournalStore, NumberedRecord, WriterTerm } from './journal-store.ts'
import type { Month } from './month.ts'
import type { JournalRecord } from './record.ts'
import { SHARDS, shardOf } from './shard.ts'
import { type WaitingRecord, WaitingRecords } from './waiting-records.ts'

export interface JournalLimits {
  /** Records that may wait for a batch; one more is refused. */
  readonly waitingMax: number
  /** Records in one batch. */
  readonly batchMax: number
  /** How long a record waits for a database that is away or too slow, before it is refused as not written. */
  readonly queuedMsMax: number
}

/** After batches were too slow, a batch that took less than this lets the limit grow again. */
const QUICK_APPEND_MS = 500

export interface Appended {
  /** The entry's sequence number in its shard; null for a record without an entry. */
  readonly seq: number | null
}

/** A record of the batch in flight, with who waits for it. */
interface Sent extends NumberedRecord {
  readonly waiting: WaitingRecord
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'flushing' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'fenced'; readonly cause: unknown }

export class Journal {
  readonly #store: JournalStore
  readonly #sender: BatchSender
  readonly #clock: Clock
  readonly #onFenced: (cause: unknown, settled: Promise<void>) => void
  readonly #onDurable: (entries: readonly EncodedEntry[]) => void
  readonly #waiting: WaitingRecords
  /** Called once nothing that was appended is open. */
  readonly #drained: (() => void)[] = []
  #state: State = { kind: 'idle' }
  /** By shard. */
  readonly #heads: ShardHead[]
  readonly #chainKeys: readonly Uint8Array[]
  #newestMonth: Month
  readonly #batchLimit: number
  #batchMax: number
  /** When the batch in flight was first sent, and when its oldest record came; null when there is none. */
  #inFlight: { readonly at: number; readonly oldest: number } | null = null
  readonly #counters = new JournalCounters()

  constructor(options: {
    store: JournalStore
    clock: Clock
    limits: JournalLimits
    term: WriterTerm
    /** Of the shards' chains, by shard. */
    chainKeys: readonly Uint8Array[]
    /**
     * Called once, immediately: the process must stop serving, and exit non-zero when `settled` resolves. By then every caller
     * has its outcome; this may take as long as `wasWritten`, and longer while the rest of the batch is in doubt.
     */
    onFenced: (cause: unknown, settled: Promise<void>) => void
    /** Called with the entries of each batch that has become durable, before anyone who appended them is told. Must be cheap. */
    onDurable?: (entries: readonly EncodedEntry[]) => void
    newRenewalId: () => string
  }) {
    const { store, clock, limits, chainKeys } = options
    const { shards, newestMonth } = options.term
    assert(shards.length === SHARDS && chainKeys.length === SHARDS, 'Cannot open the journal: a shard is missing')
    this.#store = store
    this.#clock = clock
    this.#heads = shards.map(({ lastSeq, lastMonth, lastLink }) => ({ lastSeq, lastMonth, lastLink }))
    this.#chainKeys = chainKeys
    this.#newestMonth = newestMonth
    this.#batchLimit = limits.batchMax
    this.#batchMax = limits.batchMax
    this.#onFenced = options.onFenced
    this.#onDurable = options.onDurable ?? (() => {})
    this.#sender = new BatchSender({ ...options, epochs: shards.map(({ epoch }) => epoch) })
    this.#waiting = new WaitingRecords({ clock, ...limits })
  }

  /** The epoch of this writer for the agency's shard. It rises whenever a doubt has to be settled. */
  epochOf(agencyId: string): number {
    return this.#sender.epochOf(shardOf(agencyId))
  }

  /** The epoch under which the process writes what belongs to no agency: that of shard 0. */
  get epoch(): number {
    return this.#sender.epochOf(0)
  }

  /** The end of the log of the agency's shard: everything that this process knows to be durable. */
  endOf(agencyId: string): ShardHead {
    const head = this.#heads[shardOf(agencyId)]
    assert(head !== undefined, 'Cannot tell the end of a log: there is no such shard')
    return head
  }

  /** Partitions now exist up to this month. Ignored if a newer month is already known. */
  setNewestMonth(month: Month): void {
    if (month > this.#newestMonth) this.#newestMonth = month
  }

  get stats(): JournalStats {
    const now = this.#clock.monotonicMs()
    const oldest = this.#inFlight?.oldest ?? this.#waiting.oldest ?? now
    return {
      ...this.#counters.read(),
      state: this.#state.kind,
      waiting: this.#waiting.size,
      resends: this.#sender.resends,
      inFlightMs: this.#inFlight === null ? 0 : now - this.#inFlight.at,
      oldestMs: now - oldest,
      batchMax: this.#batchMax,
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
      if (!this.#waiting.push({ record, since, resolve, reject })) return reject(journalFull(this.#waiting.size))
      if (this.#state.kind === 'idle') {
        this.#state = { kind: 'flushing' }
        // One turn of the loop later, so that records of the same tick share the first batch.
        queueMicrotask(() => void this.#flush())
      }
    })
  }

  /** Waits until everything appended so far is settled, then refuses what comes later. */
  async close(): Promise<void> {
    if (this.#state.kind === 'flushing') await this.#untilDrained()
    if (this.#state.kind === 'idle') this.#state = { kind: 'closed' }
  }

  #untilDrained(): Promise<void> {
    return new Promise((resolve) => this.#drained.push(resolve))
  }

  async #flush(): Promise<void> {
    const stopWatching = this.#waiting.watch()
    while (this.#state.kind === 'flushing' && this.#waiting.size > 0) {
      await this.#send(this.#waiting.take(this.#batchMax))
    }
    stopWatching()
    if (this.#state.kind === 'flushing') this.#state = { kind: 'idle' }
    for (const resolve of this.#drained.splice(0)) resolve()
  }

  async #send(batch: readonly WaitingRecord[]): Promise<void> {
    const [first] = batch
    assert(first !== undefined, 'Cannot send a batch: it is empty')
    const sentAt = this.#clock.monotonicMs()
    this.#inFlight = { at: sentAt, oldest: first.since }
    const fencedParts: FencedPart<Sent>[] = []
    const { outcome, left } = await this.#sender.send(this.#numbered(batch), {
      isOverdue: () => batch.some((waiting) => this.#waiting.isOverdue(waiting)),
      onFenced: (part) => {
        fencedParts.push(part)
        this.#stopServing(part.cause)
      },
    })
    this.#inFlight = null

    switch (outcome.kind) {
      case 'durable':
        this.#noteDuration(left.length, this.#clock.monotonicMs() - sentAt)
        this.#settleDurable(left)
        break
      case 'fenced':
        break
      case 'given_back':
        this.#requeue(left)
        break
      case 'too_slow':
        this.#batchMax = Math.max(1, left.length >> 1)
        this.#requeue(left)
        break
      case 'poison':
        await this.#bisect(left, outcome.cause)
        break
      default:
        unreachable(outcome)
    }
    for (const part of fencedParts) await this.#settleFenced(part)
  }

  #numbered(batch: readonly WaitingRecord[]): Sent[] {
    const log: LogEnd = { heads: this.#heads, chainKeys: this.#chainKeys, newestMonth: this.#newestMonth }
    const encoded = encodeBatch(
      batch.map(({ record }) => record),
      log,
    )
    return encoded.map((numbered, i) => ({ ...numbered, waiting: batch[i] as WaitingRecord }))
  }

  /** The batch limit grows again, by an eighth at a time, while the database is quick. */
  #noteDuration(size: number, ms: number): void {
    this.#counters.countBatch(size, ms)
    if (size < this.#batchMax || ms >= QUICK_APPEND_MS) return
    this.#batchMax = Math.min(this.#batchLimit, this.#batchMax + Math.ceil(this.#batchMax / 8))
  }

  #settleDurable(sent: readonly Sent[]): void {
    const entries = sent.flatMap(({ entry }) => entry ?? [])
    this.#counters.countRecords({ records: sent.length, entries: entries.length })
    for (const entry of entries) this.#heads[entry.shard] = headAt(entry)
    this.#onDurable(entries)
    for (const { entry, waiting } of sent) waiting.resolve({ seq: entry?.seq ?? null })
  }

  /** Serving ends before anything is looked up: until then reads come from memory that may be stale (J5). */
  #stopServing(cause: unknown): void {
    if (this.#state.kind === 'fenced') return
    this.#state = { kind: 'fenced', cause }
    this.#waiting.refuseAll(() => fenced(cause))
    this.#onFenced(cause, this.#untilDrained())
  }

  /** After the fence nothing of the old epochs can commit any more, so whether an earlier send got through can be read. */
  async #settleFenced({ batch, cause, isInDoubt }: FencedPart<Sent>): Promise<void> {
    const written = isInDoubt ? await this.#store.wasWritten(batch) : false
    if (written === true) this.#settleDurable(batch.records)
    else rejectAll(batch.records, () => (written === false ? fenced(cause) : outcomeUnknown(cause)))
  }

  /** The sequence numbers of a poisoned batch were not used: the halves get them anew. */
  async #bisect(batch: readonly Sent[], cause: unknown): Promise<void> {
    if (batch.length === 1) return rejectAll(batch, () => poisoned(cause))
    const middle = batch.length >> 1
    // The second half may overtake a first half that was requeued: a unit never has two records waiting (U2).
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      if (this.#isFenced(half)) continue
      await this.#send(half.map(({ waiting }) => waiting))
    }
  }

  /** The batch was not written, and is sent again later. */
  #requeue(batch: readonly Sent[]): void {
    if (this.#isFenced(batch)) return
    this.#waiting.putBack(batch.map(({ waiting }) => waiting))
  }

  /** After a fence nothing is sent any more. @returns whether these records have been refused for this reason */
  #isFenced(batch: readonly Sent[]): boolean {
    if (this.#state.kind !== 'fenced') return false
    const { cause } = this.#state
    rejectAll(batch, () => fenced(cause))
    return true
  }
}

function rejectAll(batch: readonly Sent[], error: () => JournalError): void {
  for (const { waiting } of batch) waiting.reject(error())
}
