/**
 * A part of the journal: it appends the records of its shards, one group commit after the other, and waits for no other lane.
 *
 * - J1 One append in flight per lane, and every shard belongs to one lane: so one per shard. The next batch forms meanwhile.
 * - J2 A batch is one statement, all or nothing.
 * - J3 Sequence numbers are assigned here, without gaps in each shard. batch-sender.ts finds out the outcome of a batch that was
 *   sent.
 * - J4 A data error is our bug: the batch is bisected, so that only the poisoned record fails.
 * - J5 A fenced lane writes nothing more than what is left of its batch in flight: the shards that are still its own.
 */
import { assert, unreachable } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { encodeBatch, headAt, type LogEnd, type ShardHead } from './batch.ts'
import { BatchSender, type FencedPart } from './batch-sender.ts'
import { fenced, type JournalError, journalClosed, journalFull, outcomeUnknown, poisoned } from './journal-error.ts'
import type { JournalCounters } from './journal-stats.ts'
import type { LaneStore, NumberedRecord } from './journal-store.ts'
import type { JournalRecord } from './record.ts'
import type { WaitingRecord, WaitingRecords } from './waiting-records.ts'

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
  | { readonly kind: 'open' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'fenced'; readonly cause: unknown }

export class Lane {
  readonly #store: LaneStore
  readonly #sender: BatchSender
  readonly #clock: Clock
  readonly #onFenced: (cause: unknown) => void
  readonly #owns: (shard: number) => boolean
  readonly #waiting: WaitingRecords
  readonly #counters: JournalCounters
  /** By shard; those of other lanes are never read. */
  readonly #heads: ShardHead[]
  readonly #logEnd: () => Omit<LogEnd, 'heads'>
  readonly #batchLimit: number
  #batchMax: number
  #state: State = { kind: 'open' }
  /** Ends when nothing that was appended is open; null when nothing is. */
  #flushing: Promise<void> | null = null
  /** When the batch in flight was first sent, and when its oldest record came; null when there is none. */
  #inFlight: { readonly at: number; readonly oldest: number } | null = null

  constructor(options: {
    store: LaneStore
    clock: Clock
    /** Whether a shard belongs to this lane. */
    owns: (shard: number) => boolean
    /** By shard. */
    heads: readonly ShardHead[]
    /** By shard. */
    epochs: readonly number[]
    /** What is needed to continue the logs, besides their ends. */
    logEnd: () => Omit<LogEnd, 'heads'>
    waiting: WaitingRecords
    counters: JournalCounters
    batchMax: number
    /** Called for every fence that this lane meets, immediately: whoever is told must fence all lanes. */
    onFenced: (cause: unknown) => void
    newRenewalId: () => string
  }) {
    this.#store = options.store
    this.#sender = new BatchSender(options)
    this.#clock = options.clock
    this.#onFenced = options.onFenced
    this.#owns = options.owns
    this.#waiting = options.waiting
    this.#counters = options.counters
    this.#heads = [...options.heads]
    this.#logEnd = options.logEnd
    this.#batchLimit = options.batchMax
    this.#batchMax = options.batchMax
  }

  /** Of this writer for a shard of this lane. */
  epochOf(shard: number): number {
    return this.#sender.epochOf(shard)
  }

  get state(): 'idle' | 'flushing' | 'closed' | 'fenced' {
    if (this.#state.kind !== 'open') return this.#state.kind
    return this.#flushing === null ? 'idle' : 'flushing'
  }

  /** Records that wait for a batch. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** When the batch in flight was first sent, monotonic milliseconds; null when there is none. */
  get sentAt(): number | null {
    return this.#inFlight?.at ?? null
  }

  /** When the oldest record that is not settled came, in flight or not; null when there is none. */
  get oldest(): number | null {
    return this.#inFlight?.oldest ?? this.#waiting.oldest
  }

  /** The current limit of records in one batch. */
  get batchMax(): number {
    return this.#batchMax
  }

  /** Repeated sends of batches so far. */
  get resends(): number {
    return this.#sender.resends
  }

  /** As `Journal.append`, for a record of one of this lane's shards. */
  append(record: JournalRecord, since: number): Promise<Appended> {
    return new Promise((resolve, rejectPromise) => {
      const reject = (error: JournalError): void => rejectPromise(this.#counters.countRefusal(error))
      switch (this.#state.kind) {
        case 'closed':
          return reject(journalClosed())
        case 'fenced':
          return reject(fenced(this.#state.cause))
        case 'open':
          break
        default:
          unreachable(this.#state)
      }
      const full = this.#waiting.push({ record, since, resolve, reject })
      if (full !== null) return reject(journalFull(full))
      this.#flushing ??= this.#flush()
    })
  }

  /** Waits until everything appended so far is settled, then refuses what comes later. */
  async close(): Promise<void> {
    await this.drained()
    if (this.state === 'idle') this.#state = { kind: 'closed' }
  }

  /** Resolves when nothing that was appended is open. */
  async drained(): Promise<void> {
    await this.#flushing
  }

  /** Another writer has taken over, which this lane or another one has found: what waits is refused, and what comes. */
  fence(cause: unknown): void {
    if (this.#state.kind === 'fenced') return
    this.#state = { kind: 'fenced', cause }
    this.#waiting.refuseAll(() => fenced(cause))
  }

  async #flush(): Promise<void> {
    // One turn of the loop later, so that records of the same tick share the first batch.
    await Promise.resolve()
    const stopWatching = this.#waiting.watch()
    while (this.#state.kind === 'open' && this.#waiting.size > 0) await this.#send(this.#waiting.take(this.#batchMax))
    stopWatching()
    this.#flushing = null
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
        this.#onFenced(part.cause)
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
    const encoded = encodeBatch(
      batch.map(({ record }) => record),
      { heads: this.#heads, ...this.#logEnd() },
    )
    return encoded.map((numbered, i) => {
      const { shard } = numbered
      assert(this.#owns(shard), `Cannot number a record: shard ${shard} belongs to another lane`)
      return { ...numbered, waiting: batch[i] as WaitingRecord }
    })
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
    for (const { entry, waiting } of sent) waiting.resolve({ seq: entry?.seq ?? null })
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
