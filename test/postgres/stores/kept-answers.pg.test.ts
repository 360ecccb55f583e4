/** The answer to a change outside the journal is kept in the statement of the change: both, or neither. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { AlreadyAnsweredError } from '../../../src/core/bookings/write-error.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { ChangeAnswer } from '../../../src/core/journal/record.ts'
import { DAY_MS } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { keepAnswer } from '../../../src/postgres/stores/audited-write.ts'
import { PostgresAgencyStore } from '../../../src/postgres/stores/postgres-agency-store.ts'
import { openTestLedger, type TestLedger } from '../../support/ledger.ts'
import { CALLER, sampleId } from '../../support/samples.ts'

const NOW = Date.UTC(2027, 0, 1)

let service: TestLedger
let agency: Agency
let store: PostgresAgencyStore
beforeAll(async () => {
  service = await openTestLedger()
  agency = await service.agency()
  store = new PostgresAgencyStore(service.ledger.sql, (agencyId) => service.ledger.epochOf(agencyId))
})
afterAll(() => service.close())

function answer(idempotencyKey: string, body = '{}'): ChangeAnswer {
  const scope = { agencyId: agency.id, keyId: sampleId('tok', 'a'), route: 'POST /x', idempotencyKey }
  return { ...scope, requestHash: 'hash', status: 201, body }
}

function insert(id: string, kept: ChangeAnswer, at = NOW): Promise<void> {
  const token = { id, agencyId: agency.id, name: 'x', role: 'desk', prefix: 'hp_live_', expiresAt: null } as const
  const secretSha256 = id.slice(4).repeat(2)
  const { actor, route, requestId } = CALLER
  const line = { auditId: systemIds('aud'), at, actor, route, outcome: 'OK', bookingId: null, requestId, count: 1 }
  return store.insertAccessToken({ ...token, secretSha256, createdAt: at, revokedAt: null }, { ...line, answer: kept })
}

const isStored = async (id: string) => (await store.loadAccessTokens()).some((token) => token.id === id)
const bodyOf = async (key: string) => {
  const [row] = await service.ledger.sql<
    { body: string }[]
  >`select body from idempotency where idempotency_key = ${key}`
  return row?.body ?? null
}

test('a second write of an answered request is undone as a whole, and the first answer stays', async () => {
  const [first, second] = [systemIds('tok'), systemIds('tok')]
  await insert(first, answer('once', 'first'))
  const lines = async () =>
    (await service.ledger.sql`select from audit_line where agency_id = ${agency.id.slice(4)}`).length
  const before = await lines()
  const failure = await insert(second, answer('once', 'second'), NOW + 1).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(AlreadyAnsweredError)
  expect(failure).toMatchObject({ outcome: 'not_written' })
  expect([await isStored(first), await isStored(second), await bodyOf('once')]).toEqual([true, false, 'first'])
  expect(await lines()).toBe(before)
})

test('two writes of one request at the same time: one is made', async () => {
  const ids = Array.from({ length: 4 }, () => systemIds('tok'))
  const settled = await Promise.allSettled(ids.map((id, i) => insert(id, answer('raced', id), NOW + i)))
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const made = ids[settled.findIndex(({ status }) => status === 'fulfilled')] ?? ''
  expect(await bodyOf('raced')).toBe(made)
  for (const id of ids) expect(await isStored(id)).toBe(id === made)
})

test('a write that fails keeps no answer', async () => {
  const id = systemIds('tok')
  await insert(id, answer('one'))
  expect(await insert(id, answer('two')).catch((error: Error) => error.name)).toBe('WriteError')
  expect(await bodyOf('two')).toBeNull()
})

test('an answer that is a day old gives way', async () => {
  await insert(systemIds('tok'), answer('old', 'first'))
  await insert(systemIds('tok'), answer('old', 'next'), NOW + DAY_MS)
  expect(await bodyOf('old')).toBe('next')
})

test('a revocation that is stored twice, because its outcome was unknown, keeps its answer', async () => {
  const id = systemIds('tok')
  await insert(id, answer('made'))
  const token = (await store.loadAccessTokens()).find((each) => each.id === id)
  if (token === undefined) throw new Error('Expected a token')
  const { actor, route, requestId } = CALLER
  const line = { auditId: systemIds('aud'), at: NOW, actor, route, outcome: 'OK', bookingId: null, requestId, count: 1 }
  for (let i = 0; i < 2; i++) await store.revokeAccessToken(token, NOW, { ...line, answer: answer('revoked', 'x') })
  expect(await bodyOf('revoked')).toBe('x')
})

test('whether a change can still be written is not settled by a process that was replaced', async () => {
  const agency = await service.agency()
  const replaced = new PostgresAgencyStore(service.ledger.sql, (agencyId) => service.ledger.epochOf(agencyId) - 1)
  const settled = (by: PostgresAgencyStore) => by.settle(agency.id).then(() => 'settled', String)
  expect(await settled(replaced)).toContain('fenced by another writer')
  expect(await settled(store)).toBe('settled')
})

test('an answer that is kept on its own is kept under the fence: a stale writer keeps none', async () => {
  const { sql } = service.ledger
  const epoch = service.ledger.epochOf(agency.id)
  const keep = (key: string, of: number) =>
    keepAnswer(sql, { agencyId: agency.id, epoch: of, answer: answer(key), at: NOW })
  await expect(keep('stale', epoch - 1)).rejects.toMatchObject({ kind: 'fenced' })
  await keep('own', epoch)
  expect([await bodyOf('stale'), await bodyOf('own')]).toEqual([null, '{}'])
})
