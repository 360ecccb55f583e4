/** The clock of a sandbox (docs/design.md#the-clock-of-a-sandbox), with the real service: a test per sentence. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { PostOnce } from '../../src/events/webhooks/guarded-post.ts'
import { DAY_MS, HOUR_MS, instantText } from '../../src/lib/clock.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { eventually } from '../support/eventually.ts'
import { firedEvents } from '../support/fired-events.ts'
import { startSender } from '../support/running-sender.ts'
import { sharedTestService } from '../support/test-service.ts'
import { verifyDatabase } from '../support/verify-database.ts'

/** What the clock shows at first: years after any day on which this runs. */
const START = Date.UTC(2050, 2, 1, 9)
const DAYS_800 = 800 * DAY_MS

let agency: Agency
let key: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await sandbox()
  key = (await service.key(agency)).secret
  await service.unit(agency, { slug: 'sea-view', checkinTime: '15:00' })
})

const sandbox = (now = START) => service.agency({ clock: { now, target: now } })
const call = (route: string, json?: object, headers: Record<string, string> = {}) =>
  service.call(route, { key, headers, ...(json === undefined ? {} : { json }) })
const move = (json: object, headers?: Record<string, string>) => call('/test/clock', json, headers)
const clock = async () => (await call('/test/clock')).body
/** Moves the clock, and waits until everything up to then has happened. */
const advance = async (ms: number) => {
  expect((await move({ advanceSeconds: ms / 1_000 })).status).toBe(202)
  await eventually('the clock has arrived', async () => (await clock()).status === 'ready')
}
const at = (ms: number) => instantText(START + ms)
const stay = (day: number, more: object = {}) => ({
  unit: 'sea-view',
  arrival: at(day * DAY_MS).slice(0, 10),
  departure: at((day + 2) * DAY_MS).slice(0, 10),
  ...more,
})
const hold = async (day: number, holdHours: number) => {
  const { status, body } = await call('/bookings', stay(day, { status: 'option', holdHours }))
  expect(status).toBe(201)
  return body.booking
}

describe('GET and POST /test/clock', () => {
  test('show a time that stands until it is moved, and is the same for every key of the sandbox', async () => {
    expect(await clock()).toEqual({ now: at(0), status: 'ready' })
    await advance(90 * 1_000)
    const other = (await service.key(agency)).secret
    expect((await service.call('/test/clock', { key: other })).body).toEqual({ now: at(90_000), status: 'ready' })
    expect(await clock()).toEqual({ now: at(90_000), status: 'ready' })
  })

  test('a move is answered with 202, the present time and advancing, then the clock is ready', async () => {
    const { status, body } = await move({ now: at(DAYS_800) })
    expect({ status, body }).toEqual({ status: 202, body: { now: at(0), status: 'advancing' } })
    await eventually('the clock has arrived', async () => (await clock()).status === 'ready')
    expect(await clock()).toEqual({ now: at(DAYS_800), status: 'ready' })
  })

  test('a move while the clock is advancing begins where it is already going', async () => {
    const answers = await Promise.all([1, 2, 3].map((hours) => move({ advanceSeconds: hours * 3_600 })))
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202])
    await eventually('the clock has arrived', async () => (await clock()).now === at(6 * HOUR_MS))
  })

  test('a repeated move with the same Idempotency-Key is made once, however far it goes', async () => {
    const headers = { 'idempotency-key': 'move-1' }
    const first = await move({ advanceSeconds: 3 * 86_400 }, headers)
    await eventually('the clock has arrived', async () => (await clock()).status === 'ready')
    const again = await move({ advanceSeconds: 3 * 86_400 }, headers)
    expect({ status: again.status, body: again.body }).toEqual({ status: 202, body: first.body })
    expect(await clock()).toEqual({ now: at(3 * DAY_MS), status: 'ready' })
  })

  test.each([
    ['back', { now: at(-1) }, 'now must not be before'],
    ['more than 800 days', { now: at(DAYS_800 + 1) }, 'now must not be after'],
    ['more than 800 days', { advanceSeconds: DAYS_800 / 1_000 + 1 }, 'advanceSeconds'],
    ['by less than nothing', { advanceSeconds: -1 }, 'advanceSeconds'],
    ['by a part of a second', { advanceSeconds: 0.5 }, 'advanceSeconds'],
    ['nowhere', {}, 'now or advanceSeconds'],
    ['in two ways', { now: at(1), advanceSeconds: 1 }, 'now or advanceSeconds'],
    ['to no time', { now: 'tomorrow' }, 'now must'],
  ])('a move %s is 400, and the title names the field', async (_, json, title) => {
    const { status, body } = await move(json)
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'VALIDATION' })
    expect(body.title).toStartWith(title)
    expect(await clock()).toEqual({ now: at(0), status: 'ready' })
  })

  test('a clock stops before the dates of stays end: what is measured from it is always a date', async () => {
    const late = await sandbox(Date.UTC(2094, 11, 31, 23, 59))
    const { secret } = await service.key(late)
    const seconds = async (advanceSeconds: number) => service.asPartner(secret, '/test/clock', { advanceSeconds })
    const { status, body } = await seconds(61)
    expect({ status, title: body.title }).toEqual({ status: 400, title: 'advanceSeconds must be at most 60' })
    expect((await seconds(60)).status).toBe(202)
  })

  test('a key of a live agency is refused: 403 FEATURE_DISABLED', async () => {
    const { secret } = await service.key(await service.agency())
    for (const json of [undefined, { advanceSeconds: 60 }]) {
      const { status, body } = await service.asPartner(secret, '/test/clock', json)
      expect({ status, code: body.code }).toEqual({ status: 403, code: 'FEATURE_DISABLED' })
    }
  })

  test('a key without the scope is refused', async () => {
    const { secret } = await service.key(agency, { scopes: ['read:availability'] })
    expect((await service.asPartner(secret, '/test/clock')).status).toBe(200)
    const { body } = await service.asPartner(secret, '/test/clock', { advanceSeconds: 60 })
    expect(body).toMatchObject({ code: 'SCOPE_MISSING', scope: 'write:bookings' })
  })
})

describe('what happens on the way', () => {
  test('a booking and its hold are of the time of the sandbox', async () => {
    const { createdAt, updatedAt, holdExpiresAt } = await hold(1, 5)
    expect({ createdAt, updatedAt, holdExpiresAt }).toEqual({
      createdAt: at(0),
      updatedAt: at(0),
      holdExpiresAt: at(5 * HOUR_MS),
    })
  })

  test('holds lapse each at its own moment and in order, with their events', async () => {
    // More than one append holds.
    const days = Array.from({ length: 45 }, (_, i) => i)
    const made: { id: string; hours: number }[] = []
    for (const day of days) {
      const hours = 1 + ((day * 7) % 45)
      made.push({ id: (await hold(1 + 3 * day, hours)).id, hours })
    }
    const staying = await hold(200, 100)
    const { cursor } = (await call('/changes')).body
    await advance(50 * HOUR_MS)
    const expected = made
      .toSorted((a, b) => a.hours - b.hours)
      .map(({ id, hours }) => ({ event: 'booking.cancelled', occurredAt: at(hours * HOUR_MS), id }))
    const { changes } = (await call(`/changes?after=${cursor}&limit=500`)).body
    expect(
      changes.map(({ event, occurredAt, data }: { event: string; occurredAt: string; data: { id: string } }) => ({
        event,
        occurredAt,
        id: data.id,
      })),
    ).toEqual(expected)
    const { body } = await call(`/bookings/${made[0]?.id}`)
    expect(body.booking).toMatchObject({
      status: 'cancelled',
      updatedAt: at((made[0]?.hours ?? 0) * HOUR_MS),
      holdExpiresAt: null,
    })
    expect((await call(`/bookings/${staying.id}`)).body.booking.status).toBe('option')
    expect(await firedEvents(service.database.sql, staying.id)).toHaveLength(1)
  })

  test('a hold lapses at the very moment that the clock arrives at, not a millisecond before', async () => {
    const { id } = await hold(1, 1)
    await advance(HOUR_MS - 1_000)
    expect((await call(`/bookings/${id}`)).body.booking.status).toBe('option')
    await advance(1_000)
    expect((await call(`/bookings/${id}`)).body.booking.status).toBe('cancelled')
  })

  test('holds of other agencies stay, and real time releases none of the sandbox', async () => {
    const live = await service.agency()
    const { secret } = await service.key(live)
    await service.unit(live, { slug: 'loft' })
    const booked = await service.asPartner(secret, '/bookings', { ...stay(1), unit: 'loft', status: 'option' })
    const other = await sandbox(Date.UTC(2020, 0, 1))
    const otherKey = (await service.key(other)).secret
    await service.unit(other, { slug: 'loft' })
    const past = await service.asPartner(otherKey, '/bookings', { ...stay(1), unit: 'loft', status: 'option' })
    await advance(DAYS_800)
    const released = await service.ledger.bookingRows.expiredHolds(Date.now() + DAYS_800, null, 100)
    expect(released.map(({ bookingId }) => bookingId)).toEqual([booked.body.booking.id])
    expect((await service.asPartner(secret, `/bookings/${booked.body.booking.id}`)).body.booking.status).toBe('option')
    expect((await service.asPartner(otherKey, `/bookings/${past.body.booking.id}`)).body.booking.status).toBe('option')
  })

  test('a stored answer is replayed for 24 hours of the sandbox, and then it has expired', async () => {
    const headers = { 'idempotency-key': 'book-1' }
    const first = await call('/bookings', stay(30), headers)
    await advance(DAY_MS - 1_000)
    expect((await call('/bookings', stay(30), headers)).body).toEqual(first.body)
    await advance(1_000)
    expect((await call('/bookings', stay(30), headers)).body.code).toBe('BOOKING_CONFLICT')
  })

  test('stored answers of a sandbox that stands in the past are kept, and those of live agencies deleted', async () => {
    const past = await sandbox(Date.UTC(2020, 0, 1))
    const { secret } = await service.key(past)
    await service.unit(past, { slug: 'loft' })
    const json = { ...stay(30), unit: 'loft' }
    const headers = { 'idempotency-key': 'book-1' }
    const first = await service.call('/bookings', { key: secret, json, headers })
    const { sql } = service.database
    const { PostgresIdempotencyRows } = await import('../../src/postgres/stores/postgres-idempotency-rows.ts')
    await new PostgresIdempotencyRows(sql).deleteExpired({ notAfter: Date.now() - DAY_MS, limit: 1_000 })
    expect((await service.call('/bookings', { key: secret, json, headers })).body).toEqual(first.body)
  })

  test('what the portal keeps of its answers is kept by the same clock', async () => {
    const path = `/agencies/${agency.slug}/fee-types`
    const json = { label: 'Linen', kind: 'fixed', amount: 2_500, application: 'every_stay' }
    const send = () => service.ask(path, json, { headers: { 'idempotency-key': 'fee-1' } })
    const first = await send()
    expect(first.status).toBe(201)
    expect((await send()).body).toEqual(first.body)
    await advance(DAY_MS)
    expect((await send()).body).not.toEqual(first.body)
  })

  test('an advance notice moves: a stay that can be quoted today is refused the day after', async () => {
    await service.put(`/agencies/${agency.slug}/units/sea-view/restrictions`, { advanceNoticeHours: 24 })
    const quote = () => call('/quote', { ...stay(2), adults: 2 })
    const arrivals = async () =>
      (await call(`/calendar?from=${at(0).slice(0, 10)}&to=${at(4 * DAY_MS).slice(0, 10)}&restrictions=true`)).body
        .units[0].arrival
    expect((await quote()).status).toBe(200)
    expect(await arrivals()).toBe('0111')
    await advance(2 * DAY_MS)
    expect((await quote()).body.code).toBe('RESTRICTED')
    expect(await arrivals()).toBe('0001')
  })

  test('"today" is that of the sandbox, on the tape as in the days that asOf may name', async () => {
    const tape = async () => {
      const range = `from=${at(0).slice(0, 10)}&to=${at(9 * DAY_MS).slice(0, 10)}`
      return (await service.get(`/agencies/${agency.slug}/tape?${range}`)).body.today
    }
    expect(await tape()).toBe('2050-03-01')
    const availability = `/availability?unit=sea-view&from=2050-03-01&to=2050-03-08&asOf=${at(0)}`
    expect((await call(availability)).status).toBe(200)
    expect((await call(availability.replace(at(0), at(1)))).status).toBe(400)
    await advance(DAY_MS)
    expect(await tape()).toBe('2050-03-02')
  })
})

describe('webhooks of a sandbox', () => {
  interface Sent {
    readonly event: string
    readonly occurredAt: string
    /** Of the booking. */
    readonly id: string
    readonly signedAgoMs: number
  }
  const endpointsOf = (of: Agency) => `/agencies/${of.slug}/webhook-endpoints`

  /** Runs with a sender whose receiver gives the same answer to everything, and an endpoint of the agency. */
  async function withSender(
    of: Agency,
    httpStatus: number,
    run: (sender: { sent: Sent[]; endpointId: string; sentUpTo: (count: number) => Promise<void> }) => Promise<void>,
  ): Promise<void> {
    const registered = await service.ask(endpointsOf(of), { url: 'http://localhost:9/in' })
    expect(registered.status).toBe(201)
    const sent: Sent[] = []
    const post: PostOnce = async (_, { headers, body }) => {
      const { event, occurredAt, data } = JSON.parse(body)
      sent.push({
        event,
        occurredAt,
        id: data.id,
        signedAgoMs: Date.now() - Number(headers['webhook-timestamp']) * 1_000,
      })
      return { outcome: { kind: 'answered', httpStatus }, durationMs: 7 }
    }
    const { sender, failures, stop } = await startSender(service, post)
    const sentUpTo = (count: number) =>
      eventually(`${count} attempts`, () => {
        sender.wake([of.id])
        return sent.length >= count
      })
    await run({ sent, sentUpTo, endpointId: registered.body.webhookEndpoint.id })
    await stop()
    expect(failures).toEqual([])
  }

  test('retries fall due by its clock, each after exactly the delay of the schedule, and no real time passes', async () => {
    await withSender(agency, 500, async ({ sent, sentUpTo }) => {
      await hold(1, 1)
      await sentUpTo(1)
      await advance(59_000)
      await expect(Promise.race([sentUpTo(2), Bun.sleep(300).then(() => 'none')])).resolves.toBe('none')
      await advance(1_000)
      await sentUpTo(2)
      // Both deliveries fail to the end: the first until its sixth attempt, and that of the hold that lapses on the way.
      await advance(DAY_MS)
      await sentUpTo(12)
      const cancelled = sent.filter(({ event }) => event === 'booking.cancelled')
      expect(cancelled.map(({ occurredAt }) => occurredAt)).toEqual(Array(6).fill(at(HOUR_MS)))
      for (const { signedAgoMs } of sent) expect(Math.abs(signedAgoMs)).toBeLessThan(120_000)
    })
    const attempts = await service.database.sql<{ kind: string; at: Date }[]>`
      select d.kind, a.at from webhook_attempt a join webhook_delivery d using (agency_id, delivery_id, month)
      where a.agency_id = ${uuidOf(agency.id)} order by d.kind desc, a.attempt`
    const schedule = [0, 60, 360, 2_160, 9_360, 30_960].map((s) => s * 1_000)
    expect(attempts.map(({ kind, at }) => `${kind} ${instantText(at.getTime())}`)).toEqual([
      ...schedule.map((ms) => `booking.created ${at(ms)}`),
      ...schedule.map((ms) => `booking.cancelled ${at(HOUR_MS + ms)}`),
    ])
  })

  test('are sent at once while its clock stands in the past, those that waited for the endpoint in their order', async () => {
    const past = await sandbox(Date.UTC(2020, 0, 1))
    const { secret } = await service.key(past)
    await service.unit(past, { slug: 'loft' })
    const book = async (day: number) =>
      (await service.asPartner(secret, '/bookings', { ...stay(day), unit: 'loft' })).body.booking.id
    await withSender(past, 204, async ({ sent, sentUpTo, endpointId }) => {
      await book(1)
      await sentUpTo(1)
      const { sql } = service.database
      await sql`update webhook_endpoint set status = 'disabled' where endpoint_id = ${uuidOf(endpointId)}`
      const ids: string[] = []
      for (let day = 10; day < 40; day += 3) ids.push(await book(day))
      await service.patch(`${endpointsOf(past)}/${endpointId}`, { status: 'active', pending: 'resend' })
      await sentUpTo(1 + ids.length)
      expect(sent.slice(1).map(({ id }) => id)).toEqual(ids)
    })
  })

  test('that wait for its clock are not overdue: neither the sender nor the alert of late webhooks looks at them', async () => {
    const past = await sandbox(Date.UTC(2020, 0, 1))
    const { secret } = await service.key(past)
    await service.unit(past, { slug: 'loft' })
    await withSender(past, 500, async ({ sentUpTo }) => {
      await service.asPartner(secret, '/bookings', { ...stay(1), unit: 'loft' })
      await sentUpTo(1)
    })
    const { sql } = service.database
    const [row] = await sql<{ oldest: Date | null; next: Date | null; waiting: number }[]>`
      select b.oldest_due as oldest, b.waiting::int as waiting, next_delivery_due('-infinity') as next from webhook_backlog(100) b`
    expect(row).toMatchObject({ oldest: null, next: null })
    expect(row?.waiting).toBeGreaterThan(0)
  })
})

describe('what is stored', () => {
  test('entries are stored under the real month, and the ledger is verified without a finding', async () => {
    await hold(1, 1)
    await advance(DAYS_800)
    const { sql } = service.database
    const months = await sql<{ month: string }[]>`
      select distinct month::text from journal where agency_id = ${uuidOf(agency.id)}`
    expect(months.every(({ month }) => month < '2049')).toBe(true)
    const [newest] = await sql<{ month: string }[]>`select newest_month::text as month from ledger`
    expect(months.every(({ month }) => month < (newest?.month ?? ''))).toBe(true)
    expect((await verifyDatabase(sql)).differences).toEqual([])
  })

  test('a move that was cut short is resumed by the next process, and its clock does not go back', async () => {
    const { id } = await hold(1, 1)
    const { sql } = service.database
    const [now, target] = [at(60_000), at(2 * HOUR_MS)]
    await sql`update agency set clock_now = ${now}, clock_target = ${target} where agency_id = ${uuidOf(agency.id)}`
    const { openTestLedger } = await import('../support/ledger.ts')
    const next = await openTestLedger({ on: service.database })
    try {
      const clockOf = () => next.ledger.catalogue.agencyById(agency.id)?.clock
      expect(clockOf()?.now).toBeGreaterThanOrEqual(START + 60_000)
      await eventually('the clock has arrived', () => clockOf()?.now === START + 2 * HOUR_MS)
      expect((await firedEvents(sql, id)).map(({ occurredAt }) => occurredAt)).toEqual([at(0), at(HOUR_MS)])
    } finally {
      await next.close()
    }
  })
})
