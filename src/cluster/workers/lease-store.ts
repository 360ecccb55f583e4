import type { Clock } from '../../lib/clock.ts'
import { type Change, type Committed, type Entry, EtcdError, type Reading } from '../etcd/etcd.ts'

/** Revisions whose changes a watch can still be told of. Who is further behind reads everything again. */
const REMEMBERED_MAX = 1_024

interface Lease {
  readonly ttlMs: number
  /** Monotonic. */
  until: number
}

/**
 * What etcd is to the nodes of a cluster, in the memory of one process: keys that hang on leases, conditional commits, and changes in order.
 * The parent of workers has one. A lease ends at its time, or at once when `revoke` says so: the parent sees its children die.
 */
export class LeaseStore {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()
  readonly #leases = new Map<string, Lease>()
  /** The last changes, by revision, in order. */
  #remembered: (readonly Entry[])[] = []
  #waiting = new Set<(events: readonly Entry[] | null) => void>()
  #revision = 1
  #lastLease = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns the id of a new lease */
  grant(ttlS: number): string {
    this.#lastLease += 1
    const id = String(this.#lastLease)
    const ttlMs = ttlS * 1_000
    this.#leases.set(id, { ttlMs, until: this.#clock.monotonicMs() + ttlMs })
    this.#endInTime(id, ttlMs)
    return id
  }

  /** @returns the seconds that the lease now has; 0 when it is over, also if nothing has noticed that yet */
  keepAlive(id: string): number {
    const lease = this.#leases.get(id)
    if (lease === undefined) return 0
    const now = this.#clock.monotonicMs()
    // After the machine stood still, this may be asked before the timer runs.
    if (now >= lease.until) {
      this.revoke(id)
      return 0
    }
    lease.until = now + lease.ttlMs
    return lease.ttlMs / 1_000
  }

  /** Ends a lease and removes its keys. Does nothing when it is gone. */
  revoke(id: string): void {
    if (!this.#leases.delete(id)) return
    const hanging = [...this.#entries.values()].filter(({ lease }) => lease === id)
    this.#publish(hanging.map(({ key }) => ({ key, value: null, lease: '0' })))
  }

  read(prefix: string): Reading {
    return {
      revision: this.#revision,
      entries: [...this.#entries.values()].filter(({ key }) => key.startsWith(prefix)),
    }
  }

  /**
   * Makes each of the changes whose condition holds, all at one revision.
   * @throws EtcdError when a key is to hang on a lease that is gone: then none is made
   */
  commit(changes: readonly Change[]): Committed {
    for (const { value, lease } of changes)
      if (value !== null && !this.#leases.has(lease)) throw new EtcdError(`Cannot commit: lease ${lease} is over`, true)
    const done = changes.map(({ key, condition }) => {
      const held = this.#entries.get(key)
      return condition === 'absent' ? held === undefined : held?.lease === condition.lease
    })
    const made = changes.filter((_, index) => done[index])
    this.#publish(made.map(({ key, value, lease }) => ({ key, value, lease: value === null ? '0' : lease })))
    return { revision: this.#revision, done }
  }

  /**
   * Waits for changes from this revision on.
   * @param signal ends the wait, with null
   * @returns at least one change, in order; null when changes since then are forgotten: read everything
   */
  changes(fromRevision: number, signal: AbortSignal): Promise<readonly Entry[] | null> {
    const firstRemembered = this.#revision - this.#remembered.length + 1
    if (fromRevision < firstRemembered) return Promise.resolve(null)
    const events = this.#remembered.slice(fromRevision - firstRemembered).flat()
    if (events.length > 0) return Promise.resolve(events)
    return new Promise((resolve) => {
      const settle = (events: readonly Entry[] | null) => {
        this.#waiting.delete(settle)
        signal.removeEventListener('abort', end)
        resolve(events)
      }
      const end = () => settle(null)
      if (signal.aborted) return resolve(null)
      this.#waiting.add(settle)
      signal.addEventListener('abort', end, { once: true })
    })
  }

  #publish(changes: readonly Omit<Entry, 'revision'>[]): void {
    if (changes.length === 0) return
    this.#revision += 1
    const events = changes.map((change) => ({ ...change, revision: this.#revision }))
    for (const event of events) {
      if (event.value === null) this.#entries.delete(event.key)
      else this.#entries.set(event.key, event)
    }
    this.#remembered.push(events)
    if (this.#remembered.length > REMEMBERED_MAX) this.#remembered.shift()
    for (const tell of [...this.#waiting]) tell(events)
  }

  #endInTime(id: string, afterMs: number): void {
    this.#clock.after(afterMs, () => {
      const lease = this.#leases.get(id)
      if (lease === undefined) return
      const leftMs = lease.until - this.#clock.monotonicMs()
      if (leftMs <= 0) this.revoke(id)
      else this.#endInTime(id, leftMs)
    })
  }
}
