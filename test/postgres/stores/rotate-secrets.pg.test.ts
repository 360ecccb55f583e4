import { afterAll, beforeEach, expect, test } from 'bun:test'
import { reEncrypted } from '../../../src/events/webhooks/re-encrypt.ts'
import { SecretBox } from '../../../src/events/webhooks/secret-box.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import {
  PostgresChainKeys,
  reEncryptedChainKeys,
  replacedChainKeys,
  sealedChainKeys,
} from '../../../src/postgres/stores/postgres-chain-keys.ts'
import { RotationError, rotateSecrets, sealedSecrets } from '../../../src/postgres/stores/sealed-secrets.ts'
import { storedCheck } from '../../../src/postgres/stores/stored-key-check.ts'
import { testDatabase } from '../../support/postgres.ts'
import { insertAgency, insertEndpoint } from '../../support/sample-rows.ts'
import { sampleId } from '../../support/samples.ts'

const AGENCY_A = sampleId('agc', 'a')
const ENDPOINT_B = sampleId('whe', 'b')

const keys = { from: Uint8Array.fromHex('01'.repeat(32)), to: Uint8Array.fromHex('02'.repeat(32)) }
const boxes = { from: new SecretBox(keys.from), to: new SecretBox(keys.to) }

const database = await testDatabase()
await insertAgency(database.sql, AGENCY_A)
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`delete from webhook_endpoint`
  await database.sql`delete from shard_chain`
  await database.sql`delete from secret_key_check`
  await new PostgresChainKeys(database.sql, keys.from).open()
  await database.sql`insert into secret_key_check (hmac) values ('old')`
  for (const endpointId of [sampleId('whe', 'a'), ENDPOINT_B, sampleId('whe', 'c')]) await addEndpoint(endpointId)
})

async function addEndpoint(endpointId: string): Promise<void> {
  const sealed = boxes.from.seal('whsec_x', { agencyId: AGENCY_A, endpointId })
  await insertEndpoint(database.sql, { agencyId: AGENCY_A, endpointId, sealed })
}

/** Everything a rotation may change. */
async function state() {
  const { sql } = database
  const fences = await sql<{ epoch: number; holder: string }[]>`
    select epoch::int as epoch, holder from shard order by shard`
  const [check, endpoints, chainKeys] = [await storedCheck(sql), await sealedSecrets(sql), await sealedChainKeys(sql)]
  return { fences: [...fences], check, endpoints, chainKeys: [...chainKeys] }
}

/** An invitation of a person, whose secret has an HMAC with a key that is derived from SECRET_KEY. */
async function addInvitation(): Promise<void> {
  const person = { agency_id: uuidOf(AGENCY_A), person_id: uuidOf(sampleId('per', 'a')) }
  await database.sql`
    insert into person ${database.sql({ ...person, name: 'Rui', role: 'desk', created_at: new Date(), revision: 0 })}
    on conflict do nothing`
  await database.sql`
    insert into person_link (agency_id, person_id, secret_sha256, kind, created_at, expires_at)
    values (${person.agency_id}, ${person.person_id}, ${'0'.repeat(64)}, 'invitation', now(), now() + interval '72 hours')`
}

const invitations = async () => (await database.sql`select from person_link`).length

async function rotateAfter(meanwhile: () => Promise<unknown>): Promise<unknown> {
  const endpoints = await sealedSecrets(database.sql)
  const changes = reEncrypted(endpoints, boxes)
  const chainKeys = reEncryptedChainKeys(await sealedChainKeys(database.sql), keys)
  await meanwhile()
  const rotation = { knownChecks: ['old', 'new'], newCheck: 'new', endpointsRead: endpoints.length, changes, chainKeys }
  return rotateSecrets(database.sql, rotation).catch((error: unknown) => error)
}

const opened = (key: Uint8Array) => new PostgresChainKeys(database.sql, key).read()

test('all secrets, chain keys and the check value change together, and the current writer of every shard is fenced out', async () => {
  const before = await state()
  const chainKeys = await opened(keys.from)
  expect(await rotateAfter(async () => {})).toBeUndefined()
  const after = await state()
  expect(after.check).toBe('new')
  expect(after.fences.map(({ epoch }) => epoch)).toEqual(before.fences.map(({ epoch }) => epoch + 1))
  expect(await opened(keys.to)).toEqual(chainKeys)
  expect((await opened(keys.from)).every((key) => key === null)).toBe(true)
  for (const row of after.endpoints) expect(boxes.to.open(row.secretSealed, row)).toBe('whsec_x')
})

test.each([
  [
    'one of the endpoints has got another secret',
    () => database.sql`update webhook_endpoint set secret_sealed = 'v1.new' where endpoint_id = ${uuidOf(ENDPOINT_B)}`,
  ],
  [
    'one was deleted',
    () => database.sql`update webhook_endpoint set status = 'deleted' where endpoint_id = ${uuidOf(ENDPOINT_B)}`,
  ],
  ['one was added', () => addEndpoint(sampleId('whe', 'd'))],
  ['a chain key has changed', () => database.sql`update shard_chain set key_sealed = 'v1.new' where shard = 255`],
  ['a chain key is missing', () => database.sql`delete from shard_chain where shard = 0`],
  ['the key was changed by someone else', () => database.sql`update secret_key_check set hmac = 'third'`],
])('when meanwhile %s, nothing at all is changed', async (_, meanwhile) => {
  let before: unknown
  const outcome = await rotateAfter(async () => {
    await meanwhile()
    before = await state()
  })
  expect(outcome).toBeInstanceOf(RotationError)
  expect(await state()).toEqual(before as Awaited<ReturnType<typeof state>>)
})

test('links for people, which nobody can open any more, are gone: none is shown as an invitation', async () => {
  await addInvitation()
  const refused = await rotateAfter(() => addEndpoint(sampleId('whe', 'd')))
  expect([refused instanceof RotationError, await invitations()]).toEqual([true, 1])
  expect(await rotateAfter(async () => {})).toBeUndefined()
  expect(await invitations()).toBe(0)
})

test('rotated again, the chain keys stay as they are', async () => {
  await rotateAfter(async () => {})
  const rows = await sealedChainKeys(database.sql)
  expect(reEncryptedChainKeys(rows, keys).filter(({ before, after }) => before !== after)).toEqual([])
})

test('a chain key that neither key opens is named', async () => {
  await database.sql`update shard_chain set key_sealed = 'v1.none' where shard in (3, 4)`
  const rows = await sealedChainKeys(database.sql)
  expect(() => reEncryptedChainKeys(rows, keys)).toThrow('Cannot open the chain keys of 2 shards with either key: 3, 4')
})

test('chain keys that are lost are replaced, and begin after the last entry of their shard', async () => {
  const lost = new Uint8Array(32).fill(9)
  const rows = await sealedChainKeys(database.sql)
  const lastSeqs = new Map(rows.map(({ shard }) => [shard, 100 + shard]))
  const replaced = replacedChainKeys(rows, { key: lost, lastSeqs })
  const rotation = { knownChecks: null, newCheck: 'new', endpointsRead: 3, changes: [], chainKeys: replaced }
  await rotateSecrets(database.sql, rotation)
  const now = await opened(lost)
  expect(now.map((key) => key?.since)).toEqual(rows.map(({ shard }) => 100 + shard))
  // Once more is no harm.
  const again = replacedChainKeys(await sealedChainKeys(database.sql), { key: lost, lastSeqs: new Map() })
  expect(again.every(({ before, after }) => before === after)).toBe(true)
})
