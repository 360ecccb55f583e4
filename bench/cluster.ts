/*
 * `bun bench/cluster.ts [--only reads | bookings] [--cpus 0.1] [--rounds 3]`: how reads and bookings grow with nodes. Three nodes on three
 * hosts in network namespaces, behind HAProxy with the documented file; nodes are drained to have one, two and three of them, in turn. Each
 * node has the same share of a CPU, so that it is the nodes that limit the load, and not the machine that everything runs on. PostgreSQL has
 * no limit. bench/README.md says how to read the result. Needs root, etcd, Patroni and HAProxy.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadAgencies, makeLoadAgencies, UNITS_EACH } from '../test/support/cluster/agencies.ts'
import { buildBinary } from '../test/support/cluster/binary.ts'
import { Cluster } from '../test/support/cluster/cluster.ts'
import { whyNoHosts } from '../test/support/cluster/network.ts'
import { type AgencyRequests, bookingsOf, readsOf, type Shape } from './load/agency-load.ts'
import { writeResult } from './report.ts'
import { type Figures, MeasuredCluster, textOf } from './support/measured-cluster.ts'
import { medianOf, rounded } from './support/statistics.ts'

/** So many that a node's share of them is about its share of the shards. */
const AGENCIES = loadAgencies(384)
const SHAPES: readonly Shape[] = ['each', 'alike']
const COUNTS = [1, 2, 3] as const
/**
 * `first` and `again`: answers for each agency before anything is measured, and after each change of owners. Without a limit: code that has not
 * been executed for a while is compiled again, which takes a node with a tenth of a CPU many seconds.
 * `clients`: with more of them, a node at its limit answers HAProxy's checks too late, and requests go to nodes that have to forward them.
 */
const LOADS = {
  reads: { clients: 384, first: 300, again: 100 },
  bookings: { clients: 192, first: 160, again: 24 },
} as const
const LOAD_NAMES = ['reads', 'bookings'] as const

type Load = keyof typeof LOADS

interface Measured {
  readonly round: number
  readonly nodes: (typeof COUNTS)[number]
  readonly shape: Shape
  readonly figures: Figures
}

const { values } = parseArgs({
  options: { only: { type: 'string' }, cpus: { type: 'string' }, rounds: { type: 'string' } },
})
const [cpus, rounds] = [Number(values.cpus ?? 0.1), Number(values.rounds ?? 3)]
const wanted = LOAD_NAMES.filter((load) => values.only === undefined || values.only === load)
const obstacle = wanted.length === 0 ? `no such load: ${values.only}` : whyNoHosts()
if (obstacle !== null) {
  console.error(`Cannot measure nodes: ${obstacle}`)
  process.exit(1)
}

const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${text}`)

const folder = mkdtempSync(join(tmpdir(), 'nightledger-bench-'))
const binary = await buildBinary(folder)
const loadBefore = loadavg()[0]
const cluster = await Cluster.start({ binary, limitable: true }, (url) => makeLoadAgencies(url, AGENCIES))
const measured = new MeasuredCluster(cluster, AGENCIES, cpus)
const requestsOf = { reads: readsOf(AGENCIES, UNITS_EACH), bookings: bookingsOf(AGENCIES, UNITS_EACH) }
const results: Partial<Record<Load, object>> = {}
try {
  await cluster.untilSettled()
  for (const load of wanted) results[load] = await inTurn(load, requestsOf[load])
} finally {
  await cluster.stop()
  rmSync(folder, { recursive: true, force: true })
}
await writeResult('cluster', {
  postgres: 'as Debian packages it',
  loadBefore,
  cpus,
  rounds,
  agencies: AGENCIES.length,
  ...results,
})

/** One, two and three nodes, and back. */
async function inTurn(load: Load, requests: AgencyRequests): Promise<object> {
  const { clients: connections, first, again } = LOADS[load]
  await measured.warm(requests, first)
  const idleCpus = await measured.idle()
  say(`without ${load}, the nodes use ${idleCpus.join(', ')} CPUs`)
  const all: Measured[] = []
  for (let round = 0; round < rounds; round++)
    for (const nodes of round % 2 === 0 ? COUNTS : COUNTS.toReversed()) {
      await measured.useNodes(nodes)
      await measured.warm(requests, again)
      for (const shape of SHAPES) {
        const figures = await measured.measure(requests, { shape, connections })
        all.push({ round, nodes, shape, figures })
        say(`${nodes} nodes, ${shape}: ${textOf(load, figures)}`)
      }
    }
  const ratios = Object.fromEntries(
    SHAPES.map((shape) => [shape, { 2: ratio(all, 2, shape), 3: ratio(all, 3, shape) }]),
  )
  for (const shape of SHAPES)
    say(
      `${load} against one node, ${shape}: ${ratios[shape]?.[2]?.toFixed(2)} × with two, ${ratios[shape]?.[3]?.toFixed(2)} × with three`,
    )
  return { clients: connections, idleCpus, ratios, medians: mediansOf(all), measured: all }
}

/** The median of the rounds' own ratios to one node. */
function ratio(all: readonly Measured[], nodes: number, shape: Shape): number {
  const perSecond = (round: number, count: number) =>
    all.find((each) => each.round === round && each.nodes === count && each.shape === shape)?.figures.perSecond ?? 0
  return rounded(
    medianOf(Array.from({ length: rounds }, (_, round) => perSecond(round, nodes) / (perSecond(round, 1) || 1))),
    2,
  )
}

function mediansOf(all: readonly Measured[]): object[] {
  return SHAPES.flatMap((shape) =>
    COUNTS.map((nodes) => {
      const figures = all.filter((each) => each.nodes === nodes && each.shape === shape).map((each) => each.figures)
      const of = (figure: (of: Figures) => number) => medianOf(figures.map(figure))
      return {
        nodes,
        shape,
        perSecond: of(({ perSecond }) => perSecond),
        perCommit: of(({ perCommit }) => perCommit ?? 0),
        nodesUs: of((each) => usEach(each, cpusOfNodes(each))),
        postgresUs: of((each) => usEach(each, each.postgres)),
        standbysUs: of((each) => usEach(each, each.standbys)),
        machineIdle: of(({ machineIdle }) => machineIdle),
        lowPriority: of(({ lowPriority }) => lowPriority),
      }
    }),
  )
}

function cpusOfNodes({ byNode }: Figures): number {
  return byNode.reduce((sum, { cpus: used }) => sum + used, 0)
}

/** Microseconds of CPU for each answer. */
function usEach({ perSecond }: Figures, used: number): number {
  return perSecond === 0 ? 0 : Math.round((used * 1e6) / perSecond)
}
