/** The servers of PostgreSQL, one on each host, and the Patroni of each. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { eventually } from '../eventually.ts'
import { ask } from './ask.ts'
import { databaseUrlOf, UNITS } from './documented-files.ts'
import { descendants, type Host } from './host.ts'
import { killQuietly } from './network.ts'

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

export class PostgresServers {
  readonly #hosts: readonly Host[]

  constructor(hosts: readonly Host[]) {
    this.#hosts = hosts
  }

  get url(): string {
    return databaseUrlOf(this.#hosts.map(({ address }) => address))
  }

  start(host: Host): void {
    host.start('patroni', UNITS.patroni)
  }

  /** Runs statements on the primary, as the owner of the tables. */
  async withSql<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const leader = await this.primary()
    const sql = connect(databaseUrlOf([leader.address]), { purpose: 'admin' })
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  /** The host of the server that takes writes. */
  async primary(): Promise<Host> {
    let name: string | undefined
    await eventually(
      'Patroni has a leader',
      async () => {
        const members = await this.#members()
        name = members.find(({ role, state }) => role === 'leader' && state === 'running')?.name
        return name !== undefined
      },
      90_000,
    )
    return this.#host(name)
  }

  /** A host whose loss concerns no server that commits wait for. */
  async bystander(): Promise<Host> {
    let name: string | undefined
    await eventually('a server is neither the primary nor its synchronous standby', async () => {
      name = (await this.#members()).find(({ role }) => role !== 'leader' && role !== 'sync_standby')?.name
      return name !== undefined
    })
    return this.#host(name)
  }

  /** Until commits wait for a standby that has everything, and every server that should run does. */
  async untilSynchronous(servers = 3): Promise<void> {
    await eventually(
      'Patroni has a leader and a synchronous standby',
      async () => {
        const running = (await this.#members()).filter(({ state }) => state === 'running' || state === 'streaming')
        return (
          running.length >= servers &&
          running.some(({ role }) => role === 'leader') &&
          running.some(({ role }) => role === 'sync_standby')
        )
      },
      120_000,
    )
  }

  /** Ends the processes of a server with SIGKILL, as a crash does. Patroni lives. */
  crash(host: Host): void {
    const postmaster = this.postmasterOf(host)
    for (const pid of [postmaster, ...descendants(postmaster)]) killQuietly(pid)
  }

  /** The process that every other one of a server descends from. */
  postmasterOf({ root }: Host): number {
    return Number(readFileSync(join(root, 'var/lib/postgresql/nightledger/postmaster.pid'), 'utf8').split('\n')[0])
  }

  /** As the first Patroni that answers sees them. */
  async #members(): Promise<readonly Member[]> {
    for (const { address } of this.#hosts) {
      const answer = await ask(`http://${address}:8008/cluster`)
      if (answer?.status === 200) return ((await answer.json()) as { members: Member[] }).members
    }
    return []
  }

  #host(name: string | undefined): Host {
    const found = this.#hosts.find((host) => host.name === name)
    if (found === undefined) throw new Error(`Patroni names no such host: ${name}`)
    return found
  }
}
