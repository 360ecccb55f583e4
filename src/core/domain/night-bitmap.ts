import { assert } from '../../lib/assert.ts'
import type { Night } from './night.ts'

/**
 * Words are allocated in blocks of this many, so that a unit booked further and further ahead is not copied every
 * month.
 */
const BLOCK_WORDS = 4

/**
 * The nights a bitmap can hold: up to 2149-06-06, far beyond any date, and close enough to bound the memory a bug can
 * use.
 */
export const BITMAP_SPAN = { from: 0 as Night, to: 65_536 as Night } as const

const NO_WORDS = new Uint32Array(0)

/**
 * A set of nights, one bit each, 32 to a word. The words cover one span that grows in both directions; outside it no
 * night is in the set. A year takes 48 bytes, an empty set none. Ranges are half-open; a range with from >= to is
 * empty.
 */
export class NightBitmap {
  /** Night `n` is bit `n & 31` of word `(n >> 5) - #firstWord`. */
  #words = NO_WORDS
  #firstWord = 0

  setRange(from: Night, to: Night): void {
    if (from >= to) return
    this.#cover(from, to)
    const last = (to - 1) >> 5
    for (let word = from >> 5; word <= last; word++) {
      const index = word - this.#firstWord
      this.#words[index] = (this.#words[index] ?? 0) | maskOf(word, from, to)
    }
  }

  /** Does not shrink the allocation; `clone` does. */
  clearRange(from: Night, to: Night): void {
    const first = this.#clampFirst(from)
    const last = this.#clampLast(to)
    for (let word = first; word <= last; word++) {
      const index = word - this.#firstWord
      this.#words[index] = (this.#words[index] ?? 0) & ~maskOf(word, from, to)
    }
  }

  /**
   * Sets or clears the nights of some weekdays: a word at a time, since weekdays repeat.
   * @param weekdays bit 1 (Monday) to bit 7 (Sunday)
   */
  setWeekdays(from: Night, to: Night, weekdays: number, isSet: boolean): void {
    if (from >= to) return
    this.#cover(from, to)
    /** Masks for words whose first night is a Thursday (day 0), a Friday, and so on. */
    const patterns = Array.from({ length: 7 }, (_, first) => {
      let pattern = 0
      for (let bit = 0; bit < 32; bit++) if ((weekdays >> (((first + bit + 3) % 7) + 1)) & 1) pattern |= 1 << bit
      return pattern
    })
    const last = (to - 1) >> 5
    for (let word = from >> 5; word <= last; word++) {
      const bits = (patterns[(word << 5) % 7] ?? 0) & maskOf(word, from, to)
      const index = word - this.#firstWord
      const now = this.#words[index] ?? 0
      this.#words[index] = isSet ? now | bits : now & ~bits
    }
  }

  /** Adds all nights of `other`. */
  addAll(other: NightBitmap): void {
    const { from, to } = BITMAP_SPAN
    let first = other.firstIn(from, to)
    while (first !== null) {
      const end = other.firstFreeFrom(first)
      this.setRange(first, end)
      first = other.firstIn(end, to)
    }
  }

  has(night: Night): boolean {
    return ((this.wordAt(night >> 5) >>> (night & 31)) & 1) === 1
  }

  anyIn(from: Night, to: Night): boolean {
    return this.firstIn(from, to) !== null
  }

  /** In ascending order. */
  nightsIn(from: Night, to: Night): Night[] {
    return unionNightsIn(this, NOTHING, from, to)
  }

  firstIn(from: Night, to: Night): Night | null {
    const last = this.#clampLast(to)
    for (let word = this.#clampFirst(from); word <= last; word++) {
      const bits = this.wordAt(word) & maskOf(word, from, to)
      if (bits !== 0) return lowestNight(word, bits)
    }
    return null
  }

  /** The first night >= `from` that is not in the set. There is always one. */
  firstFreeFrom(from: Night): Night {
    let word = from >> 5
    let free = ~this.wordAt(word) & (-1 << (from & 31))
    while (free === 0) {
      word++
      free = ~this.wordAt(word)
    }
    return lowestNight(word, free)
  }

  isEmpty(): boolean {
    for (const bits of this.#words) if (bits !== 0) return false
    return true
  }

  count(): number {
    let count = 0
    for (const bits of this.#words) count += ones(bits)
    return count
  }

  /** Whether both contain the same nights, regardless of what each has allocated. */
  equals(other: NightBitmap): boolean {
    if (this.#words.length === 0) return other.isEmpty()
    if (other.#words.length === 0) return this.isEmpty()
    const first = Math.min(this.#firstWord, other.#firstWord)
    const end = Math.max(this.#firstWord + this.#words.length, other.#firstWord + other.#words.length)
    for (let word = first; word < end; word++) if (this.wordAt(word) !== other.wordAt(word)) return false
    return true
  }

  /** An independent copy, allocated for no more than the nights in the set. */
  clone(): NightBitmap {
    const copy = new NightBitmap()
    let start = 0
    let end = this.#words.length
    while (start < end && this.#words[start] === 0) start++
    while (end > start && this.#words[end - 1] === 0) end--
    if (start === end) return copy
    copy.#words = this.#words.slice(start, end)
    copy.#firstWord = this.#firstWord + start
    return copy
  }

  /** Nights `word * 32` … `word * 32 + 31` as an unsigned number, the earliest in bit 0. */
  wordAt(word: number): number {
    return this.#words[word - this.#firstWord] ?? 0
  }

  #clampFirst(from: Night): number {
    return Math.max(from >> 5, this.#firstWord)
  }

  #clampLast(to: Night): number {
    return Math.min((to - 1) >> 5, this.#firstWord + this.#words.length - 1)
  }

  #cover(from: Night, to: Night): void {
    assert(from >= BITMAP_SPAN.from && to <= BITMAP_SPAN.to, 'Cannot hold a night: it is outside 1970 to 2149')
    const length = this.#words.length
    const fromWord = from >> 5
    const toWord = ((to - 1) >> 5) + 1
    if (length !== 0 && fromWord >= this.#firstWord && toWord <= this.#firstWord + length) return

    const wantedFirst = blockFloor(fromWord)
    const wantedEnd = blockFloor(toWord + BLOCK_WORDS - 1)
    const first = length === 0 ? wantedFirst : Math.min(wantedFirst, this.#firstWord)
    const end = length === 0 ? wantedEnd : Math.max(wantedEnd, this.#firstWord + length)
    const words = new Uint32Array(end - first)
    if (length !== 0) words.set(this.#words, this.#firstWord - first)
    this.#words = words
    this.#firstWord = first
  }
}

const NOTHING = new NightBitmap()

/** The nights of `[from, to)` that are in either set, in ascending order. */
export function unionNightsIn(a: NightBitmap, b: NightBitmap, from: Night, to: Night): Night[] {
  const nights: Night[] = []
  if (from >= to) return nights
  const last = (to - 1) >> 5
  for (let word = from >> 5; word <= last; word++) {
    let bits = (a.wordAt(word) | b.wordAt(word)) & maskOf(word, from, to)
    while (bits !== 0) {
      nights.push(lowestNight(word, bits))
      bits &= bits - 1
    }
  }
  return nights
}

/**
 * Calls `visit(first, end)` for each maximal run of nights of `[from, to)` that are in either set, in ascending order.
 * Allocates nothing.
 */
export function forEachRunInUnion(
  a: NightBitmap,
  b: NightBitmap,
  from: Night,
  to: Night,
  visit: (first: Night, end: Night) => void,
): void {
  if (from >= to) return
  const last = (to - 1) >> 5
  /** First night of a run that reached the end of its word; -1 when there is none. */
  let open = -1
  for (let word = from >> 5; word <= last; word++) {
    const start = word << 5
    let bits = (a.wordAt(word) | b.wordAt(word)) & maskOf(word, from, to)
    if (open !== -1) {
      if (bits === -1) continue
      const end = lowestNight(word, ~bits)
      visit(open as Night, end)
      open = -1
      bits &= -1 << (end - start)
    }
    while (bits !== 0) {
      const first = lowestNight(word, bits)
      const free = ~bits & (-1 << (first - start))
      if (free === 0) {
        open = first
        break
      }
      const end = lowestNight(word, free)
      visit(first, end)
      bits &= -1 << (end - start)
    }
  }
  if (open !== -1) visit(open as Night, to)
}

/** The bits of `word` for nights of `[from, to)`. `word` must lie between the words of `from` and `to - 1`. */
function maskOf(word: number, from: Night, to: Night): number {
  const start = word << 5
  const fromStart = from > start ? -1 << (from - start) : -1
  const toEnd = to < start + 32 ? ~(-1 << (to - start)) : -1
  return fromStart & toEnd
}

/** The night of the lowest set bit; `bits` must not be 0. */
function lowestNight(word: number, bits: number): Night {
  return ((word << 5) + 31 - Math.clz32(bits & -bits)) as Night
}

function ones(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x5555_5555)
  n = (n & 0x3333_3333) + ((n >>> 2) & 0x3333_3333)
  return Math.imul((n + (n >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
}

function blockFloor(word: number): number {
  return word - (word % BLOCK_WORDS)
}
