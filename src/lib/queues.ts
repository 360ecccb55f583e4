import { type Clock, systemClock } from './clock.ts'
import { Counts } from './counts.ts'

/**
 * First in, first out, up to `max` elements. Amortised constant time at both ends. An empty queue holds no list: there is one queue
 * for every unit in memory, and nearly all are empty.
 */
export class BoundedQueue<T> {
  readonly #max: number
  #items: (T | undefined)[] | null = null
  #head = 0

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#items === null ? 0 : this.#items.length - this.#head
  }

  get isFull(): boolean {
    return this.size >= this.#max
  }

  /** False when the queue is full: the element is not taken. */
  push(item: T): boolean {
    if (this.isFull) return false
    this.#items ??= []
    this.#items.push(item)
    return true
  }

  shift(): T | undefined {
    if (this.#items === null) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined
    this.#head += 1
    if (this.#head === this.#items.length) {
      this.#items = null
      this.#head = 0
    } else if (this.#head >= 1_024) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  peek(): T | undefined {
    return this.#items?.[this.#head]
  }

  /** The first element that fits. */
  find(fits: (item: T) => boolean): T | undefined {
    for (let i = this.#head; i < (this.#items?.length ?? 0); i++) {
      const item = this.#items?.[i] as T
      if (fits(item)) return item
    }
    return undefined
  }

  /** How many elements fit. */
  count(fits: (item: T) => boolean): number {
    if (this.#items === null) return 0
    let found = 0
    for (let i = this.#head; i < this.#items.length; i++) if (fits(this.#items[i] as T)) found += 1
    return found
  }

  /** Puts elements back at the front, in their order, beyond `max` if necessary: they had been accepted before. */
  unshiftAll(items: readonly T[]): void {
    const all = [...items, ...(this.#items?.slice(this.#head) ?? [])]
    this.#items = all.length === 0 ? null : all
    this.#head = 0
  }
}

/** Runs tasks of the same key one after the other, in the order they came; tasks of different keys do not wait. */
export class KeyedTurns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Settles as the task does. A task that failed does not hold up the next. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const run = before === undefined ? task() : before.then(task)
    const settled = run.then(
      () => undefined,
      () => undefined,
    )
    this.#last.set(key, settled)
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    })
    return run
  }
}

/**
 * Places for tasks of many owners. No owner can take all of them: each has a share, and free places go to the waiting owners
 * in turn, however many tasks each of them has.
 */

interface FairSharesOptions {
  /** What a task does, for the message of a refusal: `read a list`. */
  readonly what: string
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
interface SharesStats {
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
  /** By owner. */
  readonly #running = new Counts<string>()
  /** By owner, in the order in which they get the next free places. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  #refusedCount = 0

  constructor(options: FairSharesOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  get stats(): SharesStats {
    let waiting = 0
    for (const tasks of this.#waiting.values()) waiting += tasks.size
    return { running: this.#running.total, waiting, refused: this.#refusedCount }
  }

  /**
   * Settles as the task does. The place is taken until then, even if the caller no longer waits.
   * @throws NoPlaceError when the task was not started
   */
  run<T>(owner: string, task: () => PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        this.#running.add(owner)
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
    return this.#running.total < runningMax && this.#running.of(owner) < shareMax
  }

  #release(owner: string): void {
    this.#running.add(owner, -1)
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
    return new NoPlaceError(`Cannot ${this.#options.what}: ${why}`)
  }
}
