/** Dice that fall the same way for the same seed (mulberry32). */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** 0 ≤ x < 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.int(0, from.length - 1)]
    if (picked === undefined && from.length === 0) throw new Error('Cannot pick: there is nothing to pick from')
    return picked as T
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }
}
