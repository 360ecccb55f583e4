/** Three hosts with etcd, Patroni with PostgreSQL, and a node each, and a fourth with HAProxy, from the files of deploy/cluster/ as they are. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SHARDS } from '../../../src/core/journal/shard.ts'
import { eventually } from '../eventually.ts'
import { TEST_PORTAL_TOKEN } from '../service-process.ts'
import { ask } from './ask.ts'
import { configureNode, HOSTS, installBinary, installEntrance, installParts, UNITS } from './documented-files.ts'
import { EtcdMembers } from './etcd-members.ts'
import { Host } from './host.ts'
import { Network } from './network.ts'
import { PostgresServers } from './postgres-servers.ts'
import { readUnit } from './unit-file.ts'

const ENTRANCE = 'lb'

interface ClusterOptions {
  /** The compiled service. */
  readonly binary: string
  /** False: the hosts' processes do not know of each other; one serves, the others wait as standbys. */
  readonly isCluster?: boolean
  /** Further variables of every node. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether the CPUs of each node can be limited (`Host.cpusOf('nightledger')`). */
  readonly limitable?: boolean
  /** Nodes that are started; the others wait for `startNode`. */
  readonly nodes?: readonly string[]
}

export class Cluster {
  readonly names = HOSTS
  readonly hosts: readonly Host[]
  readonly entrance: Host
  readonly etcd: EtcdMembers
  readonly postgres: PostgresServers
  readonly #folder = mkdtempSync(join(tmpdir(), 'nightledger-cluster-'))
  readonly #network: Network
  readonly #options: ClusterOptions
  readonly #since = performance.now()
  /** When each part was up, from the start. */
  readonly steps: string[] = []

  private constructor(options: ClusterOptions) {
    this.#options = options
    chmodSync(this.#folder, 0o755)
    this.#network = new Network([...this.names, ENTRANCE])
    const limitable = options.limitable === true ? ['nightledger'] : []
    const folder = (name: string) => join(this.#folder, name)
    this.hosts = this.names.map((name) => new Host(name, this.#network, folder(name), limitable))
    this.etcd = new EtcdMembers(this.hosts)
    this.postgres = new PostgresServers(this.hosts)
    this.entrance = new Host(ENTRANCE, this.#network, folder(ENTRANCE))
  }

  /** Returns when etcd, Postgres with a synchronous standby, the wanted nodes and HAProxy serve. `prepare` runs before the first node, on an empty database. */
  static async start(options: ClusterOptions, prepare: (databaseUrl: string) => Promise<void>): Promise<Cluster> {
    const cluster = new Cluster(options)
    try {
      await cluster.#start(prepare)
      return cluster
    } catch (error) {
      const logs = cluster.logs()
      await cluster.stop()
      throw new Error(`The cluster did not start: ${String(error)}\n${logs}`, { cause: error })
    }
  }

  /** Where clients enter. */
  get url(): string {
    return `http://${this.entrance.address}:8080`
  }

  /** A node past HAProxy. */
  nodeUrl(host: Host): string {
    return `http://${host.address}:3000`
  }

  /** Everything of a host after `boot`. */
  startAll(host: Host): void {
    this.etcd.start(host)
    this.postgres.start(host)
    this.startNode(host)
  }

  startNode(host: Host): void {
    host.start('nightledger', UNITS.nightledger)
  }

  async untilReady(host: Host, withinMs = 60_000): Promise<void> {
    await eventually(`${host.name} is ready`, () => this.isReady(host), withinMs)
  }

  async isReady(host: Host): Promise<boolean> {
    return (await ask(`${this.nodeUrl(host)}/readyz`))?.status === 200
  }

  cut(host: Host): void {
    this.#network.cut(host.name)
  }

  heal(host: Host): void {
    this.#network.heal(host.name)
  }

  /** Separates a host from the other two, but not from clients. */
  separate(host: Host): void {
    for (const other of this.hosts) if (other !== host) this.#network.separate(host.name, other.name)
  }

  rejoin(host: Host): void {
    for (const other of this.hosts) if (other !== host) this.#network.rejoin(host.name, other.name)
  }

  /** What runs on a host reaches no etcd any more; etcd's members still reach each other. */
  cutFromEtcd(host: Host): void {
    this.#network.cutPort(host.name, 2379)
  }

  healEtcd(host: Host): void {
    this.#network.openPorts(host.name)
  }

  /** Runs the command line on a host, with the variables of its node. @throws Error when it fails */
  cli(host: Host, ...args: string[]): string {
    const { environment } = readUnit(UNITS.nightledger, { host: host.name, unit: 'nightledger', root: host.root })
    return host.run(['/usr/local/bin/nightledger', ...args], { env: environment })
  }

  /** By node, how many shards it serves, as the first node that answers sees it. */
  async serving(): Promise<ReadonlyMap<string, number>> {
    return new Map((await this.#shares()).map(({ id, serving }) => [id, serving]))
  }

  /** Until every node is there and serves exactly what it should, and nothing moves any more. */
  async untilSettled(): Promise<void> {
    await eventually('every node serves what it should', async () => {
      const shares = await this.#shares()
      const served = shares.reduce((sum, { serving }) => sum + serving, 0)
      const isWhole = shares.length === (this.#options.nodes ?? this.names).length && served === SHARDS
      return isWhole && shares.every(({ serving, wanted }) => serving === wanted)
    })
  }

  async #shares(): Promise<readonly { id: string; serving: number; wanted: number }[]> {
    for (const host of this.hosts) {
      const answer = await ask(`${this.nodeUrl(host)}/cluster`, {
        headers: { authorization: `Bearer ${TEST_PORTAL_TOKEN}` },
      })
      if (answer?.status !== 200) continue
      return ((await answer.json()) as { nodes: { id: string; serving: number; wanted: number }[] }).nodes
    }
    return []
  }

  /** Heals whatever a fault has left: every cable, process and server as at the start. */
  async restore(): Promise<void> {
    for (const host of this.hosts) {
      host.boot()
      this.rejoin(host)
      this.healEtcd(host)
      for (const [unit, start] of this.#starts()) {
        host.signal(unit, 'SIGCONT')
        if (!host.isWanted(unit)) start(host)
      }
    }
    await this.postgres.untilSynchronous()
    if (this.#options.isCluster === false) return
    for (const host of this.hosts) await this.untilReady(host)
    await this.untilSettled()
  }

  #starts(): [string, (host: Host) => void][] {
    return [
      ['etcd', (host) => this.etcd.start(host)],
      ['patroni', (host) => this.postgres.start(host)],
      ['nightledger', (host) => this.startNode(host)],
    ]
  }

  /** The last lines of every log, for a failure's message. */
  logs(): string {
    const units = [
      ...this.hosts.flatMap((host) => ['etcd', 'patroni', 'nightledger'].map((unit) => [host, unit] as const)),
      [this.entrance, 'haproxy'] as const,
    ]
    return units
      .map(([host, unit]) => `== ${host.name} ${unit}\n${host.log(unit).split('\n').slice(-12).join('\n')}`)
      .join('\n')
  }

  /** Ends everything and removes the hosts. With KEEP_CLUSTER_LOGS, their folders stay. */
  async stop(): Promise<void> {
    for (const host of [...this.hosts, this.entrance]) host.close()
    this.#network.close()
    if (process.env['KEEP_CLUSTER_LOGS']) console.log(`Kept ${this.#folder}`)
    else rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #start(prepare: (databaseUrl: string) => Promise<void>): Promise<void> {
    for (const host of this.hosts) this.#installOn(host)
    for (const host of this.hosts) this.etcd.start(host)
    await this.etcd.leader()
    this.#step('etcd')
    for (const host of this.hosts) this.postgres.start(host)
    await this.postgres.untilSynchronous()
    this.#step('Postgres')
    await prepare(this.postgres.url)
    const nodes = this.hosts.filter(({ name }) => this.#options.nodes?.includes(name) ?? true)
    this.#step('agencies')
    for (const host of nodes) this.startNode(host)
    const needed = this.#options.isCluster === false ? 1 : nodes.length
    const ready = async () =>
      (await Promise.all(nodes.map((host) => this.isReady(host)))).filter(Boolean).length >= needed
    await eventually('the nodes are ready', ready, 120_000)
    this.#step('nodes')
    installEntrance(this.entrance)
    this.entrance.start('haproxy', UNITS.haproxy)
    await eventually(
      'HAProxy serves',
      async () => (await ask(`${this.url}/partner/v1/openapi.json`))?.status === 200,
      60_000,
    )
  }

  /** What a start took, for one line of the log. */
  #step(what: string): void {
    const seconds = (performance.now() - this.#since) / 1_000
    this.steps.push(`${what} ${seconds.toFixed(1)} s`)
  }

  #installOn(host: Host): void {
    installParts(host)
    this.configure(host, this.#options.isCluster !== false)
    installBinary(host, this.#options.binary)
  }

  /** Whether the process of a host is a node from its next start on, or a single process. */
  configure(host: Host, isNode: boolean): void {
    configureNode(host, { isNode, proxy: this.entrance.address, env: this.#options.env ?? {} })
  }
}
