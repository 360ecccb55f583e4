/**
 * - C2 At most `MOVES_MAX` shards of a node move to others at a time, `LEAVING_MOVES_MAX` when the node is being stopped; and to no node more
 *   than it already serves, or one: a process that has just started runs code that is not compiled yet.
 * - C7 Compares who should own each shard with who does, and says what this node does about it. Pure: it is asked after every change, and
 *   every second.
 */

import { SHARDS } from '../core/journal/shard.ts'
import type { HeldClaim } from './cluster-view.ts'

/** Nodes whose weights are kept. */
const NODES_KEPT_MAX = 64

/**
 * C2: who should own each shard: of the nodes, the one with the highest hash of its id and the shard (rendezvous hashing). A node that
 * comes or goes changes the owner of its own shards only.
 * @returns by shard; null everywhere without a node
 */
export function placementOf(nodes: readonly string[], weightsOf = hashedWeights): readonly (string | null)[] {
  const placement = new Array<string | null>(SHARDS).fill(null)
  const best = new Array<string>(SHARDS).fill('')
  for (const node of nodes)
    for (const [shard, weight] of weightsOf(node).entries())
      if (weight > (best[shard] as string)) {
        best[shard] = weight
        placement[shard] = node
      }
  return placement
}

function hashedWeights(node: string): readonly string[] {
  return Array.from({ length: SHARDS }, (_, shard) =>
    new Bun.CryptoHasher('sha256').update(`${shard} ${node}`).digest('hex'),
  )
}

/** `placementOf`, with the weights of each node hashed once: when a node goes, the requests of the others would wait for that. */
export class Placements {
  readonly #weights = new Map<string, readonly string[]>()
  readonly #weightsOf = (node: string): readonly string[] => {
    const known = this.#weights.get(node)
    if (known !== undefined) return known
    if (this.#weights.size >= NODES_KEPT_MAX) this.#weights.clear()
    const weights = hashedWeights(node)
    this.#weights.set(node, weights)
    return weights
  }
  #last: { readonly nodes: string; readonly placement: readonly (string | null)[] } | null = null

  of(nodes: readonly string[]): readonly (string | null)[] {
    const name = nodes.join(' ')
    if (this.#last?.nodes !== name) this.#last = { nodes: name, placement: placementOf(nodes, this.#weightsOf) }
    return this.#last.placement
  }
}

/** Of one node, at a time. */
export const MOVES_MAX = 8
/** A process that is being stopped has seconds to hand over everything, and a move costs little more for four times the shards. */
export const LEAVING_MOVES_MAX = 32

/** What this node does next, by shard. No shard is in two of the lists. */
export interface Steps {
  /** Make the key, then acquire. */
  readonly claim: readonly number[]
  /** The key is there: acquire. */
  readonly acquire: readonly number[]
  /** The key does not say yet that the shard is served, or is gone although nobody else has it: write it. */
  readonly announce: readonly number[]
  /** Hand over. */
  readonly release: readonly number[]
  /** Another node has the key: stop at once. */
  readonly drop: readonly number[]
  /** Remove the key of a shard that is not owned. */
  readonly unclaim: readonly number[]
}

export interface Situation {
  readonly self: string
  /** The present lease. */
  readonly lease: string
  /** By shard. */
  readonly claims: readonly (HeldClaim | null)[]
  /** Who should own it, by shard; null: nobody can. */
  readonly wanted: readonly (string | null)[]
  /** Shards that the engine decides. */
  readonly owned: ReadonlySet<number>
  /** Shards that something is being done with, or that wait before it is tried again: they are left alone. */
  readonly busy: ReadonlySet<number>
  /** Shards on their way from this node to others. */
  readonly moving: number
  /** So soon after the last group, no other one moves. */
  readonly isResting: boolean
  /** The process is being stopped. */
  readonly isLeaving: boolean
}

export function stepsOf(situation: Situation): Steps {
  const steps = { claim: [], acquire: [], announce: [], release: [], drop: [], unclaim: [] } satisfies Record<
    keyof Steps,
    number[]
  > as Record<keyof Steps, number[]>
  for (let shard = 0; shard < situation.claims.length; shard++) {
    const step = situation.busy.has(shard) ? null : stepOf(shard, situation)
    if (step !== null) steps[step].push(shard)
  }
  return { ...steps, release: situation.moving > 0 || situation.isResting ? [] : nextBatch(steps.release, situation) }
}

/** Batch after batch: a shard at a time would cost as many transactions and take-overs as there are shards. */
function nextBatch(shards: readonly number[], { claims, wanted, isLeaving }: Situation): readonly number[] {
  const served = new Map<string | null, number>()
  for (const claim of claims) if (claim?.isServing === true) served.set(claim.node, (served.get(claim.node) ?? 0) + 1)
  const given = new Map<string | null, number>()
  const batch: number[] = []
  for (const shard of shards) {
    const node = wanted[shard] ?? null
    const soFar = given.get(node) ?? 0
    if (soFar >= Math.max(1, served.get(node) ?? 0)) continue
    given.set(node, soFar + 1)
    batch.push(shard)
    if (batch.length === (isLeaving ? LEAVING_MOVES_MAX : MOVES_MAX)) break
  }
  return batch
}

function stepOf(shard: number, { self, lease, claims, wanted, owned, isLeaving }: Situation): keyof Steps | null {
  const claim = claims[shard] ?? null
  const owner = wanted[shard] ?? null
  const isWanted = !isLeaving && (owner ?? self) === self
  const isMine = claim !== null && claim.node === self && claim.lease === lease
  if (owned.has(shard)) {
    // On a lease of ours that is over: the next reading will tell whose it is.
    if (claim !== null && !isMine) return claim.node === self ? null : 'drop'
    // The process gives up at its end what nobody can have.
    if (!isWanted && owner !== null) return claim === null ? 'drop' : 'release'
    return claim?.isServing === true ? null : 'announce'
  }
  if (isMine) return isWanted ? 'acquire' : 'unclaim'
  return claim === null && owner === self && !isLeaving ? 'claim' : null
}
