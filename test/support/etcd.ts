import { describe } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

  private constructor(folder: string, members: readonly Member[], args: readonly string[]) {
    this.#folder = folder
    this.#members = members
    this.#args = args
  }

  /** @param options.certificate of 127.0.0.1: clients have to use TLS */
  static async start(count = 1, { certificate }: { certificate?: ServerCertificate } = {}): Promise<EtcdServers> {
    if (PROGRAM === null) throw new Error('There is no etcd on this machine (Debian: etcd-server)')
    const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'nightledger-etcd-'))
    const members = Array.from({ length: count }, (_, index) => ({
      name: `m${index}`,
      folder: join(folder, `m${index}`),
      clientUrl: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${freePort()}`,
      peerUrl: `http://127.0.0.1:${freePort()}`,
      process: null,
    }))
    const args = certificate === undefined ? [] : filesOf(folder, certificate)
    const servers = new EtcdServers(folder, members, args)
    for (const index of members.keys()) servers.startMember(index)
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

  startMember(index: number): void {
    const member = this.#member(index)
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

  signal(index: number, signal: NodeJS.Signals): void {
    this.#member(index).process?.kill(signal)
  }

  signalAll(signal: NodeJS.Signals): void {
    for (const index of this.#members.keys()) this.signal(index, signal)
  }

  /** The member that leads; null: none does. */
  async leader(): Promise<number | null> {
    for (const [index, { clientUrl }] of this.#members.entries()) {
      const status = await post(`${clientUrl}/v3/maintenance/status`).catch(() => null)
      if (status === null) continue
      const { header, leader } = status as { header: { member_id: string }; leader?: string }
      if (leader === header.member_id) return index
    }
    return null
  }

  /** Waits until there is a leader that answers. */
  async ready(): Promise<void> {
    const until = performance.now() + 30_000
    while (performance.now() < until) {
      const isUp = await post(`${this.#member(0).clientUrl}/v3/kv/range`, { key: 'AA==' }).then(
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

  #member(index: number): Member {
    const member = this.#members[index]
    if (member === undefined) throw new Error(`There is no member ${index}`)
    return member
  }
}

function filesOf(folder: string, { cert, key }: ServerCertificate): string[] {
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  return ['--cert-file', certFile, '--key-file', keyFile]
}

async function post(url: string, body: unknown = {}): Promise<unknown> {
  const answer = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(2_000),
    tls: { rejectUnauthorized: false },
  })
  return answer.json()
}

function freePort(): number {
  const server = Bun.serve({ port: 0, fetch: () => new Response() })
  const { port } = server
  void server.stop(true)
  return port ?? 0
}
