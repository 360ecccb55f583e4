/**
 * Builds the trees of agencies, behind the write path (M1, M2): what is durable gets its leaves in the next round, some seconds later.
 * The leaves that this process has made itself are at hand (recent-leaves.ts); others are read from the journal.
 *
 * - M1 The leaves of an agency's tree are its journal entries, all of them, in the order of their numbers.
 * - M2 A tree only grows, and every process builds the same one: rows are only added, at the end that the builder has read, and two that
 *   build at once write the same rows.
 */

import type { ShardEpoch } from '../../core/journal/journal-store.ts'
import { shardOf } from '../../core/journal/shard.ts'
import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { HASH_BYTES } from '../../lib/merkle-hash.ts'
import { Rounds } from '../../lib/rounds.ts'
import { Slices } from '../../lib/slices.ts'
import {
  type BuiltPart,
  type CheckpointRows,
  type NextLeaves,
  TreeDamagedError,
  type TreeEnd,
} from './checkpoint-rows.ts'
import { type Hash, hashesFor, nodesOf, TreeEdge } from './merkle-tree.ts'
import type { DurableEntry, RecentLeaf, RecentLeaves } from './recent-leaves.ts'

/** A checkpoint is promised within a minute of a change. */
const ROUND_MS = 10_000
/** Trees that are extended by one statement, and by how much each: the database then takes some 20 ms at most. */
export const AGENCIES_AT_ONCE = 256
export const LEAVES_AT_ONCE = 1_024
export const RECENT_PER_STATEMENT = 4_096
/** Read from the journal by one statement. */
const AGENCIES_PER_READ = 32
export const LEAVES_PER_READ = 128
/** Looked at in one statement. */
const AGENCIES_PER_SEARCH = 200
/** Hashed without a pause: some 0.3 ms. A part is hashed as a whole. */
const LEAVES_PER_SLICE = 512
/** Trees whose edge is kept in memory, about 1 KB each. That of another agency is read again. */
const EDGES_MAX = 5_000
const NOTHING: ReadonlySet<string> = new Set()

interface Tree extends TreeEnd {
  readonly edge: TreeEdge
}

export class CheckpointBuilder {
  readonly #rows: CheckpointRows
  readonly #clock: Clock
  readonly #owned: () => readonly ShardEpoch[]
  readonly #recent: RecentLeaves
  readonly #rounds: Rounds
  /** Agencies with entries that may have no leaf. */
  readonly #noted = new Set<string>()
  /** The least recently used first. */
  readonly #trees = new Map<string, Tree>()
  /** Of shards whose agencies have been looked at: since then, every entry is noted. */
  readonly #searched = new Map<number, number>()
  #coveredAt: number

  constructor(options: {
    rows: CheckpointRows
    clock: Clock
    /** The shards of this process: each with another epoch when another process may have written in between. */
    owned: () => readonly ShardEpoch[]
    recent: RecentLeaves
    onFailure: (error: unknown) => void
  }) {
    this.#rows = options.rows
    this.#clock = options.clock
    this.#owned = options.owned
    this.#recent = options.recent
    const { clock, onFailure } = options
    this.#rounds = new Rounds({ clock, firstMs: ROUND_MS, everyMs: ROUND_MS, run: () => this.round(), onFailure })
    this.#coveredAt = options.clock.now()
  }

  /** Milliseconds since a round began that gave every entry its leaf; before the first one, since the start. */
  get behindMs(): number {
    return Math.max(0, this.#clock.now() - this.#coveredAt)
  }

  /** An entry is durable. Called for each, in the order of their numbers in a shard: it does as little as possible. */
  note(entry: DurableEntry): void {
    this.#noted.add(entry.agencyId)
    this.#recent.note(entry)
  }

  start(): void {
    this.#rounds.start()
  }

  /** Waits for the statement that runs, then builds nothing more: the next process continues. */
  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  /**
   * Adds a leaf for every entry that was durable when it began. All agencies get their turn before one with many entries gets another.
   * @throws what the database rejects with; or TreeDamagedError, once all others had their turn. What failed is noted again
   */
  async round(): Promise<void> {
    const began = this.#clock.now()
    await this.#searchNewShards()
    const damaged: TreeDamagedError[] = []
    for (let waiting: readonly string[] = [...this.#noted]; waiting.length > 0 && !this.#rounds.isStopped; ) {
      const further: string[] = []
      for (let from = 0; from < waiting.length && !this.#rounds.isStopped; from += AGENCIES_AT_ONCE)
        further.push(...(await this.#extend(waiting.slice(from, from + AGENCIES_AT_ONCE), damaged)))
      waiting = further
    }
    if (damaged.length > 0) throw damaged[0]
    if (!this.#rounds.isStopped) this.#coveredAt = began
  }

  /** Entries that were written before the shard came to this process were noted by another. */
  async #searchNewShards(): Promise<void> {
    const fresh = this.#owned().filter(({ shard, epoch }) => this.#searched.get(shard) !== epoch)
    if (fresh.length === 0) return
    const shards = fresh.map(({ shard }) => shard)
    // Others may have extended these trees since, or a fail-over may have lost the ends of them.
    for (const id of this.#trees.keys()) if (shards.includes(shardOf(id))) this.#trees.delete(id)
    for (let after: string | null = null; !this.#rounds.isStopped; ) {
      const { agencyIds, lastId } = await this.#rows.behind(shards, after, AGENCIES_PER_SEARCH)
      for (const id of agencyIds) this.#noted.add(id)
      after = lastId
      if (after === null) break
    }
    for (const { shard, epoch } of fresh) this.#searched.set(shard, epoch)
  }

  /** @returns those that have more, or may have */
  async #extend(agencyIds: readonly string[], damaged: TreeDamagedError[]): Promise<readonly string[]> {
    // Before anything is read, which may miss what becomes durable from here on.
    for (const id of agencyIds) this.#noted.delete(id)
    try {
      const trees = new Map<string, Tree>()
      for (const id of agencyIds) {
        const tree = this.#trees.get(id) ?? (await this.#read(id))
        if (!(tree instanceof TreeDamagedError)) trees.set(id, tree)
        else {
          this.#noted.add(id)
          damaged.push(tree)
        }
      }
      const { nexts, further } = await this.#next([...trees.values()])
      const parts: BuiltPart[] = []
      const slices = new Slices(LEAVES_PER_SLICE)
      for (const next of nexts) {
        const tree = trees.get(next.agencyId)
        assert(tree !== undefined, 'Cannot build a tree: leaves of another agency were read')
        parts.push(grow(tree, next))
        await slices.spend(next.leaves.length)
      }
      const kept = parts.length === 0 ? NOTHING : await this.#rows.keep(parts)
      for (const { agencyId, size, lastSeq, lastMonth } of parts) {
        const tree = trees.get(agencyId)
        if (tree !== undefined && kept.has(agencyId)) trees.set(agencyId, { ...tree, size, lastSeq, lastMonth })
        else {
          // Another process has added to the tree, or the log has lost its end. The next round reads how they are now.
          trees.delete(agencyId)
          this.#trees.delete(agencyId)
          further.delete(agencyId)
          this.#recent.forget(agencyId)
          this.#noted.add(agencyId)
        }
      }
      for (const tree of trees.values()) {
        this.#remember(tree)
        if (!further.has(tree.agencyId)) this.#recent.settle(tree.agencyId, tree.lastSeq)
        // In case that the round fails before their next turn.
        else this.#noted.add(tree.agencyId)
      }
      return [...further]
    } catch (error) {
      for (const id of agencyIds) {
        this.#noted.add(id)
        // Its edge may have leaves that were not stored.
        this.#trees.delete(id)
      }
      throw error
    }
  }

  /** The next leaves of trees, and which of the agencies have more, or may have. */
  async #next(
    trees: readonly Tree[],
  ): Promise<{ readonly nexts: readonly NextLeaves[]; readonly further: Set<string> }> {
    const nexts: NextLeaves[] = []
    const further = new Set<string>()
    const toRead: Tree[] = []
    let room = RECENT_PER_STATEMENT
    for (const tree of trees) {
      const limit = Math.min(LEAVES_AT_ONCE, room)
      const recent = this.#recent.after(tree.agencyId, tree.lastSeq, limit)
      if (recent === null) {
        if (toRead.length < AGENCIES_PER_READ) toRead.push(tree)
        else further.add(tree.agencyId)
      } else {
        const last = recent.at(-1)
        if (last !== undefined) nexts.push(nextOf(tree.agencyId, recent, last))
        if (recent.length === limit) further.add(tree.agencyId)
        room -= recent.length
      }
    }
    for (const { agencyId } of toRead) this.#recent.follow(agencyId)
    const read = toRead.length === 0 ? [] : await this.#rows.nextLeaves(toRead, LEAVES_PER_READ)
    for (const { agencyId, leaves } of read) if (leaves.length === LEAVES_PER_READ) further.add(agencyId)
    return { nexts: [...nexts, ...read], further }
  }

  async #read(agencyId: string): Promise<Tree | TreeDamagedError> {
    const end = await this.#rows.end(agencyId)
    try {
      const hashes = await this.#rows.hashes(agencyId, nodesOf(0, end.size))
      return { ...end, edge: new TreeEdge(end.size, hashes) }
    } catch (error) {
      if (error instanceof TreeDamagedError) return error
      throw error
    }
  }

  #remember(tree: Tree): void {
    this.#trees.delete(tree.agencyId)
    this.#trees.set(tree.agencyId, tree)
    if (this.#trees.size <= EDGES_MAX) return
    const [oldest = ''] = this.#trees.keys()
    this.#trees.delete(oldest)
    this.#recent.forget(oldest)
  }
}

function nextOf(agencyId: string, recent: readonly RecentLeaf[], last: RecentLeaf): NextLeaves {
  const { seq: lastSeq, month: lastMonth, id: lastId } = last
  return { agencyId, leaves: recent.map(({ leaf }) => leaf), lastSeq, lastMonth, lastId }
}

/** Appends to the edge of the tree. */
function grow({ size: firstLeaf, edge }: Tree, next: NextLeaves): BuiltPart {
  const hashes = new Uint8Array(HASH_BYTES * (hashesFor(firstLeaf + next.leaves.length) - hashesFor(firstLeaf)))
  let at = 0
  const onComplete = (hash: Hash): void => {
    hashes.set(hash, at)
    at += HASH_BYTES
  }
  for (const leaf of next.leaves) edge.append(leaf, { onComplete })
  return { ...next, firstLeaf, size: edge.size, hashes }
}
