import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { CorruptLedgerError } from '../../../src/core/journal/journal-error.ts'
import type { WriterTerm } from '../../../src/core/journal/journal-store.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { encodeSnapshot } from '../../../src/core/journal/snapshot-codec.ts'
import { idOf, uuidOf } from '../../../src/lib/ids.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { ReadOnlyError } from '../../../src/postgres/client/failed-write.ts'
import { PostgresJournalStore } from '../../../src/postgres/stores/postgres-journal-store.ts'
import { emptyTables } from '../../support/empty-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { holding } from '../../support/held-lock.ts'
import { agenciesOfShards, audited, batchOf, booked, unitSet } from '../../support/journal-records.ts'
import { serverUrl, testDatabase } from '../../support/postgres.ts'
import { insertAgency } from '../../support/sample-rows.ts'
import { AGENCY, sampleId, sampleUnit } from '../../support/samples.ts'
import { journalStoreContract } from './journal-store.contract.ts'

const UNIT_A = sampleId('unt', 'a')

let opened: PostgresJournalStore[] = []
const database = await testDatabase()
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()))
  await database.drop()
})

async function open() {
  const { sql } = database
  await emptyTables(sql)
  for (const agencyId of [AGENCY.id, ...agenciesOfShards(2)]) await insertAgency(sql, agencyId)
  const store: PostgresJournalStore = new PostgresJournalStore({
    url: database.url,
    queries: sql,
    epochOf: (agencyId) => term?.shards[shardOf(agencyId)]?.epoch ?? 0,
  })
  let term: WriterTerm | null = null
  const { takeOver } = store
  store.takeOver = async (holder) => {
    term = await takeOver.call(store, holder)
    return term
  }
  opened = [...opened, store]
  return {
    store,
    seqsOf: async (agencyId: string) =>
      (await sql`select seq::int from journal where agency_id = ${uuidOf(agencyId)} order by seq`).map(
        (row) => row['seq'],
      ),
    bookingIds: async () =>
      (await sql`select booking_id from booking order by 1`).map((row) => idOf('bkg', row['booking_id'])),
    auditCounts: async () => (await sql`select count::int from audit_line`).map((row) => row['count']),
    takeShard: async (shard: number) => {
      await sql`update shard set epoch = epoch + 1, holder = 'other', renewal = null where shard = ${shard}`
    },
  }
}

/** The fence of one shard, and nothing to write. */
const emptyBatch = ({ shards }: WriterTerm) => ({ shards: shards.slice(0, 1), records: [] })

journalStoreContract('the journal in Postgres', open)

/** Entries 1 to `count`: each sets the unit. */
async function appendSets(store: PostgresJournalStore, term: WriterTerm, count: number): Promise<void> {
  const after: ReturnType<typeof batchOf>[] = []
  while (after.length < count) {
    const batch = batchOf(term, [unitSet(UNIT_A)], { after })
    expect(await store.lane(0).appendBatch(batch)).toBe('durable')
    after.push(batch)
  }
}

function snapshotAt(seq: number) {
  const state = UnitState.empty(UNIT_A)
  state.apply({ kind: 'unit_set', unit: sampleUnit({ id: UNIT_A }) }, seq)
  return encodeSnapshot(AGENCY.id, state)
}

describe('snapshots in Postgres', () => {
  test('of each unit the three newest are kept', async () => {
    const { store } = await open()
    const term = await store.takeOver('test')
    await appendSets(store, term, 6)
    for (let seq = 1; seq <= 6; seq++) await store.writeSnapshots([snapshotAt(seq)])
    expect((await store.loadUnit(AGENCY.id, UNIT_A)).snapshots.map(({ seq }) => seq)).toEqual([6, 5, 4])
  })

  test('S3: none is written that includes an entry which the log has not, or has as one of another unit', async () => {
    const { store } = await open()
    const term = await store.takeOver('test')
    await store.lane(0).appendBatch(batchOf(term, [unitSet(UNIT_A), unitSet(sampleId('unt', 'b'))]))
    await store.writeSnapshots([1, 2, 3].map(snapshotAt))
    expect((await store.loadUnit(AGENCY.id, UNIT_A)).snapshots.map(({ seq }) => seq)).toEqual([1])
  })

  test('S3: none is written by a writer that another one has replaced', async () => {
    const { store, takeShard } = await open()
    const term = await store.takeOver('test')
    await store.lane(0).appendBatch(batchOf(term, [unitSet(UNIT_A)]))
    await takeShard(shardOf(AGENCY.id))
    await store.writeSnapshots([snapshotAt(1)])
    expect((await store.loadUnit(AGENCY.id, UNIT_A)).snapshots).toEqual([])
  })

  test('S3: a take-over deletes those that are ahead of the log, and no others', async () => {
    const { store } = await open()
    const term = await store.takeOver('test')
    await appendSets(store, term, 3)
    await store.writeSnapshots([1, 2, 3].map(snapshotAt))
    // As by a fail-over that has lost the last entry.
    await database.sql`delete from journal where seq = 3`
    const { shards } = await store.takeOver('test')
    expect(shards[shardOf(AGENCY.id)]?.lastSeq).toBe(2)
    expect((await store.loadUnit(AGENCY.id, UNIT_A)).snapshots.map(({ seq }) => seq)).toEqual([2, 1])
  })

  test('J1, J3: a killed connection makes the outcome unknown, and the re-send finds or writes the batch', async () => {
    const { store, seqsOf } = await open()
    const batch = batchOf(await store.takeOver('test'), [unitSet(UNIT_A)])
    await database.sql`select pg_terminate_backend(pid) from pg_stat_activity
                       where datname = current_database() and application_name = 'nightledger journal'`
    const outcome = await store.lane(0).appendBatch(batch)
    if (outcome !== 'durable') expect(['unknown', 'not_sent']).toContain(outcome.kind)
    store.lane(0).reconnect()
    await Bun.sleep(20)
    expect(await store.lane(0).appendBatch(batch)).toBe('durable')
    expect(await seqsOf(AGENCY.id)).toEqual([1])
  })
})

test('S2: entries are not read without those of a month that is archived in the middle of it', async () => {
  const { store } = await open()
  await appendSets(store, await store.takeOver('test'), 2)
  // As retire_month does it: the tables of the month are locked until it commits.
  // Whichever month it is: what is older than the first month of the database is in that.
  const [row] = await database.sql<{ part: string; bounds: string }[]>`
    select relname as part, pg_get_expr(relpartbound, oid) as bounds from pg_class where oid = (select max(tableoid) from journal)`
  const { part, bounds } = row ?? { part: '', bounds: '' }
  const commit = await holding(
    database.url,
    `lock table journal in access exclusive mode;
     insert into archived_unit (agency_id, unit_id, seq) values ('${uuidOf(AGENCY.id)}', '${uuidOf(UNIT_A)}', 2);
     alter table journal detach partition ${part}`,
  )
  const read = store.loadEntries(AGENCY.id, UNIT_A, 0).catch((error: unknown) => error)
  await eventually('it waits for the archive', async () => {
    const waiting = await database.sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from journal%'`
    return waiting.length > 0
  })
  await commit()
  const found = await read
  await database.sql.unsafe(`
    alter table journal attach partition ${part} ${bounds}; delete from archived_unit`)
  expect(found).toBeInstanceOf(CorruptLedgerError)
})

test('J3: a booking is found though months were made since, in whose place lines of a sandbox would now be', async () => {
  const { store } = await open()
  const term = await store.takeOver('test')
  const [sandbox] = agenciesOfShards(1)
  // Its clock is ahead of all months.
  const refusal = audited('1', 1, { at: Date.UTC(2090, 0, 15), ...(sandbox && { agencyId: sandbox }) })
  const batch = batchOf(term, [booked('1'), refusal])
  expect(await store.lane(0).appendBatch(batch)).toBe('durable')
  await database.sql`select ensure_months((newest_month + interval '1 month')::date) from ledger`
  await store.takeOver('newer')
  expect(await store.lane(0).wasWritten(batch)).toBe(true)
})

describe('a server that takes no writes', () => {
  /** Holds for sessions that begin after it; said from another database, where it does not hold. */
  const readOnly = async (state: 'on' | 'off') => {
    const admin = connect(serverUrl(), { purpose: 'admin' })
    const name = new URL(database.url).pathname.slice(1)
    await admin.unsafe(`alter database ${name} set default_transaction_read_only = ${state}`)
    await admin.end()
  }
  afterEach(() => readOnly('off'))

  test('is sent nothing by a connection that has not written yet', async () => {
    const { store } = await open()
    const batch = emptyBatch(await store.takeOver('test'))
    // What the connection before it has shown counts for nothing.
    expect(await store.lane(0).appendBatch(batch)).toBe('durable')
    await readOnly('on')
    store.lane(0).reconnect()
    expect(await store.lane(0).appendBatch(batch)).toMatchObject({ kind: 'not_sent', cause: expect.any(ReadOnlyError) })
    await readOnly('off')
    store.lane(0).reconnect()
    expect(await store.lane(0).appendBatch(batch)).toBe('durable')
  })

  test('answers an error that is no data error, on a connection that had written', async () => {
    const { store } = await open()
    const batch = emptyBatch(await store.takeOver('test'))
    expect(await store.lane(0).appendBatch(batch)).toBe('durable')
    // As if the server had been set read-only under it: the session has shown that it writes, and now may not.
    await database.sql`create or replace function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'cannot execute UPDATE in a read-only transaction' using errcode = '25006'; end $$`
    await database.sql`create trigger refuse before update on shard execute function refuse()`
    expect(await store.lane(0).renewEpochs(batch.shards, Bun.randomUUIDv7())).toMatchObject({ kind: 'refused' })
    await database.sql`drop trigger refuse on shard`
  })
})

test('a statement that the server cancels at its timeout is too slow, not refused for its data', async () => {
  const { store } = await open()
  const batch = emptyBatch(await store.takeOver('test'))
  await database.sql`create or replace function stall() returns trigger language plpgsql as
    $$ begin perform pg_sleep(10); return null; end $$`
  await database.sql`create trigger stall before update on shard execute function stall()`
  const outcome = () => store.lane(0).renewEpochs(batch.shards, Bun.randomUUIDv7())
  // Again where the machine stood still so long that the client gave it up first.
  await eventually('it is too slow', async () => 'too_slow' === ((await outcome()) as { kind?: string }).kind)
  await database.sql`drop trigger stall on shard`
})
