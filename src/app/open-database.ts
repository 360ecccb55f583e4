import { checkServer, checkStandbys, type Standbys } from '../postgres/client/check-server.ts'
import { connect } from '../postgres/client/connect.ts'
import { classifyDatabaseError } from '../postgres/client/database-error.ts'
import { hostsText, parseDatabaseUrl } from '../postgres/client/database-url.ts'
import { checkSchema, migrate } from '../postgres/schema/migrate.ts'
import { checkSecretKey, checkSecretKeyBeforeMigrating } from '../postgres/stores/stored-key-check.ts'
import type { Config } from './config.ts'

/** The ledger's database, ready for use: the server is suitable, the schema is current, and SECRET_KEY matches. */
export interface Database {
  readonly url: string
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
 * the key. Does not fence out the current writer.
 * @param secretKey 32 bytes
 * @throws Error whose message says what to do
 */
export async function openDatabase(
  config: Config,
  { secretKey, onStep }: { secretKey: Uint8Array; onStep: (step: string) => void },
): Promise<Database> {
  const server = config.databaseUrl === null ? await startOwn(config, onStep) : given(config.databaseUrl)
  try {
    const sql = connect(server.url, { purpose: 'admin' })
    try {
      await checkServer(sql)
      const standbys = server.isEmbedded
        ? null
        : await checkStandbys(sql, { isRequired: config.requireSynchronousStandby })
      await checkSchema(sql)
      await checkSecretKeyBeforeMigrating(sql, secretKey)
      await migrate(sql, { onStep })
      await checkSecretKey(sql, secretKey)
      return { ...server, standbys }
    } finally {
      await sql.end({ timeout: 1 })
    }
  } catch (error) {
    await server.stop()
    throw classifyDatabaseError(error) === 'connection' || isRefusal(error) ? unreachable(server.url, error) : error
  }
}

/** SQLSTATE class 28: wrong user or password. 3D000: the database does not exist. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('28') || code === '3D000'
}

function unreachable(databaseUrl: string, cause: unknown): UnreachableError {
  const { hosts, database } = parseDatabaseUrl(databaseUrl) ?? { hosts: [], database: '' }
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnreachableError(
    `Cannot reach the database ${database} on ${hostsText(hosts)}: ${reason}. Check DATABASE_URL, and that the server is running and accepts connections.`,
    { cause },
  )
}

async function startOwn(config: Config, onStep: (step: string) => void): Promise<Omit<Database, 'standbys'>> {
  // Loaded on demand, because a binary without the embedded server's files must still run with DATABASE_URL.
  const { startEmbedded } = await import('../postgres/embedded/embedded.ts')
  const { url, stop } = await startEmbedded({ dataDir: config.dataDir, onStep })
  return { url, isEmbedded: true, stop }
}

function given(url: string): Omit<Database, 'standbys'> {
  return { url, isEmbedded: false, stop: async () => {} }
}
