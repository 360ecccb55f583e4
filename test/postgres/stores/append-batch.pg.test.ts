import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AppendFailure, BatchToAppend } from '../../../src/core/journal/journal-store.ts'
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { PostgresJournalStore } from '../../../src/postgres/stores/postgres-journal-store.ts'
import { auditRecord, SampleWriter, unitRecord } from '../../support/batches.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { insertAgency } from '../../support/sample-rows.ts'

/* The rules that the database itself keeps, whatever the writer believes. */

let database: TestDatabase
let store: PostgresJournalStore
beforeAll(async () => {
  database = await testDatabase()
  store = new PostgresJournalStore({ url: database.url, queries: database.sql })
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

/** An agency whose shard no other agency of this file has. */
const taken = new Set<number>()
async function newAgency(): Promise<string> {
  let id = systemIds('agc')
  while (taken.has(shardOf(id))) id = systemIds('agc')
  taken.add(shardOf(id))
  await insertAgency(database.sql, id)
  return id
}

const newWriter = async () => new SampleWriter(await store.takeOver('test'))

async function append(writer: SampleWriter, batch: BatchToAppend): Promise<unknown> {
  const outcome = await store.appendBatch(batch)
  if (outcome === 'durable') writer.note(batch)
  return outcome === 'durable' ? outcome : refusalOf(outcome)
}

function refusalOf(failure: AppendFailure) {
  const code = failure.cause instanceof Error && 'code' in failure.cause ? failure.cause.code : null
  return { kind: failure.kind, code, ...(failure.kind === 'fenced' ? { shards: failure.shards } : {}) }
}

async function seqsOf(agencyId: string): Promise<number[]> {
  const rows = await database.sql<{ seq: number }[]>`
    select seq::int from journal where agency_id = ${uuidOf(agencyId)} order by seq`
  return rows.map(({ seq }) => seq)
}

const refusedFor = (agencyId: string) => ({ kind: 'fenced', code: 'NL002', shards: [shardOf(agencyId)] })

test('C1: the database and this program put 1,000 agencies into the same shards, and spread them over all', async () => {
  const ids = Array.from({ length: 1_000 }, () => systemIds('agc'))
  const rows = await database.sql<{ shard: number }[]>`
    select shard_of(id::uuid) as shard from jsonb_array_elements_text(${JSON.stringify(ids.map(uuidOf))}::text::jsonb)
      with ordinality as given (id, place) order by place`
  expect(rows.map(({ shard }) => shard)).toEqual(ids.map(shardOf))
  expect(new Set(ids.map(shardOf)).size).toBeGreaterThan(SHARDS * 0.9)
})

describe('the numbers of a shard, C4', () => {
  test('begin after the mark, and go on where the last batch ended', async () => {
    const agency = await newAgency()
    await database.sql`update shard set mark = 41 where shard = ${shardOf(agency)}`
    const writer = await newWriter()
    expect(await append(writer, writer.batch([unitRecord(agency, 1), unitRecord(agency, 2)]))).toBe('durable')
    expect(await append(writer, writer.batch([unitRecord(agency, 3)]))).toBe('durable')
    expect(await seqsOf(agency)).toEqual([42, 43, 44])
    const { shards } = await store.takeOver('next')
    expect(shards[shardOf(agency)]).toMatchObject({ lastSeq: 44 })
  })

  test('may not leave a gap: the one before the first must be there, or be the mark', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    writer.setHead(shardOf(agency), { lastSeq: 1 })
    expect(await append(writer, writer.batch([unitRecord(agency, 'gap')]))).toEqual(refusedFor(agency))
    writer.setHead(shardOf(agency), { lastSeq: 0 })
    expect(await append(writer, writer.batch([unitRecord(agency, 'first')]))).toBe('durable')
    writer.setHead(shardOf(agency), { lastSeq: 2 })
    expect(await append(writer, writer.batch([unitRecord(agency, 'gap')]))).toEqual(refusedFor(agency))
    expect(await seqsOf(agency)).toEqual([1])
  })

  test('may not leave a gap inside a batch', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    const { records } = writer.batch([1, 2, 3].map((n) => unitRecord(agency, `inside ${n}`)))
    expect(await append(writer, writer.batchOf(records.toSpliced(1, 1)))).toEqual(refusedFor(agency))
    expect(await seqsOf(agency)).toEqual([])
  })

  test('may not be used twice, neither for one entry of a batch nor for all', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    expect(await append(writer, writer.batch([1, 2].map((n) => unitRecord(agency, `used ${n}`))))).toBe('durable')
    for (const lastSeq of [0, 1]) {
      writer.setHead(shardOf(agency), { lastSeq })
      const other = writer.batch([1, 2].map((n) => unitRecord(agency, `other ${n}`)))
      expect(await append(writer, other)).toEqual(refusedFor(agency))
    }
    expect(await seqsOf(agency)).toEqual([1, 2])
  })

  test('may not be used twice in different months, and a month is never before that of the entry before', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    const next = writer.log.newestMonth
    const inNext = writer.batch([unitRecord(agency, 'month 1'), unitRecord(agency, 'month 2', Date.parse(next))])
    expect(await append(writer, inNext)).toBe('durable')
    const thisMonth = { lastMonth: '2000-01-01' }
    for (const lastSeq of [1, 2]) {
      writer.setHead(shardOf(agency), { lastSeq, ...thisMonth })
      expect(await append(writer, writer.batch([unitRecord(agency, 'early')]))).toEqual(refusedFor(agency))
    }
    expect(await seqsOf(agency)).toEqual([1, 2])
  })

  test('go on in a later month, whatever lies between', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    expect(await append(writer, writer.batch([unitRecord(agency, 'now')]))).toBe('durable')
    const later = writer.batch([unitRecord(agency, 'later', Date.parse(writer.log.newestMonth))])
    expect(await append(writer, later)).toBe('durable')
    expect((await store.takeOver('next')).shards[shardOf(agency)]).toMatchObject({
      ...{ lastSeq: 2, lastMonth: writer.log.newestMonth, lastLink: Buffer.from(later.records[0]?.entry?.link ?? []) },
    })
  })

  test('of an agency are those of its own shard, and of no other', async () => {
    const [agency, other] = [await newAgency(), await newAgency()]
    const writer = await newWriter()
    const [record] = writer.batch([unitRecord(agency, 'astray')]).records
    const shard = shardOf(other)
    const astray =
      record === undefined || record.entry === null ? [] : [{ ...record, shard, entry: { ...record.entry, shard } }]
    expect(await append(writer, writer.batchOf(astray))).toEqual({ kind: 'poison', code: 'NL003' })
  })
})

describe('a batch over many shards, J2', () => {
  test('is written as a whole', async () => {
    const agencies = [await newAgency(), await newAgency(), await newAgency()]
    const writer = await newWriter()
    const batch = writer.batch(agencies.flatMap((id, n) => [unitRecord(id, `all ${n}`), auditRecord(id, `all ${n}`)]))
    expect(await append(writer, batch)).toBe('durable')
    expect(await Promise.all(agencies.map(seqsOf))).toEqual([[1], [1], [1]])
  })

  test('is refused as a whole when one of its shards has a gap', async () => {
    const agencies = [await newAgency(), await newAgency(), await newAgency()]
    const [, second = ''] = agencies
    const writer = await newWriter()
    writer.setHead(shardOf(second), { lastSeq: 5 })
    const batch = writer.batch(agencies.map((id, n) => unitRecord(id, `gap ${n}`)))
    expect(await append(writer, batch)).toEqual(refusedFor(second))
    expect(await Promise.all(agencies.map(seqsOf))).toEqual([[], [], []])
  })

  test('is refused as a whole when some of its shards are fenced, and exactly those are named', async () => {
    const agencies = [await newAgency(), await newAgency(), await newAgency(), await newAgency()]
    const [first = '', , third = ''] = agencies
    const fenced = [shardOf(first), shardOf(third)]
    const writer = await newWriter()
    await database.sql`
      update shard set epoch = epoch + 1 where shard in (select jsonb_array_elements_text(${JSON.stringify(fenced)}::text::jsonb)::smallint)`
    const batch = writer.batch(agencies.map((id, n) => unitRecord(id, `fence ${n}`)))
    expect(await append(writer, batch)).toEqual({
      ...{ kind: 'fenced', code: 'NL001', shards: fenced.toSorted((a, b) => a - b) },
    })
    expect(await Promise.all(agencies.map(seqsOf))).toEqual([[], [], [], []])
    const rest = writer.batchOf(batch.records.filter(({ shard }) => !fenced.includes(shard)))
    expect(await append(writer, rest)).toBe('durable')
    expect(await Promise.all(agencies.map(seqsOf))).toEqual([[], [1], [], [1]])
  })

  test('reads the fences of records without an entry, too', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    await database.sql`update shard set epoch = epoch + 1 where shard = ${shardOf(agency)}`
    expect(await append(writer, writer.batch([auditRecord(agency, 'line')]))).toMatchObject({ code: 'NL001' })
  })
})

describe('a batch that is sent again, J3', () => {
  const linesOf = async (label: string) =>
    (
      await database.sql<{ count: number }[]>`select count::int from audit_line where route = 'POST /test'
       and line_id = ${uuidOf(auditRecord('', label).audit?.auditId ?? '')}`
    ).map(({ count }) => count)

  test('is found, and what belongs to its entries is not written again', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    const batch = writer.batch([unitRecord(agency, 'again'), auditRecord(agency, 'again')])
    expect(await append(writer, batch)).toBe('durable')
    await database.sql`update unit set name = 'Changed since' where agency_id = ${uuidOf(agency)}`
    expect(await append(writer, batch)).toBe('durable')
    expect(await seqsOf(agency)).toEqual([1])
    expect(await linesOf('again')).toEqual([1])
    const [unit] = await database.sql<{ name: string }[]>`select name from unit where agency_id = ${uuidOf(agency)}`
    expect(unit?.name).toBe('Changed since')
  })

  test('is found when a fence has taken a part of it away, before its log goes on', async () => {
    const [agency, other] = [await newAgency(), await newAgency()]
    const writer = await newWriter()
    const batch = writer.batch([
      unitRecord(agency, 'part 1'),
      unitRecord(other, 'part 2'),
      unitRecord(agency, 'part 3'),
    ])
    expect(await store.appendBatch(batch)).toBe('durable')
    const rest = writer.batchOf(batch.records.filter(({ shard }) => shard === shardOf(agency)))
    expect(await append(writer, rest)).toBe('durable')
    expect(await append(writer, writer.batch([unitRecord(agency, 'part 4')]))).toBe('durable')
    expect(await seqsOf(agency)).toEqual([1, 2, 3])
  })

  test('is refused when only some of its entries are there', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    const batch = writer.batch([1, 2].map((n) => unitRecord(agency, `some ${n}`)))
    expect(await store.appendBatch(writer.batchOf(batch.records.slice(0, 1)))).toBe('durable')
    expect(await append(writer, batch)).toEqual(refusedFor(agency))
  })
})

describe('whether a batch was written, J5', () => {
  test('is known once its fences are raised: all of its entries are there, or none', async () => {
    const [agency, other] = [await newAgency(), await newAgency()]
    const writer = await newWriter()
    const written = writer.batch([unitRecord(agency, 'known 1'), auditRecord(other, 'known 2')])
    expect(await store.appendBatch(written)).toBe('durable')
    const unwritten = writer.batch([unitRecord(other, 'known 3')])
    const lines = writer.batch([auditRecord(other, 'known 4')])
    const epoch = writer.epochOf(shardOf(agency))
    const shards = [...written.shards]
    expect(await store.renewEpochs(shards, Bun.randomUUIDv7())).toEqual(
      shards.map(({ shard }) => ({ shard, epoch: epoch + 1 })),
    )
    expect(await store.wasWritten(written)).toBe(true)
    expect(await store.wasWritten(unwritten)).toBe(false)
    expect(await store.wasWritten(lines)).toBe(false)
    expect(await store.appendBatch(unwritten)).toMatchObject({ kind: 'fenced', shards: [shardOf(other)] })
  })

  test('waits for what still commits', async () => {
    const agency = await newAgency()
    const writer = await newWriter()
    const batch = writer.batch([unitRecord(agency, 'late')])
    await store.appendBatch(batch)
    await store.takeOver('next')
    const blocking = database.sql`
      with held as materialized (select shard from shard where shard = ${shardOf(agency)} for share)
      select pg_sleep(0.5) from held`.execute()
    await Bun.sleep(100)
    const since = performance.now()
    expect(await store.wasWritten(batch)).toBe(true)
    expect(performance.now() - since).toBeGreaterThan(200)
    await blocking
  })
})

describe('at the end of the months that have partitions', () => {
  test('the writes go on: entries and lines go into the newest month', async () => {
    const agency = await newAgency()
    const [months] = await database.sql<{ oldest: string; newest: string }[]>`
      select oldest_month::text as oldest, newest_month::text as newest from ledger`
    if (months === undefined) throw new Error('the ledger has no months')
    await database.sql`update ledger set newest_month = oldest_month`
    const writer = await newWriter()
    const inTwoYears = Date.now() + 2 * 365 * 86_400_000
    const batch = writer.batch([
      ...[unitRecord(agency, 'end 1', inTwoYears), auditRecord(agency, 'end 2', { at: inTwoYears })],
    ])
    expect(await append(writer, batch)).toBe('durable')
    const stored = await database.sql<{ month: string }[]>`
      select month::text from journal where agency_id = ${uuidOf(agency)}
      union all select month::text from audit_line where agency_id = ${uuidOf(agency)}`
    expect(stored.map(({ month }) => month)).toEqual([months.oldest, months.oldest])
    await database.sql`update ledger set newest_month = ${months.newest}::text::date`
    expect(await append(writer, batch)).toBe('durable')
  })

  test('ensure_months makes partitions for more, once, and says which is the newest', async () => {
    const until = '2031-02-01'
    const ensured = await Promise.all(
      [1, 2].map(() => database.sql<{ newest: string }[]>`select ensure_months(${until}::text::date)::text as newest`),
    )
    expect(ensured.map(([row]) => row?.newest)).toEqual([until, until])
    const agency = await newAgency()
    const writer = await newWriter()
    expect(writer.log.newestMonth).toBe(until)
    expect(await append(writer, writer.batch([unitRecord(agency, '2031', Date.parse('2031-02-28'))]))).toBe('durable')
    const [row] = await database.sql<{ table: string }[]>`
      select tableoid::regclass::text as table from journal where agency_id = ${uuidOf(agency)}`
    expect(row?.table).toBe('journal_2031_02')
  })
})
