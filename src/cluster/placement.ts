import { SHARDS } from '../core/journal/shard.ts'

const REMEMBERED_MAX = 8

/**
 * C2: who should own each shard: of the nodes, the one with the highest hash of its id and the shard (rendezvous hashing). A node that
 * comes or goes changes the owner of its own shards only.
 * @returns by shard; null everywhere without a node
 */
export function placementOf(nodes: readonly string[]): readonly (string | null)[] {
  return Array.from({ length: SHARDS }, (_, shard) => {
    let best: { node: string; weight: string } | null = null
    for (const node of nodes) {
      const weight = new Bun.CryptoHasher('sha256').update(`${shard} ${node}`).digest('hex')
      if (best === null || weight > best.weight) best = { node, weight }
    }
    return best?.node ?? null
  })
}

/** Remembers a few: of the present set of nodes, of the one before, and of those without this node. */
export class Placements {
  readonly #known = new Map<string, readonly (string | null)[]>()

  of(nodes: readonly string[]): readonly (string | null)[] {
    const name = nodes.join(' ')
    const known = this.#known.get(name)
    if (known !== undefined) return known
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear()
    const placement = placementOf(nodes)
    this.#known.set(name, placement)
    return placement
  }
}
