/** What partners see of an agency's tree: signed checkpoints, and the proofs that go with them. */

import { type CheckpointSigner, originOf } from './checkpoint-note.ts'
import type { CheckpointRows } from './checkpoint-rows.ts'
import { consistencyProof, type Hash, inclusionProof, type LeafRange, nodesOf, rootOf } from './merkle-tree.ts'

/** Entries of a booking in one proof, the newest ones. */
export const PROVED_ENTRIES_MAX = 100

export interface ProvedEntry {
  /** Of its leaf. */
  readonly index: number
  /** The bytes that the leaf is the hash of, as text. */
  readonly entry: string
  /** From the leaf to the root. */
  readonly hashes: readonly Hash[]
}

/** Runs a read when it is the agency's turn, as lists are. */
export type InTurn = <T>(agencyId: string, read: () => Promise<T>) => Promise<T>

export class Checkpoints {
  readonly #rows: CheckpointRows
  readonly #inTurn: InTurn
  readonly #historyId: string
  readonly #signer: CheckpointSigner
  #formerKeys: readonly string[] = []

  constructor(options: { rows: CheckpointRows; inTurn: InTurn; historyId: string; signer: CheckpointSigner }) {
    this.#rows = options.rows
    this.#inTurn = options.inTurn
    this.#historyId = options.historyId
    this.#signer = options.signer
  }

  /** The public keys, of which the first signs. */
  get keys(): readonly string[] {
    return [this.#signer.vkey, ...this.#formerKeys]
  }

  /** Adds the key to those that are listed, and learns of former ones. */
  async listKeys(): Promise<void> {
    const listed = await this.#rows.listKey(this.#signer.vkey)
    this.#formerKeys = listed.filter((vkey) => vkey !== this.#signer.vkey)
  }

  /** The newest checkpoint of the agency. Entries of the last seconds may not be in it yet. */
  latest(agencyId: string): Promise<string> {
    return this.#inTurn(agencyId, async () => {
      const { size } = await this.#rows.end(agencyId)
      return this.#noteOf(agencyId, size)
    })
  }

  /**
   * Proves that the tree of `from` leaves is the beginning of the one of `to` leaves.
   * @param sizes `from` must be at most `to`
   * @returns how many leaves there are, if these are fewer than `to`
   */
  consistency(
    agencyId: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<
    { readonly kind: 'proved'; readonly hashes: readonly Hash[] } | { readonly kind: 'beyond'; readonly size: number }
  > {
    return this.#inTurn(agencyId, async () => {
      const { size } = await this.#rows.end(agencyId)
      if (to > size) return { kind: 'beyond', size }
      return { kind: 'proved', hashes: await this.#hashes(agencyId, consistencyProof(from, to)) }
    })
  }

  /** Proves that the entries of a booking are in the newest checkpoint. Archived entries, and those of the last seconds, are left out. */
  ofBooking(
    agencyId: string,
    bookingId: string,
  ): Promise<{ readonly checkpoint: string; readonly entries: readonly ProvedEntry[] }> {
    return this.#inTurn(agencyId, async () => {
      const { size } = await this.#rows.end(agencyId)
      const leaves = await this.#rows.leavesOfBooking(agencyId, bookingId, PROVED_ENTRIES_MAX)
      // Without one that was added since the size was read.
      const proved = leaves
        .filter(({ index }) => index < size)
        .map((leaf) => ({ ...leaf, path: inclusionProof(leaf.index, size) }))
      const hashes = await this.#hashes(
        agencyId,
        proved.flatMap(({ path }) => path),
      )
      let at = 0
      const entries = proved.map(({ index, entry, path }) => {
        at += path.length
        return { index, entry, hashes: hashes.slice(at - path.length, at) }
      })
      return { checkpoint: await this.#noteOf(agencyId, size), entries }
    })
  }

  async #noteOf(agencyId: string, size: number): Promise<string> {
    const root = rootOf(await this.#rows.hashes(agencyId, nodesOf(0, size)))
    return this.#signer.sign({ origin: originOf(this.#historyId, agencyId), size, root })
  }

  /** Of subtrees. At the right edge of the tree they are made from several complete ones. */
  async #hashes(agencyId: string, ranges: readonly LeafRange[]): Promise<Hash[]> {
    const nodes = ranges.map(([from, to]) => nodesOf(from, to))
    const hashes = await this.#rows.hashes(agencyId, nodes.flat())
    let at = 0
    return nodes.map(({ length }) => {
      at += length
      return rootOf(hashes.slice(at - length, at))
    })
  }
}
