/**
 * - W7 An endpoint gets every announced entry after its cursor that fires one of its events, once. No entry depends on a wake: all agencies are checked when
 *   the sender starts, and every minute.
 * - J8 A statement that takes too long is followed by smaller ones, and each agency of it goes alone until it gets through: one whose
 *   backlog is at fault, or whose endpoint is locked, is made for beside the others, not before them.
 */
import { BatchLimit } from '../../core/journal/batch.ts'
import type { Clock } from '../../lib/clock.ts'
import { isCancelled, isTooSlow } from '../../lib/deadline.ts'
import { HeldUp } from '../../lib/measures.ts'
import { SenderReplacedError, type SenderStore } from './sender-store.ts'
import { WakeCollector, type WokenAgencies } from './woken-agencies.ts'

/** Entries per statement, at most: claims wait until it ends (measured). */
const MAKE_MAX = 4_000
/** How often all agencies are looked at, for wakes that were lost. */
export const MAKE_ALL_MS = 60_000
/** After a statement about an agency alone took too long: claims of all the others wait for each. */
const AT_FAULT_AGAIN_MS = 2_000

/** Makes deliveries of announced entries, for the agencies that have new ones. */
export class DeliveryMaker {
  readonly #store: SenderStore
  readonly #clock: Clock
  readonly #term: number
  readonly #onMade: (deliveries: number) => void
  readonly #onFailure: (error: unknown) => void
  readonly #woken = new WakeCollector()
  readonly #limit = new BatchLimit(MAKE_MAX, { divisor: 8 })
  readonly #heldUp = new HeldUp<string>()
  /** The last statement was about an agency that goes alone, or has failed. */
  #wasLoner = false
  #atFaultFrom = 0
  #allLookedAt = Number.NEGATIVE_INFINITY

  constructor(options: {
    store: SenderStore
    clock: Clock
    term: number
    onMade: (deliveries: number) => void
    /** What failed is tried again by a later call. */
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
   * One statement that makes deliveries, at most. Never rejects for an operational failure: what is due must be claimed all the same.
   * @returns `more`: call again soon. `failed`: call again after a pause
   * @throws SenderReplacedError
   */
  async make(): Promise<'done' | 'more' | 'failed'> {
    const since = this.#clock.monotonicMs()
    if (since - this.#allLookedAt >= MAKE_ALL_MS) this.#woken.add('all')
    const room = this.#limit.max
    let agencyIds: WokenAgencies | null = 'all'
    try {
      agencyIds = await this.#next()
      if (agencyIds === null) return 'done'
      const options = { term: this.#term, agencyIds, now: this.#clock.now(), room }
      const { made, mayHaveMore } = await this.#store.makeDeliveries(options)
      this.#onMade(made)
      if (agencyIds === 'all') this.#allLookedAt = since
      else this.#heldUp.clear(agencyIds)
      if (!mayHaveMore) return this.#heldUp.suspects.length === 0 ? 'done' : 'more'
      this.#limit.noteDurable(room, this.#clock.monotonicMs() - since)
      this.#woken.add(agencyIds)
      return 'more'
    } catch (error) {
      await this.#noteFailure(error, agencyIds ?? 'all', room)
      return 'failed'
    }
  }

  /** Whose deliveries are made next: all of them together but those that go alone, and one of those, in turn. */
  async #next(): Promise<WokenAgencies | null> {
    if (this.#heldUp.isEmpty) return this.#woken.take()
    const isAtFaultDue = this.#clock.monotonicMs() >= this.#atFaultFrom
    const [loner] = [...this.#heldUp.suspects, ...(isAtFaultDue ? this.#heldUp.atFault : [])]
    if (this.#wasLoner || loner === undefined) {
      this.#wasLoner = false
      const others = (await this.#takeWoken()).filter((agencyId) => !this.#heldUp.goesAlone(agencyId))
      if (others.length > 0) return others
    }
    if (loner === undefined) return null
    this.#wasLoner = true
    return [loner]
  }

  /** By name. */
  async #takeWoken(): Promise<readonly string[]> {
    const woken = this.#woken.take() ?? []
    if (woken !== 'all') return woken
    const since = this.#clock.monotonicMs()
    const all = await this.#store.agencies(this.#term)
    this.#allLookedAt = since
    return all
  }

  /** @throws SenderReplacedError */
  async #noteFailure(error: unknown, agencyIds: WokenAgencies, room: number): Promise<void> {
    if (error instanceof SenderReplacedError) throw error
    this.#onFailure(error)
    if (isTooSlow(error)) this.#limit.noteTooSlow(room)
    // Whoever has waited for it is next.
    this.#wasLoner = true
    this.#atFaultFrom = this.#clock.monotonicMs() + AT_FAULT_AGAIN_MS
    if (!isTooSlow(error) && !isCancelled(error)) return this.#woken.add(agencyIds)
    try {
      this.#heldUp.note(agencyIds === 'all' ? await this.#store.agencies(this.#term) : agencyIds)
    } catch {
      this.#woken.add(agencyIds)
    }
  }
}
