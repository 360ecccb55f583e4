/**
 * - C1 256 shards, fixed in the database. Everything of an agency belongs to its shard. The SQL function `shard_of` says the same.
 */

import { randomBytes } from 'node:crypto'
import { instantText } from '../../lib/clock.ts'
import { type IdSource, uuidOf } from '../../lib/ids.ts'
import { openText, sealText } from '../../lib/sealed-text.ts'
import type { Instant } from '../domain/booking.ts'
import type { Actor } from './record.ts'

export const SHARDS = 256

/** Shards of agencies, by id: every record of an agency asks for it, and hashing takes a microsecond. */
const shards = new Map<string, number>()
const REMEMBERED_MAX = 100_000

/** 0 to 255: the first byte of the SHA-256 of the agency's UUID. */
export function shardOf(agencyId: string): number {
  const remembered = shards.get(agencyId)
  if (remembered !== undefined) return remembered
  const digest = new Bun.CryptoHasher('sha256').update(Buffer.from(uuidOf(agencyId), 'hex')).digest()
  const shard = digest[0] ?? 0
  if (shards.size >= REMEMBERED_MAX) shards.clear()
  shards.set(agencyId, shard)
  return shard
}

/** Every 256th id or so is of the shard that is wanted. */
const DRAWN_MAX = 100_000

/** A new id of an agency of this shard. @param shard undefined: any */
export function idInShard(shard: number | undefined, newId: IdSource): string {
  for (let drawn = 0; drawn < DRAWN_MAX; drawn++) {
    const id = newId('agc')
    if (shard === undefined || shardOf(id) === shard) return id
  }
  throw new Error(`Cannot create an agency: none of ${DRAWN_MAX} ids belongs to shard ${shard}`)
}

/** An id that no agency has, of shard 0. A record written under it meets the fence that guards what belongs to no agency. */
export const OF_SHARD_0 = 'agc_000000000000000000000000000000de'

/** The first day of a month, UTC, `YYYY-MM-01`: what rows are partitioned by. Sorts as text. */
export type Month = string

/** The month of an instant, by its UTC date. */
export function monthOf(at: Instant): Month {
  return `${instantText(at).slice(0, 7)}-01`
}

/**
 * The month under which the entry after one of month `last` is stored: never lower than that of the entry before it, however the
 * clock jumps, and never beyond the newest month that has a partition.
 */
export function storageMonth(at: Instant, { last, newest }: { last: Month; newest: Month }): Month {
  const month = monthOf(at)
  if (month < last) return last
  return month > newest ? newest : month
}

/**
 * Of an entry in the chain of its shard: an HMAC-SHA-256 of the link before it and of everything the entry says. Anyone who
 * changes, removes or inserts an entry without the shard's key breaks the chain at that entry. It does not show that the newest
 * entries are missing. 32 bytes; before the first entry of a shard, none.
 */
export type Link = Uint8Array

export const NO_LINK: Link = new Uint8Array(0)

/** What a link covers: every column of an entry but those that say how it was stored. */
export interface LinkedEntry {
  readonly shard: number
  readonly seq: number
  readonly month: Month
  readonly at: Instant
  readonly agencyId: string
  readonly unitId: string | null
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
  readonly traceparent: string | null
  readonly payload: string
}

/**
 * The link of an entry, which follows the entry with the link `previous`.
 * @param key of the shard, 32 bytes
 * @param covered `coveredText` of the entry
 */
export function nextLink(key: Uint8Array, previous: Link, covered: string): Link {
  return new Bun.CryptoHasher('sha256', key).update(previous).update(covered).digest()
}

/**
 * The canonical bytes of an entry, which its link and its leaf in the agency's tree cover: a JSON array whose last element is the payload.
 * Unambiguous: everything before the payload is escaped, so no two entries have the same text. The SQL function `leaves` says the same.
 */
export function coveredText(entry: LinkedEntry): string {
  const { shard, seq, month, at, agencyId, unitId, otherUnitId, bookingId, id, kind, isAnnounced } = entry
  const { actor, route, requestId, traceparent, payload } = entry
  const place = [shard, seq, month, at, agencyId, unitId, otherUnitId, bookingId, id, kind, isAnnounced]
  place.push(actor.kind, actor.id, route, requestId)
  // Omitted if null, as in most entries: few requests belong to a trace.
  if (traceparent !== null) place.push(traceparent)
  return `${JSON.stringify(place).slice(0, -1)},${payload}]`
}

/**
 * The key of a shard's chain.
 *
 * - K1 The keys of the chains are stored encrypted with SECRET_KEY, each bound to its shard.
 */
export interface ChainKey {
  /** 32 bytes. */
  readonly key: Uint8Array
  /**
   * The last entry that was linked with the key before this one, which is lost; 0 when there was none. Encrypted together with the key, so that
   * nobody without SECRET_KEY can exempt entries from verification.
   */
  readonly since: number
}

/** The key of a chain cannot be decrypted, or is missing. */
export class ChainKeyError extends Error {
  override readonly name = 'ChainKeyError'
}

export const CHAIN_KEY_BYTES = 32

/** A random key. */
export function newChainKey(since = 0): ChainKey {
  return { key: randomBytes(CHAIN_KEY_BYTES), since }
}

/**
 * The key as it is stored: encrypted, and bound to its shard.
 * @param secretKey 32 bytes (SECRET_KEY)
 */
export function sealChainKey(secretKey: Uint8Array, shard: number, { key, since }: ChainKey): string {
  return sealText(secretKey, `${Buffer.from(key).toString('hex')} ${since}`, boundTo(shard))
}

/** Null when it was sealed with another SECRET_KEY or for another shard, or was modified. */
export function openChainKey(secretKey: Uint8Array, shard: number, sealed: string): ChainKey | null {
  const [hex = '', since = ''] = openText(secretKey, sealed, boundTo(shard))?.split(' ') ?? []
  return hex === '' ? null : { key: Uint8Array.fromHex(hex), since: Number(since) }
}

function boundTo(shard: number): string {
  return `chain-key ${shard}`
}
