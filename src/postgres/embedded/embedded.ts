import { randomBytes } from 'node:crypto'
import { chmodSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { withDeadline } from '../../lib/deadline.ts'
import { keepPrivateFile, makeFolder, readIfPresent } from '../../lib/private-file.ts'
import { connect, type Sql } from '../client/connect.ts'
import { createCluster, findCluster, removeDrafts, SERVICE_ROLE, SUPERUSER, servicePassword } from './cluster.ts'
import { EmbeddedError, takeDataDir } from './data-dir-lock.ts'
import { findPostgresPackage, type PostgresPackage, postgresBinaries } from './postgres-binaries.ts'
import { endPostmaster } from './postmaster.ts'
import { type RunningServer, runServer } from './run-server.ts'
import { canEnter, type ServerAccount, serverAccount } from './server-account.ts'

/**
 * `url`: the service's database, with the password of the role that serves; `ownerUrl`: with the superuser's. `firstStart`: this call
 * created the database files. `stop` stops the server within STOP_MS_MAX, never rejects, and can be called again.
 */
export type EmbeddedServer = { url: string; ownerUrl: string; firstStart: boolean; stop(): Promise<void> }

const DATABASE = 'nightledger'
const GRACE_MS = 5_000
/** Upper bound of `stop`: the fast shutdown, then the more forceful signals. */
export const STOP_MS_MAX = GRACE_MS + 2_000
const ANSWER_MS_MAX = 3_000

type Step = (step: string) => void

/**
 * Starts a PostgreSQL server in `dataDir`/postgres, on 127.0.0.1 and a free port, with durable settings. A server that
 * survived a `kill -9` of the service is taken over while it runs. One service per data folder.
 * @param options.connectionsMax how many connections it accepts; by default as many as one service needs
 * @throws EmbeddedError when the folder is in use, the programs are missing, or the server does not start
 */
export async function startEmbedded({
  dataDir,
  onStep,
  connectionsMax,
}: {
  dataDir: string
  onStep: Step
  connectionsMax?: number
}): Promise<EmbeddedServer> {
  if (process.platform === 'win32') {
    throw new EmbeddedError(
      'Cannot start the built-in PostgreSQL on Windows. Set DATABASE_URL, PORTAL_TOKEN and SECRET_KEY.',
    )
  }
  const programs = findPostgresPackage()
  const folder = resolve(dataDir)
  makeFolder(folder)
  const lock = takeDataDir(folder)
  try {
    const { server, cluster, url, ownerUrl, firstStart } = await bringUp(folder, { programs, onStep, connectionsMax })
    const stop = async () => {
      await endPostmaster(server.pid, cluster, { graceMs: GRACE_MS })
      lock.release()
    }
    let stopping: Promise<void> | undefined
    return {
      url,
      ownerUrl,
      firstStart,
      stop: () => {
        stopping ??= stop()
        return stopping
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

type Up = Pick<EmbeddedServer, 'url' | 'ownerUrl' | 'firstStart'> & { server: RunningServer; cluster: string }

async function bringUp(
  folder: string,
  { programs, onStep, connectionsMax }: { programs: PostgresPackage; onStep: Step; connectionsMax: number | undefined },
): Promise<Up> {
  removeDrafts(folder)
  const known = findCluster(folder)
  const account = serverAccount({ cluster: known, onStep })
  const binaries = postgresBinaries(programs, { account, onStep })
  const passwordFile = join(folder, 'postgres-password')
  // The server would refuse a new one, as long as one waits for it.
  if (known !== null && readIfPresent(passwordFile) === null)
    throw new EmbeddedError(
      `Cannot log in to the database in ${folder}: ${passwordFile} is missing. Restore the file from a backup of the folder.`,
    )
  const password = keepPrivateFile(passwordFile, () => randomBytes(24).toString('hex'))
  if (known === null) grantAccess(folder, account)
  const cluster = known ?? (await createCluster(folder, { binaries, account, password, onStep }))
  const urlAt = (port: number, database: string) => `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
  const server = await runServer({
    cluster,
    binaries,
    account,
    onStep,
    connectionsMax,
    logFile: join(folder, 'postgres.log'),
    answers: (port) => answers(urlAt(port, 'postgres'), cluster),
  })
  try {
    await ensureDatabase(urlAt(server.port, 'postgres'), servicePassword(password))
  } catch (error) {
    await endPostmaster(server.pid, cluster, { graceMs: GRACE_MS })
    throw error
  }
  const ownerUrl = urlAt(server.port, DATABASE)
  const url = Object.assign(new URL(ownerUrl), { username: SERVICE_ROLE, password: servicePassword(password) }).href
  return { server, cluster, url, ownerUrl, firstStart: known === null }
}

/**
 * Grants access to the data folder only. The folders above it belong to someone else; createCluster works around them.
 */
function grantAccess(folder: string, account: ServerAccount): void {
  if (canEnter(folder, account) || !canEnter(dirname(folder), account)) return
  chmodSync(folder, (statSync(folder).mode & 0o777) | 0o011)
}

async function answers(url: string, cluster: string): Promise<boolean> {
  try {
    const [row] = await withConnection(
      url,
      (sql) => sql<{ folder: string }[]>`select current_setting('data_directory') as folder`,
    )
    // Compare inodes: the folder may have been renamed since the running server was started.
    return row !== undefined && (row.folder === cluster || statSync(row.folder).ino === statSync(cluster).ino)
  } catch {
    return false
  }
}

/** Creates the role that serves, and the database. */
async function ensureDatabase(url: string, password: string): Promise<void> {
  await withConnection(url, async (sql) => {
    const create = async (statement: string, exists: () => Promise<boolean>) => {
      if (await exists()) return
      try {
        await sql.unsafe(statement)
      } catch (error) {
        // On a server that was taken over, the same statement of a killed start may still be running.
        if (!(await exists())) throw error
      }
    }
    await create(
      `create role ${SERVICE_ROLE} login password '${password}'`,
      async () => (await sql`select from pg_roles where rolname = ${SERVICE_ROLE}`).length === 1,
    )
    await create(
      `create database ${DATABASE}`,
      async () => (await sql`select from pg_database where datname = ${DATABASE}`).length === 1,
    )
  })
}

/** Runs `work` on a connection of its own, within ANSWER_MS_MAX. */
async function withConnection<T>(url: string, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = connect(url, { purpose: 'admin' })
  try {
    return await withDeadline(work(sql), ANSWER_MS_MAX)
  } finally {
    await sql.end({ timeout: 0 })
  }
}
