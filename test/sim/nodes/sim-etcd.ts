import { type Entry, type Etcd, EtcdError } from '../../../src/cluster/etcd/etcd.ts'
import { LeaseStore } from '../../../src/cluster/workers/lease-store.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import type { Life } from '../life.ts'

/**
 * etcd on the world's clock: it keeps what the parent of workers keeps (`LeaseStore`), behind a network. It can be away, and each node cut
 * off from it. Or that parent itself: nothing is lost on the way to it, and it sees a worker die.
 */
export class SimEtcd {
  isAway = false
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #store: LeaseStore
  readonly #isParent: boolean

  constructor(clock: FakeClock, dice: SeededRandom, { isParent }: { isParent: boolean }) {
    this.#isParent = isParent
    this.#clock = clock
    this.#dice = dice
    this.#store = new LeaseStore({
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
      // It notices the end of a lease up to half a second late, and without a leader no lease ends.
      after: (ms, task) => clock.after(ms + dice.below(500), () => this.#whenThere(task)),
    })
  }

  /** As a node sees it. */
  clientOf(node: Life, isNodeCut: () => boolean): Etcd {
    const store = this.#store
    const isCut = () => !this.#isParent && isNodeCut()
    const leases: string[] = []
    if (this.#isParent)
      void node.died.then(() => {
        for (const lease of leases) store.revoke(lease)
      })
    const call = async <T>(what: () => T): Promise<T> => {
      await this.#travel()
      if (isCut() || this.#isOut) {
        await this.#sleep(200 + this.#dice.below(800))
        throw new EtcdError('Cannot reach etcd', false)
      }
      const answer = what()
      await this.#travel()
      if (isCut() || this.#losesAnAnswer) throw new EtcdError('The answer of etcd was lost', false)
      return answer
    }
    const seen = <T>(what: () => T) => node.receive(call(what))
    return {
      grant: (ttlS) =>
        seen(() => {
          const lease = store.grant(ttlS)
          leases.push(lease)
          return lease
        }),
      keepAlive: (lease) => seen(() => store.keepAlive(lease)),
      revoke: (lease) => seen(() => store.revoke(lease)),
      read: (prefix) => seen(() => store.read(prefix)),
      commit: (changes) => seen(() => store.commit(changes)),
      watch: ({ prefix, fromRevision, signal }, onEvents) =>
        node.receive(
          this.#watch({ fromRevision, signal, isCut }, (events) =>
            node.run(() => onEvents(events.filter(({ key }) => key.startsWith(prefix)))),
          ),
        ),
    }
  }

  async #watch(
    { fromRevision, signal, isCut }: { fromRevision: number; signal: AbortSignal; isCut: () => boolean },
    tell: (events: readonly Entry[]) => void,
  ): Promise<void> {
    for (let from = fromRevision; !isCut() && !this.#isOut; ) {
      const events = await this.#store.changes(from, signal)
      const last = events?.at(-1)
      // Now and then a stream ends.
      if (events === null || last === undefined || this.#losesAnAnswer) return
      await this.#sleep(this.#dice.below(20))
      if (isCut()) return
      tell(events)
      from = last.revision + 1
    }
  }

  get #isOut(): boolean {
    return this.isAway && !this.#isParent
  }

  get #losesAnAnswer(): boolean {
    return this.#dice.chance(0.01) && !this.#isParent
  }

  #whenThere(task: () => void): void {
    if (this.#isOut) this.#clock.after(100, () => this.#whenThere(task))
    else task()
  }

  #travel(): Promise<void> {
    return this.#sleep(this.#dice.below(8))
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve))
  }
}
