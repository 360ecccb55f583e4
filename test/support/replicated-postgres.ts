import { execFile, spawn } from 'node:child_process'
import { appendFileSync, chownSync, closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { serverAccount } from '../../src/postgres/embedded/server-account.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { freePort } from './free-port.ts'
import { serverFolder } from './server-folder.ts'
import { systemPostgres, untilReady } from './system-postgres.ts'
import { TcpProxy } from './tcp-proxy.ts'

const SUPERUSER = 'nightledger'

/** One server of a replicated pair, behind a proxy whose address stays. */
interface Node {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly proxy: TcpProxy
}

/**
 * A primary with the ledger's tables and a standby, made with the programs of the machine's own PostgreSQL as an operator would make them. Commits wait for the
 * standby unless that is switched off. The URL names both, through proxies.
 */
export class ReplicatedPostgres {
  readonly #programs: string
  readonly #folder: string
  readonly #account = serverAccount({ cluster: null, onStep: () => {} })
  readonly nodes: readonly [Node, Node]
  primary: Node
  standby: Node

  private constructor(programs: string, folder: string, nodes: [Node, Node]) {
    this.#programs = programs
    this.#folder = folder
    this.nodes = nodes
    ;[this.primary, this.standby] = nodes
    if (this.#account !== null) chownSync(folder, this.#account.uid, this.#account.gid)
  }

  static async start({
    isSynchronous = true,
    hasStandby = true,
  }: {
    isSynchronous?: boolean
    hasStandby?: boolean
  } = {}): Promise<ReplicatedPostgres> {
    const programs = systemPostgres()
    if (programs === null) throw new Error('Cannot replicate: install PostgreSQL (apt-get install postgresql)')
    const folder = serverFolder('test-pair')
    const nodes: Node[] = []
    for (const name of ['a', 'b']) {
      const port = freePort()
      nodes.push({ name, folder: join(folder, name), port, proxy: await TcpProxy.start(port) })
    }
    const pair = new ReplicatedPostgres(programs, folder, nodes as [Node, Node])
    const { primary, standby } = pair
    await pair.run('initdb', '-D', primary.folder, '-U', SUPERUSER, '-E', 'UTF8', '--locale=C.UTF-8', '-A', 'trust')
    // Small, because it is copied in every round.
    appendFileSync(
      join(primary.folder, 'postgresql.conf'),
      "wal_level = replica\nmax_wal_size = 64MB\nmin_wal_size = 32MB\nwal_keep_size = 64MB\nhot_standby = on\nwal_retrieve_retry_interval = 200ms\nunix_socket_directories = ''\n",
    )
    await pair.up(primary)
    await pair.ask(primary, (sql) => migrate(sql))
    if (!hasStandby) return pair
    await pair.addStandby(standby)
    if (isSynchronous) await pair.waitForStandby(true)
    return pair
  }

  /** Of both, through their proxies. */
  get url(): string {
    const hosts = this.nodes.map(({ proxy }) => `127.0.0.1:${proxy.port}`)
    return `postgres://${SUPERUSER}@${hosts.join()}/postgres`
  }

  /** Past the proxy. */
  direct({ port }: Node = this.primary): Sql {
    return connect(`postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`, { purpose: 'admin' })
  }

  async ask<T>(node: Node, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
    const sql = this.direct(node)
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 0 })
    }
  }

  /** One of PostgreSQL's programs. */
  async run(program: string, ...args: string[]): Promise<string> {
    const options = { cwd: this.#folder, ...this.#account }
    return (await promisify(execFile)(join(this.#programs, program), args, options)).stdout
  }

  /** A shell block of the documentation, as the account of the servers. */
  async shell(script: string, env: Record<string, string>): Promise<string> {
    const options = {
      cwd: this.#folder,
      env: { PATH: `${this.#programs}:${process.env['PATH'] ?? ''}`, ...env },
      ...this.#account,
    }
    // Servers that it starts must not hold the pipe open.
    return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', `exec 2>&1\n${script}`], options)).stdout
  }

  urlOf({ port }: Node): string {
    return `postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`
  }

  async up({ folder, port }: Node): Promise<void> {
    const logFile = `${folder}.log`
    const log = openSync(logFile, 'a')
    const server = spawn(join(this.#programs, 'postgres'), ['-D', folder, '-p', String(port)], {
      cwd: this.#folder,
      stdio: ['ignore', log, log],
      ...this.#account,
    })
    closeSync(log)
    server.unref()
    await untilReady(`postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`).catch((error: unknown) => {
      const lines = readFileSync(logFile, 'utf8').split('\n').slice(-20).join('\n')
      throw new Error(`A server of PostgreSQL does not come up:\n${lines}`, { cause: error })
    })
  }

  /** SIGKILL ends the whole server, as a crash of its host does; SIGSTOP and SIGCONT stop and wake all of its processes. */
  signal(node: Node, signal: NodeJS.Signals): void {
    const pid = this.#postmaster(node)
    if (pid === null) return
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number)
    for (const each of [pid, ...children]) {
      try {
        process.kill(each, signal)
      } catch {
        // It ended meanwhile.
      }
    }
  }

  /** A fast shutdown: the standby gets everything before it ends. */
  async shutDown({ folder }: Node): Promise<void> {
    await this.run('pg_ctl', 'stop', '-D', folder, '-m', 'fast', '-w')
  }

  /** The standby becomes the primary, and does not wait for a standby until it has one. */
  async promote(): Promise<void> {
    const next = this.standby
    await this.run('pg_ctl', 'promote', '-D', next.folder, '-w')
    ;[this.primary, this.standby] = [next, this.primary]
  }

  /** Copies the primary again into the folder of the other. */
  async addStandby(node: Node = this.standby): Promise<void> {
    while (this.#postmaster(node) !== null) await Bun.sleep(20)
    if (existsSync(node.folder)) rmSync(node.folder, { recursive: true, force: true })
    const from = `host=127.0.0.1 port=${this.primary.port} user=${SUPERUSER} application_name=${node.name}`
    await this.run(
      'pg_basebackup',
      '-D',
      node.folder,
      '-d',
      from,
      '-R',
      '-X',
      'stream',
      '--checkpoint=fast',
      '--no-sync',
    )
    // Set for the primary; as a primary it must not wait for itself.
    appendFileSync(join(node.folder, 'postgresql.auto.conf'), "synchronous_standby_names = ''\n")
    await this.up(node)
  }

  /** After a clean shutdown, a former primary continues as a standby of the new one. */
  async rejoin(node: Node = this.standby): Promise<void> {
    appendFileSync(join(node.folder, 'standby.signal'), '')
    if (this.#account !== null) chownSync(join(node.folder, 'standby.signal'), this.#account.uid, this.#account.gid)
    const from = `host=127.0.0.1 port=${this.primary.port} user=${SUPERUSER} application_name=${node.name}`
    appendFileSync(
      join(node.folder, 'postgresql.auto.conf'),
      `primary_conninfo = '${from}'\nsynchronous_standby_names = ''\nrecovery_target_timeline = 'latest'\n`,
    )
    await this.up(node)
  }

  /** Whether commits of the primary wait for the standby. Returns when they do: the standby has caught up. */
  async waitForStandby(waits: boolean): Promise<void> {
    await this.ask(this.primary, async (sql) => {
      await sql.unsafe(`alter system set synchronous_standby_names = ${waits ? "'*'" : "''"}`)
      await sql`select pg_reload_conf()`
      while (waits) {
        const synchronous = await sql`select from pg_stat_replication where state = 'streaming' and sync_state = 'sync'`
        if (synchronous.length > 0) return
        await Bun.sleep(50)
      }
    })
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) {
      node.proxy.stop()
      this.signal(node, 'SIGCONT')
      this.signal(node, 'SIGKILL')
      while (this.#postmaster(node) !== null) await Bun.sleep(20)
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #postmaster({ folder }: Node): number | null {
    try {
      const pid = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0])
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z') ? null : pid
    } catch {
      return null
    }
  }
}
