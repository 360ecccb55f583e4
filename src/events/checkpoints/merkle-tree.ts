/**
 * The Merkle tree of RFC 6962, section 2.1, over the entries of an agency. Pure: hashes are read by the caller.
 *
 * The hash of a complete subtree never changes, so all of them are kept in the order in which they become complete: the hash of a leaf,
 * then those of the subtrees that end with it. `n` leaves have fewer than `2n` of them.
 */

import { assert } from '../../lib/assert.ts'
import { nodeHash } from '../../lib/merkle-hash.ts'

/** 32 bytes. */
export type Hash = Uint8Array

/** A complete subtree: of the `2 ** level` leaves from `index * 2 ** level` on. */
export interface TreeNode {
  readonly level: number
  readonly index: number
}

/** The hash of a tree without leaves: of the empty text. */
export const EMPTY_ROOT: Hash = new Bun.CryptoHasher('sha256').digest()

/** How many hashes are kept for this many leaves. */
export function hashesFor(leaves: number): number {
  // Every leaf has one, and every inner node of the complete subtrees: as many as leaves but one for each subtree.
  return 2 * leaves - ones(leaves)
}

/** The place of a node's hash among those that are kept, and the leaf that completes it. */
export function placeOf({ level, index }: TreeNode): { readonly place: number; readonly leaf: number } {
  const leaf = (index + 1) * 2 ** level - 1
  return { place: hashesFor(leaf) + level, leaf }
}

/**
 * A tree that grows at its right edge, of which only the hashes of the largest complete subtrees are known: one for each bit of its
 * size.
 */
export class TreeEdge {
  #size: number
  readonly #hashes: Hash[]

  /** @param hashes of `nodesOf(0, size)` */
  constructor(size = 0, hashes: readonly Hash[] = []) {
    assert(hashes.length === ones(size), `Cannot continue a tree of ${size} leaves: it has another number of subtrees`)
    this.#size = size
    this.#hashes = [...hashes]
  }

  get size(): number {
    return this.#size
  }

  /**
   * Appends a leaf, or a complete subtree whose place is aligned to its size.
   * @param options.onComplete called with the hash, and with that of every larger subtree that it completes, in this order
   */
  append(hash: Hash, { level = 0, onComplete }: { level?: number; onComplete?: (hash: Hash) => void } = {}): void {
    let [current, height] = [hash, 2 ** level]
    assert(this.#size % height === 0, 'Cannot append a subtree: it begins at another place')
    onComplete?.(current)
    const size = this.#size + height
    for (; size % (height * 2) === 0; height *= 2) {
      const left = this.#hashes.pop()
      assert(left !== undefined, 'Cannot append to a tree: a hash is missing')
      current = nodeHash(left, current)
      onComplete?.(current)
    }
    this.#hashes.push(current)
    this.#size = size
  }

  root(): Hash {
    return rootOf(this.#hashes)
  }
}

/** The largest complete subtrees that cover the leaves `from` to `to`, exclusive, from left to right. */
export function nodesOf(from: number, to: number): TreeNode[] {
  const nodes: TreeNode[] = []
  for (let at = from; at < to; ) {
    let level = 0
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= to) level += 1
    nodes.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return nodes
}

/** The hash of a subtree, from the hashes of `nodesOf` its leaves. Only the right edge of a tree has more than one. */
export function rootOf(hashes: readonly Hash[]): Hash {
  const last = hashes.at(-1)
  if (last === undefined) return EMPTY_ROOT
  return hashes.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last)
}

/** Leaves, from the first to the last, exclusive. The hash of its subtree is one step of a proof. */
export type LeafRange = readonly [from: number, to: number]

/** That the leaf `index` is in the tree of `size` leaves (RFC 6962, 2.1.1). From the leaf to the root. */
export function inclusionProof(index: number, size: number): LeafRange[] {
  return pathTo(index, 0, size)
}

function pathTo(index: number, from: number, to: number): LeafRange[] {
  if (to - from <= 1) return []
  const middle = from + splitOf(to - from)
  return index < middle
    ? [...pathTo(index, from, middle), [middle, to]]
    : [...pathTo(index, middle, to), [from, middle]]
}

/** That the tree of `from` leaves is the beginning of the one of `to` leaves (RFC 6962, 2.1.2). */
export function consistencyProof(from: number, to: number): LeafRange[] {
  if (from === 0 || from === to) return []
  return subproof(from, [0, to], true)
}

function subproof(size: number, [from, to]: LeafRange, isWhole: boolean): LeafRange[] {
  if (size === to - from) return isWhole ? [] : [[from, to]]
  const split = splitOf(to - from)
  const middle = from + split
  return size <= split
    ? [...subproof(size, [from, middle], isWhole), [middle, to]]
    : [...subproof(size - split, [middle, to], false), [from, middle]]
}

/** The largest power of two below `size`, which is at least 2. */
function splitOf(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

/** Bits that are set. By division: a size may have more than 32 bits. */
function ones(of: number): number {
  let count = 0
  for (let rest = of; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2
  return count
}

/** Whether `hashes` prove that a leaf is in a tree (RFC 9162, 2.1.3.2). */
export function isIncluded(
  leaf: { readonly index: number; readonly hash: Hash },
  tree: { readonly size: number; readonly root: Hash },
  hashes: readonly Hash[],
): boolean {
  if (leaf.index >= tree.size) return false
  let [place, last, hash] = [leaf.index, tree.size - 1, leaf.hash]
  for (const step of hashes) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      hash = nodeHash(step, hash)
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)]
    } else {
      hash = nodeHash(hash, step)
    }
    ;[place, last] = [Math.floor(place / 2), Math.floor(last / 2)]
  }
  return last === 0 && isSameHash(hash, tree.root)
}

export function isSameHash(a: Hash, b: Hash): boolean {
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(b)
}
