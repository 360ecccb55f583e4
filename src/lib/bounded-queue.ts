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
