import { assert } from './assert.ts'
import { nextRequestId } from './request-ids.ts'

/** Prefixes of ids, so that an id says what it names (docs/design.md#statuses). */
export type IdPrefix = 'agc' | 'bkg' | 'gst' | 'unt' | 'key' | 'tok' | 'fee' | 'whe' | 'evt' | 'dlv' | 'aud' | 'req'

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
