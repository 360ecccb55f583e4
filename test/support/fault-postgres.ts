import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { findCluster } from '../../src/postgres/embedded/cluster.ts'
import { type EmbeddedServer, startEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { type Postmaster, readPostmaster } from '../../src/postgres/embedded/postmaster.ts'
import { eventually } from './eventually.ts'
import { migrateForService } from './postgres.ts'
import { serverFolder } from './server-folder.ts'
import { TcpProxy } from './tcp-proxy.ts'
import { SERVER_FOLDER_VARIABLE } from './test-server.ts'

/** A migrated PostgreSQL that a test may stop, kill and start again, behind a proxy whose address stays. */
export class FaultPostgres {
  readonly proxy: TcpProxy
  /** Through the proxy. */
  readonly url: string
  readonly #dataDir: string
  readonly #keepFolder: boolean
  #server: EmbeddedServer

  private constructor(input: { dataDir: string; keepFolder: boolean; server: EmbeddedServer; proxy: TcpProxy }) {
    this.#dataDir = input.dataDir
    this.#keepFolder = input.keepFolder
    this.#server = input.server
    this.proxy = input.proxy
    const url = new URL(input.server.ownerUrl)
    url.port = String(input.proxy.port)
    this.url = url.href
  }

  static async start(folder?: string): Promise<FaultPostgres> {
    const dataDir = folder ?? serverFolder('test-fault')
    if (folder === undefined) await copyPrepared(dataDir)
    const server = await startMigrated(dataDir)
    const proxy = await TcpProxy.start(Number(new URL(server.url).port))
    return new FaultPostgres({ dataDir, keepFolder: folder !== undefined, server, proxy })
  }

  /** A client that does not go through the proxy, and may take its time. */
  direct(): Sql {
    return connect(this.#server.ownerUrl, { purpose: 'admin' })
  }

  /** SIGINT: fast shutdown. SIGQUIT: immediate, as a crash. SIGKILL: a crash. SIGSTOP, SIGCONT: it hangs, and continues. */
  signal(signal: NodeJS.Signals): void {
    const postmaster = this.#postmaster()
    if (postmaster === null) throw new Error('The server does not run')
    process.kill(postmaster.pid, signal)
  }

  /** Fast shutdown, to its end: no connection is left that could still take a write. */
  async shutDown(): Promise<void> {
    this.signal('SIGINT')
    await eventually('the server has ended', () => this.#postmaster() === null)
  }

  /** Ends what is left of the server and starts it on the same data. */
  async restart(): Promise<void> {
    await this.#server.stop()
    this.#server = await startEmbedded({ dataDir: this.#dataDir, onStep: () => {} })
    this.proxy.target = Number(new URL(this.#server.url).port)
  }

  #postmaster(): Postmaster | null {
    const cluster = findCluster(this.#dataDir)
    return cluster === null ? null : readPostmaster(cluster)
  }

  async stop(): Promise<void> {
    this.proxy.stop()
    await this.#server.stop()
    if (!this.#keepFolder) rmSync(this.#dataDir, { recursive: true, force: true })
  }
}

async function startMigrated(dataDir: string): Promise<EmbeddedServer> {
  const server = await startEmbedded({ dataDir, onStep: () => {} })
  const admin = connect(server.ownerUrl, { purpose: 'admin' })
  await migrateForService(admin)
  await admin.end()
  return server
}

/** A folder with a migrated server that does not run, of which others are copies: making one takes several times as long. */
let prepared: Promise<string> | undefined

async function copyPrepared(dataDir: string): Promise<void> {
  prepared ??= prepare()
  const folder = await prepared
  // Where the account of the server has no access, its files are elsewhere: then each is made anew.
  if (!findCluster(folder)?.startsWith(folder + sep)) return
  // With owners, links and rights.
  execFileSync('cp', ['-a', `${folder}/.`, dataDir])
}

async function prepare(): Promise<string> {
  const folder = mkdtempSync(join(process.env[SERVER_FOLDER_VARIABLE] ?? tmpdir(), 'prepared-'))
  await (await startMigrated(folder)).stop()
  return folder
}
