import { describe, expect, test } from 'bun:test'
import { OF_SHARD_0, SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { systemIds } from '../../../src/lib/ids.ts'

/** Agency, and the SHA-256 of its UUID as `sha256sum` prints it. */
const VECTORS = [
  ['agc_00000000000000000000000000000000', '374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb'],
  ['agc_0f1e2d3c4b5a69788796a5b4c3d2e1f0', '4179529caf32c8cca4a1772697d3c8b15837a02eefe85cd8f9483480e663f2f1'],
  ['agc_ffffffffffffffffffffffffffffffff', '5ac6a5945f16500911219129984ba8b387a06f24fe383ce4e81a73294065461b'],
] as const

describe('C1: the shard of an agency', () => {
  for (const [agencyId, sha256] of VECTORS) {
    test(`is the first byte of the SHA-256 of its UUID: ${sha256.slice(0, 2)} for ${agencyId}`, () => {
      expect(shardOf(agencyId)).toBe(Number.parseInt(sha256.slice(0, 2), 16))
    })
  }

  test('of what belongs to no agency is 0', () => expect(shardOf(OF_SHARD_0)).toBe(0))

  test('can be each of the 256', () => {
    const shards = Array.from({ length: 10_000 }, () => shardOf(systemIds('agc')))
    expect([new Set(shards).size, Math.min(...shards), Math.max(...shards)]).toEqual([SHARDS, 0, SHARDS - 1])
  })
})
