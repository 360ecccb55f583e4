import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AuditFilter } from '../../../src/accounts/audit-list.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { traceIdOf } from '../../../src/lib/traceparent.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { ListReads } from '../../../src/postgres/stores/list-reads.ts'
import { auditPage, PostgresAuditList } from '../../../src/postgres/stores/postgres-audit-list.ts'
import { PostgresJournalStore } from '../../../src/postgres/stores/postgres-journal-store.ts'
import { audited, batchOf, booked, entryOf, unitSet } from '../../support/journal-records.ts'
import { testDatabase } from '../../support/postgres.ts'
import { insertAgency } from '../../support/sample-rows.ts'
import { AGENCY, CALLER, sampleBooking, sampleId } from '../../support/samples.ts'

const ANY: AuditFilter = {
  from: null,
  to: null,
  actorKind: null,
  keyId: null,
  tokenId: null,
  personId: null,
  outcome: null,
  bookingId: null,
  requestId: null,
  traceId: null,
}
const ALL = { offset: 0, limit: 100 }
const OTHER = sampleId('agc', 'other')
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const T0 = Date.UTC(2027, 0, 1)

const database = await testDatabase()
const lists = connect(database.url, { purpose: 'lists' })
const list = new PostgresAuditList(new ListReads(lists))
afterAll(async () => {
  await lists.end({ timeout: 0 })
  await database.drop()
})

describe('the audit trail', () => {
  /** What the trail says of each, newest first. */
  const found = async (filter: Partial<AuditFilter> = {}, page = ALL) => {
    const { rows, total } = await list.list(AGENCY.id, { ...ANY, ...filter }, page)
    return { total, rows: rows.map(({ at, outcome, bookingId }) => [at - T0, outcome, bookingId]) }
  }
  const ids = async (agencyId: string) => (await list.list(agencyId, ANY, ALL)).rows.map(({ id }) => id)
  let entryIds: (string | undefined)[] = []

  beforeAll(async () => {
    for (const id of [AGENCY.id, OTHER]) await insertAgency(database.sql, id)
    const store = new PostgresJournalStore({ url: database.url, queries: database.sql })
    const system = { ...CALLER, actor: { kind: 'system', id: null } } as const
    const records = [
      unitSet(sampleId('unt', '0'), { at: T0 + 1 }),
      booked('1', { at: T0 + 3 }),
      booked('2', { at: T0 + 3 }),
      audited('refused', 7, { at: T0 + 2 }),
      audited('refused 2', 1, { at: T0 + 4 }),
      audited('replayed', 1, { at: T0 + 3 }),
      booked('elsewhere', { agencyId: OTHER, at: T0 + 9 }),
    ].map((record) => {
      if (record.audit?.auditId === sampleId('aud', 'replayed'))
        return { ...record, audit: { ...record.audit, outcome: 'REPLAYED', bookingId: sampleId('bkg', '1') } }
      if (record.audit?.auditId === sampleId('aud', 'refused 2'))
        return {
          ...record,
          audit: { ...record.audit, bookingId: 'as-given', requestId: 'req_other', traceparent: TRACEPARENT },
        }
      const isTraced =
        record.entries?.some(({ event }) => 'after' in event && event.after.id === sampleId('bkg', '2')) === true
      if (isTraced)
        return {
          ...record,
          entries: record.entries?.map((entry) => ({
            ...entry,
            caller: { ...entry.caller, traceparent: TRACEPARENT },
          })),
        }
      const isOfUnit = record.entries?.some(({ event }) => event.kind === 'unit_set') === true
      return isOfUnit ? { ...record, entries: record.entries?.map((entry) => ({ ...entry, caller: system })) } : record
    })
    entryIds = records.map(({ entries }) => entries?.[0]?.id)
    const batch = batchOf(await store.takeOver('test'), records)
    expect(await store.lane(0).appendBatch(batch)).toBe('durable')
    await store.close()
  })

  test('is one list of entries and lines, newest first, and of one agency', async () => {
    expect(await found()).toEqual({
      total: 6,
      rows: [
        [4, 'MIN_STAY', 'as-given'],
        [3, 'REPLAYED', sampleId('bkg', '1')],
        [3, 'OK', sampleId('bkg', '2')],
        [3, 'OK', sampleId('bkg', '1')],
        [2, 'MIN_STAY', null],
        [1, 'OK', null],
      ],
    })
  })

  test('names an entry by the UUID of its event, who made it and how', async () => {
    const { rows } = await list.list(AGENCY.id, { ...ANY, outcome: 'OK' }, ALL)
    const { actor, route, requestId } = CALLER
    const { event, ...line } = rows.at(-2) ?? { event: null }
    expect(line).toEqual({
      id: entryIds[1]?.replace('evt', 'aud') ?? '',
      at: T0 + 3,
      actor,
      route,
      requestId,
      traceId: null,
      outcome: 'OK',
      bookingId: sampleId('bkg', '1'),
      count: 1,
      pricing: null,
    })
    expect(rows.at(-1)?.actor).toEqual({ kind: 'system', id: null })
    expect([event?.kind, rows.at(-1)?.event?.kind]).toEqual(['booking_created', 'unit_set'])
  })

  test('shows the line of a damaged entry without what has changed', async () => {
    const { sql } = database
    const damage = (by: string) => sql`update journal set checksum = checksum # 1 where entry_id = ${uuidOf(by)}`
    const id = entryIds[1] ?? ''
    await damage(id)
    const { rows } = await list.list(AGENCY.id, { ...ANY, outcome: 'OK' }, ALL)
    expect([rows.at(-2)?.event, rows.at(-2)?.outcome]).toEqual([null, 'OK'])
    await damage(id)
  })

  test('has the same order on every page, and a count beyond its end', async () => {
    const all = await ids(AGENCY.id)
    const pages = await Promise.all(
      [0, 1, 2, 3, 4, 5, 6].map((offset) => list.list(AGENCY.id, ANY, { offset, limit: 1 })),
    )
    expect(pages.flatMap(({ rows }) => rows.map(({ id }) => id))).toEqual(all)
    expect(pages.map(({ total }) => total)).toEqual([6, 6, 6, 6, 6, 6, 6])
  })

  test.each<[string, Partial<AuditFilter>, number]>([
    ['from', { from: T0 + 3 }, 4],
    ['to', { to: T0 + 3 }, 2],
    ['actor', { actorKind: 'system' }, 1],
    ['key', { keyId: CALLER.actor.id }, 5],
    ['key of another form', { keyId: 'key' }, 0],
    ['access token with the UUID of a key', { tokenId: `tok${CALLER.actor.id?.slice(3)}` }, 0],
    ['outcome OK', { outcome: 'OK' }, 3],
    ['outcome of refusals', { outcome: 'MIN_STAY' }, 2],
    ['booking', { bookingId: sampleId('bkg', '1') }, 2],
    ['booking that a caller made up', { bookingId: 'as-given' }, 1],
    ['request', { requestId: 'req_other' }, 1],
    ['trace', { traceId: traceIdOf(TRACEPARENT) }, 2],
    ['trace that is another', { traceId: traceIdOf(TRACEPARENT).replace('4', '5') }, 0],
  ])('can be limited by %s', async (_, filter, total) => {
    const { rows, total: counted } = await found(filter)
    expect([counted, rows.length]).toEqual([total, total])
  })

  test('limited to a booking has its entries in every unit that it has been in', async () => {
    const store = new PostgresJournalStore({ url: database.url, queries: database.sql })
    const before = sampleBooking({ id: sampleId('bkg', 'moved'), unitId: sampleId('unt', 'first') })
    const units = ['second', 'third', 'second']
    const stays = [before, ...units.map((unit, i) => ({ ...before, unitId: sampleId('unt', unit), version: i + 2 }))]
    const events = stays.slice(1).map((after, i) => {
      const event = { kind: 'booking_changed', before: stays[i] ?? before, after } as const
      return { agencyId: OTHER, at: T0 + i, entries: [entryOf(event, { at: T0 + i })] }
    })
    const created = entryOf({ kind: 'booking_created', after: before }, { at: T0 })
    const term = await store.takeOver('test')
    const batches = [batchOf(term, [{ agencyId: OTHER, at: T0, entries: [created] }])]
    for (const event of events) batches.push(batchOf(term, [event], { after: batches }))
    for (const batch of batches) expect(await store.lane(0).appendBatch(batch)).toBe('durable')
    await store.close()
    const { total, rows } = await list.list(OTHER, { ...ANY, bookingId: before.id }, ALL)
    expect([total, rows.length]).toEqual([4, 4])
    expect((await list.list(AGENCY.id, { ...ANY, bookingId: before.id }, ALL)).total).toBe(0)
  })

  test('of an agency without any is empty', async () => {
    expect(await list.list(sampleId('agc', 'none'), ANY, ALL)).toEqual({ rows: [], total: 0 })
  })
})

/** The count reads some 30 blocks of the index for these. */
const ENTRIES = 30_000
const LINES = 3_000

describe(`a trail of ${ENTRIES} entries in three months, and ${LINES} lines`, () => {
  const agency = sampleId('agc', 'large')

  beforeAll(async () => {
    const admin = connect(database.url, { purpose: 'admin' })
    // Beside it, another agency has as many, all of one moment, as after an import.
    for (const id of [agency, OTHER]) {
      const at =
        id === agency ? admin`oldest_month + n * 250 * interval '1 s'` : admin`oldest_month + 250 * interval '1 s'`
      await admin`
        insert into journal (seq, at, checksum, epoch, agency_id, unit_id, entry_id, month, shard, is_announced, kind, actor_kind,
                             link, route, payload)
        select n, ${at}, 0, 1, ${uuidOf(id)}::text::uuid, gen_random_uuid(), gen_random_uuid(), date_trunc('month', ${at}), ${id === agency ? 1 : 2}, false, 'unit_set', 'portal',
               sha256('')::bytea, 'PATCH /portal/v1/units', repeat('x', 400)
        from ledger, generate_series(1, ${ENTRIES}::int) n`
    }
    await admin`
      insert into audit_line (at, count, agency_id, line_id, month, actor_kind, route, outcome)
      select oldest_month + n * 2500 * interval '1 s', 1, ${uuidOf(agency)}::text::uuid, gen_random_uuid(),
             date_trunc('month', oldest_month + n * 2500 * interval '1 s'), 'key', 'POST /partner/v1/bookings', 'MIN_STAY'
      from ledger, generate_series(1, ${LINES}::int) n`
    await admin.unsafe('vacuum analyze')
    await admin.end()
  }, 120_000)

  /** Blocks that a page needs beyond those of the count. */
  async function blocksRead(offset: number, filter = ANY, agencyId = agency): Promise<number> {
    const [row] = await lists<{ 'QUERY PLAN': [{ Plan: Plan }] }[]>`
      explain (analyze, buffers, format json) ${auditPage(lists, { agencyId, filter, page: { offset, limit: 100 } })}`
    const plan = row?.['QUERY PLAN'][0].Plan
    if (plan === undefined) throw new Error('No plan came back')
    if (filter.bookingId !== null) return blocksOf(plan)
    return blocksOf(plan) - plan.Plans.filter((part) => part['Parent Relationship'] === 'InitPlan').reduce(sum, 0)
  }
  interface Plan {
    readonly 'Parent Relationship'?: string
    readonly 'Shared Hit Blocks': number
    readonly 'Shared Read Blocks': number
    readonly Plans: readonly Plan[]
  }
  const blocksOf = (plan: Plan) => plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  const sum = (blocks: number, plan: Plan) => blocks + blocksOf(plan)

  test('has a first page that reads no more than its rows, and a fiftieth that reads what lies before', async () => {
    expect(await blocksRead(0)).toBeLessThan(150)
    expect(await blocksRead(4_900)).toBeLessThan(1_000)
    expect(await blocksRead(0, ANY, OTHER)).toBeLessThan(150)
  })

  test('is searched for a booking in the entries of its units only', async () => {
    // What is left to read are the lines.
    expect(await blocksRead(0, { ...ANY, bookingId: sampleId('bkg', 'none') })).toBeLessThan(150)
  })
})
