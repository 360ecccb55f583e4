import { afterAll, expect, test } from 'bun:test'
import { SenderReplacedError } from '../../../src/events/webhooks/sender-store.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { deliveryBacklog } from '../../../src/postgres/stores/pending-deliveries.ts'
import { PostgresSenderStore } from '../../../src/postgres/stores/postgres-sender-store.ts'
import { holding } from '../../support/held-lock.ts'
import { rounds } from '../../support/long-run.ts'
import { testDatabase } from '../../support/postgres.ts'
import { insertAgency, insertEndpoint } from '../../support/sample-rows.ts'
import { sampleId } from '../../support/samples.ts'
import { type SenderTables, senderStoreContract } from './sender-store.contract.ts'
import { insertEntries } from './support/insert-entries.ts'
import { MEMORY_MONTH } from './support/memory-sender-store.ts'
import { sampleEntry } from './support/sample-entries.ts'

const database = await testDatabase()
const store = new PostgresSenderStore(database.url)
afterAll(async () => {
  await store.close()
  await database.drop()
})

const CREATED = new Date()
const LONG_AGO = new Date(0)

async function openTables(): Promise<SenderTables> {
  const { sql } = database
  await sql`truncate agency, webhook_endpoint, webhook_delivery, webhook_attempt, journal, booking cascade`
  const [fence] = await sql<{ epoch: number }[]>`select epoch::int from shard where shard = 0`
  return {
    store,
    epoch: fence?.epoch ?? 0,
    ownership: async (shard) => {
      const [row] = await sql<{ epoch: number }[]>`select epoch::int from shard where shard = ${shard}`
      return { shard, epoch: row?.epoch ?? -1 }
    },
    raiseEpoch: async (shard) => void (await sql`update shard set epoch = epoch + 1 where shard = ${shard}`),
    addEntry: (entry) => insertEntries(sql, [entry]),
    damageEntry: async (entry) =>
      void (await sql`update journal set payload = payload || ' ' where entry_id = ${uuidOf(entry.id)}`),
    addEndpoint: async ({ id, agencyId, status = 'active' }) => {
      await insertAgency(sql, agencyId)
      await insertEndpoint(sql, { agencyId, endpointId: id, status, sealed: 'sealed' })
      await sql`update webhook_endpoint set updated_at = ${LONG_AGO} where endpoint_id = ${uuidOf(id)}`
    },
    addDelivery: async (deliveryId, { id, agencyId }, at) =>
      void (await sql`
        insert into webhook_delivery (agency_id, delivery_id, month, endpoint_id, event_id, seq, entry_month, kind, status,
                                      next_attempt_at, created_at)
        values (${uuidOf(agencyId)}, ${uuidOf(deliveryId)}, ${MEMORY_MONTH}, ${uuidOf(id)}, ${uuidOf(deliveryId)}, 1,
                ${MEMORY_MONTH}, 'booking.created', 'pending', ${new Date(at)}, ${CREATED})`),
    delivery: async (id) => {
      const [row] = await sql`
        select status, attempts, tries, next_attempt_at, finished_at, claimed_by::int from webhook_delivery
        where delivery_id = ${uuidOf(id)}`
      const log = await sql`
        select attempt, at, duration_ms, http_status, reason, detail from webhook_attempt where delivery_id = ${uuidOf(id)}
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
        select status, consecutive_failures, disabled_reason, revision from webhook_endpoint where endpoint_id = ${uuidOf(id)}`
      return {
        status: row?.['status'],
        consecutiveFailures: row?.['consecutive_failures'],
        disabledReason: row?.['disabled_reason'],
        revision: row?.['revision'],
      }
    },
    setEndpoint: async (id, { status, revision, updatedAt }) =>
      void (await sql`
        update webhook_endpoint set
          status = coalesce(${status ?? null}, status), revision = coalesce(${revision ?? null}, revision),
          updated_at = coalesce(${updatedAt === undefined ? null : new Date(updatedAt)}, updated_at)
        where endpoint_id = ${uuidOf(id)}`),
    setDelivery: async (id, change) =>
      void (await sql`
        update webhook_delivery set status = ${change.status}, next_attempt_at = null where delivery_id = ${uuidOf(id)}`),
  }
}

senderStoreContract('in Postgres', openTables)

const BACKLOG = rounds({ push: 50_000, long: 200_000 })

test(`a claim skips a large backlog: ${BACKLOG} pending deliveries of one endpoint cost the others nothing`, async () => {
  const { addEndpoint, addDelivery, epoch } = await openTables()
  // Inserting the backlog can take long.
  const sql = connect(database.url, { purpose: 'admin' })
  for (const id of ['a', 'b', 'c']) await addEndpoint({ id: sampleId('whe', id), agencyId: sampleId('agc', id) })
  const c = { id: sampleId('whe', 'c'), agencyId: sampleId('agc', 'c') }
  const dueUntil = CREATED.getTime()
  await addDelivery(sampleId('dlv', 'c'), c, dueUntil)
  const b = { id: sampleId('whe', 'b'), agencyId: sampleId('agc', 'b') }
  await sql`
    insert into webhook_delivery (agency_id, delivery_id, month, endpoint_id, event_id, seq, entry_month, kind, status,
                                  next_attempt_at, created_at)
    select ${uuidOf(b.agencyId)}, gen_random_uuid(), ${MEMORY_MONTH}, ${uuidOf(b.id)}, gen_random_uuid(), n, ${MEMORY_MONTH},
           'booking.created', 'pending', ${CREATED}, ${CREATED}
    from generate_series(1, ${BACKLOG}::int) n`
  await sql`analyze webhook_delivery`
  await sql.end()
  const term = await store.takeOver(epoch)
  const options = { term, dueUntil, room: 100, windowFresh: 2, windows: { [b.id]: 16 } }
  expect(await store.claim(options)).toHaveLength(17)
  const before = await rowsRead('webhook_delivery')
  for (let i = 0; i < 20; i++) await store.claim(options)
  // Allows for rows left dead by earlier claims. Reading the whole backlog once would be more.
  expect((await rowsRead('webhook_delivery')) - before).toBeLessThan(BACKLOG / 4)
})

test('a delivery whose entry is not there any more is claimed without a body', async () => {
  const { addEndpoint, addEntry, epoch } = await openTables()
  const [agencyId, id] = [sampleId('agc', 'a'), sampleId('whe', 'a')]
  await addEndpoint({ id, agencyId })
  for (const seq of [1, 2]) await addEntry(sampleEntry(agencyId, seq, { at: CREATED.getTime() }))
  const term = await store.takeOver(epoch)
  await store.makeDeliveries({ term, agencyIds: [agencyId], now: Date.now(), room: 100 })
  await database.sql`delete from journal where seq = 1`
  const claimed = await store.claim({ term, dueUntil: Date.now(), room: 100, windowFresh: 2, windows: {} })
  expect(claimed.map(({ body }) => body === null).sort()).toEqual([false, true])
})

test('the backlog has what is pending, and what an active endpoint has no delivery of yet: a sender that is down makes none', async () => {
  const { addEndpoint, addDelivery, addEntry, setEndpoint, epoch } = await openTables()
  const { sql } = database
  expect(await deliveryBacklog(sql)).toEqual({ pending: 0, oldestDueAt: null })
  const a = { id: sampleId('whe', 'a'), agencyId: sampleId('agc', 'a') }
  const b = { id: sampleId('whe', 'b'), agencyId: sampleId('agc', 'b') }
  for (const endpoint of [a, b]) await addEndpoint(endpoint)
  const at = CREATED.getTime()
  await addDelivery(sampleId('dlv', '1'), a, at)
  for (const seq of [1, 2, 3])
    await addEntry(sampleEntry(b.agencyId, seq, { at: at - 10_000 + seq, isAnnounced: seq > 1 }))
  expect(await deliveryBacklog(sql)).toEqual({ pending: 3, oldestDueAt: at - 9_998 })
  await setEndpoint(b.id, { updatedAt: at - 5_000 })
  expect(await deliveryBacklog(sql)).toEqual({ pending: 3, oldestDueAt: at - 5_000 })
  await setEndpoint(b.id, { status: 'disabled' })
  expect(await deliveryBacklog(sql)).toEqual({ pending: 1, oldestDueAt: at })
  await setEndpoint(b.id, { status: 'active' })
  const term = await store.takeOver(epoch)
  await store.makeDeliveries({ term, agencyIds: 'all', now: Date.now(), room: 100 })
  expect(await deliveryBacklog(sql)).toEqual({ pending: 3, oldestDueAt: at - 5_000 })
})

test('the backlog counts for each endpoint of an agency what that endpoint has no delivery of yet', async () => {
  const { addEndpoint, addEntry } = await openTables()
  const { sql } = database
  const agencyId = sampleId('agc', 'a')
  for (const [id, madeSeq] of [
    ['first', 1],
    ['second', 4],
  ] as const) {
    await addEndpoint({ id: sampleId('whe', id), agencyId })
    await sql`update webhook_endpoint set made_seq = ${madeSeq} where endpoint_id = ${uuidOf(sampleId('whe', id))}`
  }
  for (const seq of [1, 2, 3, 4, 5]) await addEntry(sampleEntry(agencyId, seq, { at: CREATED.getTime() }))
  expect(await deliveryBacklog(sql)).toMatchObject({ pending: 5 })
})

test('the sender of a node that joined more than a day ago is forgotten when another joins, unless it sends for a shard', async () => {
  const { ownership } = await openTables()
  const [idle, busy] = [await store.join(), await store.join()]
  const shards = [await ownership(3)]
  await store.sendFor(busy, shards)
  await database.sql`update sending_node set taken_at = clock_timestamp() - interval '25 hours'`
  await store.join()
  expect(await store.sendFor(busy, shards)).toEqual([3])
  await expect(store.sendFor(idle, shards)).rejects.toBeInstanceOf(SenderReplacedError)
})

test('an attempt is recorded while another endpoint of its agency is being changed', async () => {
  const { addEndpoint, addDelivery, endpoint, epoch } = await openTables()
  const [own, other] = ['own', 'other'].map((id) => ({ id: sampleId('whe', id), agencyId: sampleId('agc', 'a') })) as [
    { id: string; agencyId: string },
    { id: string; agencyId: string },
  ]
  for (const each of [own, other]) await addEndpoint(each)
  const [deliveryId, at] = [sampleId('dlv', '1'), CREATED.getTime()]
  await addDelivery(deliveryId, own, at)
  const term = await store.takeOver(epoch)
  expect(await store.claim({ term, dueUntil: at, room: 1, windowFresh: 1, windows: {} })).toHaveLength(1)
  const end = await holding(
    database.url,
    `select from webhook_endpoint where endpoint_id = '${uuidOf(other.id)}' for update`,
  )
  const recorded = store.record(term, [
    {
      agencyId: own.agencyId,
      deliveryId,
      month: MEMORY_MONTH,
      attemptsBefore: 0,
      attempts: 1,
      tries: 1,
      status: 'pending',
      nextAttemptAt: at + 60_000,
      finishedAt: null,
      attempt: { attempt: 1, at, durationMs: 12, httpStatus: 500, reason: null, detail: null },
      endpoint: { id: own.id, revision: 0, consecutiveFailures: 1, status: 'active', disabledReason: null, at },
    },
  ])
  try {
    await recorded
    expect(await endpoint(own.id)).toMatchObject({ consecutiveFailures: 1 })
  } finally {
    await end()
  }
})

test('making deliveries reads what is new, and no more than an index entry of agencies that have nothing new', async () => {
  const { addEndpoint, addEntry, epoch } = await openTables()
  const sql = connect(database.url, { purpose: 'admin' })
  const agencies = Array.from({ length: 50 }, (_, n) => sampleId('agc', `many ${n}`))
  for (const [n, agencyId] of agencies.entries()) await addEndpoint({ id: sampleId('whe', `many ${n}`), agencyId })
  // 200 entries that each endpoint is past, in two months.
  await sql`
    insert into journal (seq, at, checksum, epoch, agency_id, unit_id, booking_id, entry_id, month, shard, is_announced, kind,
                         actor_kind, link, route, payload)
    select 1000 * a.place + n, now(), 0, 0, agency_id, agency_id, agency_id, gen_random_uuid(),
           storage_month(now() + n * interval '5 hours'),
           shard_of(agency_id), true, 'booking_created', 'key', decode(repeat('00', 32), 'hex'), '', ''
    from (select agency_id, row_number() over () as place from agency) a, generate_series(1, 200) n`
  await sql`update webhook_endpoint set made_seq = 100000, made_month = ${MEMORY_MONTH}`
  await sql`analyze journal`
  await sql.end()
  const [agencyId = ''] = agencies
  await addEntry(sampleEntry(agencyId, 100_001, { at: CREATED.getTime() }))
  const term = await store.takeOver(epoch)
  const make = () => store.makeDeliveries({ term, agencyIds: 'all', now: Date.now(), room: 100 })
  const before = await rowsRead('journal')
  expect(await make()).toEqual({ made: 1, mayHaveMore: false })
  for (let i = 0; i < 20; i++) expect(await make()).toEqual({ made: 0, mayHaveMore: false })
  expect((await rowsRead('journal')) - before).toBeLessThan(1_000)
})

/** Rows of a partitioned table read by statements of the store, in tables and indexes. */
async function rowsRead(table: 'webhook_delivery' | 'journal'): Promise<number> {
  // A session reports its counters once a second, with its next statement.
  await Bun.sleep(1_100)
  for (let i = 0; i < 4; i++) await Promise.all([store.nextDue(4_000_000_000_000), store.nextDue(4_000_000_000_000)])
  await Bun.sleep(100)
  const [row] = await database.sql<{ n: number }[]>`
    select (select sum(seq_tup_read) from pg_stat_user_tables where relname like ${`${table}%`})::float8
         + (select sum(idx_tup_read) from pg_stat_user_indexes where relname like ${`${table}%`})::float8 as n`
  return row?.n ?? Number.NaN
}

test('the backlog is counted up to as many as asked, whether they are pending or not made yet', async () => {
  const { addEndpoint, addDelivery, addEntry } = await openTables()
  const endpoint = { id: sampleId('whe', 'a'), agencyId: sampleId('agc', 'a') }
  await addEndpoint(endpoint)
  for (const n of ['1', '2', '3']) await addDelivery(sampleId('dlv', n), endpoint, CREATED.getTime())
  for (const seq of [1, 2, 3]) await addEntry(sampleEntry(endpoint.agencyId, seq, { at: CREATED.getTime() }))
  const counted = async (max: number) =>
    (await database.sql<{ waiting: number }[]>`select waiting::int from webhook_backlog(${max})`)[0]?.waiting
  expect(await Promise.all([2, 4, 6, 7].map(counted))).toEqual([2, 4, 6, 6])
})

test('what the database answers reaches the sender, unless another sender has taken over', async () => {
  const closed = new PostgresSenderStore(database.url)
  await closed.close()
  const failed = await closed.takeOver(1).catch((error: { code?: string }) => error.code)
  expect(failed).toBe('CONNECTION_ENDED')
})
