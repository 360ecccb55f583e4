/**
 * Whether this node reaches Postgres, and when it gives its shards up because it alone does not. It says so in its member key, and so do
 * the others: nothing is given up while nobody else could serve it, or in the seconds in which an outage reaches one node after the other.
 */
import { type Clock, sleep } from '../lib/clock.ts'

export const ASK_EVERY_MS = 1_000
export const ANSWER_MS_MAX = 1_000
/** Without an answer for this long, Postgres is missed. */
export const MISSED_AFTER_MS = 3_000
/** So long has it been missed here and reached by another node when the shards are given up. */
export const GIVE_UP_AFTER_MS = 5_000
/** So long does it answer again before the node wants shards: each move makes somebody wait. */
const BACK_AFTER_MS = 5_000

/** `missed`: the shards are kept all the same. `given_up`: it wants none until it reaches Postgres again. */
export type Reach = 'reached' | 'missed' | 'given_up'

interface ReachOptions {
  readonly clock: Clock
  /** @throws when Postgres does not answer */
  ping(): Promise<void>
  /** Another node that shards could go to says that it reaches Postgres. */
  othersReach(): boolean
  /** Tells the others. @returns false when they could not be told; they are told again */
  tell(reach: Reach): Promise<boolean>
}

export class DatabaseReach {
  readonly #options: ReachOptions
  /** What the others were told last. */
  #told: Reach = 'reached'
  /** False: they may know something newer, of which it is not known whether they were told. */
  #isTold = true
  /** Monotonic. */
  #reachedAt: number
  /** Since when it has been missed here and reached by others. */
  #aloneSince: number | null = null
  /** Since when it answers again. */
  #backSince: number | null = null
  #isStopped = false

  constructor(options: ReachOptions) {
    this.#options = options
    this.#reachedAt = options.clock.monotonicMs()
  }

  /** Asks once a second, until `stop`. */
  async run(): Promise<void> {
    const { clock, ping, tell } = this.#options
    this.#reachedAt = clock.monotonicMs()
    while (!this.#isStopped) {
      await sleep(clock, ASK_EVERY_MS)
      if (this.#isStopped) return
      const answer = ping().then(
        () => true,
        () => false,
      )
      const isAnswered = await Promise.race([answer, sleep(clock, ANSWER_MS_MAX).then(() => false)])
      if (this.#isStopped) return
      const reach = this.#next(isAnswered)
      if (reach === this.#told && this.#isTold) continue
      this.#isTold = await tell(reach)
      if (this.#isTold) this.#told = reach
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  #next(isAnswered: boolean): Reach {
    const now = this.#options.clock.monotonicMs()
    if (isAnswered) {
      this.#reachedAt = now
      this.#aloneSince = null
      this.#backSince ??= now
    } else this.#backSince = null
    if (this.#told === 'given_up')
      return this.#backSince !== null && now - this.#backSince >= BACK_AFTER_MS ? 'reached' : 'given_up'
    if (now - this.#reachedAt < MISSED_AFTER_MS) return 'reached'
    if (this.#told === 'reached' || !this.#options.othersReach()) {
      this.#aloneSince = null
      return 'missed'
    }
    this.#aloneSince ??= now
    return now - this.#aloneSince >= GIVE_UP_AFTER_MS ? 'given_up' : 'missed'
  }
}
