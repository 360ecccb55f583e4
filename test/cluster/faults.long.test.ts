/*
 * Three hosts in network namespaces with real etcd, Patroni, PostgreSQL and HAProxy, from the files of deploy/cluster/. Each test is a row of
 * the table in docs/reliability.md. `CLUSTER_ROUNDS=3` runs several rounds of each. Waits are reported, counts are asserted.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SHARDS } from '../../src/core/journal/shard.ts'
import { makeLoadAgencies } from '../support/cluster/agencies.ts'
import { buildBinary } from '../support/cluster/binary.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { underLoad } from '../support/cluster/fault-row.ts'
import type { Host } from '../support/cluster/host.ts'
import { whyNoHosts } from '../support/cluster/network.ts'
import { eventually } from '../support/eventually.ts'

const obstacle = whyNoHosts()
if (obstacle !== null) console.log(`skipped: ${obstacle}`)

/** A line for each request, so that a trace can say who had it when. */
const env: Record<string, string> = process.env['CLUSTER_TRACE'] === undefined ? {} : { LOG_LEVEL: 'debug' }
/** Of a node's lease, and Patroni's. */
const TTL_MS = 5_000
const START_MS_MAX = 300_000
const ROW_MS_MAX = 900_000

describe.skipIf(obstacle !== null)('three hosts under load', () => {
  let folder: string
  let cluster: Cluster
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightledger-binary-'))
    cluster = await Cluster.start({ binary: await buildBinary(folder), env }, makeLoadAgencies)
    console.log(`up after: ${cluster.steps.join(', ')}`)
  }, START_MS_MAX)
  afterAll(async () => {
    await cluster?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, START_MS_MAX)

  type Row = Parameters<typeof underLoad>
  const row = (name: string, expected: Row[1], fault: Row[2]) =>
    test(name, () => underLoad(cluster, expected, fault), ROW_MS_MAX)

  row(
    'a rolling restart of all nodes fails no request',
    { fault: 'rolling restart of all nodes', longestMsMax: 500, failsNothing: true },
    async (load) => {
      for (const host of cluster.hosts) {
        expect([host.name, await host.stop('nightledger')]).toEqual([host.name, 0])
        await load.more(50)
        cluster.startNode(host)
        await cluster.untilReady(host)
        await cluster.untilSettled()
      }
    },
  )

  row(
    'a node that is drained, and joins again, fails no request',
    { fault: 'a node is drained, stopped, and joins again', longestMsMax: 500, failsNothing: true },
    async (load, round) => {
      const host = cluster.hosts[round % cluster.hosts.length] as Host
      cluster.cli(host, 'cluster', 'drain', host.name)
      await eventually(`${host.name} owns nothing`, async () => (await cluster.serving()).get(host.name) === 0)
      await load.more(50)
      expect(await host.stop('nightledger')).toBe(0)
      cluster.startNode(host)
      await cluster.untilReady(host)
      await cluster.untilSettled()
    },
  )

  row('a node is killed', { fault: 'kill -9 of a node', longestMsMax: TTL_MS + 1_000 }, async (_, round) => {
    const host = cluster.hosts[round % cluster.hosts.length] as Host
    host.signal('nightledger', 'SIGKILL')
    await Bun.sleep(TTL_MS + 3_000)
  })

  row(
    'a node is killed for good, and its shards go to the others',
    { fault: 'kill -9 of a node that stays away', longestMsMax: TTL_MS + 1_000 },
    async (_, round) => {
      const host = cluster.hosts[round % cluster.hosts.length] as Host
      await host.kill('nightledger')
      await eventually('the others have its shards', async () => {
        const serving = await cluster.serving()
        return (serving.get(host.name) ?? 0) === 0 && [...serving.values()].reduce((a, b) => a + b, 0) === SHARDS
      })
    },
  )

  row(
    'a node is stopped and woken: nothing is acknowledged by the stale one',
    { fault: 'SIGSTOP of a node, then SIGCONT', longestMsMax: TTL_MS + 1_000 },
    async (_, round) => {
      const host = cluster.hosts[round % cluster.hosts.length] as Host
      host.signal('nightledger', 'SIGSTOP')
      await Bun.sleep(TTL_MS + 3_000)
      host.signal('nightledger', 'SIGCONT')
      await Bun.sleep(3_000)
    },
  )

  row(
    "a node's host is cut off from everything, then healed",
    { fault: 'a host cut off from everything, then healed', longestMsMax: TTL_MS + 3_000 },
    async () => {
      const host = await cluster.postgres.bystander()
      cluster.cut(host)
      await Bun.sleep(TTL_MS + 5_000)
      cluster.heal(host)
      await Bun.sleep(3_000)
    },
  )

  row(
    'a host is separated from the other hosts, but not from clients: its node tells nothing older than 1.2 s',
    {
      fault: 'a host separated from the others, not from clients',
      longestMsMax: TTL_MS + 3_000,
      load: { readers: 32 },
    },
    async () => {
      const host = await cluster.postgres.bystander()
      cluster.separate(host)
      await Bun.sleep(TTL_MS + 7_000)
      cluster.rejoin(host)
      await Bun.sleep(3_000)
    },
  )

  row(
    'a node that is cut off from etcd alone gives its shards up when PostgreSQL says that they are lost',
    { fault: 'a node cut off from etcd, and from nothing else', longestMsMax: TTL_MS + 1_000 },
    async () => {
      const host = await cluster.postgres.bystander()
      cluster.cutFromEtcd(host)
      await Bun.sleep(TTL_MS + 5_000)
      cluster.healEtcd(host)
      await Bun.sleep(3_000)
    },
  )

  row('the leader of etcd is killed', { fault: 'etcd leader killed', longestMsMax: 500 }, async () => {
    const leader = await cluster.etcd.leader()
    await leader.kill('etcd')
    await Bun.sleep(8_000)
    cluster.etcd.start(leader)
    await Bun.sleep(2_000)
  })

  row(
    'all of etcd is away for 30 s',
    { fault: 'all of etcd away for 30 s', longestMsMax: 500, rounds: 2 },
    async () => {
      await Promise.all(cluster.hosts.map((host) => host.kill('etcd')))
      await Bun.sleep(30_000)
      for (const host of cluster.hosts) cluster.etcd.start(host)
      await cluster.etcd.leader()
      await Bun.sleep(TTL_MS + 1_000)
    },
  )

  row(
    'etcd is lost for good: in an empty one in its place, nodes and Patroni register again',
    { fault: 'etcd lost for good, an empty one in its place', longestMsMax: TTL_MS + 3_000, rounds: 1 },
    async (load) => {
      await Promise.all(cluster.hosts.map((host) => host.kill('etcd')))
      for (const host of cluster.hosts) {
        rmSync(join(host.root, 'var/lib/etcd/nightledger'), { recursive: true })
        cluster.etcd.start(host)
      }
      await cluster.etcd.leader()
      await cluster.postgres.untilSynchronous()
      await load.more(100)
      await cluster.untilSettled()
      // One that is lost afterwards is replaced.
      const host = cluster.hosts[0] as Host
      await host.kill('nightledger')
      await eventually('the others have its shards', async () => {
        const serving = await cluster.serving()
        return !serving.has(host.name) && [...serving.values()].reduce((sum, count) => sum + count, 0) === SHARDS
      })
    },
  )

  row(
    'from nodes to one process, and back: nothing is lost, and requests wait only for the change',
    { fault: 'from nodes to one process and back', longestMsMax: 3_000, rounds: 1 },
    async (load) => {
      const [first, ...others] = cluster.hosts as [Host, ...Host[]]
      await first.stop('nightledger')
      cluster.configure(first, false)
      cluster.startNode(first)
      await eventually('it waits as a standby', () => first.log('nightledger').includes('waiting as a standby'))
      for (const host of others) await host.stop('nightledger')
      await cluster.untilReady(first)
      await load.more(100)
      for (const host of others) cluster.startNode(host)
      await eventually('the nodes wait for the process', () =>
        others.every(
          (host) => host.log('nightledger').split('--- started').at(-1)?.includes('waiting as a standby') === true,
        ),
      )
      await first.stop('nightledger')
      cluster.configure(first, true)
      await Promise.all(others.map((host) => cluster.untilReady(host)))
      await load.more(100)
      cluster.startNode(first)
    },
  )

  row('the primary of PostgreSQL crashes', { fault: 'Postgres leader crashed', longestMsMax: 8_000 }, async (load) => {
    cluster.postgres.crash(await cluster.postgres.primary())
    await load.more(100)
    await cluster.postgres.untilSynchronous()
  })

  row(
    'the host of the primary of PostgreSQL is lost, with its node and its etcd',
    { fault: 'host of the Postgres leader killed', longestMsMax: 30_000, rounds: 2 },
    async (load) => {
      const host = await cluster.postgres.primary()
      host.crash()
      await load.more(100)
      host.boot()
      cluster.startAll(host)
      await cluster.postgres.untilSynchronous()
    },
  )

  row(
    'a host is lost for good, and an empty one takes its place (docs/cluster.md#replacing-a-host)',
    { fault: 'a host lost for good, an empty one in its place', longestMsMax: TTL_MS + 7_000, rounds: 1 },
    async (load) => {
      const host = await cluster.postgres.bystander()
      host.crash()
      await load.more(100)
      for (const data of ['etcd', 'postgresql'])
        rmSync(join(host.root, 'var/lib', data, 'nightledger'), { recursive: true })
      await cluster.etcd.replaceMember(host)
      const options = readFileSync(join(host.root, 'etc/nightledger/etcd.env'), 'utf8')
      host.write('/etc/nightledger/etcd.env', options.replace('STATE=new', 'STATE=existing'))
      host.boot()
      cluster.startAll(host)
      await cluster.postgres.untilSynchronous()
      await cluster.untilReady(host)
      await cluster.untilSettled()
      host.write('/etc/nightledger/etcd.env', options)
    },
  )
})
