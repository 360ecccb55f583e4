import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from '../../src/postgres/client/connect.ts'
import { PostgresSenderStore } from '../../src/postgres/stores/postgres-sender-store.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { insertAgency, insertEndpoint } from '../support/sample-rows.ts'
import { sampleId } from '../support/samples.ts'
import { type SenderTables, senderStoreContract } from './sender-store.contract.ts'

let database: TestDatabase
let store: PostgresSenderStore

beforeAll(async () => {
  database = await testDatabase()
  store = new PostgresSenderStore(database.url)
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

const CREATED = new Date('2027-01-01T00:00:00Z')

async function openTables(): Promise<SenderTables> {
  const { sql } = database
  await sql`truncate agency, webhook_endpoint, webhook_event, webhook_delivery, webhook_attempt cascade`
  const [fence] = await sql<{ epoch: number }[]>`select epoch::int from writer_fence`
  return {
    store,
    epoch: fence?.epoch ?? 0,
    addEndpoint: async ({ id, agencyId, status = 'active' }) => {
      await insertAgency(sql, agencyId)
      await insertEndpoint(sql, { agencyId, endpointId: id, status, sealed: 'sealed' })
    },
    addDelivery: async (deliveryId, { id, agencyId }, at) => {
      const eventId = deliveryId.replace('dlv', 'evt')
      await sql`
        insert into webhook_event (agency_id, event_id, seq, kind, booking_id, body, occurred_at)
        values (${agencyId}, ${eventId}, 1, 'booking.created', ${sampleId('bkg', 'a')}, '{}', ${CREATED})`
      await sql`
        insert into webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, next_attempt_at, created_at)
        values (${agencyId}, ${deliveryId}, ${id}, ${eventId}, 'pending', ${new Date(at)}, ${CREATED})`
    },
    delivery: async (id) => {
      const [row] = await sql`
        select status, attempts, tries, next_attempt_at, finished_at, claimed_by::int from webhook_delivery
        where delivery_id = ${id}`
      const log = await sql`
        select attempt, at, duration_ms, http_status, reason, detail from webhook_attempt where delivery_id = ${id}
        order by attempt`
      return {
        status: row?.['status'],
        attempts: row?.['attempts'],
        tries: row?.['tries'],
        nextAttemptAt: row?.['next_attempt_at']?.getTime() ?? null,
        finishedAt: row?.['finished_at']?.getTime() ?? null,
        claimedBy: row?.['claimed_by'],
        log: log.map((attempt) => ({
          attempt: attempt['attempt'],
          at: attempt['at'].getTime(),
          durationMs: attempt['duration_ms'],
          httpStatus: attempt['http_status'],
          reason: attempt['reason'],
          detail: attempt['detail'],
        })),
      }
    },
    endpoint: async (id) => {
      const [row] = await sql`
        select status, consecutive_failures, disabled_reason, revision from webhook_endpoint where endpoint_id = ${id}`
      return {
        status: row?.['status'],
        consecutiveFailures: row?.['consecutive_failures'],
        disabledReason: row?.['disabled_reason'],
        revision: row?.['revision'],
      }
    },
    setEndpoint: async (id, change) =>
      void (await sql`update webhook_endpoint set ${sql(change)} where endpoint_id = ${id}`),
    setDelivery: async (id, change) =>
      void (await sql`
        update webhook_delivery set status = ${change.status}, next_attempt_at = null where delivery_id = ${id}`),
  }
}

senderStoreContract('in Postgres', openTables)

test('a claim skips a large backlog: 200,000 pending deliveries of one endpoint cost the others nothing', async () => {
  const { addEndpoint, addDelivery, epoch } = await openTables()
  // Inserting the backlog can take long.
  const sql = connect(database.url, { purpose: 'admin' })
  for (const id of ['a', 'b', 'c']) await addEndpoint({ id: sampleId('whe', id), agencyId: sampleId('agc', id) })
  const c = { id: sampleId('whe', 'c'), agencyId: sampleId('agc', 'c') }
  await addDelivery(sampleId('dlv', 'c'), c, 1_800_000_000_000)
  const b = { id: sampleId('whe', 'b'), agencyId: sampleId('agc', 'b'), eventId: sampleId('evt', 'b') }
  await sql`
    insert into webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, next_attempt_at, created_at)
    select ${b.agencyId}, 'dlv_' || lpad(n::text, 32, '0'), ${b.id}, ${b.eventId}, 'pending', ${CREATED}, ${CREATED}
    from generate_series(1, 200000) n`
  await sql`
    insert into webhook_event (agency_id, event_id, kind, body, occurred_at)
    values (${b.agencyId}, ${b.eventId}, 'booking.created', '{}', ${CREATED})`
  await sql`analyze webhook_delivery`
  await sql.end()
  const term = await store.takeOver(epoch)
  const options = { term, dueUntil: 1_800_000_000_000, room: 100, windowFresh: 2, windows: { [b.id]: 16 } }
  expect(await store.claim(options)).toHaveLength(17)
  const before = await rowsRead()
  for (let i = 0; i < 20; i++) await store.claim(options)
  // Allows for rows left dead by earlier claims. Reading the whole backlog would be 200,000.
  expect((await rowsRead()) - before).toBeLessThan(50_000)
})

/** Delivery rows read by statements of the store, in tables and indexes. */
async function rowsRead(): Promise<number> {
  // A session reports its counters once a second, with its next statement.
  await Bun.sleep(1_100)
  for (let i = 0; i < 4; i++) await Promise.all([store.nextDue(4_000_000_000_000), store.nextDue(4_000_000_000_000)])
  await Bun.sleep(100)
  const [row] = await database.sql<{ n: number }[]>`
    select (select seq_tup_read from pg_stat_user_tables where relname = 'webhook_delivery')::float8
         + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'webhook_delivery')::float8 as n`
  return row?.n ?? Number.NaN
}
