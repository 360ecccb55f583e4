import { HistoryRewrittenError } from './errors.ts'
import { type CallOptions, Resource } from './transport.ts'
import type { GetCheckpointProofAnswer } from './types.ts'

/** Stands for an agency's history up to a moment: the root of a Merkle tree (RFC 6962) over its entries. */
export interface Checkpoint {
  /** Names the history. After a restore from a backup it is another one. */
  readonly origin: string
  /** Entries. */
  readonly size: number
  /** SHA-256, in base64. */
  readonly root: string
  /** What the service has signed: keep this. */
  readonly note: string
}

type Hash = Uint8Array<ArrayBuffer>

export class History extends Resource {
  /** The newest checkpoint. It covers a change within a minute. */
  async checkpoint(options?: CallOptions): Promise<Checkpoint> {
    return (await this.http.send({ path: ['checkpoint'], read: readNote }, options)).body
  }

  /**
   * Checks that a history only grew: that of `before` is the beginning of that of `after`.
   * @param before the note of a checkpoint, as are `after`
   * @throws HistoryRewrittenError
   */
  async verify(before: string, after: string, options?: CallOptions): Promise<void> {
    const [from, to] = [readNote(before), readNote(after)]
    if (from.origin === to.origin) {
      if (from.size === to.size ? from.root === to.root : from.size === 0) return
      if (from.size < to.size) {
        const query = { from: from.size, to: to.size }
        const proof = await this.http.send({ path: ['checkpoint', 'proof'], query, read: readProof }, options)
        if (await isConsistent(from, to, proof.body)) return
      }
    }
    throw new HistoryRewrittenError(from, to)
  }
}

/** @throws TypeError */
export function readNote(note: string): Checkpoint {
  const [, origin = '', size, root = ''] =
    /^(.+)\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:.+\n)*\n(?:— .+\n)+$/.exec(note) ?? []
  if (size === undefined) throw new TypeError('A checkpoint must be a signed note, as the service has sent it')
  return { origin, size: Number(size), root, note }
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
