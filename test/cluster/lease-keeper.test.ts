import { beforeEach, describe, expect, test } from 'bun:test'
import { ClusterKeys, memberText } from '../../src/cluster/cluster-keys.ts'
import { ClusterNode } from '../../src/cluster/cluster-node.ts'
import { Confirmation } from '../../src/cluster/confirmation.ts'
import { EtcdError } from '../../src/cluster/etcd/etcd.ts'
import { LeaseKeeper } from '../../src/cluster/lease-keeper.ts'
import { sleep } from '../../src/lib/clock.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { MemoryShardHost, SharedEpochs } from '../support/memory-shard-host.ts'
import { QUIET_WATCH } from '../support/quiet-watch.ts'
import { SmallEtcd } from '../support/small-etcd.ts'

const KEYS = new ClusterKeys('/nightledger/x/')
const SELF = { id: 'a', url: 'http://a', version: '1', run: null, startedAt: 0 }

let clock: FakeClock
let etcd: SmallEtcd
let confirmation: Confirmation

beforeEach(() => {
  clock = new FakeClock()
  etcd = new SmallEtcd()
  confirmation = new Confirmation(clock)
})

function keeperOf(onGranted: () => Promise<void> = async () => {}): LeaseKeeper {
  const watch = { onGranted, onLost: () => {}, onRenewed: () => {}, onFailure: () => {}, onTaken: () => {} }
  return new LeaseKeeper(
    { ...SELF, state: 'up' },
    { etcd, clock, keys: KEYS, confirmation, watch, isOver: () => false },
  )
}

describe('the lease of a node', () => {
  test('C6: confirms nothing until what others claimed has been read', async () => {
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    const registering = keeperOf(() => isRead).register({ isFirst: true })
    await clock.advance(100)
    expect([confirmation.hasLease, etcd.entries.size]).toEqual([false, 1])
    read()
    await registering
    expect(confirmation.hasLease).toBe(true)
  })

  test('C6: confirms nothing from when etcd says that it is over, however long it had', async () => {
    const keeper = keeperOf()
    await keeper.register({ isFirst: true })
    void keeper.run()
    await clock.advance(900)
    etcd.end(keeper.lease ?? '')
    const keepAlive = etcd.keepAlive.bind(etcd)
    etcd.keepAlive = async (lease) => {
      const ttlS = await keepAlive(lease)
      etcd.isAway = true
      return ttlS
    }
    await clock.advance(200)
    expect([keeper.lease, confirmation.hasLease]).toEqual([null, false])
    keeper.stop()
  })

  test('a node that starts while etcd is away waits for the lease of its former process from when etcd is back', async () => {
    const former = await etcd.grant()
    const value = memberText({ ...SELF, state: 'up' })
    await etcd.commit([{ key: KEYS.member('a'), value, lease: former, condition: 'absent' }])
    const keeper = keeperOf()
    const registering = keeper.register({ isFirst: true }).catch((error: Error) => error.message)
    await clock.advance(1_000)
    etcd.isAway = true
    await clock.advance(16_000)
    etcd.isAway = false
    await clock.advance(4_000)
    etcd.end(former)
    await clock.advance(1_000)
    expect(await registering).toBeUndefined()
    expect(confirmation.hasLease).toBe(true)
  })

  test('a node whose id another process keeps does not start', async () => {
    const value = memberText({ ...SELF, state: 'up' })
    await etcd.commit([{ key: KEYS.member('a'), value, lease: await etcd.grant(), condition: 'absent' }])
    const refused = keeperOf()
      .register({ isFirst: true })
      .catch((error: Error) => error.message)
    await clock.advance(16_000)
    expect(await refused).toContain('another process has NODE_ID a')
  })

  test('is kept while it is renewed, and confirmed for four seconds when it is not', async () => {
    const keeper = keeperOf()
    await keeper.register({ isFirst: true })
    void keeper.run()
    await clock.advance(20_000)
    expect(confirmation.hasLease).toBe(true)
    etcd.isAway = true
    await clock.advance(2_900)
    expect(confirmation.hasLease).toBe(true)
    await clock.advance(1_200)
    expect(confirmation.hasLease).toBe(false)
    keeper.stop()
  })

  test('has the member key as it was changed last, although an earlier change takes longer', async () => {
    const keeper = keeperOf()
    await keeper.register({ isFirst: true })
    const commit = etcd.commit.bind(etcd)
    let isFirst = true
    etcd.commit = async (changes) => {
      const takesLonger = isFirst
      isFirst = false
      if (takesLonger) await sleep(clock, 500)
      return commit(changes)
    }
    const changes = [keeper.change({ reachesDatabase: false }), keeper.change({ state: 'leaving' })]
    await clock.advance(1_000)
    await Promise.all(changes)
    const text = etcd.entries.get(KEYS.member(SELF.id))?.value ?? ''
    expect(JSON.parse(text)).toMatchObject({ state: 'leaving', reachesDatabase: false })
  })

  test('has the member key as it was changed while it was being made', async () => {
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    const keeper = keeperOf(() => isRead)
    const registering = keeper.register({ isFirst: true })
    await clock.advance(100)
    await keeper.change({ state: 'leaving' })
    read()
    await registering
    await clock.advance(100)
    expect(JSON.parse(etcd.entries.get(KEYS.member(SELF.id))?.value ?? '')).toMatchObject({ state: 'leaving' })
  })

  test('of an attempt whose answer was lost does not keep the node out', async () => {
    const commit = etcd.commit.bind(etcd)
    let isFirst = true
    etcd.commit = async (changes) => {
      const committed = await commit(changes)
      if (!isFirst) return committed
      isFirst = false
      throw new EtcdError('the answer was lost', false)
    }
    const keeper = keeperOf()
    const registering = keeper.register({ isFirst: true })
    await clock.advance(1_000)
    await registering
    expect([...etcd.leases]).toEqual([keeper.lease ?? ''])
  })
})

test('C6: a node that has a lease again serves nothing that another one claimed meanwhile', async () => {
  const host = new MemoryShardHost(new SharedEpochs())
  const node = new ClusterNode({
    self: SELF,
    etcd,
    clock,
    keys: KEYS,
    host,
    isOver: () => false,
    watch: {
      ...QUIET_WATCH,
      onLeaseLost: () => {
        // Before the node has another lease.
        etcd.put([{ key: KEYS.shard(7), value: '{"node":"b","isServing":false}', lease: '99', condition: 'absent' }])
      },
    },
  })
  await node.join()
  host.workMs = 0
  for (let i = 0; i < 50 && host.owned.size < 256; i++) {
    await clock.advance(10)
    await Bun.sleep(1)
  }
  expect(node.owners.ownerOf(7)).toBe('self')
  let isServedByLease = false
  const byLease = node.confirmation.byLease.bind(node.confirmation)
  etcd.end([...etcd.leases][0] ?? '')
  node.confirmation.byLease = (...params) => {
    byLease(...params)
    isServedByLease ||= host.owned.has(7)
  }
  await clock.advance(1_500)
  expect([node.confirmation.hasLease, isServedByLease, host.owned.has(7), host.owned.has(8)]).toEqual([
    true,
    false,
    false,
    true,
  ])
  await node.close()
})

test.each(['says that it is lost', 'does not answer'])(
  'C6: a node that has a lease again serves nothing that another one had and gave up meanwhile, when Postgres %s',
  async (answer) => {
    const epochs = new SharedEpochs()
    const host = new MemoryShardHost(epochs)
    let isLost = false
    const confirm = host.confirm.bind(host)
    let requests = 0
    host.confirm = async () => {
      requests += 1
      // The connection of the first call broke while the node was cut off.
      if (isLost && (requests === 1 || answer === 'does not answer')) throw new Error('Postgres does not answer')
      return confirm()
    }
    const node = new ClusterNode({
      self: SELF,
      etcd,
      clock,
      keys: KEYS,
      host,
      isOver: () => false,
      watch: {
        ...QUIET_WATCH,
        onLeaseLost: () => {
          isLost = true
          requests = 0
          // Another node has acquired it, and removed its key since.
          epochs.epochs[7] = 99
        },
      },
    })
    await node.join()
    for (let i = 0; i < 50 && host.owned.size < 256; i++) {
      await clock.advance(10)
      await Bun.sleep(1)
    }
    let isStale = false
    const byLease = node.confirmation.byLease.bind(node.confirmation)
    node.confirmation.byLease = (...given) => {
      byLease(...given)
      isStale ||= host.owned.has(7) && !host.isWriter(7)
    }
    etcd.end([...etcd.leases][0] ?? '')
    await clock.advance(1_500)
    expect([isLost, node.confirmation.hasLease, isStale]).toEqual([true, true, false])
    await node.close()
  },
)

/** A node that owns every shard. */
async function owningNode(onLeaseLost: () => void, onEtcdReplaced: () => void = () => {}) {
  const epochs = new SharedEpochs()
  const host = new MemoryShardHost(epochs)
  const node = new ClusterNode({
    self: SELF,
    etcd,
    clock,
    keys: KEYS,
    host,
    isOver: () => false,
    watch: {
      ...QUIET_WATCH,
      onLeaseLost,
      onEtcdReplaced,
    },
  })
  await node.join()
  for (let i = 0; i < 50 && host.owned.size < 256; i++) {
    await clock.advance(10)
    await Bun.sleep(1)
  }
  expect(host.owned.size).toBe(256)
  return { node, host, epochs }
}

test('C6: once a node that has a lease again has asked Postgres, no other node can take its shards and give them up unnoticed', async () => {
  let requests = 0
  const { node, host, epochs } = await owningNode(() => {
    requests = 0
  })
  const confirm = host.confirm.bind(host)
  host.confirm = async () => {
    const lost = await confirm()
    requests += 1
    // The first time, while there is no lease: what it confirms, it confirms for 1.2 s.
    if (requests === 2) {
      const claim = { key: KEYS.shard(7), value: '{"node":"b","isServing":true}', lease: '99' }
      if (etcd.put([{ ...claim, condition: 'absent' }]).done[0] === true) {
        epochs.epochs[7] = 99
        etcd.put([{ ...claim, value: null, condition: { lease: '99' } }])
      }
    }
    return lost
  }
  etcd.end([...etcd.leases][0] ?? '')
  await clock.advance(5_000)
  expect([requests, node.confirmation.hasLease, host.owned.size]).toEqual([2, true, 256])
  expect([...host.owned].filter((shard) => !host.isWriter(shard))).toEqual([])
  await node.close()
})

test('a node that has a lease again, and cannot ask Postgres, does not say that it serves', async () => {
  const { node, host, epochs } = await owningNode(() => {
    epochs.isAway = true
  })
  etcd.end([...etcd.leases][0] ?? '')
  await clock.advance(3_000)
  const says = [...etcd.entries].filter(([key]) => KEYS.parse(key)?.kind === 'shard').map(([, { value }]) => value)
  expect([host.owned.size, says.filter((value) => JSON.parse(value ?? '').isServing)]).toEqual([0, []])
  epochs.isAway = false
  for (let i = 0; i < 200 && host.owned.size < 256; i++) {
    await clock.advance(100)
    await Bun.sleep(1)
  }
  await clock.advance(2_000)
  expect([...etcd.entries.values()].filter(({ value }) => JSON.parse(value ?? '').isServing)).toHaveLength(256)
  await node.close()
})

test('C7: a node believes an etcd that has lost its data, or was restored, although it counts from the beginning', async () => {
  const claim = { key: KEYS.shard(7), value: '{"node":"b","isServing":true}', lease: '99' } as const
  const { node, host } = await owningNode(() => {
    const value = memberText({ ...SELF, id: 'b', url: 'http://b', state: 'up' })
    etcd.put([
      { key: KEYS.member('b'), value, lease: '99', condition: 'absent' },
      { ...claim, condition: 'absent' },
    ])
  })
  for (let i = 0; i < 300; i++) etcd.put([])
  await clock.advance(1_000)
  etcd.beginAnew()
  await clock.advance(3_000)
  expect(node.owners.ownerOf(7)).toEqual({ id: 'b', url: 'http://b' })
  expect(host.owned.has(7)).toBe(false)
  // What only this node had is there again.
  const other = node.wanted.findIndex((owner, shard) => owner === 'a' && shard !== 7)
  expect([node.owners.ownerOf(other), etcd.entries.has(KEYS.shard(other))]).toEqual(['self', true])
  etcd.put([{ ...claim, value: null, condition: { lease: '99' } }])
  await clock.advance(1_500)
  expect(node.owners.ownerOf(7)).not.toEqual({ id: 'b', url: 'http://b' })
  await node.close()
})

test('C7: a reading that was under way when a later one found etcd replaced does not tell it again, nor take the view back', async () => {
  let reports = 0
  const { node } = await owningNode(
    () => {},
    () => {
      reports += 1
    },
  )
  for (let i = 0; i < 300; i++) etcd.put([])
  await clock.advance(1_000)
  // The comparison reads before the node registers again, and is answered after what is read then.
  const keepAlive = etcd.keepAlive.bind(etcd)
  etcd.keepAlive = async (lease) => {
    await sleep(clock, 100)
    return keepAlive(lease)
  }
  const read = etcd.read.bind(etcd)
  const answeredLate: number[] = []
  etcd.read = async () => {
    const reading = await read()
    if (reading.entries.length === 0) {
      await sleep(clock, 500)
      answeredLate.push(reading.revision)
    }
    return reading
  }
  etcd.beginAnew()
  for (let i = 0; i < 40 && answeredLate.length === 0; i++) {
    await clock.advance(50)
    await Bun.sleep(1)
  }
  expect([answeredLate, reports, node.view.members.size]).toEqual([[1], 1, 1])
  await node.close()
})
