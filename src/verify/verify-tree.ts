/** Compares the tree of an agency with its entries in the journal, and with itself. */

import { type Hash, isSameHash, TreeEdge } from '../events/checkpoints/merkle-tree.ts'
import { HASH_BYTES } from '../lib/merkle-hash.ts'
import type { Findings } from './findings.ts'
import type { TreePart, VerifyStore } from './verify-store.ts'

/**
 * Of archived entries only the tree is left: their leaves are taken as they are stored, and what is stored above them is computed again.
 * @param base the last entry of the agency's shard that was archived
 * @param limit rows in memory at a time
 */
export async function verifyTree({
  store,
  agencyId,
  base,
  limit,
  found,
}: {
  readonly store: Pick<VerifyStore, 'treeParts'>
  readonly agencyId: string
  readonly base: number
  readonly limit: number
  readonly found: Findings
}): Promise<void> {
  const edge = new TreeEdge()
  let lastSeq = 0
  for (;;) {
    const parts = await store.treeParts(agencyId, edge.size, limit)
    for (const part of parts) {
      const fault = faultIn(part, { edge, mayLackEntries: lastSeq < base })
      if (fault !== null) {
        // What comes after it cannot agree either.
        found.add('checkpoint', null, agencyId, fault)
        return
      }
      lastSeq = part.lastSeq
    }
    if (parts.length < limit) return
  }
}

/** Appends the part to the tree. @returns what is wrong with it */
function faultIn(part: TreePart, { edge, mayLackEntries }: { edge: TreeEdge; mayLackEntries: boolean }): string | null {
  const { firstLeaf, size, lastSeq, hashes, leaves } = part
  const leafCount = size - firstLeaf
  const archived = leafCount - leaves.length
  if (firstLeaf !== edge.size) return `leaves ${edge.size} to ${firstLeaf - 1} are missing from the tree`
  if (archived < 0 || (archived > 0 && !mayLackEntries))
    return `the tree has ${leafCount} leaves of entries up to ${lastSeq}, the journal ${leaves.length} entries`
  let place = 0
  const isStored = (hash: Hash): boolean => {
    const stored = hashes.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES)
    place += 1
    return isSameHash(stored, hash)
  }
  for (let index = 0; index < leafCount; index++) {
    const leaf = leaves[index - archived] ?? hashes.slice(place * HASH_BYTES, (place + 1) * HASH_BYTES)
    const complete: Hash[] = []
    edge.append(leaf, { onComplete: (hash) => void complete.push(hash) })
    if (!complete.every(isStored))
      return `leaf ${firstLeaf + index} is not that of its entry: one of them was changed after the checkpoint was made`
  }
  return null
}
