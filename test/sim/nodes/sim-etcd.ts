import {
  type Change,
  type Committed,
  type Entry,
  type Etcd,
  EtcdError,
  type Reading,
} from '../../../src/cluster/etcd/etcd.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import type { Mortal } from '../sim-process.ts'

interface Watcher {
  readonly prefix: string
  readonly tell: (events: readonly Entry[]) => void
  readonly end: () => void
}

/** etcd in memory on the world's clock: keys on leases, conditional commits, watches. It can be away, and each node cut off from it. */
export class SimEtcd {
  isAway = false
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #keys = new Map<string, Entry>()
  /** When each lease ends. */
  readonly #leases = new Map<string, { until: number; ttlMs: number }>()
  readonly #watchers = new Set<Watcher>()
  #revision = 1
  #lastLease = 0

  constructor(clock: FakeClock, dice: SeededRandom) {
    this.#clock = clock
    this.#dice = dice
  }

  /** As a node sees it. */
  clientOf(node: Mortal, isCut: () => boolean): Etcd {
    const call = async <T>(what: () => T): Promise<T> => {
      await this.#travel()
      if (isCut() || this.isAway) {
        await this.#sleep(200 + this.#dice.below(800))
        throw new EtcdError('Cannot reach etcd', false)
      }
      const answer = what()
      await this.#travel()
      if (isCut() || this.#dice.chance(0.01)) throw new EtcdError('The answer of etcd was lost', false)
      return answer
    }
    const seen = <T>(what: () => T) => node.receive(call(what))
    return {
      grant: (ttlS) => seen(() => this.#grant(ttlS)),
      keepAlive: (lease) => seen(() => this.#keepAlive(lease)),
      revoke: (lease) => seen(() => this.#revoke(lease)),
      read: (prefix) => seen(() => this.#read(prefix)),
      commit: (changes) => seen(() => this.#commit(changes)),
      watch: ({ prefix, signal }, onEvents) =>
        node.receive(
          new Promise<void>((resolve) => {
            if (isCut() || this.isAway || signal.aborted) return resolve()
            let last = this.#clock.monotonicMs()
            const watcher: Watcher = {
              prefix,
              tell: (events) => {
                // In order, and late.
                last = Math.max(last, this.#clock.monotonicMs() + this.#dice.below(20))
                this.#clock.after(last - this.#clock.monotonicMs(), () => {
                  if (isCut()) watcher.end()
                  else if (this.#watchers.has(watcher)) node.run(() => onEvents(events))
                })
              },
              end: () => {
                this.#watchers.delete(watcher)
                resolve()
              },
            }
            this.#watchers.add(watcher)
            signal.addEventListener('abort', watcher.end, { once: true })
          }),
        ),
    }
  }

  #grant(ttlS: number): string {
    const lease = String(++this.#lastLease)
    this.#leases.set(lease, { until: this.#clock.monotonicMs() + ttlS * 1_000, ttlMs: ttlS * 1_000 })
    this.#endWhenOver(lease)
    return lease
  }

  #keepAlive(lease: string): number {
    const held = this.#leases.get(lease)
    if (held === undefined) return 0
    held.until = this.#clock.monotonicMs() + held.ttlMs
    return held.ttlMs / 1_000
  }

  /** It notices up to half a second late. */
  #endWhenOver(lease: string): void {
    const held = this.#leases.get(lease)
    if (held === undefined) return
    const left = held.until - this.#clock.monotonicMs()
    // Without a leader no lease ends.
    if (left <= 0 && !this.isAway) this.#revoke(lease)
    else this.#clock.after(Math.max(left, 100) + this.#dice.below(500), () => this.#endWhenOver(lease))
  }

  #revoke(lease: string): void {
    if (!this.#leases.delete(lease)) return
    const gone = [...this.#keys.values()].filter((entry) => entry.lease === lease)
    if (gone.length === 0) return
    this.#revision += 1
    this.#publish(gone.map(({ key }) => ({ key, value: null, lease: '0', revision: this.#revision })))
  }

  #read(prefix: string): Reading {
    return { revision: this.#revision, entries: [...this.#keys.values()].filter(({ key }) => key.startsWith(prefix)) }
  }

  #commit(changes: readonly Change[]): Committed {
    const done = changes.map(({ key, condition, value, lease }) => {
      const held = this.#keys.get(key)
      if (value !== null && lease !== '0' && !this.#leases.has(lease))
        throw new EtcdError('requested lease not found', true)
      return condition === 'absent' ? held === undefined : held?.lease === condition.lease
    })
    if (done.includes(true)) this.#revision += 1
    const events = changes.flatMap(({ key, value, lease }, i) =>
      done[i] === true ? { key, value, lease: value === null ? '0' : lease, revision: this.#revision } : [],
    )
    this.#publish(events)
    return { revision: this.#revision, done }
  }

  #publish(events: readonly Entry[]): void {
    for (const event of events) {
      if (event.value === null) this.#keys.delete(event.key)
      else this.#keys.set(event.key, event)
    }
    for (const watcher of [...this.#watchers]) {
      // Now and then a stream ends, or is mute.
      if (this.#dice.chance(0.01)) watcher.end()
      else watcher.tell(events.filter(({ key }) => key.startsWith(watcher.prefix)))
    }
  }

  #travel(): Promise<void> {
    return this.#sleep(this.#dice.below(8))
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve))
  }
}
