/** Requests that end in a fault of the service, without a database: the core is replaced by one that fails. */

import { describe, expect, test } from 'bun:test'
import { PartnerAccess } from '../../../src/accounts/partner-access.ts'
import { RateLimiter } from '../../../src/accounts/rate-limit.ts'
import type { RefusedWrite } from '../../../src/accounts/refusal-counter.ts'
import { UsageMeter } from '../../../src/accounts/usage-meter.ts'
import { type AppOptions, createApp } from '../../../src/api/app.ts'
import { SlowListError } from '../../../src/core/bookings/booking-lists.ts'
import { RefusalNotRecordedError } from '../../../src/core/bookings/write-error.ts'
import { Inventory, SCOPES } from '../../../src/core/catalogue/agency.ts'
import { JournalError } from '../../../src/core/journal/journal-error.ts'
import { MailboxFullError } from '../../../src/core/units/unit-actor.ts'
import { IdempotencyFullError } from '../../../src/http/idempotent-writes.ts'
import { AssertionError } from '../../../src/lib/assert.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { DeadlineError } from '../../../src/lib/deadline.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { NoPlaceError } from '../../../src/lib/queues.ts'
import { RequestStats } from '../../../src/observability/request-stats.ts'
import { eventually } from '../../support/eventually.ts'
import { answerOf, requestOf } from '../../support/http-call.ts'
import { AGENCY, sampleId, sampleUnit } from '../../support/samples.ts'

const KEY_A = sampleId('key', 'a')

const SECRET = 'hr_live_test'

/** The surface over commands that fail with `error`. */
function failing(error: unknown) {
  const logged: { fields: object; message: string }[] = []
  const bugs: unknown[] = []
  const counted: RefusedWrite[] = []
  const key = {
    id: KEY_A,
    agencyId: AGENCY.id,
    name: null,
    prefix: 'hr_live_',
    scopes: SCOPES,
    secretSha256: new Bun.CryptoHasher('sha256').update(SECRET).digest('hex'),
    createdAt: 0,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  }
  const inventory = new Inventory([sampleUnit()], [])
  const catalogue = {
    keys: { holderByHash: (hash: string) => (hash === key.secretSha256 ? { key, agency: AGENCY } : null) },
    peekInventory: () => inventory,
    inventory: async () => inventory,
  }
  const usage = new UsageMeter({ clock: systemClock, persist: async () => {}, onFailure: () => {} })
  const fail = () => {
    throw error
  }
  const ledger = {
    clock: systemClock,
    newId: systemIds,
    catalogue,
    usage,
    access: new PartnerAccess({
      keys: catalogue.keys,
      clock: systemClock,
      limiter: new RateLimiter(systemClock),
      meter: usage,
    }),
    commands: { book: async () => fail(), calendar: fail, quote: fail, auditRefusal: async () => fail() },
    bookingList: { list: async () => fail() },
    refusals: { count: (refused: RefusedWrite) => counted.push(refused) },
  } as unknown as AppOptions['ledger']
  const requestStats = new RequestStats({ clock: systemClock, log: null })
  const app = createApp({
    ledger,
    requestStats,
    log: { error: (fields, message) => logged.push({ fields, message }) },
    onBug: (bug) => bugs.push(bug),
  })
  const call = async (path: string, json?: object, more: Record<string, string> = {}) => {
    const request = requestOf({ token: SECRET, headers: { 'x-request-id': 'trace-1', ...more }, json })
    return answerOf(await app.handle(new Request(`http://localhost/partner/v1${path}`, request)))
  }
  const answeredBy = (name: string) =>
    requestStats.counts().find(({ route: { method, path } }) => `${method} ${path}` === name)?.statuses
  return { call, logged, bugs, counted, answeredBy }
}

const STAY = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' }

describe('a write that', () => {
  test.each([
    ['did not happen', new JournalError('held_too_long', 'x'), 'Nothing was changed'],
    ['found its mailbox full', new MailboxFullError('x'), 'Nothing was changed'],
    ['found no place for what it reads first', new NoPlaceError('x'), 'Nothing was changed'],
    ['read too slowly what it reads first', new SlowListError('x'), 'Nothing was changed'],
    ['may have happened', new JournalError('outcome_unknown', 'x'), 'The change may or may not have been made'],
  ])('%s is 500 INTERNAL and says so, with Retry-After and the rate headers', async (_, error, title) => {
    const { call, logged, bugs, counted } = failing(error)
    const { status, headers, body } = await call('/bookings', STAY)
    expect([status, body['code'], body['requestId']]).toEqual([500, 'INTERNAL', 'trace-1'])
    expect(body['title']).toStartWith(title)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(headers.get('x-ratelimit-limit')).toBe('60')
    expect(logged).toEqual([
      { fields: { err: error, requestId: 'trace-1', route: 'POST /partner/v1/bookings' }, message: 'request failed' },
    ])
    expect(bugs).toEqual([])
    expect(counted.map(({ code }) => code)).toEqual([title === 'Nothing was changed' ? 'INTERNAL' : 'OUTCOME_UNKNOWN'])
  })
  test('failed names its trace in the answer, in the log and in the audit trail', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const { call, logged, counted } = failing(new JournalError('held_too_long', 'x'))
    expect((await call('/bookings', STAY, { traceparent })).body).toMatchObject({ requestId: 'trace-1', traceId })
    expect(logged).toMatchObject([{ fields: { requestId: 'trace-1', traceId } }])
    expect(counted).toMatchObject([{ requestId: 'trace-1', traceparent }])
  })
  test.each([
    ['INTERNAL', 'full journal', new JournalError('full', 'x')],
    ['INTERNAL', 'database away', new JournalError('held_too_long', 'x')],
    ['INTERNAL', 'fenced process', new JournalError('fenced', 'x')],
    ['INTERNAL', 'process that ends', new JournalError('closed', 'x')],
    ['INTERNAL', 'poisoned record', new JournalError('poisoned', 'x')],
    ['INTERNAL', 'full mailbox', new MailboxFullError('x')],
    ['INTERNAL', 'too many idempotency keys', new IdempotencyFullError('x')],
    ['INTERNAL', 'read that missed its deadline', new DeadlineError(5_000)],
    ['OUTCOME_UNKNOWN', 'unknown outcome', new JournalError('outcome_unknown', 'x')],
    ['OUTCOME_UNKNOWN', 'bug', new AssertionError('x')],
  ])('failed is counted for the audit trail as %s: %s', async (code, _, error) => {
    const { call, counted } = failing(error)
    await call('/bookings', STAY)
    const who = { agencyId: AGENCY.id, actor: { kind: 'key' as const, id: KEY_A }, requestId: 'trace-1' }
    expect(counted).toEqual([
      { ...who, traceparent: null, code: code as RefusedWrite['code'], route: 'POST /partner/v1/bookings' },
    ])
  })
  test('is refused, but whose refusal cannot be put into the audit trail, is 500, and counted for it', async () => {
    const { call, counted } = failing(new JournalError('held_too_long', 'x'))
    expect((await call('/bookings', {})).status).toBe(500)
    expect(counted).toMatchObject([{ code: 'INTERNAL', actor: { kind: 'key', id: KEY_A } }])
  })
  test('is refused, but perhaps not recorded in the audit trail, is 500 and says that nothing was changed', async () => {
    const { call, counted, bugs } = failing(new RefusalNotRecordedError({ cause: null }))
    const { status, body } = await call('/bookings', {})
    expect([status, body['title'], bugs]).toEqual([
      500,
      'Nothing was changed: the request was refused, but the refusal could not be recorded. Try again to see why',
      [],
    ])
    expect(counted).toMatchObject([{ code: 'INTERNAL' }])
  })
})

test('a read that fails is not counted for the audit trail', async () => {
  const { call, counted } = failing(new DeadlineError(5_000))
  expect((await call('/bookings')).status).toBe(500)
  expect(counted).toEqual([])
})

test('a request for which there is no route is counted as one, whatever its path', async () => {
  const { call, answeredBy } = failing(new Error('x'))
  expect((await call('/boats')).status).toBe(404)
  expect((await call('/boats/7', {})).status).toBe(404)
  expect(answeredBy('any unknown')).toEqual([{ status: 404, count: 2 }])
})

describe('a list that', () => {
  test.each([
    [
      "found its agency's share in use",
      new NoPlaceError('x'),
      'Cannot read the list: this agency has too many list requests in progress. Try again',
    ],
    [
      'takes too long',
      new SlowListError('x'),
      'Cannot read the list: it took longer than 5 s. Narrow the search or the filters, or try again',
    ],
  ])('%s is 500 INTERNAL and says so, with Retry-After', async (_, error, title) => {
    const { call, bugs } = failing(error)
    const { status, headers, body } = await call('/bookings', undefined)
    expect([status, body['code'], body['title']]).toEqual([500, 'INTERNAL', title])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(bugs).toEqual([])
  })
})

describe('a broken invariant', () => {
  test.each([
    ['in a write', '/bookings', STAY],
    ['in a read that answers at once', '/availability?unit=sea-view&from=2027-03-01&to=2027-03-02', undefined],
    ['in a read of the database', '/bookings', undefined],
  ])('%s is answered, and then ends the process', async (_, path, json) => {
    const bug = new AssertionError('Cannot occupy nights: one is taken')
    const { call, logged, bugs } = failing(bug)
    const { status, body } = await call(path, json)
    expect([status, body['code'], bugs]).toEqual([500, 'INTERNAL', []])
    expect(JSON.stringify(body)).not.toContain('occupy')
    await eventually('the process is notified', () => bugs.length > 0)
    expect(bugs).toEqual([bug])
    expect(logged).toHaveLength(1)
  })
})
