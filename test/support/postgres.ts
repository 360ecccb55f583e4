import { randomBytes } from 'node:crypto'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { SERVICE_ROLE, SUPERUSER, servicePassword } from '../../src/postgres/embedded/cluster.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { grantRoles } from '../../src/postgres/schema/roles.ts'

/** Set by test/run.ts: a server's maintenance database, as a superuser. */
export const SERVER_URL_VARIABLE = 'NIGHTLEDGER_TEST_SERVER_URL'
/** The migrated database that test/run.ts makes on that server; every test database is a copy of it. */
export const TEMPLATE_DATABASE = 'nightledger_template'

/** `url`: as the superuser, who owns the tables; `asService` makes it that of the role that serves. */
export type TestDatabase = { url: string; sql: Sql; drop(): Promise<void> }

/**
 * A database of its own for one test file (or one test), with every migration applied; made in milliseconds.
 * `sql` is a pool of purpose `queries`; `drop` ends it and every other connection, and removes the database.
 * @param template `empty` for one without any migration
 */
export async function testDatabase({
  template = 'migrated',
}: {
  template?: 'migrated' | 'empty'
} = {}): Promise<TestDatabase> {
  return databaseFrom(template === 'empty' ? 'template1' : TEMPLATE_DATABASE)
}

/** A copy of a database that nothing but its own `sql` is connected to, as a restored backup is one. Ends `sql` for a moment. */
export async function copyOf(database: TestDatabase): Promise<TestDatabase> {
  await database.sql.end({ timeout: 1 })
  const name = new URL(database.url).pathname.slice(1)
  const copy = await databaseFrom(name)
  database.sql = connect(database.url, { purpose: 'queries' })
  return copy
}

async function databaseFrom(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await asAdmin((admin) => createFrom(admin, name, template))
  const url = serverUrl(name)
  const database = {
    url,
    sql: connect(url, { purpose: 'queries' }),
    drop: async () => {
      await database.sql.end({ timeout: 0 })
      await asAdmin((admin) => admin.unsafe(`drop database if exists ${name} with (force)`))
    },
  }
  return database
}

/** The URL of a database on the server of this test run. */
export function serverUrl(database?: string): string {
  const given = process.env[SERVER_URL_VARIABLE]
  if (!given) {
    throw new Error(
      'Cannot reach a Postgres: tests named *.pg.test.ts need the server that `bun run test` starts. Run `bun run test <this file>`.',
    )
  }
  const url = new URL(given)
  if (database !== undefined) url.pathname = `/${database}`
  return url.href
}

/** Makes a database ready for a service that has a role of its own. */
export async function migrateForService(sql: Sql): Promise<void> {
  await migrate(sql)
  await grantRoles(sql, { service: SERVICE_ROLE })
}

/** The same database as the role that serves. The URL of another superuser than that of the built-in server stays as it is: there one role does everything. */
export function asService(url: string): string {
  return url.replace(
    new RegExp(`//${SUPERUSER}:([^@]+)@`),
    (_, password) => `//${SERVICE_ROLE}:${servicePassword(password)}@`,
  )
}

async function createFrom(admin: Sql, name: string, template: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      // Copies files: through the log it would take three times the CPU time, and be written once more at the next checkpoint.
      await admin.unsafe(`create database ${name} template ${template} strategy file_copy`)
      return
    } catch (error) {
      // object_in_use: another file is copying the same template at this moment.
      const busy = error instanceof Error && 'code' in error && error.code === '55006'
      if (!busy || attempt === 50) throw error
      await Bun.sleep(20)
    }
  }
}

async function asAdmin(work: (admin: Sql) => PromiseLike<unknown>): Promise<void> {
  const admin = connect(serverUrl(), { purpose: 'admin' })
  try {
    await work(admin)
  } finally {
    await admin.end({ timeout: 0 })
  }
}
