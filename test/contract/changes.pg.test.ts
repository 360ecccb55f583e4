/** See docs/partner-additions.md#4-get-changes-nothing-missed: one test per sentence. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Agency, ApiKey } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { Cursors } from '../../src/events/changes/cursor.ts'
import { WAITING_MAX, WAITING_PER_AGENCY_MAX, WAITING_PER_KEY_MAX } from '../../src/events/changes/waiting-places.ts'
import { type OpenStream, openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { firedEvents } from '../support/fired-events.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { copyOf, testDatabase } from '../support/postgres.ts'
import { CALLER, requestFor, sampleId } from '../support/samples.ts'
import { sharedTestService, startTestService } from '../support/test-service.ts'

let agency: Agency
let key: string
let apiKey: ApiKey
let unit: Unit

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  const made = await service.key(agency)
  key = made.secret
  apiKey = made.key
  unit = await service.unit(agency, { slug: 'sea-view', name: 'Sea View' })
})

const changes = (query: Record<string, string | number> = {}, secret = key): Promise<HttpAnswer> =>
  service.call(`/changes?${new URLSearchParams(query as Record<string, string>)}`, { key: secret })
let month = 0
/** A stay of two nights that no other has. */
const book = () => {
  const from = new Date(Date.UTC(2030, 0, 1 + 3 * month++)).toISOString().slice(0, 10)
  const to = new Date(Date.UTC(2030, 0, month * 3)).toISOString().slice(0, 10)
  return service.book(agency, unit, from, to)
}
const seqs = ({ body }: HttpAnswer) => body.changes.map(({ seq }: { seq: number }) => seq)
const ids = ({ body }: HttpAnswer) => body.changes.map(({ data }: { data: { id: string } }) => data.id)
const streams: OpenStream[] = []
const stream = async (headers: Record<string, string> = {}, query = '') => {
  const url = `${service.url}/partner/v1/changes${query}`
  const open = await openStream(url, { authorization: `Bearer ${key}`, ...headers })
  streams.push(open)
  return open
}
afterEach(() => {
  for (const open of streams.splice(0)) open.close()
})
const waiting = () => service.ledger.changes.stats.waiting
const nobodyWaits = () => eventually('nobody waits', () => waiting().requests + waiting().streams === 0)
const invalid = (field: string) => ({ status: 400, body: { code: 'VALIDATION', errors: [{ field }] } })

describe('the list', () => {
  test('needs the scope read:bookings', async () => {
    const { secret } = await service.key(agency, { scopes: ['read:units'] })
    const missing = { status: 403, body: { code: 'SCOPE_MISSING', scope: 'read:bookings' } }
    expect(await changes({}, secret)).toMatchObject(missing)
  })

  test('is exactly the webhook events, with the members of their envelope, in one total order', async () => {
    const one = await book()
    const two = await book()
    await service.ledger.commands.cancel(agency, { bookingId: one.id, reason: 'ill' }, CALLER)
    const fired = [
      ...(await firedEvents(service.database.sql, one.id)),
      ...(await firedEvents(service.database.sql, two.id)),
    ]
    const { status, body } = await changes({ after: 'start' })
    expect(status).toBe(200)
    const shown = body.changes.map(({ cursor: _, ...event }: { cursor: string }) => event)
    expect(shown).toEqual(fired.toSorted((a, b) => a.seq - b.seq))
    expect(shown.map(({ event }: { event: string }) => event)).toEqual([
      'booking.created',
      'booking.created',
      'booking.cancelled',
    ])
    expect(Object.keys(body)).toEqual(['changes', 'cursor', 'hasMore'])
    expect(Object.keys(body.changes[0])).toEqual(['cursor', 'id', 'event', 'occurredAt', 'seq', 'data'])
  })

  test('does not show what announces nothing: a unit, the lifetime of a hold', async () => {
    const held = await service.ledger.commands.book(
      agency,
      requestFor(unit, '2028-01-01', '2028-01-02', { status: 'option', holdHours: 5 }),
      CALLER,
    )
    if (held.kind !== 'done') throw new Error('Expected a booking')
    const bookingId = held.booking.id
    const change = { holdExpiresAt: Date.now() + 9_000_000 }
    await service.ledger.commands.change(agency, { bookingId, change }, CALLER)
    await service.ledger.commands.change(agency, { bookingId, change: { status: 'confirmed' } }, CALLER)
    const { body } = await changes({ after: 'start' })
    const versions = body.changes.map(({ event, data }: { event: string; data: object }) => [event, data])
    expect(versions).toMatchObject([
      ['booking.created', { version: 1 }],
      ['booking.updated', { version: 3 }],
    ])
  })

  test('without after: no changes, only today’s end, from which the next change is the first', async () => {
    await book()
    const end = await changes({ wait: 20 })
    expect(end).toMatchObject({ status: 200, body: { changes: [], hasMore: false } })
    const later = await book()
    expect(ids(await changes({ after: end.body.cursor }))).toEqual([later.id])
  })

  test('after a change’s own cursor comes the next change; what was shown is shown again to everyone who asks from before it', async () => {
    const made = [await book(), await book(), await book()].map(({ id }) => id)
    const all = await changes({ after: 'start' })
    expect(ids(all)).toEqual(made)
    for (const [i, { cursor }] of all.body.changes.entries())
      expect(ids(await changes({ after: cursor }))).toEqual(made.slice(i + 1))
    expect((await changes({ after: 'start' })).body).toEqual(all.body)
    const other = await service.key(agency)
    expect((await changes({ after: 'start' }, other.secret)).body).toEqual(all.body)
  })

  test('limit: 1 to 500, default 100; hasMore says whether there are more, and the cursor continues after the last one shown', async () => {
    for (let n = 0; n < 102; n++) await book()
    const all = seqs(await changes({ after: 'start', limit: 500 }))
    expect(all).toHaveLength(102)
    const first = await changes({ after: 'start' })
    expect([seqs(first), first.body.hasMore]).toEqual([all.slice(0, 100), true])
    const rest = await changes({ after: first.body.cursor, limit: 2 })
    expect([seqs(rest), rest.body.hasMore]).toEqual([all.slice(100), false])
    const one = await changes({ after: 'start', limit: 1 })
    expect([seqs(one), one.body.hasMore]).toEqual([all.slice(0, 1), true])
    for (const limit of ['0', '501', '1.5', 'x', '']) expect(await changes({ limit })).toMatchObject(invalid('limit'))
  })

  test('wait: 0 to 20 seconds; ignored without after, but not if it is malformed', async () => {
    for (const wait of ['-1', '21', '0.5', 'x', '']) expect(await changes({ wait })).toMatchObject(invalid('wait'))
    expect(await changes({ wait: 20 })).toMatchObject({ status: 200 })
    expect(await changes({ wait: 0, after: 'start' })).toMatchObject({ status: 200, body: { changes: [] } })
  })

  test('holds nothing of another agency, also where both are in one shard', async () => {
    await book()
    const other = await service.agency()
    const { secret } = await service.key(other)
    expect((await changes({ after: 'start' }, secret)).body.changes).toEqual([])
  })
})

describe('a cursor', () => {
  test('of another agency, or a mangled one, is 400 VALIDATION', async () => {
    await book()
    const { cursor } = (await changes({ after: 'start' })).body
    const stranger = await service.key(await service.agency())
    expect(await changes({ after: cursor }, stranger.secret)).toMatchObject(invalid('after'))
    const mangled = ['', 'Start', 'x', cursor.slice(1), `${cursor}A`, cursor.replace(/.$/, 'x'), `${cursor}=`]
    for (const after of [...mangled, cursor.replace(/^./, 'B'), '%', 'A'.repeat(50), 'é'.repeat(50)])
      expect(await changes({ after })).toMatchObject(invalid('after'))
  })

  test('with any one character changed is 400 VALIDATION', async () => {
    await book()
    const { cursor } = (await changes({ after: 'start' })).body
    for (let i = 0; i < cursor.length; i++) {
      const after = `${cursor.slice(0, i)}${cursor[i] === 'Q' ? 'R' : 'Q'}${cursor.slice(i + 1)}`
      expect(await changes({ after })).toMatchObject(invalid('after'))
    }
  })

  test('from a history that was given up by restoring a backup is 410 CURSOR_EXPIRED; one from before the backup is good', async () => {
    const database = await testDatabase()
    let on = await startTestService({ on: database })
    const agency = await on.agency()
    const unit = await on.unit(agency)
    const { secret } = await on.key(agency)
    const ask = (query: string, headers = {}) => on.call(`/changes?${query}`, { key: secret, headers })
    await on.book(agency, unit, '2027-03-01', '2027-03-02')
    const kept = (await ask('')).body.cursor
    await on.close()
    const restored = await copyOf(database)
    on = await startTestService({ on: database })
    await on.book(agency, unit, '2027-03-02', '2027-03-03')
    const givenUp = (await ask('')).body.cursor
    await on.close()
    on = await startTestService({ on: restored })
    // The log is as long again.
    const { id } = await on.book(agency, unit, '2027-03-03', '2027-03-04')
    const expired = { status: 410, body: { code: 'CURSOR_EXPIRED' } }
    expect(await ask(`after=${givenUp}`)).toMatchObject(expired)
    expect(await ask(`after=${givenUp}&wait=20`)).toMatchObject(expired)
    const accept = 'text/event-stream'
    expect(await ask(`after=${givenUp}`, { accept })).toMatchObject(expired)
    expect(await ask('after=start', { accept, 'last-event-id': givenUp })).toMatchObject(expired)
    expect(ids(await ask(`after=${kept}`))).toEqual([id])
    await on.close()
    await restored.drop()
    await database.drop()
  })

  test('of another database is 410 CURSOR_EXPIRED', async () => {
    const cursor = new Cursors('99999999-9999-4999-8999-999999999999', agency.id, 'partner')
    const after = cursor.write({ seq: 1, fingerprint: '00'.repeat(8) })
    expect(await changes({ after })).toMatchObject({ status: 410, body: { code: 'CURSOR_EXPIRED' } })
  })

  test('given twice is 400', async () => {
    const answer = await service.call('/changes?after=start&after=start', { key })
    expect(answer).toMatchObject(invalid('after'))
  })
})

describe('wait', () => {
  const timed = async (answer: Promise<HttpAnswer>) => {
    const since = performance.now()
    return { ...(await answer), ms: performance.now() - since }
  }

  test('answers as soon as there is a change', async () => {
    const { cursor } = (await changes()).body
    const polls = [1, 2, 3].map(() => changes({ after: cursor, wait: 20 }))
    await eventually('three wait', () => waiting().requests === 3)
    const { id } = await book()
    for (const poll of await Promise.all(polls)) expect(ids(poll)).toEqual([id])
    await nobodyWaits()
    expect(service.ledger.changes.stats.delayMs.counts.reduce((a, b) => a + b)).toBeGreaterThanOrEqual(3)
  })

  test('answers empty when there is none in time, with a cursor from which nothing is missed', async () => {
    const { cursor } = (await changes()).body
    const poll = await timed(changes({ after: cursor, wait: 1 }))
    expect([poll.body.changes, poll.ms >= 900]).toEqual([[], true])
    const { id } = await book()
    expect(ids(await changes({ after: poll.body.cursor }))).toEqual([id])
  })

  test('is not woken by what announces nothing, nor by another agency', async () => {
    const { cursor } = (await changes()).body
    const poll = timed(changes({ after: cursor, wait: 3 }))
    await eventually('it waits', () => waiting().requests === 1)
    const other = await service.agency()
    await service.book(other, await service.unit(other), '2027-03-01', '2027-03-02')
    await service.unit(agency, { slug: 'new-unit' })
    expect(await poll).toMatchObject({ status: 200, body: { changes: [] } })
  })

  test('costs one request: one of the minute and one of the month', async () => {
    const used = () => service.ledger.usage.position(agency.id, 1_000).used
    const { cursor } = (await changes()).body
    const before = used()
    const first = await changes({ after: cursor, wait: 1 })
    const second = await changes({ after: cursor })
    const remaining = [first, second].map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    expect([used() - before, (remaining[0] ?? 0) - (remaining[1] ?? 0)]).toEqual([2, 1])
  })

  test('ends when the client is gone', async () => {
    const { cursor } = (await changes()).body
    const leaving = new AbortController()
    const poll = fetch(`${service.url}/partner/v1/changes?after=${cursor}&wait=20`, {
      headers: { authorization: `Bearer ${key}` },
      signal: leaving.signal,
    }).catch(() => 'gone')
    await eventually('it waits', () => waiting().requests === 1)
    leaving.abort()
    expect(await poll).toBe('gone')
    await nobodyWaits()
  })
})

describe('waiting requests', () => {
  test(`an agency has at most ${WAITING_PER_AGENCY_MAX} with all its keys; the next gets 429, and another agency's waits`, async () => {
    const used = () => service.ledger.usage.position(agency.id, 10_000).used
    const { cursor } = (await changes()).body
    const { signal } = new AbortController()
    const reader = { agencyId: agency.id, after: cursor, limit: 1, isServed: () => true, signal }
    const polls = Array.from({ length: WAITING_PER_AGENCY_MAX }, (_, n) =>
      service.ledger.changes.page({ ...reader, keyId: sampleId('key', n >> 3), waitMs: 20_000 }),
    )
    await eventually('all wait', () => waiting().requests === WAITING_PER_AGENCY_MAX)
    const before = used()
    const refused = await changes({ after: cursor, wait: 1 })
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect([refused.headers.get('retry-after'), used()]).toEqual(['1', before])
    const other = await service.agency()
    const { secret } = await service.key(other)
    const ofOther = (await changes({}, secret)).body.cursor
    expect(await changes({ after: ofOther, wait: 1 }, secret)).toMatchObject({ status: 200 })
    await book()
    await Promise.all(polls)
    await nobodyWaits()
  })

  /** Of one key; not awaited. */
  const fill = (cursor: string, count: number) =>
    Array.from({ length: count }, () => changes({ after: cursor, wait: 20 }))

  test(`a key has at most ${WAITING_PER_KEY_MAX}; the next gets 429 with Retry-After: 1, and costs no quota`, async () => {
    const used = () => service.ledger.usage.position(agency.id, 1_000).used
    const { cursor } = (await changes()).body
    const open = [await stream(), await stream()]
    const polls = fill(cursor, WAITING_PER_KEY_MAX - 2)
    await eventually('all wait', () => waiting().requests === WAITING_PER_KEY_MAX - 2)
    const before = used()
    const refused = await changes({ after: cursor, wait: 1 })
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await stream()).response.status).toBe(429)
    expect(used()).toBe(before)
    // What can be answered at once is not waiting, and another key has its own places.
    expect(await changes({ after: cursor })).toMatchObject({ status: 200 })
    const other = await service.key(agency)
    const otherPoll = changes({ after: cursor, wait: 20 }, other.secret)
    await eventually('the other waits', () => waiting().requests === WAITING_PER_KEY_MAX - 1)
    await book()
    expect((await Promise.all([...polls, otherPoll])).map(seqs)).toEqual(
      Array(WAITING_PER_KEY_MAX - 1).fill([expect.any(Number)]),
    )
    for (const each of open) each.close()
    await nobodyWaits()
    expect(await changes({ after: cursor, wait: 1 })).toMatchObject({ status: 200 })
  })

  test(`a process holds at most ${WAITING_MAX}, then 500 INTERNAL with Retry-After`, async () => {
    const { cursor } = (await changes()).body
    const answerTo = (n: number) => ({
      agencyId: agency.id,
      ownerId: `agency ${n >> 4}`,
      keyId: sampleId('key', n),
      after: cursor,
      limit: 1,
      waitMs: 20_000,
      isServed: () => true,
      signal: leaving.signal,
    })
    const leaving = new AbortController()
    const held = Array.from({ length: WAITING_MAX }, (_, n) => service.ledger.changes.page(answerTo(n >> 4)))
    await eventually('all wait', () => waiting().requests === WAITING_MAX)
    const refused = await changes({ after: cursor, wait: 1 })
    expect(refused).toMatchObject({ status: 500, body: { code: 'INTERNAL' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    leaving.abort()
    await Promise.all(held)
    expect(await changes({ after: cursor, wait: 1 })).toMatchObject({ status: 200 })
  })

  /** A request of another agency. */
  async function waitElsewhere(): Promise<{ end(): Promise<unknown> }> {
    const other = await service.agency()
    const { secret } = await service.key(other)
    const poll = changes({ after: (await changes({}, secret)).body.cursor, wait: 20 }, secret)
    await eventually('it waits', () => waiting().requests === 1)
    return { end: () => service.patch(`/agencies/${other.slug}`, { status: 'suspended' }).then(() => poll) }
  }

  const ENDINGS: Record<string, () => unknown> = {
    'its key is revoked': () => service.delete(`/agencies/${agency.slug}/keys/${apiKey.id}`),
    'its key expires': () => service.ledger.catalogue.putKey({ ...apiKey, expiresAt: Date.now() + 200 }),
    'the agency is suspended': () => service.patch(`/agencies/${agency.slug}`, { status: 'suspended' }),
  }
  test.each(Object.entries(ENDINGS))(
    'end within a second when %s, empty; the next request gets 401',
    async (_, end) => {
      // It waits on, so those that began later have not just waited for as long as they may.
      const witness = await waitElsewhere()
      const { cursor } = (await changes()).body
      const poll = changes({ after: cursor, wait: 20 })
      const open = await stream()
      await eventually('all wait', () => waiting().requests + waiting().streams === 3)
      await end()
      expect(await poll).toMatchObject({ status: 200, body: { changes: [] } })
      await open.ended
      expect(waiting()).toEqual({ requests: 1, streams: 0 })
      await witness.end()
      expect(await changes({ after: cursor })).toMatchObject({ status: 401 })
      expect((await stream()).response.status).toBe(401)
    },
  )

  test('end within a second when the plan loses API access; the next request gets 403', async () => {
    const { cursor } = (await changes()).body
    const poll = changes({ after: cursor, wait: 20 })
    await eventually('it waits', () => waiting().requests === 1)
    service.ledger.catalogue.putAgency({ ...agency, plan: { ...agency.plan, apiAccess: false } })
    expect(await poll).toMatchObject({ status: 200, body: { changes: [] } })
    expect(await changes({ after: cursor })).toMatchObject({ status: 403, body: { code: 'FEATURE_DISABLED' } })
  })

  test('a key that was revoked while its request waited is shown no change, however soon it comes', async () => {
    const { cursor } = (await changes()).body
    const poll = changes({ after: cursor, wait: 20 })
    const open = await stream()
    await eventually('both wait', () => waiting().requests + waiting().streams === 2)
    service.ledger.catalogue.putKey({ ...apiKey, revokedAt: Date.now() })
    await book()
    expect((await poll).body.changes).toEqual([])
    await open.ended
    expect(open.events).toEqual([])
  })
})

describe('server-sent events', () => {
  test('id is the cursor, event the kind, data the whole change as the list shows it', async () => {
    await book()
    const open = await stream({}, '?after=start')
    expect(open.response.headers.get('content-type')).toBe('text/event-stream')
    expect(open.response.headers.get('cache-control')).toBe('no-store')
    expect(open.response.headers.get('x-ratelimit-limit')).toBe(String(agency.plan.requestsPerMinute))
    await eventually('the first event', () => open.events.length === 1)
    const { id } = await book()
    await service.ledger.commands.cancel(agency, { bookingId: id, reason: null }, CALLER)
    await eventually('all events', () => open.events.length === 3)
    const { body } = await changes({ after: 'start' })
    expect(open.events).toEqual(
      body.changes.map((change: { cursor: string; event: string }) => ({
        id: change.cursor,
        event: change.event,
        data: JSON.stringify(change),
      })),
    )
    open.close()
    await nobodyWaits()
  })

  test('without after a stream begins at today’s end', async () => {
    await book()
    const open = await stream()
    const { id } = await book()
    await eventually('an event', () => open.events.length > 0)
    expect(open.events.map(({ data }) => JSON.parse(data).data.id)).toEqual([id])
    open.close()
  })

  test('Last-Event-ID counts as after, and wins over it', async () => {
    const made = [await book(), await book()].map(({ id }) => id)
    const first = (await changes({ after: 'start', limit: 1 })).body.cursor
    const open = await stream({ 'last-event-id': first }, '?after=start')
    await eventually('an event', () => open.events.length > 0)
    expect(open.events.map(({ data }) => JSON.parse(data).data.id)).toEqual(made.slice(1))
    open.close()
  })

  test('a client that has got no event yet has an id to come back with, and misses nothing', async () => {
    const open = await stream()
    await eventually('an id', () => open.lastEventId() !== '')
    open.close()
    const { id } = await book()
    const again = await stream({ 'last-event-id': open.lastEventId() })
    await eventually('an event', () => again.events.length > 0)
    expect(again.events.map(({ data }) => JSON.parse(data).data.id)).toEqual([id])
    again.close()
  })

  test('shows a history longer than a page without a pause', async () => {
    for (let n = 0; n < 25; n++) await book()
    const open = await stream({}, '?after=start&limit=3')
    await eventually('all events', () => open.events.length === 25)
    expect(open.events.map(({ data }) => JSON.parse(data).seq)).toEqual(seqs(await changes({ after: 'start' })))
    open.close()
  })

  test('a faulty cursor is refused before the stream begins', async () => {
    expect((await stream({}, '?after=x')).response.status).toBe(400)
    const headers = { accept: 'text/event-stream', 'last-event-id': 'x' }
    expect(await service.call('/changes?after=start', { key, headers })).toMatchObject(invalid('Last-Event-ID'))
    await nobodyWaits()
  })

  test('an Accept that names JSON too gets JSON', async () => {
    const headers = { accept: 'application/json, text/event-stream' }
    const answer = await service.call('/changes?after=start', { key, headers })
    expect(answer.headers.get('content-type')).toBe('application/json')
  })

  test('counts as one request', async () => {
    const used = () => service.ledger.usage.position(agency.id, 1_000).used
    const before = used()
    const open = await stream()
    for (let n = 0; n < 3; n++) await book()
    await eventually('all events', () => open.events.length === 3)
    expect(used() - before).toBe(1)
    open.close()
  })
})
