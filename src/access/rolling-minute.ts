import { assert } from '../lib/assert.ts'
import { MINUTE_MS } from '../lib/duration.ts'

/** The rolling minute of the contract (Limits), in milliseconds. */
export const WINDOW_MS = MINUTE_MS

const CAPACITY_MIN = 16

/**
 * The requests that one key made in the last 60 s: a ring buffer of (millisecond, number of requests), oldest first.
 * Exact to the millisecond for any limit. Its size is bounded: it never has more entries than requests counted, nor
 * than a window has milliseconds (1 MB for a key that uses every one of them). Times are integers of a clock that never
 * jumps.
 */
export class RollingMinute {
  #stamps = new Float64Array(CAPACITY_MIN)
  #counts = new Float64Array(CAPACITY_MIN)
  #head = 0
  #size = 0
  #counted = 0

  /** Requests in the window, as of the last call of `forget`. */
  get counted(): number {
    return this.#counted
  }

  /** Entries the ring has room for: its memory is 16 bytes times this. */
  get capacity(): number {
    return this.#stamps.length
  }

  /** Removes the requests that are a whole window old at `nowMs`. */
  forget(nowMs: number): void {
    const leftBy = nowMs - WINDOW_MS
    if (this.#size > 0 && this.#stampAt(this.#size - 1) <= leftBy) {
      this.#size = 0
      this.#counted = 0
      return
    }
    while (this.#size > 0 && this.#stampAt(0) <= leftBy) {
      this.#counted -= this.#counts[this.#head] ?? 0
      this.#head = (this.#head + 1) & (this.#stamps.length - 1)
      this.#size -= 1
    }
  }

  /** Counts requests made at `atMs`, which must not be earlier than any counted before. */
  count(atMs: number, requests = 1): void {
    this.#counted += requests
    if (this.#size > 0 && this.#stampAt(this.#size - 1) >= atMs) {
      const newest = this.#indexOf(this.#size - 1)
      this.#counts[newest] = (this.#counts[newest] ?? 0) + requests
      return
    }
    if (this.#size === this.#stamps.length) this.#grow()
    const index = this.#indexOf(this.#size)
    this.#stamps[index] = atMs
    this.#counts[index] = requests
    this.#size += 1
  }

  /** When the `n` oldest counted requests have all left the window. `n`: 1 to `counted`. */
  leavesAt(n: number): number {
    assert(n >= 1 && n <= this.#counted, 'Cannot say when requests leave the window: fewer are counted')
    // A single step, unless the limit was lowered within the last minute.
    let left = n
    let i = 0
    for (;;) {
      left -= this.#counts[this.#indexOf(i)] ?? 0
      if (left <= 0) return this.#stampAt(i) + WINDOW_MS
      i += 1
    }
  }

  #indexOf(i: number): number {
    return (this.#head + i) & (this.#stamps.length - 1)
  }

  #stampAt(i: number): number {
    return this.#stamps[this.#indexOf(i)] ?? 0
  }

  /** Capacities are powers of two, so that an index is computed with a mask. */
  #grow(): void {
    this.#stamps = unrolled(this.#stamps, this.#head)
    this.#counts = unrolled(this.#counts, this.#head)
    this.#head = 0
  }
}

/** Copies a full ring into one twice as large, oldest element first. */
function unrolled(ring: Float64Array, head: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(ring.length * 2)
  larger.set(ring.subarray(head))
  larger.set(ring.subarray(0, head), ring.length - head)
  return larger
}
