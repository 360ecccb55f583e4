/*
 * `bun bench/cluster.ts [--cpus 0.1] [--rounds 3]`: how reads grow with nodes. Three nodes with a share of a CPU each, on three hosts in network namespaces, behind
 * HAProxy with the documented file; nodes are drained to have one, two and three of them. Rounds alternate, so that other load affects all three.
 * Needs what test:cluster needs.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { SHARDS } from '../src/core/journal/shard.ts'
import { AGENCIES, makeLoadAgencies, UNITS_EACH } from '../test/support/cluster/agencies.ts'
import { buildBinary } from '../test/support/cluster/binary.ts'
import { Cluster } from '../test/support/cluster/cluster.ts'
import { whyNoHosts } from '../test/support/cluster/network.ts'
import { eventually } from '../test/support/eventually.ts'
import { HttpConnection, type Planned } from './load/http-client.ts'
import { writeResult } from './report.ts'

const CONNECTIONS = 48
const WARM_MS = 2_500
const RUN_MS = 4_000
const NODES = [1, 2, 3] as const

const { values } = parseArgs({ options: { cpus: { type: 'string' }, rounds: { type: 'string' } } })
const [cpus, rounds] = [Number(values.cpus ?? 0.1), Number(values.rounds ?? 3)]
const obstacle = whyNoHosts()
if (obstacle !== null) {
  console.error(`Cannot measure nodes: ${obstacle}`)
  process.exit(1)
}

const requests: Planned[] = AGENCIES.flatMap(({ secret }) =>
  Array.from({ length: UNITS_EACH }, (_, unit) => ({
    bytes: Buffer.from(
      `GET /partner/v1/availability?unit=unit-${unit}&from=2027-03-01&to=2027-04-01 HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
    ),
    status: 200,
  })),
)

/** Answers a second, over every agency alike. @throws Error for an answer other than 200 */
async function readsPerSecond(url: string): Promise<number> {
  const { hostname, port } = new URL(url)
  let [n, answered] = [0, 0]
  let isOver = false
  let fault: string | null = null
  const run = {
    next: () => (isOver ? null : (requests[n++ % requests.length] as Planned)),
    answered: () => {
      answered += 1
    },
    failed: (why: string) => {
      if (!isOver) fault ??= why
    },
  }
  const opened = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => HttpConnection.open(Number(port), run, hostname)),
  )
  for (const connection of opened) connection.send()
  await Bun.sleep(WARM_MS)
  const [before, since] = [answered, performance.now()]
  await Bun.sleep(RUN_MS)
  const perSecond = ((answered - before) * 1_000) / (performance.now() - since)
  isOver = true
  await Bun.sleep(100)
  for (const connection of opened) connection.close()
  if (fault !== null) throw new Error(`Cannot measure: ${fault}`)
  return perSecond
}

async function useNodes(cluster: Cluster, count: number): Promise<void> {
  const [asked] = cluster.hosts
  if (asked === undefined) throw new Error('No host')
  for (const [i, { name }] of cluster.hosts.entries())
    cluster.cli(asked, 'cluster', 'drain', name, ...(i < count ? ['--undo'] : []))
  await eventually(`${count} nodes share the shards`, async () => {
    const serving = [...(await cluster.serving()).values()].filter((shards) => shards > 0)
    return serving.length === count && serving.reduce((sum, shards) => sum + shards, 0) === SHARDS
  })
}

const folder = mkdtempSync(join(tmpdir(), 'nightledger-bench-'))
const cluster = await Cluster.start({ binary: await buildBinary(folder), nodeCpus: cpus }, makeLoadAgencies)
const measured: Record<number, number[]> = { 1: [], 2: [], 3: [] }
try {
  for (let round = 0; round < rounds; round++) {
    for (const nodes of NODES) {
      await useNodes(cluster, nodes)
      measured[nodes]?.push(await readsPerSecond(cluster.url))
      console.log(`${nodes} nodes: ${measured[nodes]?.at(-1)?.toFixed(0)} reads/s`)
    }
  }
} finally {
  await cluster.stop()
  rmSync(folder, { recursive: true, force: true })
}

const median = (figures: readonly number[]) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0
const ratio = (nodes: number) =>
  median((measured[nodes] ?? []).map((perSecond, round) => perSecond / (measured[1]?.[round] ?? 1)))
const result = { cpus, rounds, readsPerSecond: measured, ratios: { 2: ratio(2), 3: ratio(3) } }
await writeResult('cluster', result)
console.log(`Reads against one node: ${ratio(2).toFixed(2)} × with two, ${ratio(3).toFixed(2)} × with three`)
