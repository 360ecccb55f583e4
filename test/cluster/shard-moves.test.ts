import { expect, test } from 'bun:test'
import { ClusterKeys, claimText } from '../../src/cluster/cluster-keys.ts'
import { ClusterView } from '../../src/cluster/cluster-view.ts'
import { EtcdError } from '../../src/cluster/etcd/etcd.ts'
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
    self: 'a',
    etcd,
    clock,
    keys: KEYS,
    view,
    host,
    watch: QUIET_WATCH,
    wanted: () => Array.from({ length: SHARDS }, () => 'b'),
    lease: () => a,
    onChanged: () => moves.act(),
    onEtcdFailure: () => {},
  })
  return {
    clock,
    host,
    moves,
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

/** Nobody has the shards, and all should be this node's. */
async function alone() {
  const [clock, etcd, view] = [new FakeClock(), new SmallEtcd(), new ClusterView(KEYS)]
  const host = new MemoryShardHost(new SharedEpochs())
  const lease = await etcd.grant()
  view.replace(await etcd.read())
  const moves = new ShardMoves({
    self: 'a',
    etcd,
    clock,
    keys: KEYS,
    view,
    host,
    watch: QUIET_WATCH,
    wanted: () => Array.from({ length: SHARDS }, () => 'a'),
    lease: () => lease,
    onChanged: () => moves.act(),
    onEtcdFailure: () => {},
  })
  return { clock, etcd, host, moves, view }
}

test('J8: a node that takes the shards of a dead one gets all whose fence is not locked, and the locked one when it is free', async () => {
  const { clock, host, moves, view } = await alone()
  host.locked.add(77)
  moves.act()
  await eventually('what was begun is over', () => moves.isIdle)
  expect([host.owned.size, host.owned.has(77)]).toEqual([SHARDS - 1, false])
  // All halves of one size are tried before any of the next.
  const sizes = host.calls.map(({ shards }) => shards.length)
  expect(sizes).toEqual([256, 128, 128, 64, 64, 32, 32, 16, 16, 8, 8, 4, 4, 2, 2, 1, 1])
  expect(view.claims.filter((claim) => claim?.isServing === true)).toHaveLength(SHARDS - 1)
  host.locked.clear()
  await clock.advance(1_000)
  moves.act()
  await eventually('it has all', () => host.owned.size === SHARDS)
})

test('J8: shards that a node has got are its own at once, and can be given up while it still waits for a locked one', async () => {
  const { host, moves } = await alone()
  host.locked.add(0)
  const tried = Promise.withResolvers<void>()
  const acquire = host.acquire.bind(host)
  host.acquire = async (shards) => {
    if (shards.includes(0) && shards.length === 64) await tried.promise
    return acquire(shards)
  }
  moves.act()
  await eventually('the other half is there', () => host.owned.has(200))
  await eventually('nothing is done with it', () => !moves.isBusy(200))
  expect([moves.isServed(200), moves.isBusy(0)]).toEqual([true, true])
  tried.resolve()
  await eventually('what was begun is over', () => moves.isIdle)
})

test('a database that does not answer is asked for all shards once, not for each', async () => {
  const { host, moves } = await alone()
  host.isCut = true
  moves.act()
  await eventually('what was begun is over', () => moves.isIdle)
  expect(host.calls).toHaveLength(1)
})

test('an etcd that refuses at once is asked again after a second, not again and again', async () => {
  const { clock, etcd, host, moves } = await alone()
  const commit = etcd.commit.bind(etcd)
  let asked = 0
  etcd.commit = async () => {
    asked += 1
    await Bun.sleep(0)
    throw new EtcdError('connection refused', false)
  }
  moves.act()
  for (let turn = 0; turn < 100; turn++) await Bun.sleep(0)
  expect(asked).toBe(1)
  etcd.commit = commit
  await clock.advance(1_000)
  moves.act()
  await eventually('it has all', () => host.owned.size === SHARDS)
})
