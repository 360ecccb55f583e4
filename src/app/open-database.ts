import { checkServer, checkStandbys, type Standbys } from '../postgres/client/check-server.ts'
import { connect, type Sql } from '../postgres/client/connect.ts'
import { classifyDatabaseError } from '../postgres/client/database-error.ts'
import { hostsText, parseDatabaseUrl } from '../postgres/client/database-url.ts'
import { checkSchema, migrate } from '../postgres/schema/migrate.ts'
import { grantRoles, serviceRole } from '../postgres/schema/roles.ts'
import { checkSecretKey, checkSecretKeyBeforeMigrating } from '../postgres/stores/stored-key-check.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'

/** The ledger's database, ready for use: the server is suitable, the schema is current, and SECRET_KEY matches. */
export interface Database {
  readonly url: string
  /** The role of `url` owns the tables: one role does everything. */
  readonly isOwner: boolean
  /** True when the server is the embedded one, in the data folder. */
  readonly isEmbedded: boolean
  /** Null: it was not asked, because it is the embedded one. */
  readonly standbys: Standbys | null
  stop(): Promise<void>
}

/** The server in DATABASE_URL cannot be reached or refuses the login. The message never contains the password. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

/**
 * Connects to DATABASE_URL, or starts the embedded PostgreSQL when it is not set; then migrates the schema and checks
 * the key. Does not fence out the current writer. What needs the owner uses MIGRATION_DATABASE_URL if it is set, over a connection that is
 * closed before this returns.
 * @param secretKey 32 bytes
 * @throws Error whose message says what to do
 */
export async function openDatabase(
  config: Config,
  { secretKey, onStep }: { secretKey: Uint8Array; onStep: (step: string) => void },
): Promise<Database> {
  const { ownerUrl, ...server } = config.databaseUrl === null ? await startOwn(config, onStep) : given(config)
  try {
    return await onServer('DATABASE_URL', server.url, async (sql) => {
      await checkServer(sql)
      const standbys = server.isEmbedded
        ? null
        : await checkStandbys(sql, { isRequired: config.requireSynchronousStandby })
      if (ownerUrl === null) {
        await serviceRole(sql)
        await prepare(sql, { secretKey, onStep })
      } else
        await onServer('MIGRATION_DATABASE_URL', ownerUrl, async (owner) => {
          await prepare(owner, { secretKey, onStep })
          await grantRoles(owner, { service: parseDatabaseUrl(server.url)?.user ?? '', onStep })
        })
      const { isOwner } = await serviceRole(sql)
      return { ...server, isOwner, standbys }
    })
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** Migrates, unless the schema or SECRET_KEY is another one. */
async function prepare(
  sql: Sql,
  { secretKey, onStep }: { secretKey: Uint8Array; onStep: (step: string) => void },
): Promise<void> {
  await checkSchema(sql)
  await checkSecretKeyBeforeMigrating(sql, secretKey)
  await migrate(sql, { onStep })
  await checkSecretKey(sql, secretKey)
}

/** @throws UnreachableError naming the variable */
export async function onServer<T>(variable: string, url: string, use: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect(url, { purpose: 'admin' })
  try {
    return await use(sql)
  } catch (error) {
    if (error instanceof UnreachableError) throw error
    throw classifyDatabaseError(error) === 'connection' || isRefusal(error) ? unreachable(variable, url, error) : error
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** SQLSTATE class 28: wrong user or password. 3D000: the database does not exist. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('28') || code === '3D000'
}

function unreachable(variable: string, databaseUrl: string, cause: unknown): UnreachableError {
  const { hosts, database } = parseDatabaseUrl(databaseUrl) ?? { hosts: [], database: '' }
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnreachableError(
    `Cannot reach the database ${database} on ${hostsText(hosts)}: ${reason}. Check ${variable}, and that the server is running and accepts connections.`,
    { cause },
  )
}

/** `ownerUrl`: of the owner of the tables; null: nobody but the role of `url` migrates. */
type Server = Pick<Database, 'url' | 'isEmbedded' | 'stop'> & { readonly ownerUrl: string | null }

/** A little more than one uses, with its sender; what is left is for commands. */
const CONNECTIONS_OF_WORKER = 25

/** Connections of a service with that many workers, including the parent process, if there is one. */
export function connectionsOf(workers: number): number {
  return CONNECTIONS_OF_WORKER * (workers > 1 ? workers + 1 : 1)
}

async function startOwn(config: Config, onStep: (step: string) => void): Promise<Server> {
  // Loaded on demand, because a binary without the embedded server's files must still run with DATABASE_URL.
  const { startEmbedded } = await import('../postgres/embedded/embedded.ts')
  const { url, ownerUrl, stop } = await startEmbedded({
    dataDir: config.dataDir,
    onStep,
    ...(config.workers > 1 && { connectionsMax: connectionsOf(config.workers) }),
  })
  return { url, ownerUrl, isEmbedded: true, stop }
}

function given({ databaseUrl, migrationDatabaseUrl }: Config): Server {
  return { url: databaseUrl ?? '', ownerUrl: migrationDatabaseUrl, isEmbedded: false, stop: async () => {} }
}

/** Of a database with too many rights, or too few standbys: somebody who names several hosts counts on a fail-over. */
export function warnOfDatabase({ url, isOwner, standbys }: Database, log: Log): void {
  if (isOwner) log.warn('the service owns its tables: its password is enough to rewrite the journal')
  if (standbys === null) return
  const { isSynchronous, asynchronous } = standbys
  if (asynchronous.length > 0)
    log.warn({ standbys: asynchronous }, 'standby is asynchronous: a fail-over to it can lose acknowledged bookings')
  else if (!isSynchronous && (parseDatabaseUrl(url)?.hosts.length ?? 0) > 1)
    log.warn('commits wait for no standby: a fail-over can lose acknowledged bookings')
}

/** Before anything is written: a binary that was started without DATABASE_URL leaves no folder behind. */
export async function mustHavePostgres(): Promise<void> {
  const { findPostgresPackage } = await import('../postgres/embedded/postgres-binaries.ts')
  findPostgresPackage()
}
