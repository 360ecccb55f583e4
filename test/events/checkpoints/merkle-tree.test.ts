import { describe, expect, test } from 'bun:test'
import {
  consistencyProof,
  EMPTY_ROOT,
  type Hash,
  hashesFor,
  inclusionProof,
  isIncluded,
  nodesOf,
  placeOf,
  rootOf,
  TreeEdge,
} from '../../../src/events/checkpoints/merkle-tree.ts'
import { isConsistent } from '../../support/checkpoints.ts'

const sha256 = (...parts: Uint8Array[]): Hash => {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest()
}

const leafHash = (entry: string | Uint8Array): Hash => sha256(new Uint8Array([0]), Buffer.from(entry))

/** Word for word as RFC 6962 defines it, with nothing kept. */
function naiveRoot(leaves: readonly Uint8Array[]): Hash {
  const [only] = leaves
  if (only === undefined) return sha256()
  if (leaves.length === 1) return sha256(new Uint8Array([0]), only)
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return sha256(new Uint8Array([1]), naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split)))
}

const leavesOf = (count: number) => Array.from({ length: count }, (_, index) => Buffer.from(`entry ${index}`))

/** The tree of these leaves, as it is kept. */
function grown(leaves: readonly Uint8Array[]) {
  const edge = new TreeEdge()
  const kept: Hash[] = []
  for (const leaf of leaves) edge.append(leafHash(leaf), { onComplete: (hash) => kept.push(hash) })
  const hashOf = ([from, to]: readonly [number, number]) =>
    rootOf(nodesOf(from, to).map((node) => kept[placeOf(node).place] ?? new Uint8Array()))
  return { edge, kept, hashOf }
}

describe('the Merkle tree', () => {
  test('has the root of a tree that is computed from nothing but the RFC, at every size up to 70', () => {
    for (let size = 0; size <= 70; size++) {
      const leaves = leavesOf(size)
      const { edge, kept, hashOf } = grown(leaves)
      expect(edge.root()).toEqual(naiveRoot(leaves))
      expect(hashOf([0, size])).toEqual(naiveRoot(leaves))
      expect(kept).toHaveLength(hashesFor(size))
    }
  })

  test('has the roots of the test vectors of certificate transparency', () => {
    // https://github.com/google/certificate-transparency, MerkleTreeTest: the published roots of its eight leaves.
    const vectors = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
    const leaves = vectors.map((hex) => Buffer.from(hex, 'hex'))
    const root = (size: number) => Buffer.from(grown(leaves.slice(0, size)).edge.root()).toString('hex')
    expect(root(0)).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(root(1)).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
    expect(root(8)).toBe('5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328')
  })

  test('continues anywhere from the hashes that are kept', () => {
    const leaves = leavesOf(66)
    const { kept } = grown(leaves)
    for (let at = 0; at <= 66; at++) {
      const known = nodesOf(0, at).map((node) => kept[placeOf(node).place] ?? new Uint8Array())
      const edge = new TreeEdge(at, known)
      const added: Hash[] = []
      for (const leaf of leaves.slice(at)) edge.append(leafHash(leaf), { onComplete: (hash) => added.push(hash) })
      expect(edge.root()).toEqual(naiveRoot(leaves))
      expect(added).toEqual(kept.slice(hashesFor(at)))
    }
  })

  test('proves every leaf of every size, and no other leaf', () => {
    for (let size = 1; size <= 40; size++) {
      const leaves = leavesOf(size)
      const { edge, hashOf } = grown(leaves)
      const tree = { size, root: edge.root() }
      leaves.forEach((leaf, index) => {
        const proof = inclusionProof(index, size).map(hashOf)
        expect(isIncluded({ index, hash: leafHash(leaf) }, tree, proof)).toBe(true)
        expect(isIncluded({ index, hash: leafHash('another') }, tree, proof)).toBe(false)
        expect(isIncluded({ index: (index + 1) % size, hash: leafHash(leaf) }, tree, proof)).toBe(size === 1)
        expect(isIncluded({ index, hash: leafHash(leaf) }, tree, [...proof, EMPTY_ROOT])).toBe(false)
        if (proof.length > 0) expect(isIncluded({ index, hash: leafHash(leaf) }, tree, proof.slice(1))).toBe(false)
      })
    }
  })

  test('proves that every size is the beginning of every larger one, and of none with another history', () => {
    const leaves = leavesOf(40)
    for (let to = 1; to <= 40; to++) {
      const { edge, hashOf } = grown(leaves.slice(0, to))
      const later = { size: to, root: edge.root() }
      for (let from = 1; from < to; from++) {
        const proof = consistencyProof(from, to).map(hashOf)
        const earlier = { size: from, root: naiveRoot(leaves.slice(0, from)) }
        expect(isConsistent(earlier, later, proof)).toBe(true)
        const rewritten = leaves.slice(0, from).with(from - 1, Buffer.from('rewritten'))
        expect(isConsistent({ size: from, root: naiveRoot(rewritten) }, later, proof)).toBe(false)
      }
    }
  })

  test('puts a subtree only where it is aligned', () => {
    const edge = new TreeEdge()
    edge.append(leafHash('a'))
    expect(() => edge.append(leafHash('b'), { level: 1 })).toThrow('it begins at another place')
    expect(() => new TreeEdge(3, [])).toThrow('another number of subtrees')
  })
})
