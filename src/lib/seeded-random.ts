/** Random numbers that repeat for the same seed (mulberry32): for the demo, tests, the simulation and benchmarks, never for secrets. */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** 0 ≤ x < 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** An integer from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + this.below(max - min + 1)
  }

  /** @throws Error when there is nothing to pick from */
  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('Cannot pick: there is nothing to pick from')
    return from[this.below(from.length)] as T
  }

  /** @param probability from 0 to 1 */
  chance(probability: number): boolean {
    return this.next() < probability
  }
}
