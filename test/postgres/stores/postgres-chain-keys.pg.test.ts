import { afterAll, beforeEach, expect, test } from 'bun:test'
import { ChainKeyError, SHARDS } from '../../../src/core/journal/shard.ts'
import { PostgresChainKeys, sealedChainKeys } from '../../../src/postgres/stores/postgres-chain-keys.ts'
import { checkSecretKey } from '../../../src/postgres/stores/stored-key-check.ts'
import { testDatabase } from '../../support/postgres.ts'

const KEY = new Uint8Array(32).fill(1)
const OTHER = new Uint8Array(32).fill(2)

const database = await testDatabase()
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`delete from shard_chain`
  await database.sql`delete from secret_key_check`
  await checkSecretKey(database.sql, KEY)
})

async function openedWith(key: Uint8Array): Promise<string[]> {
  const keys = await new PostgresChainKeys(database.sql, key).open()
  return keys.map((each) => Buffer.from(each).toString('hex'))
}

test('the first start makes a key for each shard, and every later one has the same', async () => {
  const made = await openedWith(KEY)
  expect([made.length, new Set(made).size]).toEqual([SHARDS, SHARDS])
  expect(await openedWith(KEY)).toEqual(made)
})

test('of two first starts at once both have the same keys', async () => {
  const [a, b] = await Promise.all([openedWith(KEY), openedWith(KEY)])
  expect(a).toEqual(b ?? [])
  expect(await openedWith(KEY)).toEqual(a ?? [])
})

test('with a SECRET_KEY that is not the one of the database no keys are made (K1)', async () => {
  await expect(openedWith(OTHER)).rejects.toThrow(ChainKeyError)
  expect(await sealedChainKeys(database.sql)).toEqual([])
})

test('another SECRET_KEY opens none of them, and a missing one is not made again', async () => {
  await openedWith(KEY)
  await expect(openedWith(OTHER)).rejects.toThrow(
    'Cannot open the journal: the chain key of shard 0 is missing, or SECRET_KEY does not open it',
  )
  await database.sql`delete from shard_chain where shard = 7`
  await expect(openedWith(KEY)).rejects.toThrow('the chain key of shard 7 is missing')
  const read = await new PostgresChainKeys(database.sql, KEY).read()
  expect(read.flatMap((key, shard) => (key === null ? [shard] : []))).toEqual([7])
})

test('no key is in the database unsealed', async () => {
  const keys = await openedWith(KEY)
  const text = JSON.stringify(await sealedChainKeys(database.sql))
  for (const key of keys) {
    expect(text).not.toContain(key)
    expect(text).not.toContain(Buffer.from(key, 'hex').toString('base64url'))
  }
})
