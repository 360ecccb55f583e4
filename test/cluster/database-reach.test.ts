import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { ClusterKeys } from '../../src/cluster/cluster-keys.ts'
import { ClusterNode } from '../../src/cluster/cluster-node.ts'
import { DatabaseReach, type Reach } from '../../src/cluster/database-reach.ts'
import type { NodeWatch } from '../../src/cluster/node-watch.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { MemoryShardHost, SharedEpochs } from '../support/memory-shard-host.ts'
import { SmallEtcd } from '../support/small-etcd.ts'

/** Of 200 ms each: whoever begins at the same moment still asks and answers apart. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 200) {
    await clock.advance(200)
    await Bun.sleep(0)
  }
}

describe('a node', () => {
  let clock: FakeClock
  let reported: Reach[]
  let reach: DatabaseReach
  let isAnswered: boolean
  let othersReach: boolean
  let canTell: boolean

  beforeEach(() => {
    clock = new FakeClock()
    reported = []
    isAnswered = true
    othersReach = true
    canTell = true
    reach = new DatabaseReach({
      clock,
      ping: async () => {
        if (!isAnswered) throw new Error('no answer')
      },
      othersReach: () => othersReach,
      tell: async (what) => {
        if (canTell) reported.push(what)
        return canTell
      },
    })
    void reach.run()
  })
  afterEach(() => reach.stop())

  test('that reached Postgres meanwhile, and could not say so, waits again before it gives up', async () => {
    isAnswered = false
    await pass(clock, 7_000)
    expect(reported).toEqual(['missed'])
    isAnswered = true
    canTell = false
    await pass(clock, 2_000)
    isAnswered = false
    await pass(clock, 4_000)
    canTell = true
    await pass(clock, 3_000)
    expect(reported).toEqual(['missed', 'missed'])
    await pass(clock, 4_000)
    expect(reported).toEqual(['missed', 'missed', 'given_up'])
  })

  test('that misses Postgres says so after 3 s, and gives up when others have reached it for 5 s more', async () => {
    await pass(clock, 10_000)
    expect(reported).toEqual([])
    isAnswered = false
    await pass(clock, 2_000)
    expect(reported).toEqual([])
    await pass(clock, 2_000)
    expect(reported).toEqual(['missed'])
    await pass(clock, 4_000)
    expect(reported).toEqual(['missed'])
    await pass(clock, 3_000)
    expect(reported).toEqual(['missed', 'given_up'])
  })

  test('keeps everything while nobody else reaches Postgres, however long that lasts', async () => {
    isAnswered = false
    othersReach = false
    await pass(clock, 60_000)
    expect(reported).toEqual(['missed'])
    // Others find it a few seconds earlier when it is back.
    othersReach = true
    await pass(clock, 4_000)
    isAnswered = true
    await pass(clock, 5_000)
    expect(reported).toEqual(['missed', 'reached'])
  })

  test('that gave up wants shards again when Postgres has answered it for 5 s without a break', async () => {
    isAnswered = false
    await pass(clock, 12_000)
    expect(reported).toEqual(['missed', 'given_up'])
    for (let i = 0; i < 5; i++) {
      isAnswered = true
      await pass(clock, 4_000)
      isAnswered = false
      await pass(clock, 2_000)
    }
    isAnswered = true
    await pass(clock, 4_000)
    expect(reported).toEqual(['missed', 'given_up'])
    await pass(clock, 3_000)
    expect(reported).toEqual(['missed', 'given_up', 'reached'])
  })

  test('that could tell nobody tells it again, and gives nothing up before the others know that it misses Postgres', async () => {
    canTell = false
    isAnswered = false
    await pass(clock, 20_000)
    canTell = true
    await pass(clock, 1_000)
    expect(reported).toEqual(['missed'])
    await pass(clock, 7_000)
    expect(reported).toEqual(['missed', 'given_up'])
  })

  test('of which it is not known what it told tells it again: the others may know it as one that misses Postgres', async () => {
    isAnswered = false
    canTell = false
    await pass(clock, 6_000)
    isAnswered = true
    canTell = true
    await pass(clock, 2_000)
    expect(reported).toEqual(['reached'])
  })
})

describe('of three nodes', () => {
  const KEYS = new ClusterKeys('/nightledger/x/')
  let clock: FakeClock
  let etcd: SmallEtcd
  let epochs: SharedEpochs
  let nodes: { id: string; node: ClusterNode; host: MemoryShardHost; events: string[] }[]

  beforeEach(async () => {
    clock = new FakeClock()
    etcd = new SmallEtcd()
    epochs = new SharedEpochs()
    nodes = ['a', 'b', 'c'].map((id) => {
      const host = new MemoryShardHost(epochs)
      const events: string[] = []
      const watch: NodeWatch = {
        onJoined() {},
        onLeaseLost() {},
        onNodeIdTaken() {},
        onEtcdFailure() {},
        onEtcdBack() {},
        onAcquired() {},
        onReleased() {},
        onDropped() {},
        onFenced() {},
        onMoveFailure() {},
        onDatabaseMissed: ({ shards }) => void events.push(`gave up ${shards > 0 ? 'shards' : 'nothing'}`),
        onDatabaseBack: () => void events.push('back'),
      }
      const self = { id, url: `http://${id}`, version: '1', run: null, startedAt: 0 }
      const node = new ClusterNode({ self, etcd, clock, keys: KEYS, host, isOver: () => false, watch })
      return { id, node, host, events }
    })
    for (const { node } of nodes) await node.join()
    await pass(clock, 60_000)
  })
  afterEach(() => Promise.all(nodes.map(({ node }) => node.close())))

  const at = (index: number) => {
    const found = nodes[index]
    if (found === undefined) throw new Error(`there is no node ${index}`)
    return found
  }
  const owners = () =>
    Array.from({ length: 256 }, (_, shard) =>
      nodes
        .filter(({ host }) => host.owned.has(shard))
        .map(({ id }) => id)
        .join(),
    )
  const events = () => nodes.flatMap((each) => each.events)

  test('one that alone reaches no Postgres leaves its shards to the others, and gets them back', async () => {
    const before = owners()
    expect(new Set(before)).toEqual(new Set(['a', 'b', 'c']))
    at(0).host.isCut = true
    await pass(clock, 7_000)
    expect(owners()).toEqual(before)
    await pass(clock, 6_000)
    expect(owners()).toEqual(before.map((id) => expect.stringMatching(id === 'a' ? /^[bc]$/ : new RegExp(`^${id}$`))))
    expect(at(0).events).toEqual(['gave up shards'])
    at(0).host.isCut = false
    await pass(clock, 60_000)
    expect(owners()).toEqual(before)
    expect(at(0).events).toEqual(['gave up shards', 'back'])
    expect([at(1).events, at(2).events]).toEqual([[], []])
  })

  test('none gives anything up when none reaches Postgres, also if it finds that out, and that it is over, seconds after the others', async () => {
    const before = owners()
    at(0).host.isCut = true
    await pass(clock, 2_600)
    epochs.isAway = true
    at(0).host.isCut = false
    await pass(clock, 120_000)
    expect([owners(), events()]).toEqual([before, []])
    at(1).host.isCut = true
    epochs.isAway = false
    await pass(clock, 3_000)
    at(1).host.isCut = false
    await pass(clock, 20_000)
    expect([owners(), events()]).toEqual([before, []])
  })

  test('two that gave up are better than none: they try again when the third is gone', async () => {
    for (const index of [0, 1]) at(index).host.isCut = true
    await pass(clock, 15_000)
    expect(new Set(owners())).toEqual(new Set(['c']))
    at(2).host.isCut = true
    await pass(clock, 30_000)
    expect(new Set(owners())).toEqual(new Set(['c']))
    const [gone] = nodes.splice(2, 1)
    await gone?.node.close()
    at(1).host.isCut = false
    await pass(clock, 60_000)
    expect(new Set(owners())).toEqual(new Set(['b']))
  })
})
