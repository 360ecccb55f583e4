import type { Clock } from '../../src/lib/clock.ts'
import { isTurnAwaited } from '../../src/lib/slices.ts'

interface Timer {
  readonly at: number
  /** Of two timers for the same moment, the one that was set first fires first. */
  readonly order: number
  /** Null: cancelled. */
  task: (() => void) | null
}

/** A clock that moves only when a test advances it. Timers fire in order of their time. */
export class FakeClock implements Clock {
  #wall: number
  #highest: number
  #monotonic = 0
  readonly #timers = new TimerHeap()
  #order = 0

  constructor(wall = Date.UTC(2027, 0, 1)) {
    this.#wall = wall
    this.#highest = wall
  }

  now(): number {
    return this.#wall
  }

  monotonicMs(): number {
    return this.#monotonic
  }

  after(ms: number, task: () => void): () => void {
    const timer: Timer = { at: this.#monotonic + Math.max(0, ms), order: this.#order++, task }
    this.#timers.push(timer)
    return () => {
      timer.task = null
    }
  }

  /** When the next timer fires, milliseconds from now; null when none is set. */
  get nextTimerIn(): number | null {
    const next = this.#timers.next
    return next === undefined ? null : next.at - this.#monotonic
  }

  /** Lets time pass, firing what is due on the way and letting the promises it settles run. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms
    await settle()
    for (let next = this.#timers.next; next !== undefined && next.at <= end; next = this.#timers.next) {
      this.#timers.shift()
      this.#move(next.at)
      next.task?.()
      await settle()
    }
    this.#move(end)
    await settle()
  }

  /** The wall clock jumps, as after a correction; the monotonic one does not. */
  jumpWall(ms: number): void {
    this.#wall += ms
    this.#highest = Math.max(this.#highest, this.#wall)
  }

  /** The latest that the wall clock has ever said. */
  get highestNow(): number {
    return this.#highest
  }

  #move(to: number): void {
    this.#wall += to - this.#monotonic
    this.#highest = Math.max(this.#highest, this.#wall)
    this.#monotonic = to
  }
}

/** A binary heap: the simulations set thousands of timers. */
class TimerHeap {
  readonly #timers: Timer[] = []

  /** The one that fires next. */
  get next(): Timer | undefined {
    while (this.#timers[0]?.task === null) this.shift()
    return this.#timers[0]
  }

  push(timer: Timer): void {
    const timers = this.#timers
    let place = timers.length
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = timers[above] as Timer
      if (isBefore(parent, timer)) break
      timers[place] = parent
      place = above
    }
    timers[place] = timer
  }

  /** Takes the first one out. */
  shift(): void {
    const timers = this.#timers
    const last = timers.pop()
    if (last === undefined || timers.length === 0) return
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      if (below >= timers.length) break
      if (below + 1 < timers.length && isBefore(timers[below + 1] as Timer, timers[below] as Timer)) below += 1
      const child = timers[below] as Timer
      if (isBefore(last, child)) break
      timers[place] = child
      place = below
    }
    timers[place] = last
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at
}

/** Lets everything that is ready to run do so, long work in slices too. */
export async function settle(): Promise<void> {
  for (;;) {
    for (let i = 0; i < 20; i++) await Promise.resolve()
    if (!isTurnAwaited()) return
    // No turn of its own: two that settle at the same time would wait for each other's.
    await new Promise((resolve) => setImmediate(resolve))
  }
}
