/**
 * - W7 An endpoint gets every announced entry after its cursor, once. No entry depends on a wake: all agencies are looked at when
 *   the sender starts, and every minute.
 */
import type { Clock } from '../lib/clock.ts'
import { SenderReplacedError, type SenderStore } from './sender-store.ts'
import { WakeCollector, type WokenAgencies } from './woken-agencies.ts'

/** Entries per statement, at most: claims wait until it ends (measured). */
const MAKE_MAX = 4_000
/** How often all agencies are looked at, for wakes that were lost. */
export const MAKE_ALL_MS = 60_000

/** Makes deliveries of announced entries, for the agencies that have new ones. */
export class DeliveryMaker {
  readonly #store: SenderStore
  readonly #clock: Clock
  readonly #term: number
  readonly #onMade: (deliveries: number) => void
  readonly #onFailure: (error: unknown) => void
  readonly #woken = new WakeCollector()
  #allLookedAt = Number.NEGATIVE_INFINITY

  constructor(options: {
    store: SenderStore
    clock: Clock
    term: number
    onMade: (deliveries: number) => void
    /** What failed is tried again by the next call. */
    onFailure: (error: unknown) => void
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#term = options.term
    this.#onMade = options.onMade
    this.#onFailure = options.onFailure
  }

  /** These agencies may have new entries. Cheap: can be called at any rate. */
  wake(agencies: WokenAgencies): void {
    this.#woken.add(agencies)
  }

  /**
   * One statement at most. Never rejects for an operational failure: what is due must be claimed all the same.
   * @returns `more`: call again soon. `failed`: call again after a pause
   * @throws SenderReplacedError
   */
  async make(): Promise<'done' | 'more' | 'failed'> {
    const since = this.#clock.monotonicMs()
    if (since - this.#allLookedAt >= MAKE_ALL_MS) this.#woken.add('all')
    const agencyIds = this.#woken.take()
    if (agencyIds === null) return 'done'
    try {
      const options = { term: this.#term, agencyIds, now: this.#clock.now(), room: MAKE_MAX }
      const { made, mayHaveMore } = await this.#store.makeDeliveries(options)
      this.#onMade(made)
      if (agencyIds === 'all') this.#allLookedAt = since
      if (!mayHaveMore) return 'done'
      this.#woken.add(agencyIds)
      return 'more'
    } catch (error) {
      this.#woken.add(agencyIds)
      if (error instanceof SenderReplacedError) throw error
      this.#onFailure(error)
      return 'failed'
    }
  }
}
