/**
 * The chain of a shard: each entry's link is an HMAC-SHA-256 of the link before it and of everything the entry says. Anyone who
 * changes, removes or inserts an entry without the shard's key breaks the chain at that entry. It does not show that the newest
 * entries are missing.
 */
import type { Instant } from '../domain/booking.ts'
import type { Month } from './month.ts'
import type { Actor } from './record.ts'

/** 32 bytes; before the first entry of a shard, none. */
export type Link = Uint8Array

export const NO_LINK: Link = new Uint8Array(0)

/** What a link covers: every column of an entry but those that say how it was stored. */
export interface LinkedEntry {
  readonly shard: number
  readonly seq: number
  readonly month: Month
  readonly at: Instant
  readonly agencyId: string
  readonly unitId: string
  readonly otherUnitId: string | null
  readonly bookingId: string | null
  /** `evt_…` */
  readonly id: string
  readonly kind: string
  /** Whether it fires a webhook event. */
  readonly isAnnounced: boolean
  readonly actor: Actor
  readonly route: string
  readonly requestId: string | null
  readonly payload: string
}

/**
 * The link of `entry`, which follows the entry with the link `previous`.
 * @param key of the shard, 32 bytes
 */
export function nextLink(key: Uint8Array, previous: Link, entry: LinkedEntry): Link {
  return new Bun.CryptoHasher('sha256', key).update(previous).update(coveredText(entry)).digest()
}

/** Unambiguous: a JSON array, so that no two entries have the same text. */
function coveredText(entry: LinkedEntry): string {
  const { shard, seq, month, at, agencyId, unitId, otherUnitId, bookingId, id, kind, isAnnounced } = entry
  const { actor, route, requestId, payload } = entry
  const place = [shard, seq, month, at, agencyId, unitId, otherUnitId, bookingId, id, kind, isAnnounced]
  place.push(actor.kind, actor.id, route, requestId, payload)
  return JSON.stringify(place)
}
