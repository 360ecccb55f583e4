import { assert } from './assert.ts'

/** SHA-256 of the text's UTF-8, lower-case hex. Half the time of `createHash`, and it runs with every request. */
export function sha256Hex(text: string): string {
  return Bun.SHA256.hash(text, 'hex')
}

/** Prefixes of ids, so that an id says what it names (docs/design.md#statuses). */
export type IdPrefix =
  | 'agc'
  | 'bkg'
  | 'grp'
  | 'gst'
  | 'unt'
  | 'key'
  | 'tok'
  | 'per'
  | 'pky'
  | 'ses'
  | 'fee'
  | 'whe'
  | 'evt'
  | 'dlv'
  | 'aud'
  | 'req'

/** Makes ids; a port, so that a simulation can make the same ones again. */
export type IdSource = (prefix: IdPrefix) => string

/** Prefix and a UUIDv7 without dashes: sorts by time of creation. */
export const systemIds: IdSource = (prefix) =>
  prefix === 'req' ? nextRequestId() : `${prefix}_${Bun.randomUUIDv7('buffer').toString('hex')}`

const ID = /^[a-z]{3}_[0-9a-f]{32}$/

/**
 * The UUID in an id, as 32 hexadecimal digits: the form in which the database takes it. Null for a text that is no id with this
 * prefix, and so names nothing that exists.
 */
export function uuidIn(prefix: IdPrefix, id: string): string | null {
  return ID.test(id) && id.startsWith(prefix) ? id.slice(4) : null
}

/** The UUID in an id of our own. */
export function uuidOf(id: string): string {
  assert(ID.test(id), `Cannot use ${id} as an id: it has another form`)
  return id.slice(4)
}

/** The id with this prefix for a UUID as the database returns it, with or without dashes. */
export function idOf(prefix: IdPrefix, uuid: string): string {
  return `${prefix}_${uuid.length === 32 ? uuid : uuid.replaceAll('-', '')}`
}

export function idOrNull(prefix: IdPrefix, uuid: string | null): string | null {
  return uuid === null ? null : idOf(prefix, uuid)
}

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
