import type { Month } from '../../core/journal/shard.ts'
import type { Hash, TreeNode } from './merkle-tree.ts'

/** Where the tree of an agency ends: how many leaves it has, and the entry of the last one. */
export interface TreeEnd {
  readonly agencyId: string
  /** Leaves. */
  readonly size: number
  /** 0: the tree is empty. */
  readonly lastSeq: number
  readonly lastMonth: Month
}

/** Leaves that a tree does not have yet. */
export interface NextLeaves {
  readonly agencyId: string
  /** Their hashes, at least one. */
  readonly leaves: readonly Hash[]
  readonly lastSeq: number
  readonly lastMonth: Month
  /** `evt_…` */
  readonly lastId: string
}

/** What a tree grows by: the leaves from `firstLeaf` to `size`, exclusive. */
export interface BuiltPart extends NextLeaves {
  readonly firstLeaf: number
  readonly size: number
  /** Of each leaf, and of the subtrees that it completes: one after the other. */
  readonly hashes: Uint8Array
}

export interface EntryLeaf {
  /** Of its leaf. */
  readonly index: number
  /** Its canonical bytes, as text. */
  readonly entry: string
}

/** A stored tree lacks hashes: its rows were lost or changed. No checkpoint of the agency is signed until they are back. */
export class TreeDamagedError extends Error {
  constructor(agencyId: string) {
    super(`Cannot read the tree of ${agencyId}: it lacks hashes`)
    this.name = 'TreeDamagedError'
  }
}

/** The port to the trees, which are stored beside the journal that they are built from. */
export interface CheckpointRows {
  /**
   * Of the next `limit` agencies of these shards, by id after `after`, those that have entries without a leaf.
   * @returns `lastId`: the last agency that was looked at; null: there are no more
   */
  behind(
    shards: readonly number[],
    after: string | null,
    limit: number,
  ): Promise<{ readonly agencyIds: readonly string[]; readonly lastId: string | null }>
  end(agencyId: string): Promise<TreeEnd>
  /** Hashes of complete subtrees. @throws TreeDamagedError when the tree lacks one */
  hashes(agencyId: string, nodes: readonly TreeNode[]): Promise<readonly Hash[]>
  /** The next leaves after these ends, at most `limit` of each agency. Agencies without any are left out. */
  nextLeaves(ends: readonly TreeEnd[], limit: number): Promise<readonly NextLeaves[]>
  /** Of several agencies, each once. @returns the agencies whose trees have grown; of the others a tree ends elsewhere by now */
  keep(parts: readonly BuiltPart[]): Promise<ReadonlySet<string>>
  /** The newest entries of a booking that have a leaf, oldest first, at most `limit`. */
  leavesOfBooking(agencyId: string, bookingId: string, limit: number): Promise<readonly EntryLeaf[]>
  /** Lists a public key that signs, if it is not listed yet. @returns all that are listed, the newest first */
  listKey(vkey: string): Promise<readonly string[]>
}
