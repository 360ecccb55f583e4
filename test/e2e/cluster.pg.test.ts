import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { ClusterStatus } from '../../src/cluster/cluster-status.ts'
import { describeWithEtcd, EtcdServers } from '../support/etcd.ts'
import { NodeProcesses } from '../support/node-processes.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { type ServiceProcess, TEST_PORTAL_TOKEN } from '../support/service-process.ts'

/* Three nodes as processes of their own, on one Postgres and one etcd. */

async function statusOf(node: ServiceProcess): Promise<ClusterStatus> {
  const answer = await fetch(`${node.adminUrl}/cluster`, { headers: { Authorization: `Bearer ${TEST_PORTAL_TOKEN}` } })
  expect(answer.status).toBe(200)
  return (await answer.json()) as ClusterStatus
}

/** Waits until every shard is served by who should. */
async function settled(node: ServiceProcess, nodes: number): Promise<ClusterStatus> {
  const until = performance.now() + 30_000
  for (;;) {
    const status = await statusOf(node)
    const isSettled =
      status.nodes.length === nodes &&
      status.shards.served === 256 &&
      status.nodes.every(({ serving, wanted }) => serving === wanted)
    if (isSettled) return status
    if (performance.now() > until) throw new Error(`Not settled: ${JSON.stringify(status)}\n${node.log()}`)
    await Bun.sleep(20)
  }
}

describeWithEtcd('a cluster of processes', () => {
  let etcd: EtcdServers
  let database: TestDatabase
  let nodes: NodeProcesses

  beforeAll(async () => {
    etcd = await EtcdServers.start()
  })
  afterAll(() => etcd.stop())
  beforeEach(async () => {
    database = await testDatabase()
    nodes = new NodeProcesses(database.url, etcd)
  })
  afterEach(async () => {
    await nodes.stop()
    await database.drop()
  })

  test('three nodes share the shards; one that is stopped or killed is replaced', async () => {
    const a = await nodes.start('a')
    const t0 = performance.now()
    await settled(a, 1)
    const [b, c] = await Promise.all([nodes.start('b'), nodes.start('c')])
    const t1 = performance.now()
    const status = await settled(a, 3)
    console.log(t1 - t0, performance.now() - t1, JSON.stringify(status.nodes.map(({ serving }) => serving)))
    const since = performance.now()
    b.kill('SIGTERM')
    expect(await b.exited).toBe(0)
    console.log('left', performance.now() - since)
    await settled(a, 2)
    const killed = performance.now()
    c.kill('SIGKILL')
    await settled(a, 1)
    console.log('replaced', performance.now() - killed)
    await Bun.write('/tmp/t/cl-etcd/a.log', a.log())
    await Bun.write('/tmp/t/cl-etcd/b.log', b.log())
  }, 120_000)
})
