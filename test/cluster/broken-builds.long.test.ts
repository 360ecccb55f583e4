/*
 * Builds that lack a guard, on three hosts with real parts: the checker of the fault rows must notice.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeLoadAgencies } from '../support/cluster/agencies.ts'
import { type Break, buildBinary } from '../support/cluster/binary.ts'
import { breakFunction } from '../support/cluster/broken-function.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { brokenUnderLoad } from '../support/cluster/fault-row.ts'
import { whyNoHosts } from '../support/cluster/network.ts'

const obstacle = whyNoHosts()
if (obstacle !== null) console.log(`skipped: ${obstacle}`)

const TEST_MS_MAX = 600_000
/** Of 40 s. */
const ROUNDS_MAX = 8
/** Longer than a lease, and than the node that has lost it may continue. */
const CUT_MS = 12_000
/** Of a node that wrongly continues: writes to its shards succeed only once HAProxy and clients have given it up. */
const SEPARATED_MS = 20_000
/** More of them ask nodes directly: only the node that is wrong can show it. */
const LOAD = { readers: 32 }

describe.skipIf(obstacle !== null)('the checker notices a build that', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'nightledger-broken-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** @param sql what is broken in the database, once the cluster is there */
  async function noticed(
    what: string,
    {
      breaks = [],
      sql = [],
    }: { breaks?: readonly Break[]; sql?: readonly [name: string, text: string, instead: string][] },
    fault: (cluster: Cluster) => Promise<void>,
  ): Promise<readonly string[]> {
    const own = mkdtempSync(join(folder, 'build-'))
    const cluster = await Cluster.start({ binary: await buildBinary(own, breaks) }, makeLoadAgencies)
    try {
      await cluster.postgres.withSql(async (client) => {
        for (const each of sql) await breakFunction(client, ...each)
      })
      let broken: readonly string[] = []
      // Whether anybody asks at the moment that shows it is chance.
      for (let round = 0; broken.length === 0 && round < ROUNDS_MAX; round++)
        broken = await brokenUnderLoad(cluster, { fault: what, longestMsMax: Infinity, load: LOAD }, () =>
          fault(cluster),
        )
      return broken
    } finally {
      await cluster.stop()
    }
  }

  async function withoutEtcd(cluster: Cluster): Promise<void> {
    const host = await cluster.postgres.bystander()
    cluster.cutFromEtcd(host)
    await Bun.sleep(CUT_MS)
    cluster.healEtcd(host)
  }

  async function separated(cluster: Cluster): Promise<void> {
    const host = await cluster.postgres.bystander()
    cluster.separate(host)
    await Bun.sleep(SEPARATED_MS)
    cluster.rejoin(host)
  }

  test(
    'writes without looking at the fences',
    async () => {
      const sql: [string, string, string][] = [
        ['check_fences', 'is distinct from epochs', 'is null'],
        ['check_fence', 'is distinct from writer_epoch', 'is null'],
        ['lost_shards', 's.epoch <> c.epoch', 'false'],
      ]
      expect(await noticed('no fence', { sql }, withoutEtcd)).not.toEqual([])
    },
    TEST_MS_MAX,
  )

  test(
    'claims shards without raising their epochs',
    async () => {
      const sql: [string, string, string][] = [['take_shards', 'epoch = s.epoch + 1', 'epoch = s.epoch']]
      expect(await noticed('claim without epoch', { sql }, withoutEtcd)).not.toEqual([])
    },
    TEST_MS_MAX,
  )

  test(
    'serves whatever becomes of its lease',
    async () => {
      const breaks = [
        {
          file: 'src/cluster/confirmation.ts',
          text: 'return now < this.#leaseUntil || now < this.#postgresUntil',
          instead: 'return now >= 0',
        },
      ]
      expect(await noticed('no lease check', { breaks }, separated)).toContain('stalestMs')
    },
    TEST_MS_MAX,
  )
})
