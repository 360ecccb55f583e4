import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dueAt } from '../../../src/accounts/retention.ts'
import { RetentionJob } from '../../../src/accounts/retention-job.ts'
import { keepMonthEnds } from '../../../src/app/month-archive.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { DAY_MS } from '../../../src/lib/clock.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { PostgresErasureRows } from '../../../src/postgres/stores/postgres-erasure-rows.ts'
import { PostgresRetentionRows } from '../../../src/postgres/stores/postgres-retention-rows.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { makeCheckpoints } from '../../support/checkpoints.ts'
import { cliOn } from '../../support/cli-terminal.ts'
import { eventually } from '../../support/eventually.ts'
import { clockAt, haveMonthsSince, monthsAgo } from '../../support/past-months.ts'
import { testDatabase } from '../../support/postgres.ts'
import { sectionOf, shellBlocksOf } from '../../support/shell-blocks.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

const DEFAULTS = { bookingYears: 10, guestMonths: 36, logYears: 10, deliveryDays: 90, idempotencyHours: 24 }
const OLDEST = monthsAgo(6)

let service: TestService
let agency: Agency
let unit: Unit
let now = Date.now()

/** Bookings are made half a year ago; rounds take place now. */
beforeAll(async () => {
  const database = await testDatabase()
  await haveMonthsSince(database.sql, OLDEST)
  now = Date.parse(`${OLDEST}T12:00:00Z`)
  const clock = clockAt(() => now)
  // No round but those that the tests ask for: the service's first is after half a minute.
  const after: typeof clock.after = (ms, task) => (ms >= 30_000 ? () => {} : clock.after(ms, task))
  service = await startTestService({ clock: { ...clock, after }, on: database })
})
afterAll(async () => {
  const { database } = service
  await service.close()
  await database.drop()
})
/** Shards that may have entries of this month: nothing is stored below the month of the entry before it in its shard. */
const usedShards = new Set<number>()
/** The only agency that anything is due of. */
beforeEach(async () => {
  now = Date.parse(`${OLDEST}T12:00:00Z`)
  do {
    await service.database.sql`update agency set status = 'deleted'`
    agency = await service.agency()
  } while (usedShards.has(shardOf(agency.id)))
  usedShards.add(shardOf(agency.id))
  unit = await service.unit(agency)
})

const of = (path = '') => `/agencies/${agency.slug}${path}`
const run = async (dryRun = false) =>
  (await service.ask(`/retention/run?dryRun=${dryRun}`, undefined, { method: 'POST' })).body.removed

describe('the settings', () => {
  test("are the operator's until the agency sets its own, and again for what it leaves out", async () => {
    expect((await service.get(of('/retention'))).body).toEqual({ retention: DEFAULTS, defaults: DEFAULTS })
    const set = await service.put(of('/retention'), { guestMonths: 24, deliveryDays: 30 })
    const own = { retention: { ...DEFAULTS, guestMonths: 24, deliveryDays: 30 }, defaults: DEFAULTS }
    expect([set.status, set.body]).toEqual([200, own])
    expect((await service.get(of('/retention'))).body).toEqual(own)
    await service.put(of('/retention'), { logYears: 12 })
    expect((await service.get(of('/retention'))).body.retention).toEqual({ ...DEFAULTS, logYears: 12 })
    const { audit } = (await service.get(of('/audit'))).body
    expect(audit[0]).toMatchObject({ route: 'PUT /portal/v1/agencies/{agencySlug}/retention', outcome: 'OK' })
  })

  test('are taken in the form in which they are shown, and with no other member', async () => {
    await service.put(of('/retention'), { bookingYears: 3, guestMonths: 24 })
    const shown = (await service.get(of('/retention'))).body
    expect((await service.put(of('/retention'), shown)).body).toEqual(shown)
    const { status, body } = await service.put(of('/retention'), { bookingYear: 30 })
    expect([status, body.errors[0].field]).toEqual([400, 'bookingYear'])
    expect((await service.get(of('/retention'))).body).toEqual(shown)
  })

  test('of one agency are not those of another', async () => {
    const other = await service.agency()
    await service.put(of('/retention'), { guestMonths: 1 })
    expect((await service.get(`/agencies/${other.slug}/retention`)).body.retention).toEqual(DEFAULTS)
  })

  test.each([
    ['bookingYears', 0, 101],
    ['guestMonths', 0, 1_201],
    ['logYears', 0, 101],
    ['deliveryDays', 6, 3_651],
    ['idempotencyHours', 23, 25],
  ])('refuse %s below and above its bounds, naming it', async (field, low, high) => {
    for (const value of [low, high, null, '10', 10.5]) {
      const answer = await service.put(of('/retention'), { [field]: value })
      expect([answer.status, answer.body.code, answer.body.errors[0].field]).toEqual([400, 'VALIDATION', field])
    }
    expect((await service.get(of('/retention'))).body.retention).toEqual(DEFAULTS)
  })

  test('are read by everybody in the agency, and set by owners', async () => {
    const manager = (await service.accessToken(agency, 'manager')).secret
    const owner = (await service.accessToken(agency, 'owner')).secret
    const put = (token: string) => service.ask(of('/retention'), { guestMonths: 12 }, { method: 'PUT', token })
    expect((await service.ask(of('/retention'), undefined, { token: manager })).status).toBe(200)
    expect((await put(manager)).body.code).toBe('ROLE_MISSING')
    expect((await put(owner)).status).toBe(200)
  })
})

/** @returns the id of the guest */
async function guestOf(stay: { arrival: string; departure: string; email?: string }): Promise<string> {
  const { email = `ana-${crypto.randomUUID()}@example.com`, ...dates } = stay
  const guest = { firstName: 'Ana', lastName: 'Reis', email }
  const { body } = await service.ask(of('/bookings'), { unit: unit.slug, ...dates, guest })
  return body.booking.guest.id
}

const dayBefore = (days: number, from = Date.now()) => new Date(from - days * DAY_MS).toISOString().slice(0, 10)

describe('guests', () => {
  let later: number
  beforeEach(async () => {
    await service.put(of('/retention'), { guestMonths: 2 })
    later = Date.now()
  })

  const dueGuests = async () => {
    now = later
    const { guests } = await run(true)
    now = Date.parse(`${OLDEST}T12:00:00Z`)
    return guests
  }

  test('are due when their last stay ended long enough ago, not before', async () => {
    await guestOf({ arrival: dayBefore(80), departure: dayBefore(75) })
    expect(await dueGuests()).toBe(1)
    await guestOf({ arrival: dayBefore(40), departure: dayBefore(35) })
    expect(await dueGuests()).toBe(1)
  })

  test('that are due are erased, and the log says that retention did it; their bookings stay as figures', async () => {
    const due = await guestOf({ arrival: dayBefore(80), departure: dayBefore(75) })
    const other = await guestOf({ arrival: dayBefore(40), departure: dayBefore(35) })
    now = later
    expect(await run()).toMatchObject({ guests: 1 })
    expect((await service.get(of(`/guests/${due}`))).status).toBe(404)
    expect((await service.get(of(`/guests/${other}`))).status).toBe(200)
    const { bookings } = (await service.get(of('/bookings'))).body
    expect(bookings.map((booking: { guest: { id: string } | null }) => booking.guest?.id ?? null)).toEqual([
      other,
      null,
    ])
    const { audit } = (await service.get(of('/audit'))).body
    expect(audit[0]).toMatchObject({ actor: { kind: 'system' }, route: 'retention', change: { kind: 'guest_erased' } })
    expect(await run()).toMatchObject({ guests: 0 })
  })

  test('that book again or are to be kept after their page was read are not erased', async () => {
    const departed = (days: number) => guestOf({ arrival: dayBefore(days + 1), departure: dayBefore(days) })
    const [kept, booked, due] = [await departed(85), await departed(80), await departed(75)]
    now = later
    const {
      ledger,
      database: { sql },
    } = service
    const rows = new PostgresRetentionRows(sql, (agencyId) => ledger.epochOf(agencyId))
    const dueGuests = rows.dueGuests.bind(rows)
    rows.dueGuests = async (...params) => {
      const page = await dueGuests(...params)
      expect(page.guestIds).toHaveLength(3)
      await service.patch(of(`/guests/${kept}`), { keep: true })
      const { email } = (await service.get(of(`/guests/${booked}`))).body.guest
      await guestOf({ arrival: '2040-01-01', departure: '2040-01-03', email })
      return page
    }
    const failures: unknown[] = []
    const job = new RetentionJob({
      rows,
      defaults: DEFAULTS,
      agencyById: (agencyId) => (agencyId === agency.id ? agency : null),
      ownsDeliveries: () => false,
      erasures: ledger.guestErasures,
      clock: ledger.clock,
      newId: ledger.newId,
      onFailure: (error) => failures.push(error),
    })
    expect(await job.run({ isDryRun: false })).toMatchObject({ guests: 1 })
    const statuses = await Promise.all([kept, booked, due].map((id) => service.get(of(`/guests/${id}`))))
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 404])
    expect(failures).toEqual([])
  })

  test('whose booking is being written are not erased: it is waited for', async () => {
    const guestId = await guestOf({ arrival: dayBefore(80), departure: dayBefore(75) })
    const {
      ledger,
      database: { sql },
    } = service
    // As append_batch does it: first the guest, then their booking.
    const writer = connect(service.database.url, { purpose: 'admin', max: 1 })
    await writer.unsafe(`begin; update guest set email = email where guest_id = '${uuidOf(guestId)}'`).simple()
    // Without a time limit for locks, which a slow machine would exceed here.
    const eraser = connect(service.database.url, { purpose: 'admin', max: 1 })
    const rows = new PostgresErasureRows(eraser, { epochOf: (agencyId) => ledger.epochOf(agencyId), shards: () => [] })
    const isErased = rows.beginIfDue(agency.id, guestId, dueAt(later, { ...DEFAULTS, guestMonths: 2 }).guestsBefore)
    await eventually('the erasure waits for the booking', async () => {
      const waiting = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%begin_erasure_if_due%'`
      return waiting.length > 0
    })
    await writer
      .unsafe(`update booking set departure = '2040-01-01' where guest_id = '${uuidOf(guestId)}'; commit`)
      .simple()
    expect(await isErased).toBe(false)
    await Promise.all([writer.end(), eraser.end()])
    expect((await service.get(of(`/guests/${guestId}`))).status).toBe(200)
    await sql`update booking set departure = ${dayBefore(75)}::text::date where guest_id = ${uuidOf(guestId)}`
  })

  test('are due without a stay that took place, once they were created long enough ago', async () => {
    const guestId = await guestOf({ arrival: '2030-01-01', departure: '2030-01-03' })
    expect(await dueGuests()).toBe(0)
    const { stays } = (await service.get(of(`/guests/${guestId}`))).body.guest
    await service.ask(of(`/bookings/${stays[0].id}/cancel`), {})
    expect(await dueGuests()).toBe(1)
    await service.database.sql`
      update guest set created_at = ${new Date(Date.now() - 30 * DAY_MS)} where guest_id = ${uuidOf(guestId)}`
    expect(await dueGuests()).toBe(0)
  })

  test('with keep are not due, until it is taken back; partners do not see it', async () => {
    const guestId = await guestOf({ arrival: dayBefore(80), departure: dayBefore(75) })
    const kept = await service.patch(of(`/guests/${guestId}`), { keep: true })
    expect(kept.body.guest.keep).toBe(true)
    expect((await service.get(of('/guests'))).body.guests[0].keep).toBe(true)
    expect(await dueGuests()).toBe(0)
    const { secret } = await service.key(agency)
    const seen = await service.call(`/guests/${guestId}`, { key: secret })
    expect([seen.status, 'keep' in seen.body]).toEqual([200, false])
    await service.patch(of(`/guests/${guestId}`), { phone: '+351 1' })
    expect((await service.get(of(`/guests/${guestId}`))).body.guest.keep).toBe(true)
    await service.patch(of(`/guests/${guestId}`), { keep: false })
    expect(await dueGuests()).toBe(1)
  })

  test('of agencies that keep them for longer, and of sandboxes, are not due', async () => {
    await guestOf({ arrival: dayBefore(80), departure: dayBefore(75) })
    await service.put(of('/retention'), { guestMonths: 3 })
    expect(await dueGuests()).toBe(0)
    await service.put(of('/retention'), { guestMonths: 2 })
    await service.ledger.sql`
      update agency set clock_now = now(), clock_target = now() where agency_id = ${uuidOf(agency.id)}`
    expect(await dueGuests()).toBe(0)
  })
})

test('the command line shows, sets and runs it, as the documentation says', async () => {
  const cli = cliOn(service)
  const set = await cli('retention', 'set', '--agency', agency.slug, '--guest-months', '24', '--json')
  expect(set.json.retention).toMatchObject({ guestMonths: 24, logYears: 10 })
  expect((await cli('retention', 'show', '--agency', agency.slug, '--json')).json).toEqual(set.json)
  for (const line of shellBlocksOf(sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Retention'))[0]
    ?.script.trim()
    .split('\n') ?? []) {
    const [program, ...args] = line.split(' ')
    const { code, stdout, stderr } = await cli(...args)
    expect([program, code, stderr]).toEqual(['nightledger', 0, ''])
    expect(stdout).toContain('monthsToArchive')
  }
})

describe('bookings and deliveries', () => {
  let deliveries: () => Promise<number>

  beforeEach(async () => {
    const { sql } = service.database
    deliveries = async () => {
      const [row] = await sql`select count(*)::int as n from webhook_delivery where agency_id = ${uuidOf(agency.id)}`
      return row?.['n']
    }
  })

  /** An endpoint that gets the events of a stay half a year ago, and of one now. */
  async function lived(status: 'pending' | 'delivered' | 'dead'): Promise<string> {
    now = Date.parse(`${OLDEST}T12:00:00Z`)
    const { webhookEndpoint } = (await service.ask(of('/webhook-endpoints'), { url: 'https://localhost:9/' })).body
    await guestOf({ arrival: '2030-01-01', departure: '2030-01-03' })
    now = Date.now()
    await guestOf({ arrival: '2030-02-01', departure: '2030-02-03' })
    const sender = service.ledger.epoch
    await makeDeliveries(service.database.url, sender)
    if (status !== 'pending')
      await service.database.sql`
        update webhook_delivery set status = ${status}, next_attempt_at = null, finished_at = now()
        where agency_id = ${uuidOf(agency.id)}`
    await service.database.sql`
      insert into webhook_attempt (at, agency_id, delivery_id, month, attempt, duration_ms)
      select now(), agency_id, delivery_id, month, 1, 5 from webhook_delivery where agency_id = ${uuidOf(agency.id)}`
    return webhookEndpoint.id
  }

  const differences = async () => (await service.get('/verification')).body.verification.differences
  const attemptsOfOldest = async () => {
    const [row] = await service.database
      .sql`select count(*)::int as n from webhook_attempt where month = ${OLDEST}::text::date`
    return row?.['n']
  }

  test('deliveries of months that are over for long enough are gone with their attempts, and nothing is missed', async () => {
    await lived('delivered')
    expect(await deliveries()).toBe(2)
    const { deliveriesBefore } = await run()
    expect(deliveriesBefore).toBe(`${dayBefore(90).slice(0, 7)}-01`)
    expect([await deliveries(), await attemptsOfOldest()]).toEqual([1, 0])
    expect(await differences()).toEqual([])
    // One that is missing from a month that is kept is named.
    await service.database.sql`delete from webhook_delivery where agency_id = ${uuidOf(agency.id)}`
    expect(await differences()).toHaveLength(1)
    await service.database.sql`delete from webhook_endpoint where agency_id = ${uuidOf(agency.id)}`
  })

  test('deliveries are kept as long as any agency keeps them', async () => {
    await lived('delivered')
    const other = await service.agency()
    await service.put(`/agencies/${other.slug}/retention`, { deliveryDays: 3_650 })
    await run()
    expect(await deliveries()).toBe(2)
    await service.put(`/agencies/${other.slug}/retention`, { deliveryDays: 7 })
    await run()
    expect(await deliveries()).toBe(1)
  })

  test('a delivery that is still due keeps its month; one that waits for a disabled endpoint does not', async () => {
    const endpointId = await lived('pending')
    await run()
    expect(await deliveries()).toBe(2)
    await service.database.sql`
      update webhook_endpoint set status = 'disabled' where endpoint_id = ${uuidOf(endpointId)}`
    await run()
    expect(await deliveries()).toBe(1)
    expect(await differences()).toEqual([])
    await service.delete(of(`/webhook-endpoints/${endpointId}`))
  })

  test('a month is emptied only if it is before the given one', async () => {
    await lived('delivered')
    await service.database.sql`select forget_deliveries(${OLDEST}::text::date)`
    expect(await deliveries()).toBe(2)
  })

  test('a delivery that waits for the clock of a sandbox does not keep its month', async () => {
    await lived('pending')
    const { sql } = service.database
    await sql`update agency set clock_now = now(), clock_target = now() where agency_id = ${uuidOf(agency.id)}`
    await run()
    expect(await deliveries()).toBe(1)
    await sql`delete from webhook_delivery where agency_id = ${uuidOf(agency.id)}`
    await sql`delete from webhook_endpoint where agency_id = ${uuidOf(agency.id)}`
  })

  test('a booking is deleted once it is due and its log is archived, and the ledger still verifies', async () => {
    const { sql } = service.database
    await sql`update webhook_endpoint set status = 'deleted'`
    await service.put(of('/retention'), { bookingYears: 1 })
    const years = (n: number) => `${new Date().getUTCFullYear() - n}-06-01`
    const to = (n: number) => `${new Date().getUTCFullYear() - n}-06-03`
    now = Date.parse(`${OLDEST}T12:00:00Z`)
    const guest = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' }
    const body = { unit: unit.slug, arrival: years(3), departure: to(3), guest }
    const headers = { 'Idempotency-Key': 'sent-again' }
    const book = () => service.ask(of('/bookings'), body, { headers })
    const made = await book()
    const path = of(`/bookings/${made.body.booking.id}/notes`)
    const note = () => service.ask(path, { notes: 'late' }, { method: 'PUT', headers })
    const noted = await note()
    for (const n of [2, -1]) await guestOf({ arrival: years(n), departure: to(n) })
    now = Date.now()
    const bookings = async () =>
      (await service.get(of('/bookings'))).body.bookings.map((b: { arrival: string }) => b.arrival)
    expect(await run()).toMatchObject({ bookings: 0 })
    expect(await bookings()).toHaveLength(3)
    await keepMonthEnds(sql, OLDEST)
    await makeCheckpoints(sql)
    await sql`select retire_month(${OLDEST}::text::date)`
    expect(await run(true)).toMatchObject({ bookings: 2 })
    expect(await run()).toMatchObject({ bookings: 2 })
    expect(await bookings()).toEqual([years(-1)])
    expect(await differences()).toEqual([])
    // A write that is sent again is answered as the first time, without what went with the row.
    const [madeAgain, notedAgain] = [await book(), await note()]
    expect([madeAgain.status, madeAgain.body.booking]).toEqual([201, { ...made.body.booking, guest: null }])
    const gone = { guest: null, notes: null }
    expect([notedAgain.status, notedAgain.body.booking]).toEqual([200, { ...noted.body.booking, ...gone }])
    // The trail says how many, and nothing of rounds that delete none.
    expect(await run()).toMatchObject({ bookings: 0 })
    const { audit } = (await service.get(of('/audit'))).body
    const lines = audit.filter(({ route }: { route: string }) => route === 'retention')
    expect(lines).toMatchObject([{ actor: { kind: 'system' }, outcome: 'OK', count: 2, change: null }])
  })
})
