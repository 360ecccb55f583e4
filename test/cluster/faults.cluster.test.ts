/*
 * Three hosts in network namespaces with real etcd, Patroni, PostgreSQL and HAProxy, from the files of docs/operating/cluster/. Each test is a row of
 * the table in docs/reliability.md. `bun run test:cluster` runs several rounds of each and asserts the waits; otherwise one round, and only the counts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
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

/** Of a node's lease, and Patroni's. */
const TTL_MS = 5_000
const START_MS_MAX = 300_000
const ROW_MS_MAX = 900_000

describe.skipIf(obstacle !== null)('three hosts under load', () => {
  let folder: string
  let cluster: Cluster
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightledger-binary-'))
    cluster = await Cluster.start({ binary: await buildBinary(folder) }, makeLoadAgencies)
    console.log(`up after: ${cluster.steps.join(', ')}`)
  }, START_MS_MAX)
  afterAll(async () => {
    await cluster?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, START_MS_MAX)

  /** A host whose loss concerns no server of PostgreSQL that commits wait for. */
  async function bystander(): Promise<Host> {
    const members = await cluster.members()
    const found = members.find(({ role }) => role !== 'leader' && role !== 'sync_standby')
    return cluster.host(found?.name ?? 'none')
  }

  test(
    'a rolling restart of all nodes fails no request',
    async () => {
      const row = { fault: 'rolling restart of all nodes', longestMsMax: 500, failsNothing: true }
      await underLoad(cluster, row, async (load) => {
        for (const host of cluster.hosts) {
          expect([host.name, await host.stop('nightledger')]).toEqual([host.name, 0])
          await load.more(50)
          cluster.startNode(host)
          await cluster.untilReady(host)
          await cluster.untilBalanced()
        }
      })
    },
    ROW_MS_MAX,
  )

  test(
    'a node that is drained, and joins again, fails no request',
    async () => {
      const row = { fault: 'a node is drained, stopped, and joins again', longestMsMax: 500, failsNothing: true }
      await underLoad(cluster, row, async (load, round) => {
        const host = cluster.hosts[round % cluster.hosts.length] as Host
        cluster.cli(host, 'cluster', 'drain', host.name)
        await eventually(`${host.name} owns nothing`, async () => (await cluster.serving()).get(host.name) === 0)
        await load.more(50)
        expect(await host.stop('nightledger')).toBe(0)
        cluster.startNode(host)
        await cluster.untilReady(host)
        await cluster.untilBalanced()
      })
    },
    ROW_MS_MAX,
  )

  test(
    'a node is killed',
    async () => {
      await underLoad(cluster, { fault: 'kill -9 of a node', longestMsMax: TTL_MS + 1_000 }, async (_, round) => {
        const host = cluster.hosts[round % cluster.hosts.length] as Host
        host.signal('nightledger', 'SIGKILL')
        await Bun.sleep(TTL_MS + 3_000)
      })
    },
    ROW_MS_MAX,
  )

  test(
    'a node is killed for good, and its shards go to the others',
    async () => {
      await underLoad(
        cluster,
        { fault: 'kill -9 of a node that stays away', longestMsMax: TTL_MS + 1_000 },
        async (_, round) => {
          const host = cluster.hosts[round % cluster.hosts.length] as Host
          await host.kill('nightledger')
          await Bun.sleep(TTL_MS + 3_000)
          const serving = await cluster.serving()
          expect(serving.get(host.name) ?? 0).toBe(0)
          expect([...serving.values()].reduce((sum, count) => sum + count, 0)).toBe(SHARDS)
        },
      )
    },
    ROW_MS_MAX,
  )

  test(
    'a node is stopped and woken: nothing is acknowledged by the stale one',
    async () => {
      await underLoad(
        cluster,
        { fault: 'SIGSTOP of a node, then SIGCONT', longestMsMax: TTL_MS + 1_000 },
        async (_, round) => {
          const host = cluster.hosts[round % cluster.hosts.length] as Host
          host.signal('nightledger', 'SIGSTOP')
          await Bun.sleep(TTL_MS + 3_000)
          host.signal('nightledger', 'SIGCONT')
          await Bun.sleep(3_000)
        },
      )
    },
    ROW_MS_MAX,
  )

  test(
    "a node's host is cut off from everything, then healed",
    async () => {
      await underLoad(
        cluster,
        { fault: 'a host cut off from everything, then healed', longestMsMax: TTL_MS + 3_000 },
        async () => {
          const host = await bystander()
          cluster.cut(host)
          await Bun.sleep(TTL_MS + 5_000)
          cluster.heal(host)
          await Bun.sleep(3_000)
        },
      )
    },
    ROW_MS_MAX,
  )

  test(
    'a host is separated from the other hosts, but not from clients: its node tells nothing older than 1.2 s',
    async () => {
      const row = { fault: 'a host separated from the others, not from clients', longestMsMax: TTL_MS + 3_000 }
      await underLoad(cluster, { ...row, load: { readers: 32 } }, async () => {
        const host = await bystander()
        cluster.separate(host)
        await Bun.sleep(TTL_MS + 7_000)
        cluster.rejoin(host)
        await Bun.sleep(3_000)
      })
    },
    ROW_MS_MAX,
  )

  test(
    'the leader of etcd is killed',
    async () => {
      await underLoad(cluster, { fault: 'etcd leader killed', longestMsMax: 500 }, async () => {
        const leader = await cluster.etcdLeader()
        await leader.kill('etcd')
        await Bun.sleep(8_000)
        cluster.startEtcd(leader)
        await Bun.sleep(2_000)
      })
    },
    ROW_MS_MAX,
  )

  test(
    'all of etcd is away for 30 s',
    async () => {
      await underLoad(cluster, { fault: 'all of etcd away for 30 s', longestMsMax: 500, rounds: 2 }, async () => {
        await Promise.all(cluster.hosts.map((host) => host.kill('etcd')))
        await Bun.sleep(30_000)
        for (const host of cluster.hosts) cluster.startEtcd(host)
        await cluster.etcdLeader()
        await Bun.sleep(TTL_MS + 1_000)
      })
    },
    ROW_MS_MAX,
  )

  test(
    'from nodes to one process, and back: nothing is lost, and requests wait only for the change',
    async () => {
      const row = { fault: 'from nodes to one process and back', longestMsMax: 3_000, rounds: 1 }
      const [first, ...others] = cluster.hosts as [Host, ...Host[]]
      await underLoad(cluster, row, async (load) => {
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
      })
    },
    ROW_MS_MAX,
  )

  test(
    'the primary of PostgreSQL crashes',
    async () => {
      await underLoad(cluster, { fault: 'Postgres leader crashed', longestMsMax: 8_000 }, async (load) => {
        cluster.crashPostgres(await cluster.primary())
        await load.more(100)
        await cluster.untilSynchronous()
      })
    },
    ROW_MS_MAX,
  )

  test(
    'the host of the primary of PostgreSQL is lost, with its node and its etcd',
    async () => {
      await underLoad(
        cluster,
        { fault: 'host of the Postgres leader killed', longestMsMax: 30_000, rounds: 2 },
        async (load) => {
          const host = await cluster.primary()
          host.crash()
          await load.more(100)
          host.boot()
          cluster.startAll(host)
          await cluster.untilSynchronous()
        },
      )
    },
    ROW_MS_MAX,
  )
})
