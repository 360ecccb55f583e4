import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findCluster, serverEnv } from '../../src/postgres/embedded/cluster.ts'
import { startEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { findPostgresPackage, postgresBinaries } from '../../src/postgres/embedded/postgres-binaries.ts'
import { endPostmaster, readPostmaster } from '../../src/postgres/embedded/postmaster.ts'
import { serverAccount } from '../../src/postgres/embedded/server-account.ts'
import { freePort } from './free-port.ts'

const READY_MS_MAX = 120_000
const GRACE_MS = 5_000

/** A real PostgreSQL that an operator has set up, started again for each test with settings on its command line. */
export class OperatorPostgres {
  readonly #dataDir: string
  readonly #cluster: string
  readonly #url: string

  private constructor(input: { dataDir: string; cluster: string; url: string }) {
    this.#dataDir = input.dataDir
    this.#cluster = input.cluster
    this.#url = input.url
  }

  /** Files, superuser and database are those of a server of our own. */
  static async make(): Promise<OperatorPostgres> {
    const dataDir = mkdtempSync(join(tmpdir(), 'nightledger-test-set-up-'))
    const { ownerUrl: url, stop } = await startEmbedded({ dataDir, onStep: () => {} })
    await stop()
    const cluster = findCluster(dataDir)
    if (cluster === null) throw new Error('The data folder has no cluster')
    return new OperatorPostgres({ dataDir, cluster, url })
  }

  /** Runs `work` while the server has these settings, with its URL. */
  async run<T>(settings: Record<string, string>, work: (url: string) => Promise<T>): Promise<T> {
    const port = freePort()
    const pid = await this.#launch({ listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings }, port)
    const url = new URL(this.#url)
    url.port = String(port)
    try {
      return await work(url.href)
    } finally {
      await endPostmaster(pid, this.#cluster, { graceMs: GRACE_MS })
    }
  }

  remove(): void {
    rmSync(this.#dataDir, { recursive: true, force: true })
  }

  async #launch(settings: Record<string, string>, port: number): Promise<number> {
    const account = serverAccount({ cluster: this.#cluster, onStep: () => {} })
    const { postgres } = postgresBinaries(findPostgresPackage(), { account, onStep: () => {} })
    const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const { pid } = spawn(postgres, ['-D', this.#cluster, '-p', String(port), ...given], {
      cwd: this.#cluster,
      env: serverEnv(),
      stdio: 'ignore',
      ...account,
    })
    if (pid === undefined) throw new Error(`${postgres} could not be started`)
    const until = performance.now() + READY_MS_MAX
    while (performance.now() < until) {
      const now = readPostmaster(this.#cluster)
      if (now?.pid === pid && now.status === 'ready') return pid
      await Bun.sleep(10)
    }
    throw new Error(`PostgreSQL was not ready within ${READY_MS_MAX} ms`)
  }
}
