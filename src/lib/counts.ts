import { assert } from './assert.ts'

/** How many each key has of something, and all keys together. A key that has none takes no memory. */
export class Counts<K> {
  readonly #counts = new Map<K, number>()
  #total = 0

  /** Of all keys. */
  get total(): number {
    return this.#total
  }

  of(key: K): number {
    return this.#counts.get(key) ?? 0
  }

  /**
   * @param by may be negative
   * @returns the count of the key then, which is never below 0
   */
  add(key: K, by = 1): number {
    const count = this.of(key) + by
    assert(count >= 0, `Cannot count ${by}: the key would have ${count}`)
    this.#total += by
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
    return count
  }
}
