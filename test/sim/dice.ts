/** Every choice of a simulation, from its seed: the same seed gives the same run (mulberry32). */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** An integer from 0 to `below - 1`. */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  /** True in `percent` of 100 cases. */
  chance(percent: number): boolean {
    return this.next() * 100 < percent
  }

  pick<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T
  }
}
