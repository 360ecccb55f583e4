/*
 * `bun bench/forward.ts`: what it costs that a request enters at another node than the one that owns its agency.
 *
 * Two nodes on one Postgres and one etcd, one agency: the same requests to its owner (`local`) and to the other node (`forwarded`), in turn,
 * with 32 connections and with one. CPU of both nodes together, and of Postgres, per request. A forwarded write keeps its answer, and looks
 * for an earlier one (C8); a local one does both only with an `Idempotency-Key` (`local with key`). Takes about a minute.
 */
import { loadavg } from 'node:os'
import { EtcdServers } from '../test/support/etcd.ts'
import { type NodeProcess, NodeProcesses } from '../test/support/node-processes.ts'
import type { LoadAsked, LoadResult } from './load/load-process.ts'
import type { Kind } from './load/requests.ts'
import { writeResult } from './report.ts'
import { JsonChild } from './support/json-child.ts'
import { cpuSecondsOf, cpuSecondsOfFamily, startPostgres } from './support/processes.ts'
import { medianOf, rounded } from './support/statistics.ts'
import { seedLedger } from './world/seed.ts'
import { secretOf, type WorldSize } from './world/world.ts'

const SIZE: WorldSize = { agencies: 1, unitsPerAgency: 200, bookingsPerUnit: 0, bookingsOfFirst: 0 }
const CONNECTIONS = [32, 1]
const ROUNDS = 5
const COMPILE_MS = 1_000
const PACE = { warmMs: 100, runMs: 700 }

const loadBefore = loadavg()[0]
const postgres = await startPostgres()
const { url, sql } = await postgres.createDatabase('bench')
await seedLedger(sql, SIZE, () => {})
const etcd = await EtcdServers.start()
const processes = new NodeProcesses(url, etcd)
const nodes = [
  await processes.start('a', { NODE_ENV: 'production' }),
  await processes.start('b', { NODE_ENV: 'production' }),
]
const owner = await settledOwner()
const other = nodes.find((node) => node !== owner) as NodeProcess
const SIDES: Readonly<Record<string, Readonly<Record<string, readonly [NodeProcess, Kind]>>>> = {
  reads: { local: [owner, 'availability-31'], forwarded: [other, 'availability-31'] },
  bookings: { local: [owner, 'create'], 'local with key': [owner, 'create-with-key'], forwarded: [other, 'create'] },
}
const load = JsonChild.start(`${import.meta.dir}/load/load-process.ts`)
let sold = 0

/** Who serves the agency, once it has stopped moving. */
async function settledOwner(): Promise<NodeProcess> {
  for (let last = '', same = 0; ; ) {
    await Bun.sleep(500)
    const { headers } = await (nodes[0] as NodeProcess).ask('/partner/v1/units', { token: secretOf(0) })
    const by = headers.get('x-served-by') ?? ''
    same = by === last ? same + 1 : 0
    last = by
    const found = nodes.find(({ id }) => id === by)
    if (same === 6 && found !== undefined) return found
  }
}

const cpu = () => ({
  nodes: nodes.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0),
  postgres: cpuSecondsOfFamily(postgres.postmasterPid),
})

async function run(node: NodeProcess, kind: Kind, connections: number, pace: { warmMs: number; runMs: number }) {
  const before = cpu()
  const pending: LoadAsked = { ...pace, kind, connections, size: SIZE, url: node.baseUrl, firstSale: sold }
  const result = await load.ask<LoadResult>(pending)
  const after = cpu()
  if (result.fault !== null) throw new Error(`Cannot measure ${kind}: ${result.fault}`)
  sold = result.sold
  const share = (result.requests * (pace.warmMs + pace.runMs)) / pace.runMs
  return {
    ...result,
    nodesUs: ((after.nodes - before.nodes) * 1e6) / share,
    postgresUs: ((after.postgres - before.postgres) * 1e6) / share,
  }
}

type Sample = Awaited<ReturnType<typeof run>>

const figuresOf = (samples: readonly Sample[]) =>
  Object.fromEntries(
    (['perSecond', 'p50Ms', 'p99Ms', 'nodesUs', 'postgresUs'] as const).map((name) => [
      name,
      rounded(medianOf(samples.map((sample) => sample[name])), 3),
    ]),
  )

const results: object[] = []
for (const [what, sides] of Object.entries(SIDES))
  for (const connections of CONNECTIONS) {
    const samples = new Map(Object.keys(sides).map((side) => [side, [] as Sample[]]))
    for (const [node, kind] of Object.values(sides))
      await run(node, kind, connections, { warmMs: 0, runMs: COMPILE_MS })
    for (let round = 0; round < ROUNDS; round++)
      for (const [side, [node, kind]] of Object.entries(sides))
        samples.get(side)?.push(await run(node, kind, connections, PACE))
    const figures = Object.fromEntries([...samples].map(([side, of]) => [side, figuresOf(of)]))
    console.log(JSON.stringify({ what, connections, ...figures }))
    results.push({ what, connections, ...figures })
  }

await load.stop()
await processes.stop()
await etcd.stop()
await postgres.stop()
await writeResult('forward', { loadBefore, loadAfter: loadavg()[0], rounds: ROUNDS, results })
