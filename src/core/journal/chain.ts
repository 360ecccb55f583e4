/**
 * The chain of a shard: each entry's link is an HMAC-SHA-256 of the link before it and of everything the entry says. Whoever
 * changes, removes or inserts an entry in the database, without the shard's key, breaks it there.
 */
import type { EncodedEntry } from './entry-codec.ts'

/** 32 bytes; before the first entry of a shard, none. */
export type Link = Uint8Array

export const NO_LINK: Link = new Uint8Array(0)

/** What a link covers: every column of an entry but those that say how it was stored. */
export type LinkedEntry = Omit<EncodedEntry, 'link' | 'checksum' | 'booking'>

/** @param key of the shard, 32 bytes */
export function nextLink(key: Uint8Array, previous: Link, entry: LinkedEntry): Link {
  return new Bun.CryptoHasher('sha256', key).update(previous).update(coveredText(entry)).digest()
}

/** The same text for the same entry, and for no other: a JSON array, which no value can break out of. */
function coveredText(entry: LinkedEntry): string {
  const { shard, seq, month, at, agencyId, unitId, otherUnitId, bookingId, id, kind, isAnnounced } = entry
  const { actor, route, requestId, payload } = entry
  return JSON.stringify([
    ...[shard, seq, month, at, agencyId, unitId, otherUnitId, bookingId, id, kind, isAnnounced],
    ...[actor.kind, actor.id, route, requestId, payload],
  ])
}
