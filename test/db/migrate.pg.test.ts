import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { connect, type Sql } from '../../src/db/connect.ts'
import { MigrationError, migrate } from '../../src/db/migrate.ts'
import { MIGRATIONS, type Migration } from '../../src/db/migrations.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'

const FIRST: Migration = { version: 1, name: 'stay', sql: 'create table stay (id int primary key);' }
const SECOND: Migration = {
  version: 2,
  name: 'guest',
  sql: 'create table guest (id int);\nalter table stay add guest int',
}

let database: TestDatabase
let sql: Sql

beforeEach(async () => {
  database = await testDatabase({ template: 'empty' })
  sql = connect(database.url, { purpose: 'admin' })
})

afterEach(async () => {
  await sql.end()
  await database.drop()
})

async function failure(work: Promise<unknown>): Promise<MigrationError> {
  const outcome = await work.catch((error: unknown) => error)
  if (!(outcome instanceof MigrationError)) throw new Error(`Expected a MigrationError, got ${String(outcome)}`)
  return outcome
}

describe('migrate', () => {
  test('applies what is missing, in order, and nothing twice', async () => {
    expect(await migrate(sql, { migrations: [FIRST] })).toEqual({ applied: [1], version: 1 })
    expect(await migrate(sql, { migrations: [FIRST, SECOND] })).toEqual({ applied: [2], version: 2 })
    expect(await migrate(sql, { migrations: [FIRST, SECOND] })).toEqual({ applied: [], version: 2 })
    expect(await sql`select guest from stay`).toHaveLength(0)
  })

  test('four processes that start on one empty database apply each migration once', async () => {
    const clients = [0, 1, 2, 3].map(() => connect(database.url, { purpose: 'admin' }))
    const outcomes = await Promise.all(clients.map((client) => migrate(client, { migrations: [FIRST, SECOND] })))
    await Promise.all(clients.map((client) => client.end()))
    expect(outcomes.flatMap(({ applied }) => applied).sort()).toEqual([1, 2])
    expect(outcomes.map(({ version }) => version)).toEqual([2, 2, 2, 2])
  })

  test('the real migrations apply from four processes at once', async () => {
    const clients = [0, 1, 2, 3].map(() => connect(database.url, { purpose: 'admin' }))
    const outcomes = await Promise.all(clients.map((client) => migrate(client)))
    await Promise.all(clients.map((client) => client.end()))
    expect(outcomes.flatMap(({ applied }) => applied)).toHaveLength(MIGRATIONS.length)
  })

  test('a migration that fails half-way leaves nothing, and the client can be used on', async () => {
    const broken: Migration = { version: 2, name: 'broken', sql: 'create table half (id int); select 1 / 0;' }
    const error = await failure(migrate(sql, { migrations: [FIRST, broken] }))
    expect(error.message).toBe('Cannot apply migration 0002_broken.sql: division by zero. Nothing of it was kept.')
    expect(await sql`select to_regclass('half') as half`).toEqual([{ half: null }] as never)
    expect(await migrate(sql, { migrations: [FIRST, SECOND] })).toEqual({ applied: [2], version: 2 })
  })

  test('refuses a migration that was edited after it was applied, but not other line ends', async () => {
    await migrate(sql, { migrations: [FIRST, SECOND] })
    const windows = { ...SECOND, sql: SECOND.sql.replaceAll('\n', '\r\n') }
    expect(await migrate(sql, { migrations: [FIRST, windows] })).toEqual({ applied: [], version: 2 })
    const error = await failure(migrate(sql, { migrations: [{ ...FIRST, sql: `${FIRST.sql} ` }, SECOND] }))
    expect(error.message).toContain('0001_stay.sql is not the text that was applied')
    expect(error.message).toContain('make the change in a new migration')
  })

  test('refuses a schema that is newer than this program', async () => {
    await migrate(sql, { migrations: [FIRST, SECOND] })
    const error = await failure(migrate(sql, { migrations: [FIRST] }))
    expect(error.message).toContain('its schema is at version 2 and this program knows versions up to 1')
  })

  test('refuses a gap in what was applied', async () => {
    await migrate(sql, { migrations: [FIRST, SECOND] })
    await sql`delete from schema_migration where version = 1`
    const error = await failure(migrate(sql, { migrations: [FIRST, SECOND] }))
    expect(error.message).toContain('schema_migration lacks version 1 but has 2')
  })

  test('refuses a gap in the files before it touches the database', async () => {
    const error = await failure(migrate(sql, { migrations: [FIRST, { ...SECOND, version: 3 }] }))
    expect(error.message).toContain('0003_guest.sql stands where number 2 is due')
    expect(await sql`select to_regclass('schema_migration') as ledger`).toEqual([{ ledger: null }] as never)
  })
})
