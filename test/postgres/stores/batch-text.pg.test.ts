import { afterAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeBatch } from '../../../src/core/journal/batch.ts'
import type { BatchToAppend, NumberedRecord } from '../../../src/core/journal/journal-store.ts'
import { monthOf, NO_LINK, SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { type IdPrefix, idOf } from '../../../src/lib/ids.ts'
import { appendBatch, batchText } from '../../../src/postgres/stores/append-batch.ts'
import { compositeText } from '../../../src/postgres/stores/table.ts'
import { GUEST_ROW } from '../../../src/postgres/stores/tables.ts'
import { booked, ENVELOPE, unitSet } from '../../support/journal-records.ts'
import { testDatabase } from '../../support/postgres.ts'
import { AGENCY, CHAIN_KEYS, sampleId } from '../../support/samples.ts'

const EMPTY = { lastSeq: 0, lastMonth: '2026-01-01', lastLink: NO_LINK }
/** The end of an empty log. */
const LOG = {
  heads: Array.from({ length: SHARDS }, () => EMPTY),
  chainKeys: CHAIN_KEYS,
  newestMonth: monthOf(Date.now()),
}

const database = await testDatabase()
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

const idIn = (prefix: IdPrefix) =>
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => `${prefix}_${Buffer.from(bytes).toString('hex')}`)

const guest = fc.record({
  agencyId: idIn('agc'),
  id: idIn('gst'),
  bookingId: idIn('bkg'),
  firstName: text,
  lastName: text,
  email: fc.option(text),
  phone: fc.option(text),
  nationality: fc.option(text),
  createdAt: fc.constant(AT),
})

/** A batch under the fences of a database that nobody has taken over. */
function batchOf(records: readonly NumberedRecord[]): BatchToAppend {
  return { shards: [...new Set(records.map(({ shard }) => shard))].map((shard) => ({ shard, epoch: 0 })), records }
}

describe('rows as composites', () => {
  test('arrive as they were, whatever a caller has written into them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(guest, { minLength: 1, maxLength: 20 }), async (guests) => {
        const read = await database.sql`
          select 'agc_' || replace(agency_id::text, '-', '') as "agencyId", 'gst_' || replace(guest_id::text, '-', '') as "id",
                 'bkg_' || replace(booking_id::text, '-', '') as "bookingId", first_name as "firstName",
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
      keyId: sampleId('key', n),
      route: 'r',
      idempotencyKey: 'k',
      requestHash: 'h',
      status: 200 + n,
      body: body(n),
    }))
    const records = kept.map((idempotency) => ({
      shard: shardOf(AGENCY.id),
      record: { agencyId: AGENCY.id, at: Date.parse(AT), idempotency },
      entries: [],
    }))
    await appendBatch(database.sql, batchOf(records))
    const read = await database.sql`select key_id, status, body from idempotency order by key_id`
    expect(read.map(({ key_id, ...row }) => ({ ...row, key_id: idOf('key', key_id) }))).toEqual(
      [1, 2, 3].map((n) => ({ key_id: sampleId('key', n), status: 200 + n, body: body(n) })),
    )
  })

  test('whose long texts are not one for each are refused as a whole', async () => {
    const [one, two] = encodeBatch([unitSet(sampleId('unt', 1)), unitSet(sampleId('unt', 2))], LOG)
    if (one === undefined || two === undefined) throw new Error('the batch has no entries')
    const shifted = [{ ...one, entries: one.entries.map((entry) => ({ ...entry, payload: '{}\x1e{}\x1e{}' })) }, two]
    const refused = await appendBatch(database.sql, batchOf(shifted)).catch(
      (error: Error & { code: string }) => error.code,
    )
    // The text without a row has no month, and so no partition.
    expect(refused).toBe('23514')
    expect((await database.sql`select from journal`).count).toBe(0)
  })

  test('of which one lacks a value are not written: it is no null', () => {
    const [row] = fc.sample(guest, 1)
    const { email: _, ...without } = row as NonNullable<typeof row>
    // @ts-expect-error the compiler says so first
    expect(() => compositeText(GUEST_ROW, [without])).toThrow('Cannot write a row: a value is missing')
  })

  test('J3: are the same text for the same batch, and each entry is encoded once', () => {
    const records = encodeBatch([booked('1')], LOG)
    const [first, again] = [batchText(batchOf(records)), batchText(batchOf(records))]
    expect(again).toEqual(first)
    expect(JSON.parse(first.payloads ?? '')).toMatchObject({ after: { arrival: '2027-03-01' }, envelope: ENVELOPE })
    expect(first.links).toBe(`\\x${Buffer.from(records[0]?.entries[0]?.link ?? []).toString('hex')}`)
  })
})
