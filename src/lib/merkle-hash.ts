/** The hashes of a Merkle tree, RFC 6962, section 2.1: SHA-256, 32 bytes. */

export const HASH_BYTES = 32

/** A byte that no leaf begins with, and the hashes on the left and right. */
const node = new Uint8Array(1 + 2 * HASH_BYTES)
node[0] = 1

/** Of an entry's text. @returns 32 bytes */
export function leafHash(entry: string): Uint8Array {
  return sha256(`\0${entry}`)
}

/** Of two hashes. @returns 32 bytes */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1)
  node.set(right, 1 + HASH_BYTES)
  return sha256(node)
}

/** A quarter of the cost of a CryptoHasher. */
function sha256(bytes: string | Uint8Array): Uint8Array {
  const hash = new Uint8Array(HASH_BYTES)
  Bun.SHA256.hash(bytes, hash)
  return hash
}
