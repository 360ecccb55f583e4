import { afterAll, expect, test } from 'bun:test'
import { Alone } from '../../src/cluster/alone.ts'
import { PostgresWriters } from '../../src/postgres/stores/postgres-writers.ts'
import { testDatabase } from '../support/postgres.ts'

const database = await testDatabase()
afterAll(() => database.drop())

const watch = { onWaiting: () => {}, onDraining: () => {}, onTurn: () => {}, onFailure: () => {} }
const writerId = crypto.randomUUID()
const turn = () =>
  new Alone().turn(
    { writers: new PostgresWriters(database.sql), writerId, warmUp: async () => {} },
    { takesOver: false, isCancelled: () => false, watch },
  )

test('a standby does not take over a database that was migrated meanwhile, if its program does not run on the new schema', async () => {
  expect(await turn()).toEqual([])
  await database.sql`insert into schema_migration (version, name, checksum, runs_from) values (2, 'less', '', 2)`
  await expect(turn()).rejects.toThrow(
    'its schema is at version 2, and only programs that know version 2 or newer run on it',
  )
  await database.sql`update schema_migration set runs_from = 1 where version = 2`
  expect(await turn()).toEqual([])
})

test('a process whose take-over was not answered does not wait for itself, and is none of those that are gone', async () => {
  await new PostgresWriters(database.sql).takeOverAsParent({ writerId, holder: 'host 1', run: null }, [])
  expect(await turn()).toEqual([])
})
