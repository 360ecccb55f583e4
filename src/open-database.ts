import type { Config } from './config.ts'
import { checkServer } from './db/check-server.ts'
import { connect } from './db/connect.ts'
import { migrate } from './db/migrate.ts'

/** The database the ledger lives in, ready: fit, and with the schema of this program. */
export interface Database {
  readonly url: string
  /** True when the server is our own, in the data folder. */
  readonly isEmbedded: boolean
  stop(): Promise<void>
}

/**
 * Connects to DATABASE_URL, or starts a PostgreSQL of our own when there is none, and migrates.
 * @throws Error whose message says what to do
 */
export async function openDatabase(config: Config, onStep: (step: string) => void): Promise<Database> {
  const database = config.databaseUrl === null ? await startOwn(config, onStep) : given(config.databaseUrl)
  try {
    const sql = connect(database.url, { purpose: 'admin' })
    try {
      await checkServer(sql)
      await migrate(sql, { onStep })
    } finally {
      await sql.end({ timeout: 1 })
    }
    return database
  } catch (error) {
    await database.stop()
    throw error
  }
}

async function startOwn(config: Config, onStep: (step: string) => void): Promise<Database> {
  // Loaded only here: a binary without the embedded server's files runs on DATABASE_URL.
  const { startEmbedded } = await import('./db/embedded.ts')
  const { url, stop } = await startEmbedded({ dataDir: config.dataDir, onStep })
  return { url, isEmbedded: true, stop }
}

function given(url: string): Database {
  return { url, isEmbedded: false, stop: async () => {} }
}
