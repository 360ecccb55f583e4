/** Three hosts with etcd, Patroni with PostgreSQL, and a node each, and a fourth with HAProxy, from the files of docs/operating/cluster/ as they are. */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SHARDS } from '../../../src/core/journal/shard.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { eventually } from '../eventually.ts'
import { TEST_PORTAL_TOKEN } from '../service-process.ts'
import {
  configureNode,
  databaseUrlOf,
  HOSTS,
  installBinary,
  installEntrance,
  installParts,
  UNITS,
} from './documented-files.ts'
import { descendants, Host } from './host.ts'
import { killQuietly, Network } from './network.ts'
import { readUnit } from './unit-file.ts'

const ENTRANCE = 'lb'

export interface ClusterOptions {
  /** The compiled service. */
  readonly binary: string
  /** False: the hosts' processes do not know of each other; one serves, the others wait as standbys. */
  readonly isCluster?: boolean
  /** Further variables of every node. */
  readonly env?: Readonly<Record<string, string>>
  /** CPUs that each node gets at most; null: as many as there are. */
  readonly nodeCpus?: number | null
  /** Nodes that are started; the others wait for `startNode`. */
  readonly nodes?: readonly string[]
}

export class Cluster {
  readonly names = HOSTS
  readonly hosts: readonly Host[]
  readonly entrance: Host
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
    const { nodeCpus = null } = options
    const cpus = nodeCpus === null ? {} : { nightledger: nodeCpus }
    const folder = (name: string) => join(this.#folder, name)
    this.hosts = this.names.map((name) => new Host(name, this.#network, folder(name), cpus))
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

  get databaseUrl(): string {
    return databaseUrlOf(this.hosts.map(({ address }) => address))
  }

  /** Of the host's name. */
  host(name: string): Host {
    const found = this.hosts.find((host) => host.name === name)
    if (found === undefined) throw new Error(`No such host: ${name}`)
    return found
  }

  async withSql<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const leader = await this.primary()
    const sql = connect(databaseUrlOf([leader.address]), { purpose: 'admin' })
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  /** Everything of a host after `boot`. */
  startAll(host: Host): void {
    this.startEtcd(host)
    this.startPostgres(host)
    this.startNode(host)
  }

  startEtcd(host: Host): void {
    host.start('etcd', UNITS.etcd)
  }

  startPostgres(host: Host): void {
    host.start('patroni', UNITS.patroni)
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

  /** Runs the command line on a host, with the variables of its node. @throws Error when it fails */
  cli(host: Host, ...args: string[]): string {
    const { environment } = readUnit(UNITS.nightledger, { host: host.name, unit: 'nightledger', root: host.root })
    return host.run(['/usr/local/bin/nightledger', ...args], { env: environment })
  }

  /** By node, how many shards it serves, as the first node that answers sees it. */
  async serving(): Promise<ReadonlyMap<string, number>> {
    for (const host of this.hosts) {
      const answer = await ask(`${this.nodeUrl(host)}/cluster`, {
        headers: { authorization: `Bearer ${TEST_PORTAL_TOKEN}` },
      })
      if (answer?.status !== 200) continue
      const { nodes } = (await answer.json()) as { nodes: { id: string; serving: number }[] }
      return new Map(nodes.map(({ id, serving }) => [id, serving]))
    }
    return new Map()
  }

  /** Until every shard is served, and all three nodes have about the same number of them. */
  async untilBalanced(): Promise<void> {
    await eventually('the nodes share the shards', async () => {
      const serving = [...(await this.serving()).values()]
      const sum = serving.reduce((total, count) => total + count, 0)
      return sum === SHARDS && serving.filter((count) => count > SHARDS / 6).length === this.hosts.length
    })
  }

  /** The host whose etcd leads. @throws Error when there is none within 20 s */
  async etcdLeader(): Promise<Host> {
    let leader: Host | undefined
    await eventually(
      'etcd has a leader',
      async () => {
        const answers = await Promise.all(this.hosts.map((host) => this.#etcdStatus(host)))
        leader = this.hosts.find((_, i) => answers[i] !== null && answers[i]?.leader === answers[i]?.header.member_id)
        return leader !== undefined
      },
      20_000,
    )
    return leader as Host
  }

  /** The host of the PostgreSQL that takes writes. */
  async primary(): Promise<Host> {
    let name: string | undefined
    await eventually(
      'Patroni has a leader',
      async () => {
        const members = await this.members()
        name = members.find(({ role, state }) => role === 'leader' && state === 'running')?.name
        return name !== undefined
      },
      90_000,
    )
    return this.host(name as string)
  }

  /** As the first Patroni that answers sees them. */
  async members(): Promise<{ name: string; role: string; state: string }[]> {
    for (const { address } of this.hosts) {
      const answer = await ask(`http://${address}:8008/cluster`)
      if (answer?.status === 200)
        return ((await answer.json()) as { members: { name: string; role: string; state: string }[] }).members
    }
    return []
  }

  /** Until commits wait for a standby that has everything, and every server that should run does. */
  async untilSynchronous(servers = 3): Promise<void> {
    await eventually(
      'Patroni has a leader and a synchronous standby',
      async () => {
        const running = (await this.members()).filter(({ state }) => state === 'running' || state === 'streaming')
        return (
          running.length >= servers &&
          running.some(({ role }) => role === 'leader') &&
          running.some(({ role }) => role === 'sync_standby')
        )
      },
      120_000,
    )
  }

  /** Ends the server processes of PostgreSQL on a host with SIGKILL, as a crash does. Patroni lives. */
  crashPostgres(host: Host): void {
    const postmaster = Number(
      readFileSync(join(host.root, 'var/lib/postgresql/nightledger/postmaster.pid'), 'utf8').split('\n')[0],
    )
    for (const pid of [postmaster, ...descendants(postmaster)]) killQuietly(pid)
  }

  /** Heals whatever a fault has left: every cable, process and server as at the start. */
  async restore(): Promise<void> {
    for (const host of this.hosts) {
      host.boot()
      this.rejoin(host)
      for (const [unit, start] of this.#starts()) {
        host.signal(unit, 'SIGCONT')
        if (!host.isWanted(unit)) start(host)
      }
    }
    await this.untilSynchronous()
    if (this.#options.isCluster === false) return
    for (const host of this.hosts) await this.untilReady(host)
    await this.untilBalanced()
  }

  #starts(): [string, (host: Host) => void][] {
    return [
      ['etcd', (host) => this.startEtcd(host)],
      ['patroni', (host) => this.startPostgres(host)],
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
    for (const host of this.hosts) this.startEtcd(host)
    await this.etcdLeader()
    this.#step('etcd')
    for (const host of this.hosts) this.startPostgres(host)
    await this.untilSynchronous()
    this.#step('Postgres')
    await prepare(this.databaseUrl)
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
      30_000,
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

  async #etcdStatus({ address }: Host): Promise<{ leader: string; header: { member_id: string } } | null> {
    const answer = await ask(`http://${address}:2379/v3/maintenance/status`, { method: 'POST', body: '{}' })
    return answer?.status === 200 ? ((await answer.json()) as { leader: string; header: { member_id: string } }) : null
  }
}

/** null: there is no answer within a second. */
async function ask(url: string, init: RequestInit = {}): Promise<Response | null> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(1_000) })
  } catch {
    return null
  }
}
