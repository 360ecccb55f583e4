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
 * @throws RangeError in a second that `Date` cannot hold
 */
export function instantText(instant: number): string {
  // `Date` drops a fraction of a millisecond too.
  const ms = Math.trunc(instant)
  const itsSecond = Math.floor(ms / 1_000)
  if (itsSecond !== second) {
    upToSeconds = new Date(ms).toISOString().slice(0, -'000Z'.length)
    second = itsSecond
  }
  return upToSeconds + (MILLISECONDS[ms - itsSecond * 1_000] ?? '')
}
