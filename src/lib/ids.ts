/** Prefixes of ids, so that an id says what it names (docs/design.md#statuses). */
export type IdPrefix = 'agc' | 'bkg' | 'gst' | 'unt' | 'key' | 'fee' | 'whe' | 'evt' | 'dlv' | 'aud' | 'req'

/** Makes ids; a port, so that a simulation can make the same ones again. */
export type IdSource = (prefix: IdPrefix) => string

/** Prefix and a UUIDv7 without dashes: sorts by time of making. */
export const systemIds: IdSource = (prefix) => `${prefix}_${Bun.randomUUIDv7('buffer').toString('hex')}`
