import type { ClusterStatus } from '../../src/cluster/cluster-status.ts'
import type { EtcdServers } from './etcd.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { send } from './http-call.ts'
import { type ServiceProcess, startServiceOn, TEST_PORTAL_TOKEN } from './service-process.ts'

/** NODE_ID, its process, and how to reach it. */
export interface NodeProcess extends ServiceProcess {
  readonly id: string
}

const TEST_CLUSTER_SECRET = 'cluster-secret-for-tests-0123456789abcdef'

/** What the node knows of the cluster: `GET /cluster`. */
export async function statusOf(node: ServiceProcess): Promise<ClusterStatus> {
  return (await send(`${node.adminUrl}/cluster`, { token: TEST_PORTAL_TOKEN })).body
}

/**
 * Waits until `node` sees `count` nodes, and every shard served by the one that should have it. A node that has just joined gets its shards
 * step by step, which takes seconds: a test that looks for agencies of both nodes before that depends on the machine's speed.
 */
export async function settled(node: ServiceProcess, count: number): Promise<ClusterStatus> {
  let status: ClusterStatus | null = null
  await eventually(`${count} nodes share the shards`, async () => {
    status = await statusOf(node)
    const { shards, nodes } = status
    return nodes.length === count && shards.served === 256 && nodes.every(({ serving, wanted }) => serving === wanted)
  })
  if (status === null) throw new Error('There is no status')
  return status
}

/** Starts nodes on one database and one etcd, each in a process of its own. */
export class NodeProcesses {
  readonly #databaseUrl: string
  readonly #etcd: Pick<EtcdServers, 'url'>
  readonly #ports = new Map<string, number>()
  readonly #started: NodeProcess[] = []

  constructor(databaseUrl: string, etcd: Pick<EtcdServers, 'url'>) {
    this.#databaseUrl = databaseUrl
    this.#etcd = etcd
  }

  /** A node keeps its port when it is started again. */
  async start(id: string, env: Record<string, string> = {}): Promise<NodeProcess> {
    const port = this.#ports.get(id) ?? freePort()
    this.#ports.set(id, port)
    const service = await startServiceOn(this.#databaseUrl, {
      PORT: String(port),
      CLUSTER_ETCD: this.#etcd.url,
      CLUSTER_SECRET: TEST_CLUSTER_SECRET,
      NODE_ID: id,
      NODE_URL: `http://127.0.0.1:${port}`,
      ...env,
    })
    const node = { ...service, id }
    this.#started.push(node)
    return node
  }

  /** Ends every node that still runs. */
  async stop(): Promise<void> {
    for (const node of this.#started) node.kill('SIGCONT')
    for (const node of this.#started) node.kill('SIGKILL')
    await Promise.all(this.#started.map(({ exited }) => exited))
  }
}
