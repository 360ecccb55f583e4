import type { Owners } from '../shard-owners.ts'

/** A change is told at once; the rest of what a waiting request looks at, such as its time, at least this often. */
const LOOK_MS = 500

/** Tells requests in flight that their shard may have another owner: one wait for each shard, however many of its requests there are. */
export class ShardWatch {
  readonly #owners: Pick<Owners, 'changed'>
  readonly #lookers = new Map<number, Set<() => void>>()

  constructor(owners: Pick<Owners, 'changed'>) {
    this.#owners = owners
  }

  /** Calls `look` after each change, and now and then. @returns what ends that */
  on(shard: number, look: () => void): () => void {
    const lookers = this.#lookers.get(shard) ?? this.#begin(shard)
    lookers.add(look)
    return () => void lookers.delete(look)
  }

  #begin(shard: number): Set<() => void> {
    const lookers = new Set<() => void>()
    this.#lookers.set(shard, lookers)
    void this.#watch(shard, lookers)
    return lookers
  }

  async #watch(shard: number, lookers: Set<() => void>): Promise<void> {
    do {
      await this.#owners.changed(shard, LOOK_MS)
      for (const look of [...lookers]) look()
    } while (lookers.size > 0)
    this.#lookers.delete(shard)
  }
}
