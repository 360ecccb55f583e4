import { afterAll, beforeEach, expect, test } from 'bun:test'
import type { Config } from '../../../src/app/config.ts'
import { openDatabase } from '../../../src/app/open-database.ts'
import { secretKeyCheck } from '../../../src/events/webhooks/re-encrypt.ts'
import { SecretBox } from '../../../src/events/webhooks/secret-box.ts'
import { MigrationError } from '../../../src/postgres/schema/migrate.ts'
import { checkSecretKey, SecretKeyError, storedCheck } from '../../../src/postgres/stores/stored-key-check.ts'
import { testDatabase } from '../../support/postgres.ts'
import { insertAgency, insertEndpoint } from '../../support/sample-rows.ts'
import { sampleId } from '../../support/samples.ts'

const AGENCY_A = sampleId('agc', 'a')
const ENDPOINT_A = sampleId('whe', 'a')

const KEY = Uint8Array.fromHex('01'.repeat(32))
const OTHER = Uint8Array.fromHex('02'.repeat(32))

const database = await testDatabase()
await insertAgency(database.sql, AGENCY_A)
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`delete from webhook_endpoint`
  await database.sql`delete from secret_key_check`
})

async function addEndpoint(endpointId: string, key: Uint8Array, status = 'active'): Promise<void> {
  const sealed = status === 'deleted' ? '' : new SecretBox(key).seal('whsec_x', { agencyId: AGENCY_A, endpointId })
  await insertEndpoint(database.sql, { agencyId: AGENCY_A, endpointId, status, sealed })
}

/** Whether a start with `key` is let through. */
async function passes(key: Uint8Array): Promise<boolean> {
  try {
    await checkSecretKey(database.sql, key)
    return true
  } catch (error) {
    if (error instanceof SecretKeyError) return false
    throw error
  }
}

test('the first start settles the key, and no other one passes afterwards', async () => {
  expect(await passes(KEY)).toBe(true)
  expect(await storedCheck(database.sql)).toBe(secretKeyCheck(KEY))
  expect([await passes(OTHER), await passes(KEY)]).toEqual([false, true])
})

test('of two first starts at once with different keys one is refused', async () => {
  const passed = await Promise.all([passes(KEY), passes(OTHER)])
  expect(passed.filter(Boolean)).toHaveLength(1)
  expect(await storedCheck(database.sql)).toBe(secretKeyCheck(passed[0] ? KEY : OTHER))
})

test('a database from before the check takes the key that opens its secrets, and refuses another without a trace', async () => {
  await addEndpoint(ENDPOINT_A, KEY)
  await addEndpoint(sampleId('whe', 'gone'), KEY, 'deleted')
  expect([await passes(OTHER), await storedCheck(database.sql)]).toEqual([false, null])
  expect(await passes(KEY)).toBe(true)
})

test('and takes it, too, when a start with another key has left a secret of its own', async () => {
  await addEndpoint(ENDPOINT_A, KEY)
  await addEndpoint(sampleId('whe', 'b'), OTHER)
  expect(await passes(KEY)).toBe(true)
})

test('deleted endpoints say nothing of the key', async () => {
  await addEndpoint(sampleId('whe', 'gone'), KEY, 'deleted')
  expect(await passes(OTHER)).toBe(true)
})

test('what is kept is not the key, nor the same for two keys', () => {
  expect(secretKeyCheck(KEY)).toMatch(/^[0-9a-f]{64}$/)
  expect(secretKeyCheck(KEY)).not.toContain('01'.repeat(4))
  expect(secretKeyCheck(KEY)).not.toBe(secretKeyCheck(OTHER))
})

test('a start compares the key before it migrates, so that one with another key leaves the schema as it is', async () => {
  await checkSecretKey(database.sql, KEY)
  const applied = await database.sql`delete from schema_migration returning *`
  const start = (secretKey: Uint8Array) =>
    openDatabase({ databaseUrl: database.url, migrationDatabaseUrl: null } as Config, {
      secretKey,
      onStep: () => {},
    }).then(
      () => 'started',
      (error: unknown) => error,
    )
  expect(await start(OTHER)).toBeInstanceOf(SecretKeyError)
  expect(await database.sql`select from schema_migration`).toHaveLength(0)
  // What it would have done: the schema seems to be missing, so it is made a second time.
  expect(await start(KEY)).toBeInstanceOf(MigrationError)
  await database.sql`insert into schema_migration ${database.sql(applied)}`
})

test('the database of another build is called that, whatever the key, and nothing of it is read', async () => {
  await checkSecretKey(database.sql, KEY)
  await database.sql`update schema_migration set checksum = 'x' || checksum`
  const starting = openDatabase({ databaseUrl: database.url, migrationDatabaseUrl: null } as Config, {
    secretKey: OTHER,
    onStep: () => {},
  })
  const outcome = await starting.catch((error: unknown) => error)
  await database.sql`update schema_migration set checksum = substr(checksum, 2)`
  expect(outcome).toBeInstanceOf(MigrationError)
})
