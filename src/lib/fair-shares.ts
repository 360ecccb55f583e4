/**
 * Places for tasks of many owners. No owner can take all of them: each has a share, and free places go to the waiting owners
 * in turn, however many tasks each of them has.
 */
import { type Clock, systemClock } from './clock.ts'

export interface FairSharesOptions {
  /** Tasks running at once, all owners together. */
  readonly runningMax: number
  /** Tasks of one owner running at once: below `runningMax`, so that an owner leaves room for others. */
  readonly shareMax: number
  /** Tasks of one owner that may wait for a place; further ones are refused at once. */
  readonly waitingPerOwnerMax: number
  /** How long a task may wait for a place, ms. */
  readonly waitMsMax: number
  readonly clock?: Clock
}

/** The task was not started: its owner's share is in use, and either too many tasks wait or this one has waited too long. */
export class NoPlaceError extends Error {
  override readonly name = 'NoPlaceError'
}

/** What the metrics read. */
export interface SharesStats {
  readonly running: number
  readonly waiting: number
  /** Tasks refused so far. */
  readonly refused: number
}

interface Waiting {
  readonly start: () => void
  readonly cancel: () => void
}

export class FairShares {
  readonly #options: FairSharesOptions
  readonly #clock: Clock
  readonly #running = new Map<string, number>()
  /** By owner, in the order in which they get the next free places. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  #runningCount = 0
  #refusedCount = 0

  constructor(options: FairSharesOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  get stats(): SharesStats {
    let waiting = 0
    for (const tasks of this.#waiting.values()) waiting += tasks.size
    return { running: this.#runningCount, waiting, refused: this.#refusedCount }
  }

  /**
   * Settles as the task does. The place is taken until then, even if the caller no longer waits.
   * @throws NoPlaceError when the task was not started
   */
  run<T>(owner: string, task: () => PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        this.#take(owner)
        Promise.try(task).then(
          (value) => {
            this.#release(owner)
            resolve(value)
          },
          (error) => {
            this.#release(owner)
            reject(error)
          },
        )
      }
      if (this.#hasPlaceFor(owner)) start()
      else this.#enqueue(owner, start, (why) => reject(this.#refusal(why)))
    })
  }

  #enqueue(owner: string, start: () => void, refuse: (why: string) => void): void {
    const { waitingPerOwnerMax, waitMsMax } = this.#options
    const tasks = this.#waiting.get(owner) ?? new Set()
    if (tasks.size >= waitingPerOwnerMax) {
      refuse(`${waitingPerOwnerMax} tasks of this owner already wait`)
      return
    }
    const cancel = this.#clock.after(waitMsMax, () => {
      this.#forget(owner, waiting)
      refuse(`no place was free within ${waitMsMax} ms`)
    })
    const waiting: Waiting = { start, cancel }
    tasks.add(waiting)
    this.#waiting.set(owner, tasks)
  }

  #forget(owner: string, waiting: Waiting): void {
    const tasks = this.#waiting.get(owner)
    tasks?.delete(waiting)
    if (tasks?.size === 0) this.#waiting.delete(owner)
  }

  #hasPlaceFor(owner: string): boolean {
    const { runningMax, shareMax } = this.#options
    return this.#runningCount < runningMax && (this.#running.get(owner) ?? 0) < shareMax
  }

  #take(owner: string): void {
    this.#runningCount += 1
    this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1)
  }

  #release(owner: string): void {
    this.#runningCount -= 1
    const left = (this.#running.get(owner) ?? 0) - 1
    if (left === 0) this.#running.delete(owner)
    else this.#running.set(owner, left)
    this.#startNext()
  }

  /** One place has become free, so one task starts. Its owner goes to the end of the queue. */
  #startNext(): void {
    for (const [owner, tasks] of this.#waiting) {
      const [next] = tasks
      if (next === undefined || !this.#hasPlaceFor(owner)) continue
      this.#forget(owner, next)
      if (this.#waiting.delete(owner)) this.#waiting.set(owner, tasks)
      next.cancel()
      next.start()
      return
    }
  }

  #refusal(why: string): NoPlaceError {
    this.#refusedCount += 1
    return new NoPlaceError(`Cannot start a task: ${why}`)
  }
}
