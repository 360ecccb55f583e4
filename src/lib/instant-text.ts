/**
 * Instants as text. A booking is written with the same few instants in its row, its entry and its answer, and `toISOString` is slow
 * (170 ns against 25): the text up to the seconds is kept for the second that was written last.
 */

const MILLISECONDS = Array.from({ length: 1_000 }, (_, ms) => `${String(ms).padStart(3, '0')}Z`)

/** Since 1970; that of `upToSeconds`. */
let second = Number.NaN
let upToSeconds = ''

/**
 * ISO 8601, UTC, with milliseconds, as `Date` writes it.
 * @throws RangeError when the instant is not one that `Date` can hold
 */
export function instantText(instant: number): string {
  const itsSecond = Math.floor(instant / 1_000)
  if (itsSecond !== second) {
    upToSeconds = new Date(instant).toISOString().slice(0, -MILLISECONDS_CHARS)
    second = itsSecond
  }
  // `Date` drops a fraction of a millisecond.
  return upToSeconds + (MILLISECONDS[Math.floor(instant - itsSecond * 1_000)] ?? '')
}

const MILLISECONDS_CHARS = '000Z'.length
