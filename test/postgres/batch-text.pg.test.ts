import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { appendBatch } from '../../src/postgres/stores/append-batch.ts'
import { batchText, COLUMNS } from '../../src/postgres/stores/batch-text.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

const AT = '2027-03-01T10:00:00.123Z'
const SPECIAL = ['"', '\\', '(', ')', ',', '{', '}', ' ', '\n', '\t', '\x1e', "'", 'NULL', 'a', 'é', '\u{1F3E0}']

/** Everything that PostgreSQL can keep: no U+0000, no half of a surrogate pair. */
const text = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...SPECIAL) }),
    fc.constantFrom('', ' ', 'NULL', 'null', '{}', '()', '""', '\\N', ' edge '),
  )
  .filter((value) => !value.includes('\0') && value.isWellFormed())

const guest = fc.record({
  agency_id: text,
  guest_id: text,
  booking_id: text,
  first_name: text,
  last_name: text,
  email: fc.option(text),
  phone: fc.option(text),
  nationality: fc.option(text),
  created_at: fc.constant(AT),
})

describe('rows as composites', () => {
  test('arrive as they were, whatever a caller has written into them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(guest, { minLength: 1, maxLength: 20 }), async (guests) => {
        const read = await database.sql`
          select agency_id, guest_id, booking_id, first_name, last_name, email, phone, nationality,
                 to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at
          from unnest(${batchText({ guests }).guests}::text::guest_row[])`
        expect(read.map((row) => ({ ...row }))).toEqual(guests)
      }),
      { numRuns: 300 },
    )
  })

  test('have the members of the types in sql/, in their order', async () => {
    for (const [name, columns] of Object.entries(COLUMNS)) {
      const members = await database.sql<{ name: string }[]>`
        select attname as name from pg_attribute
        where attrelid = ${`${name}_row`}::regclass and attnum > 0 order by attnum`
      expect([name, ...members.map((member) => member.name)]).toEqual([name, ...columns])
    }
  })

  test('with long texts beside them keep each with its own row', async () => {
    const row = (n: number) => ({
      key_id: `key_${n}`,
      route: 'r',
      idempotency_key: 'k',
      request_hash: 'h',
      status: 200 + n,
    })
    const body = (n: number) => JSON.stringify({ n, said: '\x1e"\\' })
    const idempotency = [1, 2, 3].map((n) => ({ agency_id: 'agc_a', ...row(n), created_at: AT, body: body(n) }))
    await appendBatch(database.sql, 0, Bun.randomUUIDv7(), { idempotency })
    const kept = await database.sql`select key_id, status, body from idempotency order by key_id`
    expect(kept.map((row) => ({ ...row }))).toEqual(
      [1, 2, 3].map((n) => ({ key_id: `key_${n}`, status: 200 + n, body: body(n) })),
    )
  })

  test('of which one lacks its long text are refused as a whole', async () => {
    const row = { kind: 'unit_set', checksum: 'c', request_id: null, at: AT }
    const journal = [1, 2].map((seq) => ({ agency_id: 'agc_a', unit_id: 'unt_a', seq, ...row, payload: '{}' }))
    const shifted = [{ ...journal[0], payload: '{}\x1e{}\x1e{}' }, journal[1] ?? {}]
    const refused = await appendBatch(database.sql, 0, Bun.randomUUIDv7(), { journal: shifted }).catch(
      (error: Error & { code: string }) => error.code,
    )
    expect(refused).toBe('23502')
    expect((await database.sql`select from journal`).count).toBe(0)
  })
})

test('the version before, still running beside this one, appends as it did, and each finds what the other has written', async () => {
  const row = { agency_id: 'agc_b', unit_id: 'unt_b', kind: 'unit_set', checksum: 'c', payload: '{}', at: AT }
  const before = (batchId: string, seq: number) => database.sql<{ outcome: string }[]>`
    select append_batch(0, ${batchId}::text::uuid, ${JSON.stringify({ journal: [{ ...row, seq }] })}::text::jsonb) as outcome`
  const now = (batchId: string, seq: number) =>
    appendBatch(database.sql, 0, batchId, { journal: [{ ...row, seq }] }).then(
      (rows) => rows[0]?.['append_batch'],
      (error: Error & { code: string }) => error.code,
    )
  const [first, second] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()]
  expect((await before(first, 1))[0]?.outcome).toBe('written')
  expect(await now(first, 1)).toBe('duplicate')
  expect(await now(second, 1)).toBe('NL002')
  expect(await now(second, 2)).toBe('written')
  expect((await before(second, 2))[0]?.outcome).toBe('duplicate')
})
