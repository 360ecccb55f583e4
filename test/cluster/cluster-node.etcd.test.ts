import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { TestCluster } from '../support/cluster-nodes.ts'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'

/* Nodes with engines in memory on a real etcd. */

describeWithEtcd('nodes of a cluster', () => {
  let etcd: EtcdServers
  let cluster: TestCluster

  beforeAll(async () => {
    etcd = await EtcdServers.start()
  })
  afterAll(() => etcd.stop())
  beforeEach(() => {
    cluster = new TestCluster(etcd.url)
  })
  afterEach(() => cluster.close())

  test('the first one owns every shard, and each that joins gets its part', async () => {
    await cluster.join('a')
    const t1 = await cluster.settle()
    await cluster.join('b')
    await cluster.join('c')
    const t3 = await cluster.settle()
    console.log(
      t1,
      t3,
      cluster.nodes.map(({ host }) => host.owned.size),
    )
    expect(cluster.nodes.map(({ host }) => host.owned.size).every((shards) => shards > 50)).toBe(true)
  })

  test('one that leaves hands over everything before it ends', async () => {
    const [a] = [await cluster.join('a'), await cluster.join('b')]
    await cluster.settle()
    const since = performance.now()
    expect(await cluster.leave(a)).toBe(true)
    console.log('left', performance.now() - since)
    await cluster.settle()
  })

  test('one that vanishes is replaced when its lease has ended', async () => {
    const [a] = [await cluster.join('a'), await cluster.join('b')]
    await cluster.settle()
    cluster.vanish(a)
    console.log('vanished', await cluster.settle())
  })
})
