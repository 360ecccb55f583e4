import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { checkSchema, MigrationError, migrate } from '../../../src/postgres/schema/migrate.ts'
import { MIGRATIONS, type Migration } from '../../../src/postgres/schema/migrations.ts'
import { eventually } from '../../support/eventually.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'

const FIRST: Migration = { version: 1, name: 'stay', sql: 'create table stay (id int primary key);', runsFrom: 1 }
const SECOND: Migration = {
  version: 2,
  name: 'guest',
  sql: 'create table guest (id int);\nalter table stay add guest int',
  runsFrom: 1,
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

  test('a database of a build before 1.0 is refused with what to do, and is not changed', async () => {
    const before10 = [
      { ...FIRST, name: 'ledger' },
      { ...SECOND, version: 11, name: 'shards' },
      { ...SECOND, version: 29, name: 'nothing_ahead_of_the_log' },
    ]
    await migrate(sql, { migrations: [FIRST] })
    await sql`alter table schema_migration drop runs_from`
    for (const newest of before10) {
      await sql`delete from schema_migration`
      const rows = before10.filter(({ version }) => version <= newest.version && (newest.version === 1 || version > 1))
      await sql`
        insert into schema_migration ${sql(rows.map(({ version, name }) => ({ version, name, checksum: name })))}`
      const stored = await sql`select * from schema_migration order by version`
      for (const refused of [failure(migrate(sql)), failure(checkSchema(sql))]) {
        const { message } = await refused
        expect(message).toStartWith('Cannot use this database: another build of nightledger made its schema')
        expect(message).toContain('set DATABASE_URL to a new, empty database')
        expect(message).toContain('nightledger export FOLDER --agency SLUG')
        expect(message).toContain('nightledger import FOLDER')
      }
      expect(await sql`select * from schema_migration order by version`).toEqual(stored)
      expect(await sql`select to_regclass('shard') as shard`).toEqual([{ shard: null }] as never)
    }
  })

  test('a look at the schema of an empty database finds no fault, and creates nothing', async () => {
    await checkSchema(sql)
    expect(await sql`select to_regclass('schema_migration') as ledger`).toEqual([{ ledger: null }] as never)
  })

  test('a migration that fails half-way leaves nothing, and the client can be used on', async () => {
    const broken: Migration = {
      version: 2,
      name: 'broken',
      sql: 'create table half (id int); select 1 / 0;',
      runsFrom: 1,
    }
    const error = await failure(migrate(sql, { migrations: [FIRST, broken] }))
    expect(error.message).toBe('Cannot apply migration 002_broken.sql: division by zero. It was rolled back.')
    expect(await sql`select to_regclass('half') as half`).toEqual([{ half: null }] as never)
    expect(await migrate(sql, { migrations: [FIRST, SECOND] })).toEqual({ applied: [2], version: 2 })
  })

  test('refuses a migration that was edited after it was applied, but not other line ends', async () => {
    await migrate(sql, { migrations: [FIRST, SECOND] })
    const windows = { ...SECOND, sql: SECOND.sql.replaceAll('\n', '\r\n') }
    expect(await migrate(sql, { migrations: [FIRST, windows] })).toEqual({ applied: [], version: 2 })
    const error = await failure(migrate(sql, { migrations: [FIRST, { ...SECOND, sql: `${SECOND.sql} ` }] }))
    expect(error.message).toContain('002_guest.sql differs from what was applied')
    expect(error.message).toContain('make the change in a new migration')
  })

  test('accepts a newer schema on which this program runs, and changes nothing', async () => {
    await migrate(sql, { migrations: [FIRST, SECOND] })
    const steps: string[] = []
    const outcome = await migrate(sql, { migrations: [FIRST], onStep: (step) => steps.push(step) })
    expect(outcome).toEqual({ applied: [], version: 2 })
    expect(steps).toEqual(['The schema is at version 2, newer than the 1 of this program, which runs on it'])
  })

  test('refuses a newer schema that has taken away what this program needs, also if the last step would let it run', async () => {
    const contracting: Migration = { version: 3, name: 'less', sql: 'alter table stay drop guest', runsFrom: 2 }
    const fourth: Migration = { version: 4, name: 'more', sql: 'create table note (id int)', runsFrom: 1 }
    await migrate(sql, { migrations: [FIRST, SECOND, contracting, fourth] })
    expect((await failure(migrate(sql, { migrations: [FIRST] }))).message).toStartWith(
      'Cannot start on this database: its schema is at version 4, and only programs that know version 2 or newer run on it; this one knows 1. Start the newer program',
    )
    expect(await migrate(sql, { migrations: [FIRST, SECOND] })).toEqual({ applied: [], version: 4 })
  })

  test('refuses a gap in what was applied', async () => {
    const third: Migration = { version: 3, name: 'night', sql: 'create table night (id int)', runsFrom: 1 }
    await migrate(sql, { migrations: [FIRST, SECOND, third] })
    await sql`delete from schema_migration where version = 2`
    const error = await failure(migrate(sql, { migrations: [FIRST, SECOND, third] }))
    expect(error.message).toContain('schema_migration lacks version 2 but has 3')
  })

  test('refuses a gap in the files before it touches the database', async () => {
    const error = await failure(migrate(sql, { migrations: [FIRST, { ...SECOND, version: 3 }] }))
    expect(error.message).toContain('003_guest.sql should have number 2')
    expect(await sql`select to_regclass('schema_migration') as ledger`).toEqual([{ ledger: null }] as never)
  })

  test('applies nothing where an extension may not be created, and says which are needed', async () => {
    const role = `limited_${crypto.randomUUID().slice(0, 8)}`
    await sql.unsafe(`create role ${role} login password 'limited'; grant all on schema public to ${role};
      revoke create on database ${new URL(database.url).pathname.slice(1)} from public, ${role}`)
    const url = new URL(database.url)
    url.username = role
    url.password = 'limited'
    const limited = connect(url.href, { purpose: 'admin' })
    const error = await failure(migrate(limited))
    await limited.end()
    expect(error.message).toContain('Cannot migrate: the extensions btree_gist, btree_gin, pg_trgm are needed')
    expect(await sql`select from schema_migration`).toHaveLength(0)
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
  })

  test('a migration that waits for a lock lets other statements through, and is applied once it gets it', async () => {
    await migrate(sql, { migrations: [FIRST] })
    const reader = connect(database.url, { purpose: 'admin' })
    await reader.unsafe('begin; select from stay')
    const steps: string[] = []
    const migrating = migrate(sql, { migrations: [FIRST, SECOND], onStep: (step) => steps.push(step) })
    await eventually('it has given up the first time', () =>
      steps.some((step) => step.includes('is waiting for a lock')),
    )
    await database.sql`insert into stay (id) values (1)`
    await reader.unsafe('commit')
    expect(await migrating).toEqual({ applied: [2], version: 2 })
    await reader.end()
  })
})
