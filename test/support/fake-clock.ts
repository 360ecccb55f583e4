import type { Clock } from '../../src/lib/clock.ts'

/** A clock that moves only when a test advances it. Timers fire in order of their time. */
export class FakeClock implements Clock {
  #wall: number
  #highest: number
  #monotonic = 0
  #timers: { at: number; order: number; task: () => void }[] = []
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
    const timer = { at: this.#monotonic + Math.max(0, ms), order: this.#order++, task }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** When the next timer fires, milliseconds from now; null when none is set. */
  get nextTimerIn(): number | null {
    const next = this.#next()
    return next === undefined ? null : next.at - this.#monotonic
  }

  /** Lets time pass, firing what is due on the way and letting the promises it settles run. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms
    await settle()
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      const due = next
      this.#move(due.at)
      this.#timers = this.#timers.filter((other) => other !== due)
      due.task()
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

  #next() {
    return this.#timers.toSorted((a, b) => a.at - b.at || a.order - b.order)[0]
  }
}

/** Lets everything that is ready to run do so. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
