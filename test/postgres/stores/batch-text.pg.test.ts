import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeBatch } from '../../../src/core/journal/batch.ts'
import { encodeEntry } from '../../../src/core/journal/entry-codec.ts'
import type { NumberedRecord } from '../../../src/core/journal/journal-store.ts'
import type { AuditDraft } from '../../../src/core/journal/record.ts'
import type { IdPrefix } from '../../../src/lib/ids.ts'
import { appendBatch } from '../../../src/postgres/stores/append-batch.ts'
import { batchText } from '../../../src/postgres/stores/batch-text.ts'
import { PostgresAgencyStore } from '../../../src/postgres/stores/postgres-agency-store.ts'
import { compositeText } from '../../../src/postgres/stores/table.ts'
import { GUEST_ROW } from '../../../src/postgres/stores/tables.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { AGENCY, sampleBooking, sampleId, sampleUnit } from '../../support/samples.ts'

const AGENCY_B = sampleId('agc', 'b')

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

const anyId = (prefix: IdPrefix) => fc.stringMatching(/^[0-9a-f]{32}$/).map((digits) => `${prefix}_${digits}`)

const guest = fc.record({
  agencyId: anyId('agc'),
  id: anyId('gst'),
  bookingId: anyId('bkg'),
  firstName: text,
  lastName: text,
  email: fc.option(text),
  phone: fc.option(text),
  nationality: fc.option(text),
  createdAt: fc.constant(AT),
})

const LINE: AuditDraft = {
  ...{ auditId: sampleId('aud', 1), at: 0, actor: { kind: 'system', id: null }, route: 'test', outcome: 'OK' },
  ...{ bookingId: null, requestId: null, count: 1 },
}

/** A record whose entry has this payload, whatever its event. */
function entered(agencyId: string, seq: number, payload = '{}'): NumberedRecord {
  const unit = sampleUnit({ id: sampleId('unt', seq), slug: `unit-${seq}` })
  const record = { agencyId, at: 0, entry: { event: { kind: 'unit_set', unit } as const, at: 0, requestId: null } }
  return { record, entry: { ...encodeEntry(record.entry.event, seq), payload }, body: null }
}

describe('rows as composites', () => {
  test('arrive as they were, whatever a caller has written into them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(guest, { minLength: 1, maxLength: 20 }), async (guests) => {
        const read = await database.sql`
          select agency_id as "agencyId", guest_id as "id", booking_id as "bookingId", first_name as "firstName",
                 last_name as "lastName", email, phone, nationality,
                 to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
          from unnest(${compositeText(GUEST_ROW, guests)}::text::guest_row[])`
        expect(read.map((row) => ({ ...row }))).toEqual(guests)
      }),
      { numRuns: 300 },
    )
  })

  test('with long texts beside them keep each with its own row', async () => {
    const body = (n: number) => JSON.stringify({ n, said: '\x1e"\\' })
    const kept = [1, 2, 3].map((n) => ({
      ...{ keyId: sampleId('key', n), route: 'r', idempotencyKey: 'k', requestHash: 'h' },
      ...{ status: 200 + n, body: body(n) },
    }))
    const records = kept.map((idempotency) => ({
      ...{ record: { agencyId: AGENCY.id, at: Date.parse(AT), idempotency }, entry: null, body: null },
    }))
    await appendBatch(database.sql, 0, Bun.randomUUIDv7(), records)
    const read = await database.sql`select key_id, status, body from idempotency order by key_id`
    expect(read.map((row) => ({ ...row }))).toEqual(
      [1, 2, 3].map((n) => ({ key_id: sampleId('key', n), status: 200 + n, body: body(n) })),
    )
  })

  test('whose long texts are not one for each are refused as a whole', async () => {
    const shifted = [entered(AGENCY.id, 1, '{}\x1e{}\x1e{}'), entered(AGENCY.id, 2)]
    const refused = await appendBatch(database.sql, 0, Bun.randomUUIDv7(), shifted).catch(
      (error: Error & { code: string }) => error.code,
    )
    expect(refused).toBe('23502')
    expect((await database.sql`select from journal`).count).toBe(0)
  })

  test('of which one lacks a value are not written: it is no null', () => {
    const [row] = fc.sample(guest, 1)
    const { email: _, ...without } = row as NonNullable<typeof row>
    // @ts-expect-error the compiler says so first
    expect(() => compositeText(GUEST_ROW, [without])).toThrow('Cannot write a row: a value is missing')
  })

  test('J3: are the same text for the same batch, and each event is encoded once', () => {
    const after = sampleBooking()
    let bodies = 0
    const { records } = encodeBatch(
      [
        {
          ...{ agencyId: AGENCY.id, at: 0 },
          entry: { event: { kind: 'booking_created', after }, at: 0, requestId: null },
          announcement: {
            ...{ eventId: sampleId('evt', 1), kind: 'booking.created' },
            body: (seq) => `{"seq":${seq},"n":${++bodies}}`,
          },
        },
      ],
      7,
    )
    const [first, again] = [batchText(records), batchText(records)]
    expect(again).toEqual(first)
    expect(first.bodies).toBe('{"seq":7,"n":1}')
    expect(JSON.parse(first.payloads ?? '').after).toEqual(records[0]?.entry?.booking)
  })
})

test('the version before, still running beside this one, appends as it did, and each finds what the other has written', async () => {
  const unit = { agency_id: AGENCY_B, unit_id: sampleId('unt', 'b') }
  const row = { ...unit, kind: 'unit_set', checksum: 'c', payload: '{}', at: AT }
  const before = (batchId: string, seq: number) => database.sql<{ outcome: string }[]>`
    select append_batch(0, ${batchId}::text::uuid, ${JSON.stringify({ journal: [{ ...row, seq }] })}::text::jsonb) as outcome`
  const now = (batchId: string, seq: number) =>
    appendBatch(database.sql, 0, batchId, [entered(AGENCY_B, seq)]).then(
      (rows) => rows[0]?.['append_batch'],
      (error: Error & { code: string }) => error.code,
    )
  const [first, second] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()]
  await new PostgresAgencyStore(database.sql, () => 0).insertAgency({ ...AGENCY, id: AGENCY_B }, LINE)
  expect((await before(first, 1))[0]?.outcome).toBe('written')
  expect(await now(first, 1)).toBe('duplicate')
  expect(await now(second, 1)).toBe('NL002')
  expect(await now(second, 2)).toBe('written')
  expect((await before(second, 2))[0]?.outcome).toBe('duplicate')
})
