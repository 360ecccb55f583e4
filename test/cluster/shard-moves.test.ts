import { expect, test } from 'bun:test'
import { ClusterKeys, claimText } from '../../src/cluster/cluster-keys.ts'
import { ClusterView } from '../../src/cluster/cluster-view.ts'
import { ShardMoves } from '../../src/cluster/shard-moves.ts'
import { MOVES_MAX } from '../../src/cluster/steps.ts'
import { SHARDS } from '../../src/core/journal/shard.ts'
import { eventually } from '../support/eventually.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { MemoryShardHost, SharedEpochs } from '../support/memory-shard-host.ts'
import { QUIET_WATCH } from '../support/quiet-watch.ts'
import { SmallEtcd } from '../support/small-etcd.ts'

const KEYS = new ClusterKeys('/nightledger/x/')
const OWN = 100

/** Node `a` has the first shards and `b` the others; all should be `b`'s. */
async function moving() {
  const [clock, etcd, view] = [new FakeClock(), new SmallEtcd(), new ClusterView(KEYS)]
  const host = new MemoryShardHost(new SharedEpochs())
  await host.acquire(Array.from({ length: OWN }, (_, shard) => shard))
  const [a, b] = [await etcd.grant(), await etcd.grant()]
  const claim = (shard: number, node: string, lease: string) =>
    etcd.put([{ key: KEYS.shard(shard), value: claimText({ node, isServing: true }), lease, condition: 'absent' }])
  for (let shard = 0; shard < SHARDS; shard++) claim(shard, shard < OWN ? 'a' : 'b', shard < OWN ? a : b)
  view.replace(await etcd.read())
  const moves = new ShardMoves({
    ...{ self: 'a', etcd, clock, keys: KEYS, view, host },
    watch: QUIET_WATCH,
    wanted: () => Array.from({ length: SHARDS }, () => 'b'),
    lease: () => a,
    onChanged: () => moves.act(),
    onEtcdFailure: () => {},
  })
  return {
    ...{ clock, host, moves },
    /** `b` serves whatever was given up. */
    taken: async () => {
      await eventually('the group is given up', () => moves.isIdle)
      for (let shard = 0; shard < OWN; shard++) if (!host.owned.has(shard)) claim(shard, 'b', b)
      view.replace(await etcd.read())
      moves.act()
      await eventually('what was begun is over', () => moves.isIdle)
    },
  }
}

test('between two groups of shards there is a rest, after which the next one moves without anybody asking', async () => {
  const { clock, host, moves, taken } = await moving()
  moves.act()
  await taken()
  expect(host.owned.size).toBe(OWN - MOVES_MAX)
  await clock.advance(100)
  expect(host.owned.size).toBe(OWN - MOVES_MAX)
  await clock.advance(100)
  await eventually('the second group', () => host.owned.size === OWN - 2 * MOVES_MAX)
})

test('a process that is being stopped does not rest', async () => {
  const { host, moves, taken } = await moving()
  moves.isLeaving = true
  moves.act()
  await taken()
  expect(host.owned.size).toBeLessThanOrEqual(OWN - 64)
})
