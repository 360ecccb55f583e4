/** What the parts of a cluster have used of the machine, and what its nodes have counted. */
import type { Cluster } from '../../test/support/cluster/cluster.ts'
import { cpuSecondsOf, cpuSecondsOfFamily, machineSeconds } from './processes.ts'

export interface ClusterUse {
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
export function useOf({ hosts, entrance, postgres }: Cluster): ClusterUse {
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

export type ClusterCounts = Readonly<Record<keyof typeof COUNTED, number>>

/** Of all nodes together, since their start. */
export async function countsOf(cluster: Cluster): Promise<ClusterCounts> {
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
