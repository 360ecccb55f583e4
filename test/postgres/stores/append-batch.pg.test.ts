import { afterAll, describe, expect, test } from 'bun:test'
import type { AppendFailure, BatchToAppend, WriterTerm } from '../../../src/core/journal/journal-store.ts'
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { idOf, systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { batchText } from '../../../src/postgres/stores/append-batch.ts'
import { PostgresJournalStore } from '../../../src/postgres/stores/postgres-journal-store.ts'
import { eventually } from '../../support/eventually.ts'
import { holding } from '../../support/held-lock.ts'
import { audited, batchOf, booked, together, unitSet, without } from '../../support/journal-records.ts'
import { testDatabase } from '../../support/postgres.ts'
import { insertAgency } from '../../support/sample-rows.ts'

/* The rules that the database itself keeps, whatever the writer believes; see also journal-store.contract.ts. */

const database = await testDatabase()
const store = new PostgresJournalStore({ url: database.url, queries: database.sql })
afterAll(async () => {
  await store.close()
  await database.drop()
})

const used = new Set<number>()

/** An agency whose shard no other agency of this file has. */
async function newAgency(): Promise<string> {
  let id = systemIds('agc')
  while (used.has(shardOf(id))) id = systemIds('agc')
  used.add(shardOf(id))
  await insertAgency(database.sql, id)
  return id
}

const entry = (agencyId: string, at = Date.now()) => unitSet(systemIds('unt'), { agencyId, at })

/** Where the term says that a shard's log ends, and a test says something else. */
function endingAt(term: WriterTerm, agencyId: string, end: { lastSeq: number; lastMonth?: string }) {
  return { log: { heads: term.shards.map((of) => (of.shard === shardOf(agencyId) ? { ...of, ...end } : of)) } }
}

async function outcomeOf(batch: BatchToAppend): Promise<unknown> {
  const outcome = await store.lane(0).appendBatch(batch)
  return outcome === 'durable' ? outcome : { kind: outcome.kind, code: codeOf(outcome), ...shardsOf(outcome) }
}

function codeOf({ cause }: AppendFailure): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : null
}

function shardsOf(failure: AppendFailure): object {
  return failure.kind === 'fenced' ? { shards: failure.shards } : {}
}

const refusedFor = (...agencyIds: string[]) => ({
  kind: 'fenced',
  code: 'NL002',
  shards: agencyIds.map(shardOf).toSorted((a, b) => a - b),
})

async function seqsOf(agencyId: string): Promise<number[]> {
  const rows = await database.sql<{ seq: number }[]>`
    select seq::int from journal where agency_id = ${uuidOf(agencyId)} order by seq`
  return rows.map(({ seq }) => seq)
}

test('C1: the database and this program put 1,000 agencies into the same shards, and spread them over all', async () => {
  const ids = Array.from({ length: 1_000 }, () => systemIds('agc'))
  const rows = await database.sql<{ shard: number }[]>`
    select shard_of(id::uuid) as shard from jsonb_array_elements_text(${JSON.stringify(ids.map(uuidOf))}::text::jsonb)
      with ordinality as given (id, place) order by place`
  expect(rows.map(({ shard }) => shard)).toEqual(ids.map(shardOf))
  expect(new Set(ids.map(shardOf)).size).toBeGreaterThan(SHARDS * 0.9)
})

describe('J3: the numbers of a shard', () => {
  test('begin after its mark, and nowhere else', async () => {
    const agency = await newAgency()
    await database.sql`update shard set mark = 41 where shard = ${shardOf(agency)}`
    const term = await store.takeOver('test')
    for (const lastSeq of [0, 40, 42])
      expect(await outcomeOf(batchOf(term, [entry(agency)], endingAt(term, agency, { lastSeq })))).toEqual(
        refusedFor(agency),
      )
    expect(await outcomeOf(batchOf(term, [entry(agency), entry(agency)]))).toBe('durable')
    expect(await seqsOf(agency)).toEqual([42, 43])
    expect((await store.takeOver('next')).shards[shardOf(agency)]?.lastSeq).toBe(43)
  })

  test('are refused for every shard of the batch in which they leave a gap, and for no other', async () => {
    const agencies = [await newAgency(), await newAgency(), await newAgency()]
    const [first = '', second = '', third = ''] = agencies
    const term = await store.takeOver('test')
    const [of1, of3] = [first, third].map((id) => batchOf(term, [entry(id)], endingAt(term, id, { lastSeq: 5 })))
    const of2 = batchOf(term, [entry(second)])
    const all = [of1, of2, of3].flatMap((batch) => batch ?? [])
    const shards = all.flatMap((batch) => batch.shards).toSorted((a, b) => a.shard - b.shard)
    expect(await outcomeOf({ shards, records: all.flatMap(({ records }) => records) })).toMatchObject({
      code: 'NL002',
      shards: refusedFor(first, third).shards,
    })
    expect(await Promise.all(agencies.map(seqsOf))).toEqual([[], [], []])
  })

  test('that are taken are named with their shard, and no other shard of the batch is', async () => {
    const [taken, other] = [await newAgency(), await newAgency()]
    const term = await store.takeOver('test')
    const first = [taken, other].map((id) => batchOf(term, [entry(id)]))
    for (const batch of first) expect(await outcomeOf(batch)).toBe('durable')
    const again = batchOf(term, [entry(taken)])
    const next = batchOf(term, [entry(other)], endingAt(term, other, { lastSeq: 1 }))
    const shards = [...again.shards, ...next.shards].toSorted((a, b) => a.shard - b.shard)
    expect(await outcomeOf({ shards, records: [...again.records, ...next.records] })).toEqual(refusedFor(taken))
  })

  test('are not used twice in different months', async () => {
    const agency = await newAgency()
    const term = await store.takeOver('test')
    const inNewest = Date.parse(term.newestMonth)
    expect(await outcomeOf(batchOf(term, [entry(agency), entry(agency, inNewest)]))).toBe('durable')
    const again = batchOf(term, [entry(agency)], endingAt(term, agency, { lastSeq: 1 }))
    expect(again.records[0]?.entries[0]?.month).not.toBe(term.newestMonth)
    expect(await outcomeOf(again)).toEqual(refusedFor(agency))
    const first = batchOf(term, [entry(agency, inNewest)], endingAt(term, agency, { lastSeq: 0 }))
    expect(await outcomeOf(first)).toEqual(refusedFor(agency))
    expect(await seqsOf(agency)).toEqual([1, 2])
  })

  test('continue in a later month, whatever months lie between', async () => {
    const agency = await newAgency()
    const term = await store.takeOver('test')
    const now = batchOf(term, [entry(agency)])
    const later = batchOf(term, [entry(agency, Date.parse(term.newestMonth))], { after: [now] })
    expect([await outcomeOf(now), await outcomeOf(later)]).toEqual(['durable', 'durable'])
    const next = await store.takeOver('next')
    expect(next.shards[shardOf(agency)]).toMatchObject({ lastSeq: 2, lastMonth: term.newestMonth })
  })

  test('of an agency are those of its own shard', async () => {
    const [agency, other] = [await newAgency(), await newAgency()]
    const term = await store.takeOver('test')
    const shard = shardOf(other)
    const records = batchOf(term, [entry(agency)]).records.map((of) => ({
      ...of,
      shard,
      entries: of.entries.map((each) => ({ ...each, shard })),
    }))
    const shards = term.shards.filter((of) => of.shard === shard)
    expect(await outcomeOf({ shards, records })).toEqual({ kind: 'poison', code: 'NL003' })
  })

  test('are not written for a shard whose fence is not read', async () => {
    const [agency, other] = [await newAgency(), await newAgency()]
    const { shards, records } = batchOf(await store.takeOver('test'), [entry(agency), entry(other)])
    expect(await outcomeOf({ shards: shards.slice(1), records })).toEqual({ kind: 'poison', code: 'NL003' })
  })
})

describe('the fences of a batch, J5', () => {
  test('that have risen are named, exactly those, and the rest is written without them', async () => {
    const agencies = [await newAgency(), await newAgency(), await newAgency(), await newAgency()]
    const [first = '', , third = ''] = agencies
    const fenced = [first, third].map(shardOf).toSorted((a, b) => a - b)
    const batch = batchOf(
      await store.takeOver('test'),
      agencies.flatMap((agencyId, n) => [entry(agencyId), audited(`fence ${n}`, 1, { agencyId })]),
    )
    await database.sql`
      update shard set epoch = epoch + 1
      where shard in (select value::smallint from jsonb_array_elements_text(${JSON.stringify(fenced)}::text::jsonb))`
    expect(await outcomeOf(batch)).toEqual({ kind: 'fenced', code: 'NL001', shards: fenced })
    expect(await Promise.all(agencies.map(seqsOf))).toEqual([[], [], [], []])
    expect(await outcomeOf(without(batch, first, third))).toBe('durable')
    expect(await Promise.all(agencies.map(seqsOf))).toEqual([[], [1], [], [1]])
  })

  test('are read for records without an entry, too', async () => {
    const agencyId = await newAgency()
    const batch = batchOf(await store.takeOver('test'), [audited('line', 1, { agencyId })])
    await database.sql`update shard set epoch = epoch + 1 where shard = ${shardOf(agencyId)}`
    expect(await outcomeOf(batch)).toMatchObject({ code: 'NL001', shards: [shardOf(agencyId)] })
  })

  test('are read before the end of a log is told, which waits for what is being written', async () => {
    const agencyId = await newAgency()
    const term = await store.takeOver('test')
    const [{ shard, epoch } = { shard: 0, epoch: 0 }] = batchOf(term, [entry(agencyId)]).shards
    const endOf = (of: number) => database.sql`select seq::int from end_of_log(${uuidOf(agencyId)}, ${of})`
    await expect(endOf(epoch - 1).execute()).rejects.toMatchObject({ code: 'NL001' })
    const release = await holding(database.url, `select from shard where shard = ${shard} for share`)
    const end = endOf(epoch).execute()
    await eventually('it waits', async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length === 1
    })
    await release()
    expect([...(await end)]).toEqual([{ seq: 0 }])
  })

  test('are waited for before it is said what was written', async () => {
    const batch = batchOf(await store.takeOver('test'), [entry(await newAgency())])
    expect(await outcomeOf(batch)).toBe('durable')
    await store.takeOver('next')
    const [{ shard } = { shard: 0 }] = batch.shards
    const release = await holding(database.url, `select from shard where shard = ${shard} for share`)
    let isSaid = false
    const said = store
      .lane(0)
      .wasWritten(batch)
      .finally(() => {
        isSaid = true
      })
    await eventually('it waits', async () => {
      const waiting = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length === 1
    })
    expect(isSaid).toBe(false)
    await release()
    expect(await said).toBe(true)
  })
})

test('J3: a batch that is sent again is found, also in part, and what belongs to its entries is not written again', async () => {
  const [agency, other] = [await newAgency(), await newAgency()]
  const term = await store.takeOver('test')
  const batch = batchOf(term, [entry(agency), entry(other), audited('again', 1, { agencyId: agency })])
  expect(await outcomeOf(batch)).toBe('durable')
  expect(await outcomeOf(batchOf(term, [entry(other)], { after: [batch] }))).toBe('durable')
  await database.sql`update unit set name = 'Changed since'`
  expect([await outcomeOf(batch), await outcomeOf(without(batch, other))]).toEqual(['durable', 'durable'])
  expect(await database.sql`select from unit where name <> 'Changed since'`).toHaveLength(0)
  expect(await database.sql`select from audit_line where agency_id = ${uuidOf(agency)}`).toHaveLength(1)
  expect([await seqsOf(agency), await seqsOf(other)]).toEqual([[1], [1, 2]])
})

test('each booking of a batch has its own guest: the one with its e-mail at its agency, or a new one', async () => {
  const agencies = [await newAgency(), await newAgency()]
  const term = await store.takeOver('test')
  const wanted = agencies.flatMap((agencyId) =>
    (['ada@example.com', 'ADA@example.com', 'bo@example.com', null, null] as const).map((email) => ({
      agencyId,
      email,
      bookingId: systemIds('bkg'),
      guestId: systemIds('gst'),
    })),
  )
  const records = wanted.map(({ agencyId, email, bookingId, guestId }) => ({
    ...booked('x', { agencyId, id: bookingId, unitId: systemIds('unt') }),
    guest: { guestId, firstName: 'A', lastName: 'B', email, phone: null, nationality: null },
  }))
  expect(await outcomeOf(batchOf(term, records))).toBe('durable')
  const rows = await database.sql<{ bookingId: string; guestId: string; email: string | null }[]>`
    select b.booking_id as "bookingId", g.guest_id as "guestId", g.email
    from booking b join guest g on g.agency_id = b.agency_id and g.guest_id = b.guest_id`
  const guestOf = new Map(rows.map((row) => [idOf('bkg', row.bookingId), row]))
  const found = wanted.map(({ bookingId }) => guestOf.get(bookingId))
  expect(found.map((guest) => guest?.email?.toLowerCase() ?? null)).toEqual(
    wanted.map(({ email }) => email?.toLowerCase() ?? null),
  )
  // At each agency the two with one e-mail are one guest.
  expect(new Set(found.map((guest) => guest?.guestId)).size).toBe(8)
  expect([0, 5].map((n) => found[n]?.guestId)).toEqual([1, 6].map((n) => found[n]?.guestId))
})

test('all bookings of a record have its guest, known or new, and each its own notes and group', async () => {
  const agencyId = await newAgency()
  const term = await store.takeOver('test')
  const groupId = systemIds('grp')
  const groupOf = (...bookings: readonly string[]) => {
    const made = bookings.map((label) =>
      booked(label, { agencyId, groupId, id: systemIds('bkg'), unitId: systemIds('unt') }),
    )
    const { entries = [], ...record } = together(...made)
    return { ...record, entries: entries.map((each, i) => ({ ...each, notes: `${bookings[i]}` })) }
  }
  const guestOf = (email: string | null) => ({
    guestId: systemIds('gst'),
    firstName: 'A',
    lastName: 'B',
    email,
    phone: null,
    nationality: null,
  })
  const records = [
    { ...groupOf('1', '2', '3'), guest: guestOf('ana@example.com') },
    { ...groupOf('4', '5'), guest: guestOf(null) },
    { ...groupOf('6', '7'), guest: guestOf('ANA@example.com') },
  ]
  const batch = batchOf(term, records)
  expect([await outcomeOf(batch), await outcomeOf(batch)]).toEqual(['durable', 'durable'])
  const rows = await database.sql<{ notes: string; guest: string; grp: string }[]>`
    select notes, guest_id as guest, group_id as grp from booking where agency_id = ${uuidOf(agencyId)} order by notes`
  expect(rows.map(({ notes }) => notes).join('')).toBe('1234567')
  expect(new Set(rows.map(({ grp }) => idOf('grp', grp)))).toEqual(new Set([groupId]))
  const places = rows.map(({ guest }) => rows.findIndex((row) => row.guest === guest))
  expect(places).toEqual([0, 0, 0, 3, 3, 0, 0])
  expect(await database.sql`select from guest where agency_id = ${uuidOf(agencyId)}`).toHaveLength(2)
})

test('a guest is erased by an entry, also when a booking of the same batch has found them', async () => {
  const agencyId = await newAgency()
  const guestId = systemIds('gst')
  const bookedBy = (id: string) => ({
    ...booked('x', { agencyId, id: systemIds('bkg'), unitId: systemIds('unt') }),
    guest: { guestId: id, firstName: 'A', lastName: 'B', email: 'eve@example.com', phone: null, nationality: null },
  })
  const { entries = [], ...record } = entry(agencyId)
  const erasure = {
    ...record,
    entries: entries.map((of) => ({ ...of, event: { kind: 'guest_erased', guestId } as const })),
  }
  const term = await store.takeOver('test')
  const first = batchOf(term, [bookedBy(guestId)])
  expect(await outcomeOf(first)).toBe('durable')
  expect(await outcomeOf(batchOf(term, [bookedBy(systemIds('gst')), erasure], { after: [first] }))).toBe('durable')
  const erased = await database.sql<{ guest: string; seq: number }[]>`
    select guest_id as guest, seq::int from guest_erasure where agency_id = ${uuidOf(agencyId)}`
  expect(erased.map(({ guest, seq }) => [idOf('gst', guest), seq])).toEqual([[guestId, 3]])
  expect(await database.sql`select from guest where agency_id = ${uuidOf(agencyId)}`).toHaveLength(0)
})

describe('J3: while an earlier send of its numbers is in progress', () => {
  /** Appends a batch in a transaction that continues for a while. */
  async function appendingSlowly(batch: BatchToAppend): Promise<{ ended: Promise<unknown> }> {
    const { shards, epochs, entries, payloads, links } = batchText(batch)
    const ended = database.sql`
      with appended as materialized (
        select append_batch(${shards}::text::smallint[], ${epochs}::text::bigint[], ${entries}::text::journal_row[],
                            ${payloads}::text, ${links}::text::bytea, null, null, null, null, null, null, null) as outcome)
      select pg_sleep(0.5), outcome from appended`.execute()
    let isOver = false
    void ended.finally(() => {
      isOver = true
    })
    await eventually('it has appended', async () => {
      const sleeping = await database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
      return isOver || sleeping.length === 1
    })
    return { ended }
  }

  test('the same batch waits for it, and is found', async () => {
    const agency = await newAgency()
    const batch = batchOf(await store.takeOver('test'), [entry(agency), entry(agency)])
    const { ended } = await appendingSlowly(batch)
    expect(await outcomeOf(batch)).toBe('durable')
    expect(await ended).toMatchObject([{ outcome: 'written' }])
    expect(await seqsOf(agency)).toEqual([1, 2])
  })

  test('other entries with its numbers wait for it, and are refused', async () => {
    const agency = await newAgency()
    const term = await store.takeOver('test')
    const { ended } = await appendingSlowly(batchOf(term, [entry(agency)]))
    expect(await outcomeOf(batchOf(term, [entry(agency), entry(agency)]))).toEqual(refusedFor(agency))
    await ended
    expect(await seqsOf(agency)).toEqual([1])
  })
})

describe('at the end of the months that have partitions', () => {
  test('the writes continue: entries and audit lines go into the newest month', async () => {
    const agencyId = await newAgency()
    const [months] = await database.sql<{ oldest: string; newest: string }[]>`
      select oldest_month::text as oldest, newest_month::text as newest from ledger`
    if (months === undefined) throw new Error('Cannot read the months of the ledger')
    await database.sql`update ledger set newest_month = oldest_month`
    const at = Date.now() + 2 * 365 * 86_400_000
    const batch = batchOf(await store.takeOver('test'), [entry(agencyId, at), audited('end', 1, { agencyId, at })])
    expect(await outcomeOf(batch)).toBe('durable')
    const stored = await database.sql<{ month: string }[]>`
      select month::text from journal where agency_id = ${uuidOf(agencyId)}
      union all select month::text from audit_line where agency_id = ${uuidOf(agencyId)}`
    expect(stored.map(({ month }) => month)).toEqual([months.oldest, months.oldest])
    await database.sql`update ledger set newest_month = ${months.newest}::text::date`
    expect(await outcomeOf(batch)).toBe('durable')
  })

  test('ensure_months makes the partitions of more, once, and says which is the newest', async () => {
    // Only a few: the one that waits for the other has two seconds.
    const [next] = await database.sql<{ until: string }[]>`
      select (newest_month + interval '2 months')::date::text as until from ledger`
    const until = next?.until ?? ''
    const ensured = await Promise.all(
      [1, 2].map(() => database.sql<{ newest: string }[]>`select ensure_months(${until}::text::date)::text as newest`),
    )
    expect(ensured.map(([row]) => row?.newest)).toEqual([until, until])
    const agency = await newAgency()
    const term = await store.takeOver('test')
    expect(term.newestMonth).toBe(until)
    expect(await outcomeOf(batchOf(term, [entry(agency, Date.parse(until))]))).toBe('durable')
    const [row] = await database.sql<{ table: string }[]>`
      select tableoid::regclass::text as table from journal where agency_id = ${uuidOf(agency)}`
    expect(row?.table).toBe(`journal_${until.slice(0, 7).replace('-', '_')}`)
  })
})
