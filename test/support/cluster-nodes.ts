import { ClusterKeys } from '../../src/cluster/cluster-keys.ts'
import { ClusterNode } from '../../src/cluster/cluster-node.ts'
import type { Etcd, Reading } from '../../src/cluster/etcd/etcd.ts'
import { EtcdClient } from '../../src/cluster/etcd/etcd-client.ts'
import { parseEtcdEndpoints } from '../../src/cluster/etcd/etcd-endpoints.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { MemoryShardHost, SharedEpochs } from './memory-shard-host.ts'

export interface TestNode {
  readonly id: string
  readonly node: ClusterNode
  readonly host: MemoryShardHost
  /** Cuts it off from etcd, or heals that. */
  cut(isCut: boolean): void
  /** Its watch tells nothing any more. */
  mute(): void
}

/** Nodes in this process, with engines in memory, on a real etcd. */
export class TestCluster {
  readonly epochs = new SharedEpochs()
  readonly nodes: TestNode[] = []
  readonly log: string[] = []
  readonly #url: string
  readonly keys = new ClusterKeys(`/nightledger/${crypto.randomUUID()}/`)

  constructor(etcdUrl: string) {
    this.#url = etcdUrl
  }

  client(): EtcdClient {
    const endpoints = parseEtcdEndpoints(this.#url)
    if (endpoints === null) throw new Error(`${this.#url} is no etcd`)
    return new EtcdClient(endpoints)
  }

  async join(id: string): Promise<TestNode> {
    const made = this.make(id)
    await made.node.join()
    return made
  }

  make(
    id: string,
    { run = null, isOver = () => false }: { run?: string | null; isOver?: (run: string) => boolean } = {},
  ): TestNode {
    const etcd = new CuttableEtcd(this.client())
    const host = new MemoryShardHost(this.epochs)
    const note = (what: string) => (fields?: unknown) =>
      void this.log.push(
        `${performance.now().toFixed(0)} ${id} ${what} ${fields instanceof Error ? fields.message : JSON.stringify(fields)}`,
      )
    const node = new ClusterNode({
      self: { id, url: `http://${id}`, version: 'test', run, startedAt: Date.now() },
      etcd,
      clock: systemClock,
      keys: this.keys,
      host,
      isOver,
      watch: {
        onJoined: note('joined'),
        onLeaseLost: note('lease lost'),
        onNodeIdTaken: note('id taken'),
        onEtcdFailure: note('etcd failure'),
        onEtcdBack: note('etcd back'),
        onEtcdReplaced: note('etcd replaced'),
        onAcquired: note('acquired'),
        onReleased: note('released'),
        onDropped: note('dropped'),
        onFenced: note('fenced'),
        onMoveFailure: note('move failure'),
        onDatabaseMissed: note('database missed'),
        onDatabaseBack: note('database back'),
      },
    })
    const made = { id, node, host, cut: (isCut: boolean) => etcd.cut(isCut), mute: () => etcd.mute() }
    this.nodes.push(made)
    return made
  }

  /** A node is gone without a word: nothing of it runs any more. */
  vanish({ node, cut }: TestNode): void {
    cut(true)
    void node.close()
    this.nodes.splice(
      this.nodes.findIndex((each) => each.node === node),
      1,
    )
  }

  async leave(leaving: TestNode, withinMs = 60_000): Promise<boolean> {
    const isDone = await leaving.node.leave(withinMs)
    await leaving.node.close()
    this.nodes.splice(this.nodes.indexOf(leaving), 1)
    return isDone
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map(({ node }) => node.close()))
  }

  /** Every lease, claim and mark, as etcd has them. */
  read(): Promise<Reading> {
    return this.client().read(this.keys.prefix)
  }

  /** By shard: the nodes that say that they serve it. */
  serving(): readonly (readonly string[])[] {
    return Array.from({ length: 256 }, (_, shard) =>
      this.nodes.filter(({ node }) => node.owners.ownerOf(shard) === 'self').map(({ id }) => id),
    )
  }

  /** Every shard is served by the node that should, and by no other, as all nodes see it that are not cut off: one may just have joined. */
  get isSettled(): boolean {
    const [first] = this.nodes
    if (first === undefined) return false
    const serving = this.serving()
    const request = this.nodes.filter(({ node }) => node.confirmation.hasLease)
    return (request.length > 0 ? request : [first]).every(({ node: { wanted } }) =>
      serving.every((nodes, shard) => nodes.length === 1 && nodes[0] === wanted[shard]),
    )
  }

  async settle(withinMs = 60_000): Promise<number> {
    const since = performance.now()
    while (!this.isSettled) {
      if (performance.now() - since > withinMs)
        throw new Error(`Not settled after ${withinMs} ms:\n${this.log.slice(-40).join('\n')}`)
      await Bun.sleep(10)
    }
    return performance.now() - since
  }
}

/** etcd behind a network that can be cut. */
class CuttableEtcd implements Etcd {
  readonly #etcd: Etcd
  #cut = new AbortController()
  #isCut = false
  #isMute = false

  constructor(etcd: Etcd) {
    this.#etcd = etcd
  }

  cut(isCut: boolean): void {
    this.#isCut = isCut
    if (isCut) this.#cut.abort()
    else this.#cut = new AbortController()
  }

  mute(): void {
    this.#isMute = true
    this.#cut.abort()
    this.#cut = new AbortController()
  }

  grant(ttlS: number) {
    return this.#through(() => this.#etcd.grant(ttlS))
  }
  keepAlive(lease: string) {
    return this.#through(() => this.#etcd.keepAlive(lease))
  }
  revoke(lease: string) {
    return this.#through(() => this.#etcd.revoke(lease))
  }
  read(prefix: string) {
    return this.#through(() => this.#etcd.read(prefix))
  }
  commit(changes: Parameters<Etcd['commit']>[0]) {
    return this.#through(() => this.#etcd.commit(changes))
  }
  async watch(params: Parameters<Etcd['watch']>[0], onEvents: Parameters<Etcd['watch']>[1]) {
    if (this.#isCut) return
    if (this.#isMute) return new Promise<void>((resolve) => params.signal.addEventListener('abort', () => resolve()))
    await this.#etcd.watch({ ...params, signal: AbortSignal.any([params.signal, this.#cut.signal]) }, onEvents)
  }

  async #through<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isCut) throw new Error('Cut off from etcd')
    const answer = await call()
    if (this.#isCut) throw new Error('Cut off from etcd')
    return answer
  }
}
