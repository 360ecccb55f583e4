/**
 * The journal: every change of the process goes through it, one group commit after the other.
 *
 * - J1 One append in flight per shard: here, one of the process. The next batch forms meanwhile.
 * - J2 A batch is one statement, all or nothing.
 * - J3 Sequence numbers are assigned here, without gaps in each shard. batch-sender.ts finds out the outcome of a batch that was
 *   sent.
 * - J4 A data error is our bug: the batch is bisected, so that only the poisoned record fails.
 * - J5 A fenced writer writes nothing more. It stops serving first, then answers the callers that wait.
 */
import { assert, unreachable } from '../../lib/assert.ts'
import { BoundedQueue } from '../../lib/bounded-queue.ts'
import type { Clock } from '../../lib/clock.ts'
import { Histogram, type HistogramReading } from '../../lib/histogram.ts'
import { encodeBatch, type ShardHead } from './batch.ts'
import { BatchSender, type FencedPart } from './batch-sender.ts'
import { JournalError, type JournalErrorKind } from './journal-error.ts'
import type { JournalStore, NumberedRecord, WriterTerm } from './journal-store.ts'
import type { Month } from './month.ts'
import type { JournalRecord } from './record.ts'
import { SHARDS, shardOf } from './shard.ts'

export interface JournalLimits {
  /** Records that may wait for a batch; one more is refused. */
  readonly waitingMax: number
  /** Records in one batch. */
  readonly batchMax: number
  /** How long a record waits for a database that is away or too slow, before it is refused as not written. */
  readonly queuedMsMax: number
}

const OVERDUE_CHECK_MS = 250
/** After batches were too slow, a batch that took less than this lets the limit grow again. */
const QUICK_APPEND_MS = 500

export interface Appended {
  /** The entry's sequence number; null for a record without an entry. */
  readonly seq: number | null
}

interface Waiting {
  readonly record: JournalRecord
  readonly since: number
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: JournalError) => void
}

/** A record of the batch in flight, with who waits for it. */
interface Sent extends NumberedRecord {
  readonly waiting: Waiting
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'flushing' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'fenced'; readonly cause: unknown }

/** What the metrics and the readiness probe read. */
export interface JournalStats {
  readonly state: State['kind']
  readonly waiting: number
  /** Entries that became durable, of all shards, since this process took over. */
  readonly entries: number
  readonly batches: number
  readonly records: number
  readonly resends: number
  /** Milliseconds since the batch in flight was first sent; 0 when there is none. */
  readonly inFlightMs: number
  /** Milliseconds since the oldest record that is not settled came, in flight or not; 0 when there is none. */
  readonly oldestMs: number
  /** The current limit of records in one batch: below the configured one after batches were too slow for the database. */
  readonly batchMax: number
  /** Records of each durable batch. */
  readonly batchSizes: HistogramReading
  /** From a batch's first send until it was known to be durable, milliseconds. */
  readonly appendMs: HistogramReading
  /** Records that did not become durable, by reason. */
  readonly refused: Readonly<Record<JournalErrorKind, number>>
}

const BATCH_SIZE_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] as const
const APPEND_BOUNDS_MS = [0.5, 1, 2, 3, 5, 7.5, 10, 15, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000] as const

export class Journal {
  readonly #store: JournalStore
  readonly #sender: BatchSender
  readonly #clock: Clock
  readonly #limits: JournalLimits
  readonly #onFenced: (cause: unknown, settled: Promise<void>) => void
  readonly #waiting: BoundedQueue<Waiting>
  readonly #drained: (() => void)[] = []
  #state: State = { kind: 'idle' }
  /** By shard. */
  readonly #heads: ShardHead[]
  readonly #chainKeys: readonly Uint8Array[]
  #newestMonth: Month
  #batchMax: number
  #entries = 0
  /** When the batch in flight was first sent, and when its oldest record came; null when there is none. */
  #sent: { readonly at: number; readonly oldest: number } | null = null
  #batches = 0
  #records = 0
  readonly #batchSizes = new Histogram(BATCH_SIZE_BOUNDS)
  readonly #appendMs = new Histogram(APPEND_BOUNDS_MS)
  readonly #refused = { full: 0, held_too_long: 0, fenced: 0, closed: 0, poisoned: 0, outcome_unknown: 0 }

  constructor(options: {
    store: JournalStore
    clock: Clock
    limits: JournalLimits
    term: WriterTerm
    /** Of the shards' chains, by shard. */
    chainKeys: readonly Uint8Array[]
    /**
     * Called once, immediately: the process must stop serving, and exit non-zero when `settled` resolves. By then every caller
     * has its outcome; this may take as long as `wasWritten`.
     */
    onFenced: (cause: unknown, settled: Promise<void>) => void
    newRenewalId: () => string
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#limits = options.limits
    const { shards, newestMonth } = options.term
    assert(
      shards.length === SHARDS && options.chainKeys.length === SHARDS,
      'Cannot open the journal: a shard is missing',
    )
    this.#heads = shards.map(({ lastSeq, lastMonth, lastLink }) => ({ lastSeq, lastMonth, lastLink }))
    this.#chainKeys = options.chainKeys
    this.#newestMonth = newestMonth
    this.#batchMax = options.limits.batchMax
    this.#onFenced = options.onFenced
    this.#sender = new BatchSender({ ...options, epochs: shards.map(({ epoch }) => epoch) })
    this.#waiting = new BoundedQueue(options.limits.waitingMax)
  }

  /** The epoch of this writer for the agency's shard. It rises whenever a doubt has to be settled. */
  epochOf(agencyId: string): number {
    return this.#sender.epochOf(shardOf(agencyId))
  }

  /** The epoch under which the process writes what belongs to no agency: that of shard 0. */
  get epoch(): number {
    return this.#sender.epochOf(0)
  }

  /** There are partitions up to this month now. */
  setNewestMonth(month: Month): void {
    this.#newestMonth = month
  }

  get stats(): JournalStats {
    const now = this.#clock.monotonicMs()
    const oldest = this.#sent?.oldest ?? this.#waiting.peek()?.since ?? now
    return {
      state: this.#state.kind,
      waiting: this.#waiting.size,
      entries: this.#entries,
      batches: this.#batches,
      records: this.#records,
      resends: this.#sender.resends,
      inFlightMs: this.#sent === null ? 0 : now - this.#sent.at,
      oldestMs: now - oldest,
      batchMax: this.#batchMax,
      batchSizes: this.#batchSizes.read(),
      appendMs: this.#appendMs.read(),
      refused: { ...this.#refused },
    }
  }

  /**
   * Settles when the record is durable, or when it is not and never will be. While the outcome is unknown, it stays pending.
   * @param since when the caller started to wait (monotonic milliseconds): the record may wait for `queuedMsMax` from then on
   * @throws JournalError when the record was not written
   */
  append(record: JournalRecord, since = this.#clock.monotonicMs()): Promise<Appended> {
    switch (this.#state.kind) {
      case 'closed':
        return Promise.reject(this.#counted(new JournalError('closed', 'Cannot append: the journal is closed')))
      case 'fenced':
        return Promise.reject(this.#counted(fenced(this.#state.cause)))
      case 'idle':
      case 'flushing':
        break
      default:
        unreachable(this.#state)
    }
    return new Promise((resolve, reject) => {
      const taken = this.#waiting.push({ record, since, resolve, reject })
      if (!taken) {
        reject(this.#counted(new JournalError('full', `Cannot append: ${this.#waiting.size} records already wait`)))
        return
      }
      if (this.#state.kind === 'idle') {
        this.#state = { kind: 'flushing' }
        // One turn of the loop later, so that records of the same tick share the first batch.
        queueMicrotask(() => void this.#flush())
      }
    })
  }

  /** Waits until everything appended so far is settled, then refuses what comes later. */
  async close(): Promise<void> {
    if (this.#state.kind === 'flushing') await new Promise<void>((resolve) => this.#drained.push(resolve))
    if (this.#state.kind === 'idle') this.#state = { kind: 'closed' }
  }

  async #flush(): Promise<void> {
    const stopChecking = this.#checkOverdue()
    while (this.#state.kind === 'flushing' && this.#waiting.size > 0) await this.#send(this.#takeBatch())
    stopChecking()
    if (this.#state.kind === 'flushing') this.#state = { kind: 'idle' }
    for (const resolve of this.#drained.splice(0)) resolve()
  }

  #takeBatch(): Waiting[] {
    const batch: Waiting[] = []
    while (batch.length < this.#batchMax) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      batch.push(next)
    }
    return batch
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch
    if (first === undefined) return
    const encoded = encodeBatch(
      batch.map(({ record }) => record),
      { heads: this.#heads, chainKeys: this.#chainKeys, newestMonth: this.#newestMonth },
    )
    const numbered = encoded.records.map((record, i): Sent => ({ ...record, waiting: batch[i] as Waiting }))
    const sentAt = this.#clock.monotonicMs()
    this.#sent = { at: sentAt, oldest: first.since }
    const fencedParts: FencedPart[] = []
    let finish = (): void => {}
    const outcome = await this.#sender.send(numbered, {
      isOverdue: () => batch.some((waiting) => this.#isOverdue(waiting)),
      onFenced: (part) => {
        fencedParts.push(part)
        if (fencedParts.length > 1) return
        const settled = new Promise<void>((resolve) => {
          finish = resolve
        })
        this.#stopServing(part.cause, settled)
      },
    })
    this.#sent = null

    const fencedShards = new Set(fencedParts.flatMap(({ batch: { shards } }) => shards.map(({ shard }) => shard)))
    const rest = numbered.filter(({ shard }) => !fencedShards.has(shard))
    const waiting = rest.map((sent) => sent.waiting)
    switch (outcome.kind) {
      case 'durable':
        this.#noteDuration(batch.length, this.#clock.monotonicMs() - sentAt)
        this.#batches += 1
        this.#batchSizes.count(rest.length)
        this.#settleDurable(rest)
        break
      case 'fenced':
        break
      case 'given_back':
        this.#requeue(waiting)
        break
      case 'too_slow':
        this.#batchMax = Math.max(1, batch.length >> 1)
        this.#requeue(waiting)
        break
      case 'poison':
        await this.#bisect(waiting, outcome.cause)
        break
      default:
        unreachable(outcome)
    }
    for (const part of fencedParts) await this.#settleFenced(part, numbered)
    finish()
  }

  /** The batch limit grows again, by an eighth at a time, while the database is quick. */
  #noteDuration(size: number, ms: number): void {
    this.#appendMs.count(ms)
    if (size < this.#batchMax || ms >= QUICK_APPEND_MS) return
    this.#batchMax = Math.min(this.#limits.batchMax, this.#batchMax + Math.ceil(this.#batchMax / 8))
  }

  #settleDurable(sent: readonly Sent[]): void {
    this.#records += sent.length
    for (const { shard, entry, waiting } of sent) {
      if (entry !== null) {
        this.#entries += 1
        this.#heads[shard] = { lastSeq: entry.seq, lastMonth: entry.month, lastLink: entry.link }
      }
      waiting.resolve({ seq: entry?.seq ?? null })
    }
  }

  /** Serving ends before anything is looked up: until then reads come from memory that may be stale (J5). */
  #stopServing(cause: unknown, settled: Promise<void>): void {
    this.#state = { kind: 'fenced', cause }
    this.#rejectWaiting(
      () => true,
      () => fenced(cause),
    )
    this.#onFenced(cause, settled)
  }

  /** After the fence nothing of the old epochs can commit any more, so whether an earlier send got through can be read. */
  async #settleFenced({ batch, cause, isInDoubt }: FencedPart, numbered: readonly Sent[]): Promise<void> {
    const shards = new Set(batch.shards.map(({ shard }) => shard))
    const sent = numbered.filter(({ shard }) => shards.has(shard))
    const written = isInDoubt ? await this.#store.wasWritten(batch) : false
    if (written === true) this.#settleDurable(sent)
    else {
      const error = () => (written === false ? fenced(cause) : outcomeUnknown(cause))
      this.#rejectAll(
        sent.map(({ waiting }) => waiting),
        error,
      )
    }
  }

  /** The sequence numbers of a poisoned batch were not used: the halves get them anew. */
  async #bisect(batch: readonly Waiting[], cause: unknown): Promise<void> {
    if (batch.length === 1) {
      this.#rejectAll(
        batch,
        () => new JournalError('poisoned', 'Cannot append: the database refused the record', { cause }),
      )
      return
    }
    const middle = batch.length >> 1
    if (this.#state.kind === 'fenced') {
      const { cause: fence } = this.#state
      return this.#rejectAll(batch, () => fenced(fence))
    }
    await this.#send(batch.slice(0, middle))
    // Once the first half has found the fence, nothing more is sent. The second half may overtake a first half that was requeued:
    // a unit never has two records waiting (U2).
    if (this.#state.kind === 'flushing') await this.#send(batch.slice(middle))
    else this.#rejectAll(batch.slice(middle), () => fenced(cause))
  }

  #isOverdue(waiting: Waiting): boolean {
    return this.#clock.monotonicMs() - waiting.since >= this.#limits.queuedMsMax
  }

  /**
   * The batch was not written: records that have waited too long are refused, the others go back to the front of the queue. After
   * a fence nothing is sent any more.
   */
  #requeue(batch: readonly Waiting[]): void {
    if (this.#state.kind === 'fenced') {
      const { cause } = this.#state
      this.#rejectAll(batch, () => fenced(cause))
      return
    }
    // Checked once per record: a record that becomes overdue between two checks would be neither refused nor sent.
    const overdue = new Set(batch.filter((waiting) => this.#isOverdue(waiting)))
    this.#rejectAll([...overdue], () => heldTooLong(this.#limits))
    this.#waiting.unshiftAll(batch.filter((waiting) => !overdue.has(waiting)))
  }

  /** While a batch keeps the journal busy, refuses those behind it that have waited too long. */
  #checkOverdue(): () => void {
    const check = (): void => {
      this.#rejectWaiting(
        (waiting) => this.#isOverdue(waiting),
        () => heldTooLong(this.#limits),
      )
      stop = this.#clock.after(OVERDUE_CHECK_MS, check)
    }
    let stop = this.#clock.after(OVERDUE_CHECK_MS, check)
    return () => stop()
  }

  #rejectWaiting(which: (waiting: Waiting) => boolean, error: () => JournalError): void {
    const kept: Waiting[] = []
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (which(next)) next.reject(this.#counted(error()))
      else kept.push(next)
    }
    this.#waiting.unshiftAll(kept)
  }

  #rejectAll(batch: readonly Waiting[], error: () => JournalError): void {
    for (const waiting of batch) waiting.reject(this.#counted(error()))
  }

  #counted(error: JournalError): JournalError {
    this.#refused[error.kind] += 1
    return error
  }
}

function fenced(cause: unknown): JournalError {
  return new JournalError('fenced', 'Cannot append: another writer has taken over', { cause })
}

function outcomeUnknown(cause: unknown): JournalError {
  return new JournalError('outcome_unknown', 'Cannot tell whether the record was appended', { cause })
}

function heldTooLong(limits: JournalLimits): JournalError {
  return new JournalError(
    'held_too_long',
    `Cannot append: the database did not accept the record within ${limits.queuedMsMax} ms`,
  )
}
