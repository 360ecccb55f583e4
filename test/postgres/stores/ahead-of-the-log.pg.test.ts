import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { fingerprintOf } from '../../../src/events/changes/cursor.ts'
import { idOf, uuidOf } from '../../../src/lib/ids.ts'
import { PostgresSenderStore } from '../../../src/postgres/stores/postgres-sender-store.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { insertEndpoint } from '../../support/sample-rows.ts'
import { sampleId } from '../../support/samples.ts'
import { sectionOf } from '../../support/shell-blocks.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'
import { verifyDatabase } from '../../support/verify-database.ts'

/*
 * S3: the table "When the log loses its end" in docs/reliability.md, row by row. A booking is made, with everything that follows from it;
 * then its entry is taken from the log, and nothing else.
 */

const ENDPOINT = sampleId('whe', 'a')
const BODY = {
  unit: 'sea-view',
  arrival: '2030-01-05',
  departure: '2030-01-07',
  guest: { firstName: 'Ana', lastName: 'Reis' },
}
const SENT = { json: BODY, headers: { 'idempotency-key': 'lost' } }

/** The entry that the log has lost, and what a partner has of it. */
interface Lost {
  readonly shard: number
  readonly seq: number
  readonly fingerprint: string
  readonly bookingId: string
  readonly cursor: string
}

let database: TestDatabase
let service: TestService
let agency: Agency
let unit: Unit
let key: string
let lost: Lost

/** A service on a ledger whose log was cut off and then taken over in some way. */
async function cutOff(recover: () => PromiseLike<unknown>): Promise<void> {
  database = await testDatabase()
  const { sql } = database
  service = await startTestService({ on: database })
  agency = await service.agency()
  unit = await service.unit(agency, { slug: 'sea-view' })
  key = (await service.key(agency)).secret
  await service.book(agency, unit, '2030-01-01', '2030-01-03')
  await insertEndpoint(sql, { agencyId: agency.id, endpointId: ENDPOINT, sealed: 'sealed' })
  const { body } = await service.call('/bookings', { key, ...SENT })
  const { cursor } = (await service.call('/changes?after=start', { key })).body
  await makeDeliveries(database.url, service.ledger.epoch)
  // Writes the snapshots.
  await service.close()
  expect((await verifyDatabase(sql)).differences).toEqual([])
  const [entry] = await sql<{ shard: number; seq: number; link: Uint8Array }[]>`
    with gone as (delete from journal where booking_id = ${uuidOf(body.booking.id)}::text::uuid returning *)
    select shard, seq::float8 as "seq", link from gone`
  if (entry === undefined) throw new Error('Cannot cut off the log: it does not have the booking')
  lost = { ...entry, fingerprint: fingerprintOf(Buffer.from(entry.link)), bookingId: body.booking.id, cursor }
  found = await differences()
  await recover()
  ahead = await snapshotsAhead()
  service = await startTestService({ on: database })
}

/** By kind, with what each is about: as the log has been cut off, and nothing was done yet. */
let found: (readonly [string, string])[] = []
/** Of the snapshots that are ahead of the log before the service has started. */
let ahead = 0
const differences = async () =>
  (await verifyDatabase(database.sql)).differences.map(({ what, at }) => [what, at] as const)
const snapshotsAhead = async () =>
  (await database.sql`select from snapshot where unit_id = ${uuidOf(unit.id)}::text::uuid and seq >= ${lost.seq}`)
    .length
const lostDelivery = async () => {
  const [row] = await database.sql<{ id: string; eventId: string }[]>`
    select delivery_id as "id", event_id as "eventId" from webhook_delivery where seq = ${lost.seq}`
  return { id: idOf('dlv', row?.id ?? ''), eventId: idOf('evt', row?.eventId ?? '') }
}
/** A change after the loss. @returns the number of its entry */
let nights = 10
async function bookNext(): Promise<number> {
  const from = `2030-01-${nights++}`
  const { id } = await service.book(agency, unit, from, `2030-01-${nights}`)
  const [row] = await database.sql<{ seq: number }[]>`
    select seq::float8 as "seq" from booking where booking_id = ${uuidOf(id)}::text::uuid`
  return row?.seq ?? 0
}

const NODE = '00000000-0000-0000-0000-000000000001'
const WAYS = {
  'a take-over': () => database.sql`select take_over('test')`,
  'the take-over of a shard by a node': () =>
    database.sql`select take_shards(array[${lost.shard}::smallint], 'test', ${NODE}::text::uuid, null, 'node')`,
  'after-restore': () => database.sql`select after_restore()`,
}

type Case = (way: keyof typeof WAYS) => Promise<void>

/** By row of the table. */
const CASES: Record<string, Case> = {
  'snapshots of units': async () => {
    expect(found).toContainEqual(['snapshot', `${lost.shard}/${lost.seq}`])
    expect(ahead).toBe(0)
    expect((await differences()).filter(([what]) => what === 'snapshot')).toEqual([])
  },
  'rows of bookings, with their versions': async (way) => {
    expect(found).toContainEqual(['booking', lost.bookingId])
    const [row] =
      await database.sql`select version from booking where booking_id = ${uuidOf(lost.bookingId)}::text::uuid`
    expect(row?.['version'] > 1).toBe(way === 'after-restore')
  },
  'rows of units': async () => {
    const season = (nightlyPrice: number) => ({ name: 'Summer', from: '2031-06-01', to: '2031-09-01', nightlyPrice })
    const tagOf = async (price: number) => {
      const path = `/agencies/${agency.slug}/units/sea-view/rates`
      return (await service.put(path, { seasons: [season(price)] })).headers.get('etag')
    }
    const [first, other, again] = [await tagOf(100), await tagOf(200), await tagOf(100)]
    expect([first === again, first === other]).toEqual([true, false])
  },
  'answers to an `Idempotency-Key`': async () => {
    const again = await service.call('/bookings', { key, ...SENT })
    expect([again.status, again.body.booking.id]).toEqual([201, lost.bookingId])
    expect(await database.sql`select from booking where arrival = ${BODY.arrival}`).toHaveLength(1)
  },
  'cursors of webhook endpoints': async (way) => {
    expect(found).toContainEqual(['delivery', ENDPOINT])
    const [row] = await database.sql<{ seq: number }[]>`select made_seq::float8 as "seq" from webhook_endpoint`
    expect(row?.seq).toBe(lost.seq)
    if (way === 'after-restore') expect(await bookNext()).toBeGreaterThan(lost.seq)
  },
  "webhook deliveries, and the sender's claims of them": async () => {
    const { id, eventId } = await lostDelivery()
    expect(found).toContainEqual(['delivery', id])
    // Another entry under the number of the lost one, unless no number is given twice.
    await bookNext()
    await database.sql`update webhook_endpoint set status = 'active'`
    const store = new PostgresSenderStore(database.url)
    const claim = async () => {
      const term = await store.takeOver(service.ledger.epoch)
      return store.claim({ term, dueUntil: Date.now() + 60_000, room: 100, windowFresh: 100, windows: {} })
    }
    for (const claimed of [await claim(), await claim()])
      expect(claimed.find((each) => each.eventId === eventId)).toMatchObject({ body: null })
    await store.close()
  },
  'cursors of `GET /changes`': async () => {
    const read = () => service.call(`/changes?after=${lost.cursor}`, { key })
    const [first, , second] = [await read(), await bookNext(), await read()]
    expect([first.status, second.status]).toEqual([410, 410])
  },
  'numbers of entries': async (way) => {
    const next = await bookNext()
    expect(next > lost.seq + 1_000_000).toBe(way === 'after-restore')
    expect((await differences()).filter(([what]) => what === 'journal')).toEqual([])
  },
}

test('every row of the table is tried', () => {
  const section = sectionOf(readFileSync('docs/reliability.md', 'utf8'), 'When the log loses its end')
  const rows = [...section.matchAll(/^\| (.+?) \|/gm)].map(([, first]) => first)
  expect(rows.slice(1)).toEqual(Object.keys(CASES))
})

describe.each(Object.entries(WAYS))('after %s,', (way, recover) => {
  beforeAll(() => cutOff(recover))
  afterAll(async () => {
    await service.close()
    await database.drop()
  })
  for (const [row, holds] of Object.entries(CASES)) test(row, () => holds(way as keyof typeof WAYS))
})
