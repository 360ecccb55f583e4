/**
 * - C1 256 shards, fixed in the database. Everything of an agency belongs to its shard. The SQL function `shard_of` says the same.
 */
import { uuidOf } from '../../lib/ids.ts'

export const SHARDS = 256

/** Shards of agencies asked for before: every write asks twice, and the hash takes 2 µs. */
const known = new Map<string, number>()
const KNOWN_MAX = 65_536

/** 0 to 255: the first byte of the SHA-256 of the agency's UUID. */
export function shardOf(agencyId: string): number {
  const before = known.get(agencyId)
  if (before !== undefined) return before
  const shard = hashed(agencyId)
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(agencyId, shard)
  return shard
}

function hashed(agencyId: string): number {
  const digest = new Bun.CryptoHasher('sha256').update(Buffer.from(uuidOf(agencyId), 'hex')).digest()
  return digest[0] ?? 0
}

/** An id that no agency has, of shard 0. A record written under it meets the fence that guards what belongs to no agency. */
export const OF_SHARD_0 = 'agc_000000000000000000000000000000de'
