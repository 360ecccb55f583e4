import type { Checkpoint } from './history.ts'
import type { CallOptions, Transport } from './transport.ts'
import type { GetCheckpointProofAnswer } from './types.ts'

/*
 * Loaded when the first history is verified: most programs never do. What it imports at run time would be shared with the main module, in
 * a third one.
 */

type Hash = Uint8Array<ArrayBuffer>

/** How the history of `to` differs from a continuation of that of `from`. null: it is one. */
export async function contradictionOf(
  from: Checkpoint,
  to: Checkpoint,
  http: Transport,
  options?: CallOptions,
): Promise<string | null> {
  if (await isContinued(from, to, http, options)) return null
  const of = ({ size, origin }: Checkpoint) => `${size} entries of ${origin}`
  return (
    `The history was rewritten: ${of(to)} do not continue the ${of(from)} that an earlier checkpoint covers. ` +
    'Entries were changed or removed. Keep both signed checkpoints, `before` and `after`, and ask the agency'
  )
}

async function isContinued(from: Checkpoint, to: Checkpoint, http: Transport, options?: CallOptions): Promise<boolean> {
  if (from.origin !== to.origin || from.size > to.size) return false
  if (from.size === to.size) return from.root === to.root
  if (from.size === 0) return true
  const query = { from: from.size, to: to.size }
  const proof = await http.send({ path: ['checkpoint', 'proof'], query, read: readProof }, options)
  return isConsistent(from, to, proof.body)
}

function readProof(text: string): readonly Hash[] {
  const { hashes }: GetCheckpointProofAnswer = JSON.parse(text)
  return hashes.map(bytesOf)
}

/** Whether a proof shows that one tree is the beginning of a larger one (RFC 9162, 2.1.4.2). */
async function isConsistent(from: Checkpoint, to: Checkpoint, proof: readonly Hash[]): Promise<boolean> {
  let [place, last] = [from.size - 1, to.size - 1]
  const up = () => {
    // Not by shifting: a size may have more than 32 bits.
    ;[place, last] = [Math.floor(place / 2), Math.floor(last / 2)]
  }
  while (place % 2 === 1) up()
  // The proof does not repeat the root of a complete tree.
  const [first, ...steps] = place === 0 ? [bytesOf(from.root), ...proof] : proof
  if (first === undefined) return false
  let [fromHash, toHash] = [first, first]
  for (const step of steps) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      fromHash = await nodeHash(step, fromHash)
      toHash = await nodeHash(step, toHash)
      while (place % 2 === 0 && place !== 0) up()
    } else {
      toHash = await nodeHash(toHash, step)
    }
    up()
  }
  return last === 0 && isHash(fromHash, from.root) && isHash(toHash, to.root)
}

async function nodeHash(left: Hash, right: Hash): Promise<Hash> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array([1, ...left, ...right])))
}

function isHash(hash: Hash, base64: string): boolean {
  return String(hash) === String(bytesOf(base64))
}

function bytesOf(base64: string): Hash {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
}
