import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { FAILSAFE_MS } from '../../src/cluster/confirmation.ts'
import { ClusterError } from '../../src/cluster/lease-keeper.ts'
import { TestCluster, type TestNode } from '../support/cluster-nodes.ts'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { eventually } from '../support/eventually.ts'

/* Nodes with engines in memory on a real etcd. The epochs, which Postgres has in truth, are in memory too. */

/** Watches who says that it serves what, until `stop`. */
function watchServing(cluster: TestCluster) {
  const staleSince = new Map<string, number>()
  let longestStaleMs = 0
  let unservedSince: number | null = null
  let longestUnservedMs = 0
  const timer = setInterval(() => {
    const now = performance.now()
    let isServed = true
    for (const [shard, nodes] of cluster.serving().entries()) {
      if (nodes.length === 0) isServed = false
      for (const { id, host } of cluster.nodes) {
        const name = `${id} ${shard}`
        if (!nodes.includes(id) || host.isWriter(shard)) staleSince.delete(name)
        else longestStaleMs = Math.max(longestStaleMs, now - (staleSince.get(name) ?? now))
        if (nodes.includes(id) && !host.isWriter(shard) && !staleSince.has(name)) staleSince.set(name, now)
      }
    }
    unservedSince = isServed ? null : (unservedSince ?? now)
    longestUnservedMs = Math.max(longestUnservedMs, unservedSince === null ? 0 : now - unservedSince)
  }, 10)
  return {
    stop: () => {
      clearInterval(timer)
      return { longestStaleMs, longestUnservedMs }
    },
  }
}

describeWithEtcd('nodes of a cluster', () => {
  let etcd: EtcdServers
  let cluster: TestCluster
  const sizes = () => cluster.nodes.map(({ host }) => host.owned.size)
  const acquired = () => cluster.nodes.reduce((sum, { node }) => sum + node.moves.counts.acquired, 0)

  beforeAll(async () => {
    etcd = await EtcdServers.start()
  })
  afterAll(() => etcd.stop())
  beforeEach(() => {
    cluster = new TestCluster(etcd.url)
  })
  afterEach(() => cluster.close())

  async function three(): Promise<[TestNode, TestNode, TestNode]> {
    const nodes = [await cluster.join('a'), await cluster.join('b'), await cluster.join('c')] as const
    await cluster.settle()
    return [...nodes]
  }

  test('the first one owns every shard, and each that joins gets its part', async () => {
    await cluster.join('a')
    await cluster.settle()
    expect(sizes()).toEqual([256])
    await cluster.join('b')
    await cluster.join('c')
    await cluster.settle()
    for (const size of sizes()) expect(size).toBeWithin(50, 130)
  })

  test('C2: no more than eight shards are on their way from one node at a time', async () => {
    const a = await cluster.join('a')
    await cluster.settle()
    a.host.workMs = 20
    await cluster.join('b')
    await cluster.settle()
    const sizesOfMoves = a.host.calls.filter(({ call }) => call === 'release').map(({ shards }) => shards.length)
    expect(Math.max(...sizesOfMoves)).toBe(8)
  })

  test('one that leaves hands over everything before it ends', async () => {
    const [a, b] = await three()
    expect(await cluster.leave(a)).toBe(true)
    await cluster.settle()
    expect(await cluster.leave(b)).toBe(true)
    await cluster.settle()
    expect(sizes()).toEqual([256])
  })

  test('one that vanishes is replaced when its lease has ended, and not before', async () => {
    const [a] = await three()
    await eventually('its lease has just been renewed', () => a.node.confirmation.leaseMs > 3_800)
    const since = performance.now()
    cluster.vanish(a)
    await cluster.settle()
    expect(performance.now() - since).toBeGreaterThan(3_000)
  })

  test('C7: without a word of the watch, what the keys say is noticed all the same', async () => {
    const a = await cluster.join('a')
    a.mute()
    const b = await cluster.join('b')
    b.mute()
    await cluster.settle(60_000)
  })

  test('C3: what could not be acquired is not served, and tried again', async () => {
    cluster.epochs.isAway = true
    const { node, host } = await cluster.join('a')
    await eventually('an attempt fails', () => node.moves.counts.failures > 0)
    await Bun.sleep(1_500)
    // Once a second, not as fast as it fails.
    expect(node.moves.counts.failures).toBeLessThan(4)
    expect(node.owners.ownerOf(0)).toBeNull()
    cluster.epochs.isAway = false
    await cluster.settle()
    expect(host.owned.size).toBe(256)
  })

  test('a shard that a late claim of another node has fenced is acquired again', async () => {
    const a = await cluster.join('a')
    await cluster.settle()
    cluster.epochs.epochs[7] = 99
    a.host.meetFence(7)
    await cluster.settle()
    expect(a.host.isWriter(7)).toBe(true)
  })

  test('a shard that is fenced again and again is left to whoever does it for a while', async () => {
    const a = await cluster.join('a')
    await cluster.settle()
    for (const epoch of [99, 199]) {
      await eventually('it is acquired', () => a.host.owned.has(7))
      cluster.epochs.epochs[7] = epoch
      a.host.meetFence(7)
    }
    await Bun.sleep(2_000)
    expect(a.host.owned.has(7)).toBe(false)
  })

  test('a key that was removed by hand is made again, and the shard is served all the time', async () => {
    const a = await cluster.join('a')
    await cluster.settle()
    const key = cluster.keys.shard(7)
    const entry = (await cluster.read()).entries.find((each) => each.key === key)
    const before = a.host.termOf(7)
    await cluster.client().commit([{ key, value: null, lease: '0', condition: { lease: entry?.lease ?? '' } }])
    await eventually('the key is back', async () => (await cluster.read()).entries.some((each) => each.key === key))
    expect(a.host.termOf(7)).toBe(before)
  })

  test('a drained node owns nothing and still knows who does, until that is undone', async () => {
    const [a, b] = await three()
    expect(await b.node.drain('a', { isOn: true })).toBe(true)
    await eventually('it owns nothing', () => a.host.owned.size === 0)
    await cluster.settle()
    expect(a.node.owners.ownerOf(0)).not.toBeNull()
    expect(await b.node.drain('a', { isOn: false })).toBe(true)
    await eventually('it has its part again', () => a.host.owned.size > 50)
    expect(await b.node.drain('nobody', { isOn: true })).toBe(false)
  })

  test('a lease that is lost gives everything to the others; then the node begins again', async () => {
    const [a] = await three()
    const watched = watchServing(cluster)
    const member = a.node.view.members.get('a')
    await cluster.client().revoke(member?.lease ?? '')
    await eventually('it notices', () => cluster.log.some((line) => line.includes('a lease lost')))
    await eventually('it has its part again', () => a.host.owned.size > 50)
    await cluster.settle()
    expect(watched.stop().longestStaleMs).toBeLessThanOrEqual(FAILSAFE_MS)
  })

  test('C6: a lease that is lost while nobody else claims is replaced, and the shards are served all the time', async () => {
    const a = await cluster.join('a')
    await cluster.settle()
    const term = a.host.termOf(7)
    const member = a.node.view.members.get('a')
    await cluster.client().revoke(member?.lease ?? '')
    await eventually('it notices', () => cluster.log.some((line) => line.includes('a lease lost')))
    await eventually('the keys are back', async () => (await cluster.read()).entries.length === 257)
    expect(a.host.termOf(7)).toBe(term)
    expect(acquired()).toBe(256)
  })

  test('the NODE_ID of a live process is refused; that of a dead process of this machine is free at once', async () => {
    const former = cluster.make('a', { run: 'former' })
    await former.node.join()
    await expect(cluster.make('a').node.join()).rejects.toBeInstanceOf(ClusterError)
    cluster.nodes.pop()
    cluster.vanish(former)
    cluster.log.length = 0
    await cluster.make('a', { isOver: (run) => run === 'former' }).node.join()
    // Who waits for the end of the lease finds it taken four times a second.
    expect(cluster.log.filter((line) => line.includes('id taken'))).toHaveLength(1)
  })

  test('C6: one that is cut off from etcd serves what Postgres confirms, and stops soon after others have it', async () => {
    const [a] = await three()
    const watched = watchServing(cluster)
    a.cut(true)
    await eventually('it has lost everything', () => a.host.owned.size === 0)
    const { longestStaleMs } = watched.stop()
    // Not a matter of speed: the confirmation that it serves by was asked for before it lost the shard.
    expect(longestStaleMs).toBeLessThanOrEqual(FAILSAFE_MS)
    // It still sends requests to somebody who can answer.
    expect(a.node.owners.ownerOf(0)).toMatchObject({ id: expect.stringMatching(/b|c/) })
    a.cut(false)
    await cluster.settle()
  })

  test('C6: one that neither etcd nor Postgres answers serves nothing when its lease is over', async () => {
    const [a] = await three()
    cluster.epochs.isAway = true
    a.cut(true)
    await eventually('it is not confirmed', () => !a.node.confirmation.isConfirmed)
    expect(a.node.owners.ownerOf([...a.host.owned][0] ?? 0)).toBeNull()
    cluster.epochs.isAway = false
    a.cut(false)
    await cluster.settle()
  })

  test('C6: while all of etcd is away, every shard is served where it was', async () => {
    await three()
    const before = acquired()
    const watched = watchServing(cluster)
    etcd.signal(0, 'SIGKILL')
    await Bun.sleep(8_000)
    await etcd.startMember(0)
    await etcd.ready()
    await eventually('the leases are back', () => cluster.nodes.every(({ node }) => node.confirmation.hasLease))
    await cluster.settle()
    const { longestStaleMs, longestUnservedMs } = watched.stop()
    console.log(`etcd away for 8 s: no shard without an owner for longer than ${longestUnservedMs.toFixed(0)} ms`)
    expect([acquired(), acquired() === before ? '' : cluster.log.slice(-60).join('\n')]).toEqual([before, ''])
    expect(longestStaleMs).toBe(0)
  })

  test('C7: in an empty etcd in the place of the one that was lost, nodes register and claim again', async () => {
    const [a] = await three()
    etcd.signal(0, 'SIGKILL')
    await etcd.startEmptyMember(0)
    await etcd.ready()
    await eventually('it has all members and claims', async () => (await cluster.read()).entries.length === 3 + 256)
    await cluster.settle()
    const reported = () => cluster.log.filter((line) => line.includes('etcd replaced'))
    await eventually('each has noticed', () => reported().length >= 3)
    expect(reported()).toHaveLength(3)
    cluster.vanish(a)
    await cluster.settle()
  })
})
