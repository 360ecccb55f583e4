import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connect } from '../../../src/postgres/client/connect.ts'
import { migrate } from '../../../src/postgres/schema/migrate.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { startSystemPostgres } from '../../support/system-postgres.ts'
import type { YearsServer } from './simulated-years.ts'

/**
 * A server of the machine's own PostgreSQL, whose databases are backed up and restored as docs/operating.md says ("Backup and restore"): with
 * `pg_dump` and `pg_restore`. Nothing waits for its disk.
 * @param programs what systemPostgres() returns
 */
export async function startDumpedServer(programs: string): Promise<YearsServer & { stop(): Promise<void> }> {
  const server = await startSystemPostgres(programs, ['fsync=off'])
  const folder = mkdtempSync(join(tmpdir(), 'years-dumps-'))
  let made = 0
  const run = (program: string, ...args: string[]) => promisify(execFile)(join(programs, program), args)

  const emptyDatabase = async (): Promise<TestDatabase> => {
    const name = `years_${++made}`
    const url = new URL(server.url)
    await run('createdb', `--maintenance-db=${url.href}`, '--template=template0', name)
    url.pathname = `/${name}`
    const database: TestDatabase = {
      url: url.href,
      sql: connect(url.href, { purpose: 'queries' }),
      drop: async () => {
        await database.sql.end({ timeout: 0 })
        await run('dropdb', `--maintenance-db=${server.url}`, '--force', name)
      },
    }
    return database
  }
  const migrated = async (database: TestDatabase): Promise<TestDatabase> => {
    const sql = connect(database.url, { purpose: 'admin' })
    await migrate(sql).finally(() => sql.end())
    return database
  }

  return {
    database: async () => migrated(await emptyDatabase()),
    backUp: async ({ url }) => {
      const dump = join(folder, `${made}.dump`)
      await run('pg_dump', '--format=custom', '--no-owner', `--file=${dump}`, url)
      return async () => {
        const restored = await emptyDatabase()
        await run('pg_restore', '--exit-on-error', '--no-owner', '--no-acl', `--dbname=${restored.url}`, dump)
        return migrated(restored)
      }
    },
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true })
    },
  }
}
