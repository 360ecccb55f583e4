/**
 * A lane of the journal: sends one batch at a time, and settles it.
 *
 * - J2 A batch is one statement, all or nothing.
 * - J3 batch.ts finds out the outcome of a batch that was sent.
 * - J4 A data error is our bug: the batch is bisected, so that only the poisoned record fails.
 * - J5 Of a shard that was lost, whichever lane learned of it, nothing is sent any more. What is left of the batch in flight continues:
 *   the shards that are still this writer's.
 * - J8 A batch that a lock holds up waits again, and each of its shards is sent alone (journal.ts).
 */
import { assert, unreachable } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HeldUp } from '../../lib/measures.ts'
import type { BatchLimit } from './batch.ts'
import { BatchSender, type FencedPart } from './batch.ts'
import type { EncodedEntry } from './entry-codec.ts'
import { type JournalError, outcomeUnknown, poisoned } from './journal-error.ts'
import type { LaneStore, NumberedRecord } from './journal-store.ts'
import type { ShardLogs } from './shard-logs.ts'
import { type JournalCounters, sizeOf, type WaitingRecord, type WaitingRecords } from './waiting-records.ts'

/** A record of the batch in flight, with who waits for it. */
interface Sent extends NumberedRecord {
  readonly waiting: WaitingRecord
}

/** The batch in flight. */
interface InFlight {
  readonly records: number
  /** When it was first sent, monotonic milliseconds. */
  readonly at: number
  /** When its oldest record came. */
  readonly oldest: number
}

export class Lane {
  readonly #store: LaneStore
  readonly #sender: BatchSender
  readonly #clock: Clock
  readonly #logs: ShardLogs
  readonly #limit: BatchLimit
  readonly #waiting: WaitingRecords
  readonly #heldUp: HeldUp<number>
  readonly #counters: JournalCounters
  readonly #refusalOf: (shard: number) => JournalError | null
  readonly #fencedError: (cause: unknown) => JournalError
  readonly #onFenced: (cause: unknown, shards: readonly number[]) => void
  readonly #onDurable: (entries: readonly EncodedEntry[]) => void
  #inFlight: InFlight | null = null

  constructor(options: {
    store: LaneStore
    clock: Clock
    logs: ShardLogs
    limit: BatchLimit
    /** Where records go that are to be sent again later. */
    waiting: WaitingRecords
    /** Shards that are sent alone. */
    heldUp: HeldUp<number>
    counters: JournalCounters
    /** Why nothing of the shard may be sent any more; null while it may. */
    refusalOf: (shard: number) => JournalError | null
    /** What a record of a fenced shard is refused with. */
    fencedError: (cause: unknown) => JournalError
    /** Called for every fence that this lane meets, immediately. */
    onFenced: (cause: unknown, shards: readonly number[]) => void
    /** Called with the entries of each batch that has become durable, before anyone who appended them is told. Must be cheap. */
    onDurable: (entries: readonly EncodedEntry[]) => void
    newRenewalId: () => string
  }) {
    this.#store = options.store
    this.#sender = new BatchSender({ ...options, epochs: options.logs.epochs })
    this.#clock = options.clock
    this.#logs = options.logs
    this.#limit = options.limit
    this.#waiting = options.waiting
    this.#heldUp = options.heldUp
    this.#counters = options.counters
    this.#refusalOf = options.refusalOf
    this.#fencedError = options.fencedError
    this.#onFenced = options.onFenced
    this.#onDurable = options.onDurable
  }

  /** Null while nothing is sent, and while it is decided what becomes of a batch that was sent. */
  get inFlight(): InFlight | null {
    return this.#inFlight
  }

  /** Repeated sends of batches so far. */
  get resends(): number {
    return this.#sender.resends
  }

  /** Sends records whose shards are held. When it returns, each is settled or waits again. Never rejects. */
  async send(batch: readonly WaitingRecord[]): Promise<void> {
    const [first] = batch
    assert(first !== undefined, 'Cannot send a batch: it is empty')
    const sentAt = this.#clock.monotonicMs()
    this.#inFlight = { records: batch.length, at: sentAt, oldest: first.since }
    const fencedParts: FencedPart<Sent>[] = []
    const { outcome, left } = await this.#sender.send(this.#numbered(batch), {
      isOverdue: () => batch.some((waiting) => this.#waiting.isOverdue(waiting)),
      onFenced: (part) => {
        fencedParts.push(part)
        const shards = part.batch.shards.map(({ shard }) => shard)
        this.#onFenced(part.cause, shards)
      },
    })
    this.#inFlight = null

    switch (outcome.kind) {
      case 'durable': {
        const ms = this.#clock.monotonicMs() - sentAt
        this.#counters.countBatch(left.length, ms)
        this.#limit.noteDurable(sizeOfAll(left), ms)
        this.#heldUp.clear(left.map(({ shard }) => shard))
        this.#settleDurable(left)
        break
      }
      case 'fenced':
        break
      case 'given_back':
        this.#requeue(left)
        break
      case 'too_slow':
        this.#limit.noteTooSlow(sizeOfAll(left))
        this.#requeue(left)
        break
      case 'held_up':
        this.#heldUp.note([...new Set(left.map(({ shard }) => shard))])
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
    const numbered = this.#logs.numbered(batch.map(({ record }) => record))
    return numbered.map((record, i) => ({ ...record, waiting: batch[i] as WaitingRecord }))
  }

  #settleDurable(sent: readonly Sent[]): void {
    const entries = sent.flatMap((record) => record.entries)
    this.#counters.countRecords({ records: sent.length, entries: entries.length })
    for (const entry of entries) this.#logs.advance(entry)
    this.#onDurable(entries)
    for (const record of sent) record.waiting.resolve({ seq: record.entries[0]?.seq ?? null })
  }

  /** After the fence nothing of the old epochs can commit any more, so whether an earlier send got through can be read. */
  async #settleFenced({ batch, cause, isInDoubt }: FencedPart<Sent>): Promise<void> {
    const written = isInDoubt ? await this.#store.wasWritten(batch) : false
    if (written === true) this.#settleDurable(batch.records)
    else rejectAll(batch.records, () => (written === false ? this.#fencedError(cause) : outcomeUnknown(cause)))
  }

  /** The sequence numbers of a poisoned batch were not used: the halves get them again. */
  async #bisect(batch: readonly Sent[], cause: unknown): Promise<void> {
    if (batch.length === 1) return rejectAll(batch, () => poisoned(cause))
    const middle = batch.length >> 1
    // The second half may overtake a first half that was requeued: a unit never has two records waiting (U2).
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      const left = this.#stillOwned(half)
      if (left.length > 0) await this.send(left)
    }
  }

  /** The batch was not written, and is sent again later. */
  #requeue(batch: readonly Sent[]): void {
    this.#waiting.putBack(this.#stillOwned(batch))
  }

  /** Refuses those of the records that may not be sent any more. @returns the others */
  #stillOwned(batch: readonly Sent[]): WaitingRecord[] {
    return batch.flatMap(({ shard, waiting }) => {
      const refusal = this.#refusalOf(shard)
      if (refusal === null) return waiting
      waiting.reject(refusal)
      return []
    })
  }
}

function sizeOfAll(batch: readonly Sent[]): number {
  return batch.reduce((size, { record }) => size + sizeOf(record), 0)
}

function rejectAll(batch: readonly Sent[], error: () => JournalError): void {
  for (const { waiting } of batch) waiting.reject(error())
}
