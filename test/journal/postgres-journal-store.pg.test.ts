import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { PostgresJournalStore } from '../../src/db/postgres-journal-store.ts'
import { UnitState } from '../../src/domain/unit-state.ts'
import { encodeSnapshot } from '../../src/journal/snapshot-codec.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { sampleUnit } from '../support/samples.ts'
import { journalStoreContract } from './journal-store.contract.ts'

let database: TestDatabase
let opened: PostgresJournalStore[] = []
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()))
  await database.drop()
})

async function open() {
  const { sql } = database
  await sql`truncate agency cascade`
  await sql`truncate journal, snapshot, booking, audit`
  await sql`insert into agency (agency_id, slug, name, currency, timezone, status, api_access, requests_per_minute,
                                requests_per_month, default_hold_hours, created_at)
            values ('agc_a', 'a', 'A', 'EUR', 'Europe/Lisbon', 'active', true, 60, 50000, 48, now())`
  const store = new PostgresJournalStore({ url: database.url, queries: sql })
  opened = [...opened, store]
  return {
    store,
    journalSeqs: async () => (await sql`select seq::int from journal order by seq`).map((row) => row['seq']),
    bookingIds: async () => (await sql`select booking_id from booking order by 1`).map((row) => row['booking_id']),
    auditCounts: async () => (await sql`select count::int from audit`).map((row) => row['count']),
  }
}

journalStoreContract('the journal in Postgres', open)

describe('snapshots in Postgres', () => {
  test('of each unit the three newest are kept', async () => {
    const { store } = await open()
    const state = UnitState.empty('unt_a')
    for (let seq = 1; seq <= 6; seq++) {
      state.apply({ kind: 'unit_set', unit: sampleUnit({ id: 'unt_a' }) }, seq)
      await store.writeSnapshots([encodeSnapshot('agc_a', state)])
    }
    expect((await store.loadUnit('agc_a', 'unt_a')).snapshots.map(({ seq }) => seq)).toEqual([6, 5, 4])
  })

  test('J1, J3: a killed connection makes the outcome unknown, and the re-send finds or writes the batch', async () => {
    const { store, journalSeqs } = await open()
    const { epoch } = await store.takeOver('test')
    const content = {}
    await database.sql`select pg_terminate_backend(pid) from pg_stat_activity
                       where datname = current_database() and application_name = 'nightledger journal'`
    const outcome = await store.appendBatch({ epoch, batchId: Bun.randomUUIDv7(), firstSeq: 1, content })
    if (outcome !== 'durable') expect(['unknown', 'not_sent']).toContain(outcome.kind)
    store.reconnect()
    await Bun.sleep(20)
    expect(await store.appendBatch({ epoch, batchId: Bun.randomUUIDv7(), firstSeq: 1, content })).toBe('durable')
    expect(await journalSeqs()).toEqual([])
  })
})
