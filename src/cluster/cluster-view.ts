import { SHARDS } from '../core/journal/shard.ts'
import { type Claim, type ClusterKeys, claimOf, type Member, memberOf } from './cluster-keys.ts'
import type { Entry, Reading } from './etcd/etcd.ts'

export interface HeldClaim extends Claim {
  readonly lease: string
}

/** No id is empty: the shard has no owner until the key is gone. */
const CLAIM_OF_NOBODY: Claim = { node: '', isServing: false }

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
  /** Keys whose value was reported. */
  readonly #unreadable = new Set<string>()
  readonly #onUnreadable: (key: string) => void
  #revision = 0
  #forgotten = 0

  /** @param onUnreadable no node of ours has written the value of a key: once for each key */
  constructor(keys: ClusterKeys, onUnreadable: (key: string) => void = () => {}) {
    this.#keys = keys
    this.#onUnreadable = onUnreadable
  }

  /** The newest that is known of. */
  get revision(): number {
    return this.#revision
  }

  /** How often everything was forgotten. Two revisions are of one etcd if this is the same for both. */
  get forgotten(): number {
    return this.#forgotten
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

  /**
   * Nodes that shards should go to: those that are up and not drained; if there is none, those that are up; if there is none, those that
   * last reached no database.
   */
  get candidates(): readonly string[] {
    const members = [...this.#members.values()]
    const up = members.filter(({ state }) => state === 'up')
    const wanted = up.filter(({ id }) => !this.#drained.has(id))
    const rest = members.filter(({ state }) => state === 'no_database')
    const able = [wanted, up, rest].find((some) => some.length > 0) ?? []
    return able.map(({ id }) => id).sort()
  }

  /** What is known is of an etcd that is no more. */
  forget(): void {
    this.#entries.clear()
    this.#members.clear()
    this.#claims.fill(null)
    this.#drained.clear()
    this.#revision = 0
    this.#forgotten += 1
  }

  /** @returns whether anything was different */
  replace({ revision, entries }: Reading): boolean {
    this.#revision = Math.max(this.#revision, revision)
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
      this.#revision = Math.max(this.#revision, entry.revision)
      this.#put(entry)
      isChanged = true
    }
    return isChanged
  }

  /** What cannot be read is no node. */
  #putMember(id: string, member: Member | null, lease: string): void {
    if (member === null) this.#members.delete(id)
    else this.#members.set(id, { ...member, lease })
  }

  #read<T>(key: string, value: T | null): T | null {
    if (value === null && !this.#unreadable.has(key)) this.#onUnreadable(key)
    if (value === null) this.#unreadable.add(key)
    else this.#unreadable.delete(key)
    return value
  }

  #put({ key, value, lease }: Entry): void {
    const named = this.#keys.parse(key)
    if (named === null) return
    switch (named.kind) {
      case 'member':
        this.#putMember(named.id, value === null ? null : this.#read(key, memberOf(named.id, value)), lease)
        return
      case 'shard':
        this.#claims[named.shard] =
          value === null ? null : { ...(this.#read(key, claimOf(value)) ?? CLAIM_OF_NOBODY), lease }
        return
      case 'drain':
        if (value === null) this.#drained.delete(named.id)
        else this.#drained.add(named.id)
    }
  }
}
