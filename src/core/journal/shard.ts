/**
 * - C1 256 shards, fixed in the database. Everything of an agency belongs to its shard. The SQL function `shard_of` says the same.
 */
import { uuidOf } from '../../lib/ids.ts'

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

/** An id that no agency has, of shard 0. A record written under it meets the fence that guards what belongs to no agency. */
export const OF_SHARD_0 = 'agc_000000000000000000000000000000de'
