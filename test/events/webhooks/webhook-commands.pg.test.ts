import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Ledger } from '../../../src/app/ledger.ts'
import { successLine } from '../../../src/core/bookings/durable-writes.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import type { PostOnce } from '../../../src/events/webhooks/guarded-post.ts'
import { type AttemptOutcome, isAccepted } from '../../../src/events/webhooks/guarded-post.ts'
import { SecretBox, serviceSignature } from '../../../src/events/webhooks/secret-box.ts'
import {
  PINGS_AT_ONCE_MAX,
  PINGS_PER_AGENCY_MAX,
  WebhookCommands,
} from '../../../src/events/webhooks/webhook-commands.ts'
import { ENDPOINTS_PER_AGENCY_MAX } from '../../../src/events/webhooks/webhook-endpoint.ts'
import { WebhookSender } from '../../../src/events/webhooks/webhook-sender.ts'
import { DAY_MS, HOUR_MS } from '../../../src/lib/clock.ts'
import { idOf, systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { PostgresEndpointRows } from '../../../src/postgres/stores/postgres-endpoint-rows.ts'
import { PostgresSenderStore } from '../../../src/postgres/stores/postgres-sender-store.ts'
import { emptyTables } from '../../support/empty-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { testDatabase } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'
import { makeDeliveries } from './support/make-deliveries.ts'

const AGENCY_B = sampleId('agc', 'b')

const OK: AttemptOutcome = { kind: 'answered', httpStatus: 200 }
const FAIL: AttemptOutcome = { kind: 'timed_out', during: 'answer' }
const ALLOWED = 'localhost:9000'
const PAGE = { offset: 0, limit: 100 }

let ledger: Ledger
let agency: Agency
let unit: Unit
let commands: WebhookCommands
let clock: FakeClock
let answer: AttemptOutcome
let posted: { url: string; headers: Record<string, string>; body: string }[]
let changes: string[]
let rows: PostgresEndpointRows
/** The events that an agency was said to have an endpoint for, and the writes, in order. */
let steps: string[]
const box = new SecretBox(new Uint8Array(32))
const post: PostOnce = async (url, message) => {
  posted.push({ url, ...message })
  return { outcome: answer, durationMs: 7 }
}
/** The addresses of names in these tests. */
const NAMES: Record<string, readonly string[] | 'unresolved' | 'timed_out'> = {
  'hooks.example': ['93.184.216.34', '2606:4700::1'],
  'inside.example': ['93.184.216.34', '10.0.0.7'],
  'six.example': ['93.184.216.34', 'fd00::7'],
  'slow.example': 'timed_out',
}

const database = await testDatabase()
afterAll(() => database.drop())
beforeEach(async () => {
  await emptyTables(database.sql)
  clock = new FakeClock(Date.now())
  ledger = await openTestDatabaseLedger(database.url)
  agency = await addAgency(ledger)
  unit = await addUnit(ledger, agency, sampleUnit())
  answer = OK
  posted = []
  changes = []
  steps = []
  rows = new PostgresEndpointRows(database.sql, ledger.lists, ledger.epochOf)
  commands = new WebhookCommands({
    rows,
    resolver: { resolve: async (host) => NAMES[host] ?? 'unresolved' },
    post,
    box,
    clock,
    newId: systemIds,
    allowHosts: [ALLOWED],
    onChange: ({ endpointId }) => changes.push(endpointId),
    onEvents: (agencyId, events) => steps.push(`${agencyId} ${events}`),
  })
})
afterEach(() => ledger.close())

/** A new audit line for each change. */
const line = () => successLine({ clock, newId: systemIds }, CALLER)

async function register(url = 'https://hooks.example/in') {
  const outcome = await commands.register(agency.id, { url, description: 'ours' }, line())
  if (outcome.kind !== 'registered') throw new Error(`Expected an endpoint, got ${JSON.stringify(outcome)}`)
  return outcome
}

let nights = 1
async function book(): Promise<void> {
  const day = (n: number) => new Date(Date.UTC(2030, 0, n)).toISOString().slice(0, 10)
  const outcome = await ledger.commands.book(agency, requestFor(unit, day(nights), day(nights + 1)), CALLER)
  expect(outcome.kind).toBe('done')
  nights += 1
}

/** Sends due deliveries in this process until none is left. */
async function sendDue(): Promise<void> {
  const store = new PostgresSenderStore(database.url)
  const at = Date.now() + 1_000
  const sender = new WebhookSender({
    store,
    term: await store.takeOver(ledger.epoch),
    clock: { now: () => at, monotonicMs: () => performance.now(), after: (ms, task) => stopper(setTimeout(task, ms)) },
    dice: () => 0,
    box,
    post,
    watch: {
      onSwitchedOff: () => {},
      onFailure: () => {},
      onSecretUnreadable: () => {},
      onEventUnreadable: () => {},
      onReplaced: () => {},
    },
  })
  sender.wake()
  // A pause of the sender proves nothing: on a busy machine it may only be waiting for the database.
  await eventually('everything due is sent', async () => {
    const isIdle = () => sender.stats.claims > 0 && sender.stats.claimed === 0
    return isIdle() && (await countDue(at)) === 0 && isIdle()
  })
  await sender.stop(1_000)
  await store.close()
}

async function countDue(at: number): Promise<number> {
  const [row] = await database.sql<{ n: number }[]>`
    select count(*)::int as n from webhook_delivery d join webhook_endpoint e using (agency_id, endpoint_id)
    where d.status = 'pending' and d.next_attempt_at <= ${new Date(at)} and e.status = 'active'`
  return row?.n ?? 0
}
const stopper = (timer: Timer) => () => clearTimeout(timer)

async function statuses(endpointId: string): Promise<string[]> {
  return ((await commands.deliveries(agency.id, endpointId, PAGE))?.rows ?? []).map(({ status }) => status)
}

describe('registering', () => {
  test('shows the secret once, and stores it encrypted', async () => {
    const { endpoint, secret } = await register('https://hooks.example/in#part')
    expect(secret).toMatch(/^whsec_/)
    expect(endpoint).toEqual({
      id: expect.stringMatching(/^whe_[0-9a-f]{32}$/),
      url: 'https://hooks.example/in',
      description: 'ours',
      events: ['booking.created', 'booking.updated', 'booking.cancelled'],
      status: 'active',
      disabledReason: null,
      consecutiveFailures: 0,
      previousSecretUntil: null,
      waitingEvents: 0,
      waitingDeliveries: 0,
      createdAt: clock.now(),
      updatedAt: clock.now(),
    })
    expect(await commands.list(agency.id)).toEqual([endpoint])
    expect(await commands.find(agency.id, endpoint.id)).toEqual(endpoint)
    const dump = JSON.stringify(await database.sql`select * from webhook_endpoint`)
    expect(dump).not.toContain(secret)
    expect(dump).not.toContain(secret.slice(6))
  })

  test.each([
    ['http://hooks.example/', 'not_https'],
    ['https://inside.example/', 'private'],
    ['https://six.example/', 'private'],
    ['https://127.0.0.1/', 'loopback'],
    ['https://100.64.1.1/', 'carrier_grade_nat'],
    ['https://169.254.169.254/', 'link_local'],
    ['https://nowhere.example/', 'does_not_resolve'],
    ['https://slow.example/', 'does_not_resolve'],
    ['https://localhost:9001/', 'does_not_resolve'],
  ])('%s is refused as %s, and nothing is kept', async (url, refusal) => {
    expect(await commands.register(agency.id, { url, description: null }, line())).toEqual({
      kind: 'url_refused',
      refusal: refusal as 'private',
    })
    expect(await commands.list(agency.id)).toEqual([])
  })

  test('accepts a development receiver, and no more endpoints than the limit', async () => {
    await register(`http://${ALLOWED}/in`)
    for (let i = 1; i < ENDPOINTS_PER_AGENCY_MAX; i++) await register()
    expect(await commands.register(agency.id, { url: 'https://hooks.example/', description: null }, line())).toEqual({
      kind: 'too_many',
      max: ENDPOINTS_PER_AGENCY_MAX,
    })
  })

  test('lists endpoints newest first, and wakes the sender for agencies that have one', async () => {
    const { endpoint: first } = await register()
    await clock.advance(1_000)
    const { endpoint: second } = await register()
    expect((await commands.list(agency.id)).map(({ id }) => id)).toEqual([second.id, first.id])
    expect(await rows.agencies()).toEqual([agency.id])
    for (const { id } of [first, second]) await commands.delete(agency.id, id, line())
    expect(await rows.agencies()).toEqual([])
  })

  test('like a choice of other events, is announced before it is stored, so that no event is missed', async () => {
    const [insert, change] = [rows.insert.bind(rows), rows.change.bind(rows)]
    rows.insert = (...params) => {
      steps.push('insert')
      return insert(...params)
    }
    rows.change = (...params) => {
      steps.push('change')
      return change(...params)
    }
    const { endpoint } = await register()
    await commands.change(agency.id, endpoint.id, { events: ['rates.updated'] }, line())
    await commands.change(agency.id, endpoint.id, { description: 'theirs' }, line())
    expect(steps).toEqual([
      `${agency.id} booking.created,booking.updated,booking.cancelled`,
      'insert',
      `${agency.id} rates.updated`,
      ...['change', 'change'],
    ])
  })

  test('another agency cannot see or change the endpoint', async () => {
    const { endpoint } = await register()
    await commands.ping(agency.id, endpoint.id, line())
    const [delivery] = (await commands.deliveries(agency.id, endpoint.id, PAGE))?.rows ?? []
    expect(await commands.find(AGENCY_B, endpoint.id)).toBeNull()
    expect(await commands.list(AGENCY_B)).toEqual([])
    expect(await commands.deliveries(AGENCY_B, endpoint.id, PAGE)).toBeNull()
    expect(await rows.findDelivery(AGENCY_B, delivery?.id ?? '')).toBeNull()
    for (const outcome of [
      await commands.change(AGENCY_B, endpoint.id, { url: 'https://hooks.example/x' }, line()),
      await commands.change(AGENCY_B, endpoint.id, { url: 'https://inside.example/' }, line()),
      await commands.change(AGENCY_B, endpoint.id, { pending: 'resend' }, line()),
      await commands.rotateSecret(AGENCY_B, endpoint.id, { overlapHours: 0 }, line()),
      await commands.ping(AGENCY_B, endpoint.id, line()),
      await commands.resend(AGENCY_B, delivery?.id ?? '', line()),
    ]) {
      expect(outcome.kind).toBe('not_found')
    }
    expect(await commands.delete(AGENCY_B, endpoint.id, line())).toBeNull()
  })
})

describe('a ping', () => {
  test('is one attempt, returned immediately and kept in the log', async () => {
    const { endpoint, secret } = await register()
    const outcome = await commands.ping(agency.id, endpoint.id, line())
    if (outcome.kind !== 'pinged') throw new Error(outcome.kind)
    expect(outcome.delivery).toMatchObject({ event: 'ping', status: 'delivered', endpointId: endpoint.id })
    expect(outcome.delivery.attempts).toEqual([
      { attempt: 1, at: clock.now(), durationMs: 7, httpStatus: 200, reason: null },
    ])
    expect(await commands.deliveries(agency.id, endpoint.id, PAGE)).toEqual({ rows: [outcome.delivery], total: 1 })
    const [sent] = posted
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      id: outcome.delivery.eventId,
      event: 'ping',
      occurredAt: new Date(clock.now()).toISOString(),
      data: {},
    })
    const t = Math.floor(clock.now() / 1_000)
    expect(sent?.headers['x-service-signature']).toBe(`t=${t}, v1=${serviceSignature(secret, t, sent?.body ?? '')}`)
  })

  test('that fails is dead, and neither increases nor resets the failure count', async () => {
    const { endpoint } = await register()
    await database.sql`update webhook_endpoint set consecutive_failures = 19`
    answer = FAIL
    for (let i = 0; i < 3; i++) await commands.ping(agency.id, endpoint.id, line())
    expect(await commands.find(agency.id, endpoint.id)).toMatchObject({ status: 'active', consecutiveFailures: 19 })
    answer = OK
    await commands.ping(agency.id, endpoint.id, line())
    expect(await commands.find(agency.id, endpoint.id)).toMatchObject({ status: 'active', consecutiveFailures: 19 })
    const rows = (await commands.deliveries(agency.id, endpoint.id, PAGE))?.rows ?? []
    expect(rows.map(({ status }) => status).sort()).toEqual(['dead', 'dead', 'dead', 'delivered'])
    expect(rows.find(({ status }) => status === 'dead')?.attempts[0]).toMatchObject({ reason: 'no answer within 10s' })
    await sendDue()
    expect(posted).toHaveLength(4)
    expect(await commands.resend(agency.id, rows[0]?.id ?? '', line())).toEqual({ kind: 'refused', refusal: 'is_ping' })
  })

  test('beyond the concurrent ones of an agency is refused as busy, and those of other agencies continue', async () => {
    const { endpoint } = await register()
    const pinged = () => commands.ping(agency.id, endpoint.id, line())
    const others = (n: number) => commands.ping(sampleId('agc', `other ${n}`), endpoint.id, line())
    const many = PINGS_AT_ONCE_MAX
    const [own, other] = await Promise.all([
      Promise.all(Array.from({ length: many }, pinged)),
      Promise.all(Array.from({ length: many }, (_, n) => others(n))),
    ])
    expect(own.filter(({ kind }) => kind === 'busy')).toHaveLength(many - PINGS_PER_AGENCY_MAX)
    // The endpoint is not theirs.
    expect(other.filter(({ kind }) => kind === 'not_found')).toHaveLength(PINGS_AT_ONCE_MAX - PINGS_PER_AGENCY_MAX)
    expect((await pinged()).kind).toBe('pinged')
  })
})

describe('an event', () => {
  test('creates one delivery for every active endpoint, with a snapshot of its moment as the body', async () => {
    const first = await register()
    const second = await register('https://hooks.example/second')
    const off = await register('https://hooks.example/off')
    await database.sql`update webhook_endpoint set status = 'disabled' where endpoint_id = ${uuidOf(off.endpoint.id)}`
    await book()
    await sendDue()
    expect(posted.map(({ url }) => url).sort()).toEqual(['https://hooks.example/in', 'https://hooks.example/second'])
    expect(posted[0]?.body).toBe(posted[1]?.body ?? '')
    expect(posted[0]?.headers['x-service-signature']).not.toBe(posted[1]?.headers['x-service-signature'])
    expect(await statuses(first.endpoint.id)).toEqual(['delivered'])
    expect(await statuses(second.endpoint.id)).toEqual(['delivered'])
    expect(await statuses(off.endpoint.id)).toEqual([])
  })

  test('waits for an endpoint that was there before it, first without a delivery and then with one that is pending', async () => {
    const { endpoint: first } = await register('https://hooks.example/first')
    await book()
    const { endpoint: second } = await register('https://hooks.example/second')
    const waitingFor = async (id: string) => {
      const found = await commands.find(agency.id, id)
      const statuses = (await commands.deliveries(agency.id, id, PAGE))?.rows.map(({ status }) => status)
      return [found?.waitingEvents, found?.waitingDeliveries, statuses]
    }
    const waiting = async () => [await waitingFor(first.id), await waitingFor(second.id)]
    expect(await waiting()).toEqual([
      [1, 0, []],
      [0, 0, []],
    ])
    await makeDeliveries(database.url, ledger.epoch)
    expect(await waiting()).toEqual([
      [0, 1, ['pending']],
      [0, 0, []],
    ])
  })

  test.each(['the process', 'a node'])('a resend of what %s is sending is not sent beside it', async (by) => {
    await register()
    await book()
    await makeDeliveries(database.url, ledger.epoch)
    const store = new PostgresSenderStore(database.url)
    const term = by === 'a node' ? await store.join() : await store.takeOver(ledger.epoch)
    const epoch = ledger.epochOf(agency.id)
    if (by === 'a node') await store.sendFor(term, [{ shard: shardOf(agency.id), epoch }])
    const claim = () => store.claim({ term, dueUntil: Date.now() + 60_000, room: 9, windowFresh: 9, windows: {} })
    const [claimed, ...others] = await claim()
    expect(others).toEqual([])
    expect((await commands.resend(agency.id, claimed?.deliveryId ?? '', line())).kind).toBe('resent')
    expect(await claim()).toEqual([])
    await store.close()
  })

  test('that is sent again by date goes out in the order of the list from its end, also among those of one moment', async () => {
    const { id } = (await register()).endpoint
    for (let i = 0; i < 6; i++) await book()
    await makeDeliveries(database.url, ledger.epoch)
    const since = clock.now() - 3_600_000
    await database.sql`
      update webhook_delivery set status = 'delivered', next_attempt_at = null,
        created_at = ${new Date(since)}::timestamptz + (seq % 2) * interval '1 second'`
    const listed = (await commands.deliveries(agency.id, id, PAGE))?.rows.map((delivery) => delivery.id) ?? []
    const part = { agencyId: agency.id, endpointId: id, since, until: clock.now(), failedOnly: false, after: null }
    expect(await commands.resendSince(part, line())).toMatchObject({ kind: 'resent', part: { resent: 6 } })
    const due = await database.sql<{ id: string }[]>`
      select delivery_id as id from webhook_delivery where status = 'pending' order by next_attempt_at`
    expect(due.map((delivery) => idOf('dlv', delivery.id))).toEqual(listed.toReversed())
  })

  test('keeps every attempt, and a resend has the same id and bytes on a new schedule', async () => {
    const { endpoint } = await register()
    answer = FAIL
    await book()
    await sendDue()
    const [failed] = (await commands.deliveries(agency.id, endpoint.id, PAGE))?.rows ?? []
    expect(failed).toMatchObject({
      status: 'pending',
      finishedAt: null,
      attempts: [{ attempt: 1, reason: 'no answer within 10s' }],
    })
    expect(failed?.nextAttemptAt).toBeGreaterThan(Date.now() + 50_000)
    answer = OK
    const resent = await commands.resend(agency.id, failed?.id ?? '', line())
    expect(resent).toMatchObject({ kind: 'resent', delivery: { status: 'pending', nextAttemptAt: clock.now() } })
    expect(changes.at(-1)).toBe(endpoint.id)
    await sendDue()
    await commands.resend(agency.id, failed?.id ?? '', line())
    await sendDue()
    const delivery = await rows.findDelivery(agency.id, failed?.id ?? '')
    expect(delivery).toMatchObject({ status: 'delivered', nextAttemptAt: null })
    expect(delivery?.attempts.map(({ attempt, httpStatus }) => [attempt, httpStatus])).toEqual([
      [1, null],
      [2, 200],
      [3, 200],
    ])
    expect(new Set(posted.map(({ body }) => body)).size).toBe(1)
    expect(new Set(posted.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  })
})

describe('a disabled endpoint', () => {
  async function switchedOff() {
    const { endpoint } = await register()
    answer = FAIL
    for (let i = 0; i < 22; i++) await book()
    await sendDue()
    expect(posted).toHaveLength(20)
    return endpoint.id
  }

  test('says why; its pending deliveries are held, and later events wait without one', async () => {
    const id = await switchedOff()
    expect(await commands.find(agency.id, id)).toMatchObject({
      status: 'disabled',
      disabledReason: '20 consecutive deliveries failed. Last failure: no answer within 10s',
      consecutiveFailures: 20,
    })
    for (let i = 0; i < 3; i++) await book()
    await sendDue()
    expect(await statuses(id)).toEqual(new Array(22).fill('held'))
    expect(await commands.find(agency.id, id)).toMatchObject({ waitingEvents: 3, waitingDeliveries: 22 })
    expect(await commands.list(agency.id)).toMatchObject([{ waitingEvents: 3, waitingDeliveries: 22 }])
    const [held] = (await commands.deliveries(agency.id, id, PAGE))?.rows ?? []
    expect(held?.nextAttemptAt).toBeNull()
  })

  test('enabled with resend, sends all held deliveries and all events that have waited', async () => {
    const id = await switchedOff()
    for (let i = 0; i < 3; i++) await book()
    answer = OK
    expect(await commands.change(agency.id, id, { pending: 'resend' }, line())).toMatchObject({
      kind: 'changed',
      endpoint: { status: 'active', disabledReason: null, consecutiveFailures: 0 },
    })
    await sendDue()
    expect(await statuses(id)).toEqual(new Array(25).fill('delivered'))
    expect(new Set(posted.slice(20).map(({ body }) => body)).size).toBe(25)
    expect(await commands.find(agency.id, id)).toMatchObject({ waitingEvents: 0, waitingDeliveries: 0 })
  })

  test('enabled with drop, sends only later events', async () => {
    const id = await switchedOff()
    for (let i = 0; i < 3; i++) await book()
    answer = OK
    expect(await commands.change(agency.id, id, { pending: 'drop' }, line())).toMatchObject({
      endpoint: { status: 'active', waitingEvents: 0, waitingDeliveries: 0 },
    })
    await book()
    await sendDue()
    expect((await statuses(id)).sort()).toEqual(['delivered', ...new Array(22).fill('dropped')])
    expect(posted).toHaveLength(21)
    // Dropped deliveries can still be resent one by one.
    const dropped = (await commands.deliveries(agency.id, id, PAGE))?.rows.find(({ status }) => status === 'dropped')
    await commands.resend(agency.id, dropped?.id ?? '', line())
    await sendDue()
    expect((await rows.findDelivery(agency.id, dropped?.id ?? ''))?.status).toBe('delivered')
  })

  test('enabling an active endpoint drops nothing', async () => {
    const { endpoint } = await register()
    await book()
    await makeDeliveries(database.url, ledger.epoch)
    await book()
    await commands.change(agency.id, endpoint.id, { pending: 'drop' }, line())
    expect(await statuses(endpoint.id)).toEqual(['pending'])
    expect(await commands.find(agency.id, endpoint.id)).toMatchObject({ waitingEvents: 1, waitingDeliveries: 1 })
    await makeDeliveries(database.url, ledger.epoch)
    expect(await statuses(endpoint.id)).toEqual(['pending', 'pending'])
  })
})

describe('a change', () => {
  test('of the url is checked like a new one, and resets the failure count', async () => {
    const { endpoint } = await register()
    await database.sql`update webhook_endpoint set consecutive_failures = 7`
    expect(await commands.change(agency.id, endpoint.id, { url: 'https://inside.example/' }, line())).toEqual({
      kind: 'url_refused',
      refusal: 'private',
    })
    expect(await commands.change(agency.id, endpoint.id, { url: 'https://hooks.example/new' }, line())).toMatchObject({
      kind: 'changed',
      endpoint: { url: 'https://hooks.example/new', consecutiveFailures: 0 },
    })
    // Ensures that an attempt at the old address, still in flight, does not count.
    expect(await database.sql`select revision from webhook_endpoint`).toMatchObject([{ revision: 1 }])
    expect(await commands.change(agency.id, endpoint.id, { description: null }, line())).toMatchObject({
      endpoint: { description: null },
    })
    await book()
    await sendDue()
    expect(posted[0]?.url).toBe('https://hooks.example/new')
  })

  test('of the secret sends both signatures with an overlap, and only the new one without', async () => {
    const { endpoint, secret: first } = await register()
    const rotated = await commands.rotateSecret(agency.id, endpoint.id, { overlapHours: 24 }, line())
    if (rotated.kind !== 'rotated') throw new Error(rotated.kind)
    expect(rotated.endpoint.previousSecretUntil).toBe(clock.now() + DAY_MS)
    await book()
    await sendDue()
    const [sent] = posted
    const t = Number(sent?.headers['webhook-timestamp'])
    const body = sent?.body ?? ''
    expect(sent?.headers['x-service-signature']).toBe(
      `t=${t}, v1=${serviceSignature(rotated.secret, t, body)}, v1=${serviceSignature(first, t, body)}`,
    )
    const second = await commands.rotateSecret(agency.id, endpoint.id, { overlapHours: 0 }, line())
    if (second.kind !== 'rotated') throw new Error(second.kind)
    expect(second.endpoint.previousSecretUntil).toBeNull()
    await commands.ping(agency.id, endpoint.id, line())
    const ping = posted[1]
    const at = Number(ping?.headers['webhook-timestamp'])
    expect(ping?.headers['x-service-signature']).toBe(
      `t=${at}, v1=${serviceSignature(second.secret, at, ping?.body ?? '')}`,
    )
    clock.jumpWall(25 * HOUR_MS)
    expect((await commands.find(agency.id, endpoint.id))?.previousSecretUntil).toBeNull()
  })

  test('of the secret within an overlap leaves the two newest: the one before them signs nothing more', async () => {
    const { endpoint } = await register()
    const rotate = async () => {
      const rotated = await commands.rotateSecret(agency.id, endpoint.id, { overlapHours: 24 }, line())
      return rotated.kind === 'rotated' ? rotated.secret : ''
    }
    const secrets = [await rotate(), await rotate()]
    await commands.ping(agency.id, endpoint.id, line())
    const [ping] = posted
    const at = Number(ping?.headers['webhook-timestamp'])
    const signatures = secrets.toReversed().map((secret) => `v1=${serviceSignature(secret, at, ping?.body ?? '')}`)
    expect(ping?.headers['x-service-signature']).toBe([`t=${at}`, ...signatures].join(', '))
  })

  test('that deletes the endpoint drops pending deliveries, erases the secret, and ends all sending', async () => {
    const { endpoint } = await register()
    await book()
    await makeDeliveries(database.url, ledger.epoch)
    const [pending] = (await commands.deliveries(agency.id, endpoint.id, PAGE))?.rows ?? []
    expect(await commands.delete(agency.id, endpoint.id, line())).toMatchObject({ id: endpoint.id })
    await book()
    await sendDue()
    expect(posted).toEqual([])
    expect(await commands.find(agency.id, endpoint.id)).toBeNull()
    expect(await commands.delete(agency.id, endpoint.id, line())).toBeNull()
    expect((await rows.findDelivery(agency.id, pending?.id ?? ''))?.status).toBe('dropped')
    expect(await commands.resend(agency.id, pending?.id ?? '', line())).toEqual({
      kind: 'refused',
      refusal: 'endpoint_deleted',
    })
    const [row] = await database.sql`select secret_sealed, previous_secret_sealed from webhook_endpoint`
    expect(row).toEqual({ secret_sealed: '', previous_secret_sealed: null })
  })
})

test('only a 2xx counts as accepted', () => {
  for (let httpStatus = 100; httpStatus < 600; httpStatus++) {
    expect(isAccepted({ kind: 'answered', httpStatus })).toBe(httpStatus >= 200 && httpStatus < 300)
  }
})
