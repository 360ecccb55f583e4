import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { RotationError, rotateSecrets, sealedSecrets } from '../../../src/postgres/stores/sealed-secrets.ts'
import { storedCheck } from '../../../src/postgres/stores/stored-key-check.ts'
import { reEncrypted } from '../../../src/webhooks/re-encrypt.ts'
import { SecretBox } from '../../../src/webhooks/secret-box.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { insertAgency, insertEndpoint } from '../../support/sample-rows.ts'
import { sampleId } from '../../support/samples.ts'

const AGENCY_A = sampleId('agc', 'a')
const ENDPOINT_B = sampleId('whe', 'b')

const boxes = {
  from: new SecretBox(Uint8Array.fromHex('01'.repeat(32))),
  to: new SecretBox(Uint8Array.fromHex('02'.repeat(32))),
}

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  await insertAgency(database.sql, AGENCY_A)
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`delete from webhook_endpoint`
  await database.sql`insert into secret_key_check (hmac) values ('old') on conflict (is_only) do update set hmac = 'old'`
  for (const endpointId of [sampleId('whe', 'a'), ENDPOINT_B, sampleId('whe', 'c')]) await addEndpoint(endpointId)
})

async function addEndpoint(endpointId: string): Promise<void> {
  const sealed = boxes.from.seal('whsec_x', { agencyId: AGENCY_A, endpointId })
  await insertEndpoint(database.sql, { agencyId: AGENCY_A, endpointId, sealed })
}

/** Everything a rotation may change. */
async function state() {
  const { sql } = database
  const [fence] = await sql`select epoch::int as epoch, holder from writer_fence`
  return { fence, check: await storedCheck(sql), endpoints: await sealedSecrets(sql) }
}

async function rotateAfter(meanwhile: () => Promise<unknown>): Promise<unknown> {
  const endpoints = await sealedSecrets(database.sql)
  const changes = reEncrypted(endpoints, boxes)
  await meanwhile()
  const rotation = { knownChecks: ['old', 'new'], newCheck: 'new', endpointsRead: endpoints.length, changes }
  return rotateSecrets(database.sql, rotation).catch((error: unknown) => error)
}

test('all secrets and the check value change together, and the current writer is fenced out', async () => {
  const before = await state()
  expect(await rotateAfter(async () => {})).toBeUndefined()
  const after = await state()
  expect(after.check).toBe('new')
  expect(after.fence?.['epoch']).toBe(before.fence?.['epoch'] + 1)
  for (const row of after.endpoints) expect(boxes.to.open(row.secretSealed, row)).toBe('whsec_x')
})

test.each([
  [
    'one of the endpoints has got another secret',
    () => database.sql`update webhook_endpoint set secret_sealed = 'v1.new' where endpoint_id = ${ENDPOINT_B}`,
  ],
  [
    'one was deleted',
    () => database.sql`update webhook_endpoint set status = 'deleted' where endpoint_id = ${ENDPOINT_B}`,
  ],
  ['one was added', () => addEndpoint(sampleId('whe', 'd'))],
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
