import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serverAccount } from '../../src/postgres/embedded/server-account.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { systemPostgres } from './system-postgres.ts'

interface Member {
  readonly name: string
  readonly port: number
  readonly config: string
  readonly data: string
  process: ChildProcess | null
}

/** Three PostgreSQL servers that Patroni and etcd keep available. Commits wait for a standby or are not made (strict), so two are not enough. */
export class PatroniCluster {
  readonly #folder = mkdtempSync(join(tmpdir(), 'nightledger-test-patroni-'))
  readonly #account = serverAccount({ cluster: null, onStep: () => {} })
  readonly #etcd: ChildProcess
  readonly members: readonly Member[]

  private constructor() {
    const programs = systemPostgres()
    const needed = ['patroni', 'patronictl', 'etcd'].filter((program) => Bun.which(program) === null)
    if (programs === null || needed.length > 0)
      throw new Error('Cannot start Patroni: apt-get install postgresql patroni etcd-server')
    this.#own(this.#folder)
    const [client, peer] = [freePort(), freePort()]
    const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` }
    this.#etcd = this.#spawn('etcd', [
      ...[
        '--data-dir',
        join(this.#folder, 'etcd'),
        '--listen-client-urls',
        urls.client,
        '--advertise-client-urls',
        urls.client,
      ],
      ...['--listen-peer-urls', urls.peer, '--initial-advertise-peer-urls', urls.peer],
      ...['--initial-cluster', `default=${urls.peer}`, '--log-level', 'error', '--unsafe-no-fsync'],
    ])
    this.members = ['a', 'b', 'c'].map((name) => this.#member(name, { etcd: client, programs }))
  }

  static async start(): Promise<PatroniCluster> {
    const cluster = new PatroniCluster()
    for (const member of cluster.members) cluster.run(member)
    await cluster.untilSynchronous()
    return cluster
  }

  get url(): string {
    return `postgres://postgres:secret@${this.members.map(({ port }) => `127.0.0.1:${port}`).join()}/postgres`
  }

  run(member: Member): void {
    member.process = this.#spawn('patroni', [member.config])
  }

  /** Ends Patroni and PostgreSQL of a member, as the loss of its host does. */
  killHost(member: Member): void {
    const postmaster = Number(readFileSync(join(member.data, 'postmaster.pid'), 'utf8').split('\n')[0])
    member.process?.kill('SIGKILL')
    this.killServer(postmaster)
  }

  /** Its processes end with their parent. */
  killServer(postmaster: number): void {
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ')
    for (const pid of [postmaster, ...children.filter(Boolean).map(Number)]) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended meanwhile.
      }
    }
  }

  async switchOver(): Promise<void> {
    const [leader, candidate] = [await this.leader(), await this.#withRole('Sync Standby')]
    await this.ctl('switchover', '--master', leader.name, '--candidate', candidate.name, '--force', 'nightledger')
  }

  async ctl(...args: string[]): Promise<string> {
    const [first] = this.members as [Member]
    return (await promisify(execFile)('patronictl', ['-c', first.config, ...args])).stdout
  }

  leader(): Promise<Member> {
    return this.#withRole('Leader')
  }

  /** Until commits wait for a standby that has everything. */
  async untilSynchronous(): Promise<void> {
    const isSynchronous = async () => {
      const members = await this.#list().catch(() => [])
      return (
        members.some(({ Role, State }) => Role === 'Leader' && State === 'running') &&
        members.some(({ Role }) => Role === 'Sync Standby')
      )
    }
    await eventually('Patroni has a leader and a synchronous standby', isSynchronous, 120_000)
  }

  async stop(): Promise<void> {
    for (const member of this.members) {
      try {
        this.killHost(member)
      } catch {
        member.process?.kill('SIGKILL')
      }
    }
    this.#etcd.kill('SIGKILL')
    await Bun.sleep(500)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Asks until Patroni names it: it may have just changed hands. */
  async #withRole(role: 'Leader' | 'Sync Standby'): Promise<Member> {
    let member: Member | undefined
    await eventually(`Patroni names a ${role}`, async () => {
      const listed = await this.#list().catch(() => [])
      const name = listed.find(({ Role }) => Role === role)?.Member
      member = this.members.find((one) => one.name === name)
      return member !== undefined
    })
    return member as Member
  }

  async #list(): Promise<{ Member: string; Role: string; State: string }[]> {
    return JSON.parse(await this.ctl('list', '-f', 'json', 'nightledger'))
  }

  #member(name: string, { etcd, programs }: { etcd: number; programs: string }): Member {
    const [port, rest] = [freePort(), freePort()]
    const data = join(this.#folder, name)
    const config = join(this.#folder, `${name}.yml`)
    const account = (username: string) => ({ username, password: 'secret' })
    // JSON is YAML.
    const settings = {
      scope: 'nightledger',
      name,
      restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
      etcd3: { hosts: [`127.0.0.1:${etcd}`] },
      bootstrap: {
        dcs: {
          ttl: 20,
          loop_wait: 2,
          retry_timeout: 3,
          maximum_lag_on_failover: 1_048_576,
          synchronous_mode: true,
          synchronous_mode_strict: true,
          failsafe_mode: true,
          postgresql: {
            use_pg_rewind: true,
            parameters: { wal_retrieve_retry_interval: '200ms', wal_log_hints: 'on' },
          },
        },
        initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
        pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication replicator 127.0.0.1/32 scram-sha-256'],
      },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${port}`,
        data_dir: data,
        bin_dir: programs,
        pgpass: join(this.#folder, `${name}.pgpass`),
        authentication: {
          superuser: account('postgres'),
          replication: account('replicator'),
          rewind: account('rewinder'),
        },
        parameters: { unix_socket_directories: this.#folder },
      },
      tags: {},
    }
    mkdirSync(this.#folder, { recursive: true })
    writeFileSync(config, JSON.stringify(settings))
    this.#own(config)
    return { name, port, config, data, process: null }
  }

  #spawn(program: string, args: string[]): ChildProcess {
    return spawn(program, args, { cwd: this.#folder, stdio: 'ignore', ...this.#account })
  }

  #own(path: string): void {
    if (this.#account !== null) chownSync(path, this.#account.uid, this.#account.gid)
  }
}
