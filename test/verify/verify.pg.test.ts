import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import { connect } from '../../src/postgres/client/connect.ts'
import { PostgresVerifyStore } from '../../src/postgres/stores/postgres-verify-store.ts'
import { DIFFERENCES_MAX } from '../../src/verify/findings.ts'
import type { VerifiedUnit, VerifyStore } from '../../src/verify/verify-store.ts'
import { testDatabase } from '../support/postgres.ts'
import { CALLER, sampleId } from '../support/samples.ts'
import { LivedLedger } from './support/lived-ledger.ts'

let lived: LivedLedger

const database = await testDatabase()
afterAll(() => database.drop())
beforeEach(async () => {
  lived = await LivedLedger.open(database)
})
afterEach(() => lived.ledger.close())

/** Wraps `store`, and records the length of every list it returns. */
function counting(store: VerifyStore): { store: VerifyStore; largest: Map<string, number> } {
  const largest = new Map<string, number>()
  const counted = new Proxy(store, {
    get: (target, name: keyof VerifyStore) => {
      const method = target[name] as (...args: unknown[]) => Promise<unknown>
      return async (...args: unknown[]) => {
        const rows = await method.apply(target, args)
        if (Array.isArray(rows)) largest.set(name, Math.max(largest.get(name) ?? 0, rows.length))
        return rows
      }
    },
  })
  return { store: counted, largest }
}

test('an intact ledger matches its journal, including memory', async () => {
  await lived.live()
  await lived.withSnapshot()
  const report = await lived.check()
  expect(report.differences).toEqual([])
  expect(report).toMatchObject({ units: 2, bookings: 3, entries: 9, events: 8 })
  expect(report.snapshots).toBeGreaterThan(0)
})

test('no page has more rows than the limit, and the page size does not change the result (V1)', async () => {
  await lived.live()
  await lived.withSnapshot()
  const whole = await lived.check()
  for (const limit of [1, 2, 3]) {
    const { store, largest } = counting(new PostgresVerifyStore(database.sql))
    expect(await lived.check({ store, limit })).toEqual(whole)
    // Of a fixed number: a row per shard, and the few snapshots that are kept per unit.
    expect([largest.get('extents'), largest.get('snapshots')]).toEqual([256, expect.any(Number)])
    largest.delete('extents')
    largest.delete('snapshots')
    expect([...largest].filter(([, rows]) => rows > limit)).toEqual([])
    expect([...largest.keys()].sort()).toEqual([
      ...['agencies', 'bookingsById', 'cursorsBeyondEnd', 'entries', 'log', 'missingDeliveries', 'orphanedDeliveries'],
      ...['strayBookings', 'strayDeliveries', 'strayErasures', 'treeParts', 'units'],
    ])
  }
})

test('the next units are found without reading the others, and those that only the table has are among them', async () => {
  await lived.live()
  await database.sql`
    insert into unit select (jsonb_populate_record(
      null::unit, to_jsonb(u) || jsonb_build_object('unit_id', md5(i::text)::uuid, 'slug', 'only-' || i))).*
    from (select * from unit limit 1) u, generate_series(1, 500) i`
  await database.sql`analyze unit`
  const reader = connect(database.url, { purpose: 'admin' })
  try {
    await reader`begin`
    const store = new PostgresVerifyStore(reader)
    const found: VerifiedUnit[] = []
    for (;;) {
      const page = await store.units(found.at(-1) ?? null, 100)
      found.push(...page)
      if (page.length === 0) break
    }
    const [read] = await reader`
      select seq_tup_read::int as whole, idx_tup_fetch::int as "byKey" from pg_stat_xact_user_tables where relname = 'unit'`
    expect([found.length, new Set(found.map(({ unitId }) => unitId)).size]).toEqual([502, 502])
    expect(found.filter(({ hasEntries }) => hasEntries)).toHaveLength(2)
    // A page of 100 begins after the last row of the one before it.
    expect([read?.['whole'], read?.['byKey'] < 600]).toEqual([0, true])
  } finally {
    await reader.end()
  }
})

test('a completely damaged ledger is reported as its first differences and their number', async () => {
  await lived.live()
  await database.sql`
    insert into booking (total_amount, seq, created_at, updated_at, agency_id, booking_id, unit_id, arrival, departure, adults,
                         children, version, extra_bed, type, status, source)
    select total_amount, 0, created_at, updated_at, agency_id, md5(i::text)::uuid, unit_id, date '2030-01-01' + i,
           date '2030-01-01' + i + 1, adults, children, 1, extra_bed, type, status, source
    from (select * from booking limit 1) one, generate_series(1, ${DIFFERENCES_MAX}::int + 50) i`
  await database.sql`delete from guest`
  const report = await lived.check()
  expect(report.differences).toHaveLength(DIFFERENCES_MAX)
  expect(report.differenceCount).toBeGreaterThan(DIFFERENCES_MAX)
})

test('it runs while the service writes', async () => {
  const { ledger, agency } = lived
  const [a] = lived.units
  let stop = false
  const writing = (async () => {
    for (let day = 0; !stop && day < 28; day++) {
      const arrival = `2028-${String(1 + (day % 12)).padStart(2, '0')}-${String(1 + Math.floor(day / 12)).padStart(2, '0')}`
      const next = `${arrival.slice(0, 8)}${String(2 + Math.floor(day / 12)).padStart(2, '0')}`
      const bookingId = await lived.book(a, arrival, next)
      await ledger.commands.cancel(agency, { bookingId, reason: null }, CALLER)
    }
  })()
  for (let i = 0; i < 10; i++) expect((await lived.check()).differences).toEqual([])
  stop = true
  await writing
})

describe('it finds', () => {
  const sql = () => database.sql
  /** Each damage, and the kind of difference it must be reported as. */
  const DAMAGE: Record<
    string,
    { what: string; damage: (ids: Awaited<ReturnType<LivedLedger['live']>>) => Promise<unknown> }
  > = {
    'a flipped byte in the journal': {
      what: 'journal',
      damage: () => sql()`update journal set payload = replace(payload, '2027-03-10', '2027-03-11') where seq = 4`,
    },
    'a missing journal entry': { what: 'journal', damage: () => sql()`delete from journal where seq = 5` },
    'a damaged snapshot': { what: 'snapshot', damage: () => sql()`update snapshot set state = state || ' '` },
    'a readable but wrong snapshot': {
      what: 'snapshot',
      damage: () => sql()`
        update snapshot set state = replace(state, '"minStay":1', '"minStay":2'), hash = encode(sha256(
          convert_to('unt_' || replace(unit_id::text, '-', '') || chr(10) || replace(state, '"minStay":1', '"minStay":2'),
                     'UTF8')), 'hex')`,
    },
    'a snapshot ahead of the log': {
      what: 'snapshot',
      damage: () => sql()`update snapshot set seq = 1000 where seq = (select max(seq) from snapshot)`,
    },
    'a booking with changed dates': {
      what: 'booking',
      damage: ({ kept }) => sql()`update booking set departure = departure + 1 where booking_id = ${uuidOf(kept)}`,
    },
    'a missing booking': {
      what: 'booking',
      damage: ({ moved }) => sql()`delete from booking where booking_id = ${uuidOf(moved)}`,
    },
    'a booking that is not in the journal': {
      what: 'booking',
      damage: () => sql()`
        insert into booking (total_amount, seq, created_at, updated_at, agency_id, booking_id, unit_id, arrival, departure,
                             adults, children, version, extra_bed, type, status, source)
        select total_amount, 1, created_at, updated_at, agency_id, ${uuidOf(sampleId('bkg', 'x'))}, unit_id, '2029-01-01',
               '2029-01-02', adults, children, version, extra_bed, type, status, source from booking limit 1`,
    },
    'a booking whose row names an entry before its last one': {
      what: 'booking',
      damage: ({ moved }) => sql()`update booking set seq = seq - 1 where booking_id = ${uuidOf(moved)}`,
    },
    'a booking whose row names an entry of another booking': {
      what: 'booking',
      damage: ({ moved }) => sql()`
        update booking set seq = (select max(seq) from journal) where booking_id = ${uuidOf(moved)}`,
    },
    'a missing guest': { what: 'guest', damage: () => sql()`delete from guest` },
    'an announced entry that fires no event': {
      what: 'journal',
      damage: () => sql()`update journal set is_announced = true where not is_announced`,
    },
    'an entry that fires an event, but is not announced': {
      what: 'journal',
      damage: () => sql()`update journal set is_announced = false where seq = 4`,
    },
  }
  for (const [damage, { what, damage: inflict }] of Object.entries(DAMAGE)) {
    test(damage, async () => {
      const ids = await lived.live()
      // Two units with more than three entries each, three of them in a snapshot.
      await lived.withSnapshot()
      await inflict(ids)
      // Also with one row per page: the result must not depend on where a page ends.
      for (const options of [{}, { limit: 1 }])
        expect((await lived.check(options)).differences.map((difference) => difference.what)).toContain(what as never)
    })
  }

  test('an actor whose state differs from the journal', async () => {
    await lived.live()
    const unitId = sampleId('unt', 'a')
    lived.ledger.directory.peek(unitId)?.occupied.setRange(21_000 as never, 21_001 as never)
    expect((await lived.check()).differences).toMatchObject([{ what: 'memory', unitId }])
  })
})

test('it says nothing of the free texts of a booking, which are in no entry (J6)', async () => {
  await lived.live()
  await database.sql`update booking set source_ref = 'x', cancel_reason = 'y', notes = 'z'`
  expect((await lived.check()).differences).toEqual([])
})

describe('of webhooks it finds', () => {
  const ENDPOINT = sampleId('whe', 'a')

  /** An endpoint whose cursor is at the end of the log, with its deliveries. */
  beforeEach(async () => {
    await lived.live()
    await database.sql`
      insert into webhook_endpoint (agency_id, endpoint_id, url, status, secret_sealed, created_at, updated_at, made_seq, from_seq)
      values (${uuidOf(lived.agency.id)}, ${uuidOf(ENDPOINT)}, 'https://hooks.example/in', 'active', '', now(), now(), 9, 4)`
    await database.sql`
      insert into webhook_delivery (seq, created_at, finished_at, agency_id, endpoint_id, delivery_id, event_id, month, entry_month,
                                    kind, status)
      select seq, now(), now(), agency_id, ${uuidOf(ENDPOINT)}, entry_id, entry_id, month, month, 'booking.updated', 'delivered'
      from journal where is_announced and seq > 4`
    expect((await lived.check()).differences).toEqual([])
  })

  const found = async () =>
    (await lived.check()).differences.map(({ what, at, message }) => [what, at, message] as const)
  const deliveryOf = async (seq: number) => {
    const [row] = await database.sql<
      { id: string }[]
    >`select delivery_id as "id" from webhook_delivery where seq = ${seq}`
    return idOf('dlv', row?.id ?? '')
  }
  const shard = async () => (await database.sql<{ shard: number }[]>`select shard from journal limit 1`)[0]?.shard

  test.each([
    ['an entry that does not exist', () => database.sql`update webhook_delivery set seq = 90 where seq = 6`],
    ['another event', () => database.sql`update webhook_delivery set event_id = ${uuidOf(ENDPOINT)} where seq = 6`],
    [
      'an entry that fires no event',
      () => database.sql`
      update webhook_delivery d set seq = 9, event_id = j.entry_id from journal j where j.seq = 9 and d.seq = 6`,
    ],
  ])('a delivery of %s', async (_, inflict) => {
    const at = await deliveryOf(6)
    await inflict()
    expect(await found()).toContainEqual(['delivery', at, 'the journal entry or endpoint of the delivery is missing'])
  })

  test('an entry behind the cursor without a delivery, and none behind where the cursor began', async () => {
    await database.sql`delete from webhook_delivery where seq = 6`
    const message = `journal entry ${await shard()}/6 has no delivery for the endpoint`
    expect(await found()).toEqual([['delivery', ENDPOINT, message]])
    await database.sql`update webhook_endpoint set from_seq = 6`
    expect(await found()).toEqual([])
  })

  test('a cursor that the log has not reached', async () => {
    await database.sql`update webhook_endpoint set made_seq = 10`
    const message = `the endpoint's cursor is at ${await shard()}/10, which the log has not reached`
    expect(await found()).toEqual([['delivery', ENDPOINT, message]])
  })

  test('a delivery of no endpoint, and pending ones of a deleted endpoint', async () => {
    const at = await deliveryOf(6)
    await database.sql`update webhook_delivery set endpoint_id = ${uuidOf(sampleId('whe', 'x'))} where seq = 6`
    expect((await found()).map(([, id]) => id).sort()).toEqual([at, ENDPOINT].sort())
    await database.sql`update webhook_endpoint set status = 'deleted'`
    await database.sql`update webhook_delivery set endpoint_id = ${uuidOf(ENDPOINT)}`
    expect(await found()).toEqual([])
    await database.sql`update webhook_delivery set status = 'pending', next_attempt_at = now() where seq = 6`
    expect(await found()).toEqual([['delivery', at, 'the delivery is pending, but its endpoint is deleted']])
  })

  test('no fault with a ping', async () => {
    await database.sql`
      insert into webhook_delivery (created_at, finished_at, agency_id, endpoint_id, delivery_id, event_id, month, kind, status)
      select created_at, now(), agency_id, endpoint_id, ${uuidOf(sampleId('dlv', 'ping'))}, ${uuidOf(sampleId('evt', 'ping'))},
             month, 'ping', 'delivered' from webhook_delivery limit 1`
    expect(await found()).toEqual([])
  })
})
