/** A cluster whose nodes get the same share of a CPU each: moves the agencies to some of its nodes, and measures a load on them. */
import { cpus as machineCpus } from 'node:os'
import type { LoadAgency } from '../../test/support/cluster/agencies.ts'
import type { Cluster } from '../../test/support/cluster/cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { AgencyLoad, type AgencyRequests, type Shape } from '../load/agency-load.ts'
import { cpuSecondsOf, cpuSecondsOfFamily, machineSeconds } from './processes.ts'
import { rounded } from './statistics.ts'

const IDLE_MS = 3_000
const SETTLE_MS = 1_000
const RUN_MS = 6_000

interface NodeFigures {
  readonly node: string
  readonly agencies: number
  readonly perSecond: number
  /** CPUs used, and microseconds of one for each answer. */
  readonly cpus: number
  readonly cpuUsEach: number | null
  /** Of the periods in which it had something to do, those in which it used up its share. */
  readonly throttledShare: number
}

export interface Figures {
  readonly perSecond: number
  /** Of all requests, those that came in at another node than their owner. */
  readonly forwardedShare: number
  /** Writes in a group commit; null when there was none. */
  readonly perCommit: number | null
  readonly byNode: readonly NodeFigures[]
  /** CPUs: the PostgreSQL that takes the writes, and the others together. */
  readonly postgres: number
  readonly standbys: number
  readonly haproxy: number
  readonly client: number
  readonly machineIdle: number
  /** Used by other work of low priority (nice): the cluster would have got it. */
  readonly lowPriority: number
  /** Taken by the host of this virtual machine. */
  readonly stolen: number
}

export class MeasuredCluster {
  readonly #cluster: Cluster
  readonly #agencies: readonly LoadAgency[]
  readonly #cpus: number

  /** @param cpus of each node, while it is measured */
  constructor(cluster: Cluster, agencies: readonly LoadAgency[], cpus: number) {
    this.#cluster = cluster
    this.#agencies = agencies
    this.#cpus = cpus
  }

  /** Moves all shards to the first so many nodes. */
  async useNodes(count: number): Promise<void> {
    const [request] = this.#cluster.hosts
    if (request === undefined) throw new Error('No host')
    for (const [i, { name }] of this.#cluster.hosts.entries())
      this.#cluster.cli(request, 'cluster', 'drain', name, ...(i < count ? ['--undo'] : []))
    // What was settled before is still settled until the nodes have heard of the drain.
    await eventually(`only ${count} nodes serve`, async () => {
      const serving = await this.#cluster.serving()
      return this.#cluster.hosts.every(({ name }, i) => (serving.get(name) ?? 0) > 0 === i < count)
    })
    await this.#cluster.untilSettled()
  }

  /** Without a limit, until everything is in memory and compiled. @param answers for each agency */
  async warm(requests: AgencyRequests, answers: number): Promise<void> {
    const load = await AgencyLoad.start(this.#cluster.url, requests, { shape: 'alike', connections: requests.agencies })
    await load.untilEachHas(answers)
    await load.stop()
  }

  /** CPUs that each node uses without requests. */
  async idle(): Promise<readonly number[]> {
    const before = useOf(this.#cluster)
    await Bun.sleep(IDLE_MS)
    const after = useOf(this.#cluster)
    return after.nodes.map(({ cpuS }, i) => rounded((cpuS - (before.nodes[i]?.cpuS ?? 0)) / (IDLE_MS / 1_000), 3))
  }

  async measure(requests: AgencyRequests, load: { shape: Shape; connections: number }): Promise<Figures> {
    const [owners, primary] = [await this.#owners(), await this.#cluster.postgres.primary()]
    const countedBefore = await countsOf(this.#cluster)
    this.#limit(this.#cpus)
    const running = await AgencyLoad.start(this.#cluster.url, requests, load)
    await Bun.sleep(SETTLE_MS)
    const [answered, before] = [[...running.answered], useOf(this.#cluster)]
    await Bun.sleep(RUN_MS)
    const [answers, after] = [running.answered.map((count, i) => count - (answered[i] ?? 0)), useOf(this.#cluster)]
    await running.stop()
    this.#limit(null)
    const counted = await countsOf(this.#cluster)
    const batches = counted.batches - countedBefore.batches

    const seconds = (after.atMs - before.atMs) / 1_000
    const used = (of: (use: ClusterUse) => number) => rounded((of(after) - of(before)) / seconds, 3)
    const postgres = (isWanted: (name: string) => boolean) =>
      used(({ postgresS }) => sum(postgresS.filter((_, i) => isWanted(this.#cluster.hosts[i]?.name ?? ''))))
    return {
      perSecond: Math.round(sum(answers) / seconds),
      forwardedShare: rounded((counted.forwarded - countedBefore.forwarded) / running.total, 4),
      perCommit: batches === 0 ? null : rounded((counted.records - countedBefore.records) / batches, 1),
      byNode: this.#cluster.hosts.map(({ name }, i) =>
        figuresOf(
          name,
          answers.filter((_, agency) => owners[agency] === name && (running.answered[agency] ?? 0) > 0),
          { seconds, before: before.nodes[i], after: after.nodes[i] },
        ),
      ),
      postgres: postgres((name) => name === primary.name),
      standbys: postgres((name) => name !== primary.name),
      haproxy: used(({ haproxyS }) => haproxyS),
      client: used(({ clientS }) => clientS),
      machineIdle: used(({ machine }) => machine.idleS),
      lowPriority: used(({ machine }) => machine.niceS),
      stolen: used(({ machine }) => machine.stolenS),
    }
  }

  #limit(cpus: number | null): void {
    for (const host of this.#cluster.hosts) host.cpusOf('nightledger').limit(cpus)
  }

  /** By agency, the name of the node that answers for it. */
  async #owners(): Promise<readonly (string | null)[]> {
    const owners: (string | null)[] = []
    for (const { secret } of this.#agencies) {
      const headers = { authorization: `Bearer ${secret}` }
      const answer = await fetch(`${this.#cluster.url}/partner/v1/units`, { headers })
      owners.push(answer.headers.get('x-served-by'))
    }
    return owners
  }
}

type NodeUse = ClusterUse['nodes'][number]

function figuresOf(
  node: string,
  answers: readonly number[],
  { seconds, before, after }: { seconds: number; before: NodeUse | undefined; after: NodeUse | undefined },
): NodeFigures {
  const grown = (of: (use: NodeUse) => number) =>
    before === undefined || after === undefined ? 0 : of(after) - of(before)
  const [cpuS, limited] = [grown((use) => use.cpuS), grown((use) => use.limited)]
  const all = sum(answers)
  return {
    node,
    agencies: answers.length,
    perSecond: Math.round(all / seconds),
    cpus: rounded(cpuS / seconds, 3),
    cpuUsEach: all === 0 ? null : Math.round((cpuS * 1e6) / all),
    throttledShare: limited === 0 ? 0 : rounded(grown((use) => use.throttled) / limited, 2),
  }
}

/** For a line of the log. */
export function textOf(what: string, figures: Figures): string {
  const { perSecond, forwardedShare, perCommit, byNode } = figures
  const each = byNode
    .filter(({ agencies }) => agencies > 0)
    .map((node) => `${node.agencies} agencies ${node.perSecond}/s ${node.cpuUsEach} us`)
  const throttled = byNode.map(({ throttledShare }) => throttledShare.toFixed(2))
  const used = [
    ...[`PostgreSQL ${figures.postgres}`, `standbys ${figures.standbys}`, `HAProxy ${figures.haproxy}`],
    ...[`client ${figures.client}`, `idle ${figures.machineIdle}`, `low priority ${figures.lowPriority}`],
    `stolen ${figures.stolen}`,
  ]
  return [
    `${perSecond} ${what}/s, ${(forwardedShare * 100).toFixed(1)} % forwarded`,
    ...(perCommit === null ? [] : [`${perCommit} in a commit`]),
    `${each.join(', ')}; throttled ${throttled.join(' ')}`,
    `${used.join(', ')} of ${machineCpus().length} CPUs`,
  ].join('; ')
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}

/** What the parts of a cluster have used of the machine. */
interface ClusterUse {
  readonly atMs: number
  /** Seconds of CPU of each node with its sender of webhooks; periods of its limit, and those of them that it used up. */
  readonly nodes: readonly { readonly cpuS: number; readonly limited: number; readonly throttled: number }[]
  /** Seconds of CPU of the PostgreSQL on each host. */
  readonly postgresS: readonly number[]
  readonly haproxyS: number
  readonly clientS: number
  readonly machine: ReturnType<typeof machineSeconds>
}

/** Since the start of each. */
function useOf({ hosts, entrance, postgres }: Cluster): ClusterUse {
  const secondsOf = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0)
  return {
    atMs: performance.now(),
    nodes: hosts.map((host) => {
      const group = host.cpusOf('nightledger')
      return { cpuS: secondsOf(group.pids), ...group.periods }
    }),
    postgresS: hosts.map((host) => cpuSecondsOfFamily(postgres.postmasterOf(host))),
    haproxyS: secondsOf(entrance.network.pids(entrance.name)),
    clientS: cpuSecondsOf(process.pid),
    machine: machineSeconds(),
  }
}

const COUNTED = {
  /** Requests that came in at a node and were answered by another. */
  forwarded: 'nightledger_cluster_requests_total{outcome="forwarded"}',
  /** Group commits, and the writes in them. */
  batches: 'nightledger_journal_batch_records_count',
  records: 'nightledger_journal_batch_records_sum',
} as const

type ClusterCounts = Readonly<Record<keyof typeof COUNTED, number>>

/** Of all nodes together, since their start. */
async function countsOf(cluster: Cluster): Promise<ClusterCounts> {
  const pages = await Promise.all(
    cluster.hosts.map((host) => fetch(`${cluster.nodeUrl(host)}/metrics`).then((answer) => answer.text())),
  )
  const read = (page: string, name: string) => {
    const line = page.split('\n').find((each) => each.startsWith(`${name} `))
    return Number(line?.slice(name.length) ?? Number.NaN)
  }
  const sum = (name: string) => pages.reduce((all, page) => all + read(page, name), 0)
  return { forwarded: sum(COUNTED.forwarded), batches: sum(COUNTED.batches), records: sum(COUNTED.records) }
}
