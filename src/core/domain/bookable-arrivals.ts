/**
 * On which nights of a window a partner's stay of a given length can arrive, found for all of them at once: a bit for each night, and
 * shifts and masks over whole words instead of a decision for each stay. The rules are those of `decideBookStay`; a property test
 * compares the two.
 */
import type { Night } from './night.ts'
import type { NightBitmap } from './night-bitmap.ts'
import type { ArrivalRange, RestrictedStays } from './restrictions.ts'
import type { UnitState } from './unit-state.ts'

/** Stays of `nights` nights within `[from, to)`. */
export interface StayWindow {
  readonly from: Night
  /** Exclusive: the latest departure. */
  readonly to: Night
  readonly nights: number
}

/** Consecutive arrivals with one effective minimum stay. */
export interface MinStayRun {
  readonly from: Night
  /** Exclusive. */
  readonly to: Night
  readonly minStay: number
}

/** The arrivals and nights that restrictions refuse to stays of the window's length. */
export interface RestrictedWindow {
  readonly stays: RestrictedStays
  /** Bit offset of the window's first night in the sets of `stays`, which cover the whole window. */
  readonly offset: number
  readonly range: ArrivalRange
}

/** Words of a set of the nights `[from, to)`. */
export function wordsFor({ from, to }: Pick<StayWindow, 'from' | 'to'>): number {
  return (to - from + 31) >> 5
}

/**
 * Sets bit `i & 31` of `arrivals[i >> 5]` exactly if a booking of `[from + i, from + i + nights)` would be accepted.
 * @param minStays of all nights of the window
 * @param arrivals `wordsFor` the window; whatever is in it is overwritten
 * @param restricted what restrictions refuse; null: nothing
 */
export function findBookableArrivals(
  state: Pick<UnitState, 'occupied' | 'cleaning' | 'extensions'>,
  { from, to, nights }: StayWindow,
  minStays: readonly MinStayRun[],
  arrivals: Uint32Array,
  restricted: RestrictedWindow | null = null,
): void {
  const days = to - from
  for (let word = 0; word < arrivals.length; word++) arrivals[word] = ~wordFrom(state.occupied, from + (word << 5))
  clearBits(arrivals, days, arrivals.length << 5)
  if (restricted !== null) clearAll(arrivals, restricted.stays.nights, restricted.offset)
  for (const extension of state.extensions)
    clearBits(arrivals, Math.max(extension.from - from, 0), Math.min(extension.to - from, days))
  keepRuns(arrivals, nights)
  // Only the arrival must not be a cleaning night: a later one would follow a departure within the stay.
  for (let word = 0; word < arrivals.length; word++)
    arrivals[word] = (arrivals[word] ?? 0) & ~wordFrom(state.cleaning, from + (word << 5))
  if (restricted !== null) {
    clearAll(arrivals, restricted.stays.arrivals, restricted.offset)
    clearBits(arrivals, 0, Math.min(restricted.range.earliest - from, days))
    clearBits(arrivals, Math.max(restricted.range.latest + 1 - from, 0), days)
  }
  for (const run of minStays)
    if (run.minStay > nights) clearBits(arrivals, Math.max(run.from - from, 0), Math.min(run.to - from, days))
}

/** Keeps the bits that begin a run of at least `length` bits. A run of `a` and one of `b` after it are one of `a + b`: each pass doubles. */
function keepRuns(bits: Uint32Array, length: number): void {
  for (let reached = 1; reached < length; ) {
    const more = Math.min(reached, length - reached)
    const words = more >> 5
    const shift = more & 31
    for (let word = 0; word < bits.length; word++) {
      const low = bits[word + words] ?? 0
      const high = bits[word + words + 1] ?? 0
      bits[word] = (bits[word] ?? 0) & (shift === 0 ? low : (low >>> shift) | (high << (32 - shift)))
    }
    reached += more
  }
}

/** The nights `night` … `night + 31`, the first in bit 0. */
function wordFrom(bitmap: NightBitmap, night: number): number {
  const word = night >> 5
  const shift = night & 31
  if (shift === 0) return bitmap.wordAt(word)
  return (bitmap.wordAt(word) >>> shift) | (bitmap.wordAt(word + 1) << (32 - shift))
}

/** Clears bit `i` wherever bit `offset + i` of `refused` is set. */
function clearAll(bits: Uint32Array, refused: Uint32Array, offset: number): void {
  const words = offset >> 5
  const shift = offset & 31
  for (let word = 0; word < bits.length; word++) {
    const low = refused[word + words] ?? 0
    const high = refused[word + words + 1] ?? 0
    bits[word] = (bits[word] ?? 0) & ~(shift === 0 ? low : (low >>> shift) | (high << (32 - shift)))
  }
}

/** Clears the bits `[from, to)`; none when `from >= to`. */
function clearBits(bits: Uint32Array, from: number, to: number): void {
  if (from >= to) return
  const last = (to - 1) >> 5
  for (let word = from >> 5; word <= last; word++) {
    const start = word << 5
    const after = from > start ? -1 << (from - start) : -1
    const before = to < start + 32 ? ~(-1 << (to - start)) : -1
    bits[word] = (bits[word] ?? 0) & ~(after & before)
  }
}
