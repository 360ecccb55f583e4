import { type Change, type Entry, type Etcd, EtcdError } from '../../src/cluster/etcd/etcd.ts'
import { LEASE_TTL_S } from '../../src/cluster/lease-keeper.ts'

/** etcd in memory, with switches. Leases end only when they are told to, and a watch tells nothing. */
export class SmallEtcd implements Etcd {
  readonly entries = new Map<string, Entry>()
  readonly leases = new Set<string>()
  isAway = false
  #revision = 1
  #lastLease = 0

  async grant() {
    this.#answer()
    this.#lastLease += 1
    this.leases.add(String(this.#lastLease))
    return String(this.#lastLease)
  }
  async keepAlive(lease: string) {
    this.#answer()
    return this.leases.has(lease) ? LEASE_TTL_S : 0
  }
  async revoke(lease: string) {
    this.#answer()
    this.end(lease)
  }
  async read() {
    this.#answer()
    return { revision: this.#revision, entries: [...this.entries.values()] }
  }
  async commit(changes: readonly Change[]) {
    this.#answer()
    return this.put(changes)
  }
  watch({ signal }: { signal: AbortSignal }) {
    return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  }

  put(changes: readonly Change[]) {
    this.#revision += 1
    const done = changes.map(({ key, value, lease, condition }) => {
      const held = this.entries.get(key)
      if (condition === 'absent' ? held !== undefined : held?.lease !== condition.lease) return false
      if (value === null) this.entries.delete(key)
      else this.entries.set(key, { key, value, lease, revision: this.#revision })
      return true
    })
    return { revision: this.#revision, done }
  }

  /** As after a loss of all its data: what it counts begins again too. */
  beginAnew() {
    this.entries.clear()
    this.leases.clear()
    this.#revision = 1
  }

  end(lease: string) {
    this.leases.delete(lease)
    this.#revision += 1
    for (const entry of [...this.entries.values()]) if (entry.lease === lease) this.entries.delete(entry.key)
  }

  #answer() {
    if (this.isAway) throw new EtcdError('away', false)
  }
}
