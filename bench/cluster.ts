/*
 * `bun bench/cluster.ts [--only reads | bookings | forwarding] [--cpus 0.1] [--rounds 3]`: how reads and bookings grow with nodes, and what
 * forwarding a booking costs. Three nodes on three hosts in network namespaces, behind HAProxy with the documented file; nodes are drained to
 * have one, two and three of them, in turn. Each node has the same share of a CPU, so that it is the nodes that limit the load, and not the
 * machine that everything runs on. PostgreSQL has no limit. bench/README.md says how to read the result. Needs root, etcd, Patroni and HAProxy.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadAgencies, makeLoadAgencies, UNITS_EACH } from '../test/support/cluster/agencies.ts'
import { buildBinary } from '../test/support/cluster/binary.ts'
import { Cluster } from '../test/support/cluster/cluster.ts'
import { whyNoHosts } from '../test/support/cluster/network.ts'
import { medianOf } from './compare.ts'
import type { Shape } from './load/agency-load.ts'
import { type AgencyRequests, bookingsOf, readsOf } from './load/agency-requests.ts'
import { machine, resultOf, writeResult } from './report.ts'
import { type Figures, MeasuredCluster, type NodeFigures, rounded, textOf } from './support/measured-cluster.ts'

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
const PARTS = ['reads', 'bookings', 'forwarding'] as const

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
const wanted = PARTS.filter((part) => values.only === undefined || values.only === part)
const obstacle = wanted.length === 0 ? `no such part: ${values.only}` : whyNoHosts()
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
const common = { cpus, rounds, agencies: AGENCIES.length }
/** Of a part that was measured at another time than the reads. */
const commonOfPart = () => {
  return {
    at: new Date().toISOString(),
    machine: machineOfCluster(),
    loadBefore,
    ...common,
    clients: LOADS.bookings.clients,
  }
}
const sold = { keyed: bookingsOf(AGENCIES, UNITS_EACH, { isKeyed: true }), plain: bookingsOf(AGENCIES, UNITS_EACH) }
const kept = await resultOf('cluster')
const results: Partial<Record<(typeof PARTS)[number], object>> = {}
try {
  await cluster.untilSettled()
  if (wanted.includes('reads')) results.reads = await measureReads()
  if (wanted.includes('bookings')) results.bookings = await measureBookings()
  if (wanted.includes('forwarding')) results.forwarding = await measureForwarding()
} finally {
  await cluster.stop()
  rmSync(folder, { recursive: true, force: true })
}
const { reads, ...others } = results
const { bookings, forwarding } = { ...kept, ...others } as Record<string, unknown>
await writeResult('cluster', { ...(reads ?? kept), bookings, forwarding })

async function measureReads(): Promise<object> {
  const all = await inTurn('reads', readsOf(AGENCIES, UNITS_EACH))
  return {
    ...{ machine: machineOfCluster(), ...common, ...all },
    measured: all.measured.map(({ figures, ...which }) => ({
      ...which,
      byNode: figures.byNode.map(({ perSecond, cpuUsEach, ...node }) => ({
        ...{ ...node, readsPerSecond: perSecond, cpuUsPerRead: cpuUsEach },
      })),
      readsPerSecond: figures.perSecond,
      ...{ forwardedShare: figures.forwardedShare, haproxy: figures.haproxy },
      ...{ client: figures.client, machineIdle: figures.machineIdle },
    })),
  }
}

async function measureBookings(): Promise<object> {
  const all = await inTurn('bookings', sold.plain)
  const bookingsOfNode = ({ perSecond, cpuUsEach, ...node }: NodeFigures) => {
    return { ...node, bookingsPerSecond: perSecond, cpuUsPerBooking: cpuUsEach }
  }
  const medians = SHAPES.flatMap((shape) =>
    COUNTS.map((nodes) => {
      const of = (figure: (figures: Figures) => number) =>
        medianOf(
          all.measured
            .filter((each) => each.nodes === nodes && each.shape === shape)
            .map((each) => figure(each.figures)),
        )
      return {
        ...{ nodes, shape, bookingsPerSecond: of(({ perSecond }) => perSecond) },
        bookingsPerCommit: of(({ perCommit }) => perCommit ?? 0),
        nodesUs: of((figures) => usEach(figures, cpusOfNodes(figures))),
        postgresUs: of((figures) => usEach(figures, figures.postgres)),
        standbysUs: of((figures) => usEach(figures, figures.standbys)),
        machineIdle: of(({ machineIdle }) => machineIdle),
        lowPriority: of(({ lowPriority }) => lowPriority),
      }
    }),
  )
  return {
    ...{ ...commonOfPart(), ratios: all.ratios, idleCpus: all.idleCpus, medians },
    measured: all.measured.map(({ figures: { perSecond, byNode, perCommit, ...figures }, ...which }) => ({
      ...{ ...which, bookingsPerSecond: perSecond, bookingsPerCommit: perCommit },
      ...figures,
      byNode: byNode.map(bookingsOfNode),
    })),
  }
}

/** One, two and three nodes, and back. */
async function inTurn(part: Load, requests: AgencyRequests) {
  const { clients: connections, first, again } = LOADS[part]
  await measured.warm(requests, first)
  const idleCpus = await measured.idle()
  say(`without ${part}, the nodes use ${idleCpus.join(', ')} CPUs`)
  const all: Measured[] = []
  for (let round = 0; round < rounds; round++)
    for (const nodes of round % 2 === 0 ? COUNTS : COUNTS.toReversed()) {
      await measured.useNodes(nodes)
      await measured.warm(requests, again)
      for (const shape of SHAPES) {
        const figures = await measured.measure(requests, { shape, connections })
        all.push({ round, nodes, shape, figures })
        say(`${nodes} nodes, ${shape}: ${textOf(part, figures)}`)
      }
    }
  const ratios = Object.fromEntries(
    SHAPES.map((shape) => [shape, { 2: ratio(all, 2, shape), 3: ratio(all, 3, shape) }]),
  )
  for (const shape of SHAPES)
    say(
      `${part} against one node, ${shape}: ${ratios[shape]?.[2]?.toFixed(2)} × with two, ${ratios[shape]?.[3]?.toFixed(2)} × with three`,
    )
  return { ratios, idleCpus, measured: all }
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

/**
 * The first node owns every agency. What a booking costs that enters there, without and with an `Idempotency-Key`, and one without that enters
 * at the second node and is forwarded, which gives it one.
 */
async function measureForwarding(): Promise<object> {
  const [owner, other] = cluster.hosts.map((host) => cluster.nodeUrl(host)) as [string, string]
  const sides = {
    local: [sold.plain, owner],
    localWithKey: [sold.keyed, owner],
    forwarded: [sold.plain, other],
  } as const
  const { clients: connections, first } = LOADS.bookings
  await measured.useNodes(1)
  for (const [source, url] of Object.values(sides)) await measured.warm(source, first / 4, url)
  const idleCpus = (await measured.idle()).reduce((sum, each) => sum + each, 0)
  const all: { side: string; figures: Figures }[] = []
  for (let round = 0; round < rounds; round++)
    for (const [side, [source, url]] of Object.entries(sides)) {
      const figures = await measured.measure(source, { shape: 'each', connections, url })
      all.push({ side, figures })
      say(`${side}: ${textOf('bookings', figures)}`)
    }
  const result = Object.keys(sides).map((side) => {
    const of = (figure: (figures: Figures) => number) =>
      medianOf(all.filter((each) => each.side === side).map(({ figures }) => figure(figures)))
    const figures = {
      bookingsPerSecond: of(({ perSecond }) => perSecond),
      forwardedShare: of(({ forwardedShare }) => forwardedShare),
      bookingsPerCommit: of(({ perCommit }) => perCommit ?? 0),
      nodesUs: of((each) => usEach(each, cpusOfNodes(each) - idleCpus)),
      postgresUs: of((each) => usEach(each, each.postgres)),
      standbysUs: of((each) => usEach(each, each.standbys)),
    }
    say(`${side}: ${JSON.stringify(figures)}`)
    return [side, figures]
  })
  return { ...commonOfPart(), idleCpus: rounded(idleCpus, 3), ...Object.fromEntries(result) }
}

function cpusOfNodes({ byNode }: Figures): number {
  return byNode.reduce((sum, { cpus: used }) => sum + used, 0)
}

/** Microseconds of CPU for each answer. */
function usEach({ perSecond }: Figures, used: number): number {
  return perSecond === 0 ? 0 : Math.round((used * 1e6) / perSecond)
}

function machineOfCluster(): object {
  return { ...machine(), postgres: 'as Debian packages it' }
}
