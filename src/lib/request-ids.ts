/**
 * Ids of requests. Every request gets one, and most are never looked at, so they cost as little as a counter: a UUIDv7 is made for
 * each 256 of them, and its last two digits count. That part of a UUIDv7 is random, so the ids are as unique as those of
 * `systemIds`, and sort by time as they do.
 */
const BLOCK = 256
const LAST_DIGITS = Array.from({ length: BLOCK }, (_, n) => n.toString(16).padStart(2, '0'))

let leading = ''
let given = BLOCK

/** `req_` and 32 hexadecimal digits, never the same twice. */
export function nextRequestId(): string {
  if (given === BLOCK) {
    leading = `req_${Bun.randomUUIDv7('buffer').toString('hex', 0, 15)}`
    given = 0
  }
  return leading + LAST_DIGITS[given++]
}
