import { SHARDS, shardOf } from '../../src/core/journal/shard.ts'
import { CheckpointBuilder } from '../../src/events/checkpoints/checkpoint-builder.ts'
import { EMPTY_ROOT, type Hash, isSameHash } from '../../src/events/checkpoints/merkle-tree.ts'
import { RecentLeaves } from '../../src/events/checkpoints/recent-leaves.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { PostgresCheckpointRows } from '../../src/postgres/stores/postgres-checkpoint-rows.ts'
import { FakeClock } from './fake-clock.ts'

/** A builder that has all shards and only runs the rounds that a test asks for. */
export function checkpointBuilder(
  sql: Sql,
  rows = new PostgresCheckpointRows(sql),
  recent = recentLeaves(),
): CheckpointBuilder {
  return new CheckpointBuilder({
    rows,
    clock: new FakeClock(),
    owned: () => Array.from({ length: SHARDS }, (_, shard) => ({ shard, epoch: 1 })),
    recent,
    onFailure: (error) => {
      throw error
    },
  })
}

export function recentLeaves({
  epochOf = () => 1,
  leavesMax = 100_000,
  agencyLeavesMax = leavesMax,
}: {
  epochOf?: (shard: number) => number
  leavesMax?: number
  agencyLeavesMax?: number
} = {}): RecentLeaves {
  return new RecentLeaves({ epochOf, leavesMax, agencyLeavesMax })
}

/** Notes entries of which one between is missing: the builder reads those of the agency from the journal. */
export function noteUnseen(builder: CheckpointBuilder, agencyId: string): void {
  for (const seq of [-4, -2])
    builder.note({ agencyId, shard: shardOf(agencyId), seq, month: '', id: '', leaf: new Uint8Array() })
}

/** What a service does within a minute: every entry gets its leaf. */
export function makeCheckpoints(sql: Sql): Promise<void> {
  return checkpointBuilder(sql).round()
}

interface Tree {
  readonly size: number
  readonly root: Hash
}

/** Whether `proof` shows that one tree is the beginning of another (RFC 9162, 2.1.4.2). */
export function isConsistent(from: Tree, to: Tree, proof: readonly Hash[]): boolean {
  const path = Number.isInteger(Math.log2(from.size)) ? [from.root, ...proof] : [...proof]
  let [fn, sn] = [from.size - 1, to.size - 1]
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)]
  let [fr, sr] = [path[0] ?? EMPTY_ROOT, path[0] ?? EMPTY_ROOT]
  const node = (left: Hash, right: Hash): Hash =>
    new Bun.CryptoHasher('sha256')
      .update(new Uint8Array([1]))
      .update(left)
      .update(right)
      .digest()
  for (const step of path.slice(1)) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      ;[fr, sr] = [node(step, fr), node(step, sr)]
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)]
    } else {
      sr = node(sr, step)
    }
    ;[fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)]
  }
  return sn === 0 && isSameHash(fr, from.root) && isSameHash(sr, to.root)
}
