import type { EncodedEntry } from '../../core/journal/entry-codec.ts'
import { shardOf } from '../../core/journal/shard.ts'

/** A journal entry that is durable, as far as a tree is concerned. */
export type DurableEntry = Pick<EncodedEntry, 'shard' | 'seq' | 'month' | 'agencyId' | 'id' | 'leaf'>

/** The newest entries of an agency. */
interface Queue {
  /** Every entry of the agency with a higher number is in `leaves`. Infinity: there may be others. */
  after: number
  /** In the order of their numbers. */
  leaves: RecentLeaf[]
}

export type RecentLeaf = Omit<DurableEntry, 'shard' | 'agencyId'>

/** What this process has written to a shard, without a gap and under one epoch. */
interface Run {
  readonly epoch: number
  lastSeq: number
  /** By agency. */
  readonly queues: Map<string, Queue>
}

/**
 * The leaves of entries that this process has just written, so that a tree can be extended without reading the journal. It may forget any
 * of them, and then says so: an agency has a queue from `follow` on, until entries may be missing from it.
 *
 * - M4 A tree gets recent leaves only if they are all that follow its last one: from a queue without a gap, of one epoch of its shard, that
 *   begins where the tree ends. Otherwise its next leaves are read from the journal.
 */
export class RecentLeaves {
  readonly #epochOf: (shard: number) => number
  readonly #leavesMax: number
  readonly #agencyLeavesMax: number
  /** By shard. */
  readonly #runs = new Map<number, Run>()
  /** Leaves in all queues. */
  #size = 0

  /**
   * @param options.epochOf the epoch of this writer for the shard: another one when another process may have written in between
   * @param options.leavesMax in memory, some 200 bytes each
   */
  constructor(options: { epochOf: (shard: number) => number; leavesMax: number; agencyLeavesMax: number }) {
    this.#epochOf = options.epochOf
    this.#leavesMax = options.leavesMax
    this.#agencyLeavesMax = options.agencyLeavesMax
  }

  get size(): number {
    return this.#size
  }

  /** Called for each entry, once it is durable: it does as little as possible. */
  note({ shard, seq, month, agencyId, id, leaf }: DurableEntry): void {
    const run = this.#runOf(shard)
    if (run?.lastSeq !== seq - 1) {
      this.#end(shard)
      this.#runs.set(shard, { epoch: this.#epochOf(shard), lastSeq: seq, queues: new Map() })
      return
    }
    run.lastSeq = seq
    const queue = run.queues.get(agencyId)
    if (queue === undefined) return
    if (this.#size === this.#leavesMax || queue.leaves.length === this.#agencyLeavesMax) this.forget(agencyId)
    else {
      queue.leaves.push({ seq, month, id, leaf })
      this.#size += 1
    }
  }

  /**
   * Keeps the leaves of the agency from here on, if it is known which entry of its shard is next. What is read from the journal afterwards
   * has all entries before them.
   */
  follow(agencyId: string): void {
    const queues = this.#runOf(shardOf(agencyId))?.queues
    if (queues?.has(agencyId) === false) queues.set(agencyId, { after: Number.POSITIVE_INFINITY, leaves: [] })
  }

  /** The tree has all entries of the agency up to this number, of those that were durable when `follow` was called. */
  settle(agencyId: string, lastSeq: number): void {
    const queue = this.#runOf(shardOf(agencyId))?.queues.get(agencyId)
    if (queue === undefined) return
    const next = queue.leaves.findIndex(({ seq }) => seq > lastSeq)
    const settled = next < 0 ? queue.leaves.length : next
    queue.leaves.splice(0, settled)
    this.#size -= settled
    queue.after = lastSeq
  }

  /** The leaves of all entries of the agency after this number, at most `limit`, in order; null: some may be missing. */
  after(agencyId: string, seq: number, limit: number): readonly RecentLeaf[] | null {
    const queue = this.#runOf(shardOf(agencyId))?.queues.get(agencyId)
    if (queue === undefined || queue.after > seq) return null
    const from = queue.leaves.findIndex((leaf) => leaf.seq > seq)
    return from < 0 ? [] : queue.leaves.slice(from, from + limit)
  }

  forget(agencyId: string): void {
    const queues = this.#runs.get(shardOf(agencyId))?.queues
    this.#size -= queues?.get(agencyId)?.leaves.length ?? 0
    queues?.delete(agencyId)
  }

  #runOf(shard: number): Run | undefined {
    const run = this.#runs.get(shard)
    if (run !== undefined && run.epoch !== this.#epochOf(shard)) this.#end(shard)
    return this.#runs.get(shard)
  }

  #end(shard: number): void {
    for (const { leaves } of this.#runs.get(shard)?.queues.values() ?? []) this.#size -= leaves.length
    this.#runs.delete(shard)
  }
}
