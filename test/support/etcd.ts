import { describe } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import type { ServerCertificate } from './test-authority.ts'

/** `etcd` (Debian: etcd-server). */
const PROGRAM = Bun.which('etcd')

/** etcd syncs every change to its disk, which on a busy machine takes longer than a lease. */
const MEMORY = '/dev/shm'

/** Skipped where there is no etcd; under CI it has to be there. */
export function describeWithEtcd(name: string, body: () => void): void {
  describe.skipIf(PROGRAM === null && !process.env['CI'])(name, body)
}

interface Member {
  readonly name: string
  readonly folder: string
  readonly clientUrl: string
  readonly peerUrl: string
  process: Bun.Subprocess | null
}

/** An etcd of one or several members on free ports of this machine. */
export class EtcdServers {
  readonly #folder: string
  readonly #members: readonly Member[]
  readonly #args: readonly string[]
  /** What clients must show; empty: nothing. */
  readonly #identity: Partial<ServerCertificate>

  private constructor(
    folder: string,
    members: readonly Member[],
    { args, identity }: { args: readonly string[]; identity: Partial<ServerCertificate> },
  ) {
    this.#folder = folder
    this.#members = members
    this.#args = args
    this.#identity = identity
  }

  /**
   * @param options.certificate of 127.0.0.1: clients have to use TLS
   * @param options.clientAuthority PEM text: and show a certificate of this authority, as that one is
   */
  static async start(
    count = 1,
    { certificate, clientAuthority }: { certificate?: ServerCertificate; clientAuthority?: string } = {},
  ): Promise<EtcdServers> {
    if (PROGRAM === null) throw new Error('There is no etcd on this machine (Debian: etcd-server)')
    const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'nightledger-etcd-'))
    const members = Array.from({ length: count }, (_, index) => ({
      name: `m${index}`,
      folder: join(folder, `m${index}`),
      clientUrl: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${freePort()}`,
      peerUrl: `http://127.0.0.1:${freePort()}`,
      process: null,
    }))
    const args = certificate === undefined ? [] : filesOf(folder, certificate, clientAuthority)
    const identity = clientAuthority === undefined ? {} : { ...certificate }
    const servers = new EtcdServers(folder, members, { args, identity })
    await Promise.all([...members.keys()].map((index) => servers.startMember(index)))
    await servers.ready()
    return servers
  }

  /** For CLUSTER_ETCD. */
  get url(): string {
    return this.origins.join(',')
  }

  get origins(): readonly string[] {
    return this.#members.map(({ clientUrl }) => clientUrl)
  }

  /** A member that was killed has first to be gone: its successor has the same folder and ports. */
  async startMember(index: number): Promise<void> {
    const member = this.#member(index)
    await member.process?.exited
    const { name, folder, clientUrl, peerUrl } = member
    member.process = Bun.spawn(
      [
        ...[
          PROGRAM ?? '',
          '--name',
          name,
          '--data-dir',
          folder,
          '--pre-vote',
          '--logger',
          'zap',
          '--log-level',
          'error',
        ],
        ...['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl],
        ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
        ...['--initial-cluster', this.#members.map((each) => `${each.name}=${each.peerUrl}`).join(',')],
        ...this.#args,
      ],
      { stdout: 'ignore', stderr: process.env['ETCD_LOG'] ? 'inherit' : 'ignore' },
    )
  }

  /** A member that was killed, or has ended, begins again without what it had. */
  async startEmptyMember(index: number): Promise<void> {
    const member = this.#member(index)
    await member.process?.exited
    rmSync(member.folder, { recursive: true, force: true })
    await this.startMember(index)
  }

  signal(index: number, signal: NodeJS.Signals): void {
    this.#member(index).process?.kill(signal)
  }

  signalAll(signal: NodeJS.Signals): void {
    for (const index of this.#members.keys()) this.signal(index, signal)
  }

  /** The member that leads; null: none does. */
  async leader(): Promise<number | null> {
    for (const [index, { clientUrl }] of this.#members.entries()) {
      const status = await this.#post(`${clientUrl}/v3/maintenance/status`).catch(() => null)
      if (status === null) continue
      const { header, leader } = status as { header: { member_id: string }; leader?: string }
      if (leader === header.member_id) return index
    }
    return null
  }

  /** Waits until there is a leader that answers. */
  async ready(): Promise<void> {
    const until = performance.now() + 60_000
    while (performance.now() < until) {
      const isUp = await this.#post(`${this.#member(0).clientUrl}/v3/kv/range`, { key: 'AA==' }).then(
        (answer) => 'header' in (answer as object),
        () => false,
      )
      if (isUp) return
      await Bun.sleep(50)
    }
    throw new Error('etcd does not start')
  }

  async stop(): Promise<void> {
    this.signalAll('SIGKILL')
    await Promise.all(this.#members.map((member) => member.process?.exited))
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #post(url: string, body: unknown = {}): Promise<unknown> {
    const answer = await fetch(url, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(2_000),
      tls: { rejectUnauthorized: false, ...this.#identity },
    })
    return answer.json()
  }

  #member(index: number): Member {
    const member = this.#members[index]
    if (member === undefined) throw new Error(`There is no member ${index}`)
    return member
  }
}

function filesOf(folder: string, { cert, key }: ServerCertificate, clientAuthority: string | undefined): string[] {
  const file = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const server = ['--cert-file', file('cert.pem', cert), '--key-file', file('key.pem', key)]
  if (clientAuthority === undefined) return server
  return [...server, '--client-cert-auth', '--trusted-ca-file', file('clients.pem', clientAuthority)]
}
