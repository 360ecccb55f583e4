import { SHARDS } from '../core/journal/shard.ts'
import { type Claim, type ClusterKeys, claimOf, type Member, memberOf } from './cluster-keys.ts'
import type { Entry, Reading } from './etcd/etcd.ts'

export interface HeldClaim extends Claim {
  readonly lease: string
}

/**
 * What a node knows of the keys of its cluster: from whole readings, from the watch, and from its own changes, which come in any order. Of
 * each key the newest is kept, by its revision.
 */
export class ClusterView {
  readonly #keys: ClusterKeys
  /** Deletions too, until the next whole reading. */
  readonly #entries = new Map<string, Entry>()
  readonly #members = new Map<string, Member & { readonly lease: string }>()
  readonly #claims: (HeldClaim | null)[] = Array.from({ length: SHARDS }, () => null)
  readonly #drained = new Set<string>()

  constructor(keys: ClusterKeys) {
    this.#keys = keys
  }

  get members(): ReadonlyMap<string, Member & { readonly lease: string }> {
    return this.#members
  }

  /** By shard. */
  get claims(): readonly (HeldClaim | null)[] {
    return this.#claims
  }

  /** Nodes that the operator drains. */
  get drained(): ReadonlySet<string> {
    return this.#drained
  }

  /** Nodes that shards should go to: those that are up and not drained; if there is none, those that are up. */
  get candidates(): readonly string[] {
    const up = [...this.#members.values()].filter(({ state }) => state === 'up')
    const wanted = up.filter(({ id }) => !this.#drained.has(id))
    const able = wanted.length > 0 ? wanted : up
    return able.map(({ id }) => id).sort()
  }

  /** @returns whether anything was different */
  replace({ revision, entries }: Reading): boolean {
    let isChanged = this.apply(entries)
    const present = new Set(entries.map(({ key }) => key))
    for (const known of [...this.#entries.values()]) {
      if (present.has(known.key) || known.revision > revision) continue
      if (known.value !== null) {
        this.#put({ ...known, value: null })
        isChanged = true
      }
      this.#entries.delete(known.key)
    }
    return isChanged
  }

  /** @returns whether anything was new */
  apply(entries: readonly Entry[]): boolean {
    let isChanged = false
    for (const entry of entries) {
      const known = this.#entries.get(entry.key)
      if (known !== undefined && known.revision >= entry.revision) continue
      this.#entries.set(entry.key, entry)
      this.#put(entry)
      isChanged = true
    }
    return isChanged
  }

  #put({ key, value, lease }: Entry): void {
    const named = this.#keys.parse(key)
    if (named === null) return
    switch (named.kind) {
      case 'member':
        if (value === null) this.#members.delete(named.id)
        else this.#members.set(named.id, { ...memberOf(named.id, value), lease })
        return
      case 'shard':
        this.#claims[named.shard] = value === null ? null : { ...claimOf(value), lease }
        return
      case 'drain':
        if (value === null) this.#drained.delete(named.id)
        else this.#drained.add(named.id)
    }
  }
}
