/** `GET {a}/changes`: see docs/design.md#changes, "The agency's own feed". What it shares with the partners' is tested there. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { SET_RATES_ROUTE } from '../../../src/api/portal/agency-change.ts'
import { PORTAL_OPERATIONS } from '../../../src/api/portal/portal-surface.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { WAITING_PER_KEY_MAX } from '../../../src/events/changes/waiting-places.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { type OpenStream, openStream } from '../../support/event-stream.ts'
import { eventually } from '../../support/eventually.ts'
import type { HttpAnswer } from '../../support/http-call.ts'
import type { TestAccessToken } from '../../support/ledger.ts'
import { signIn, signOut } from '../../support/page-sessions.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let viewer: TestAccessToken
let a: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  viewer = await service.accessToken(agency, 'viewer')
  a = `/agencies/${agency.slug}`
  await service.unit(agency, { slug: 'sea-view', name: 'Sea View' })
})

type Query = Record<string, string | number>
const changes = (query: Query = {}, token = viewer.secret, path = a): Promise<HttpAnswer> =>
  service.ask(`${path}/changes?${new URLSearchParams(query as Record<string, string>)}`, undefined, { token })
let stays = 0
/** A stay of two nights that no other has. @returns the booking */
async function book(more: object = {}) {
  const day = (n: number) => new Date(Date.UTC(2030, 0, 3 * stays + n)).toISOString().slice(0, 10)
  stays += 1
  const answer = await service.ask(`${a}/bookings`, { unit: 'sea-view', arrival: day(1), departure: day(3), ...more })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.body.booking
}
const streams: OpenStream[] = []
async function stream(headers: Record<string, string> = { authorization: `Bearer ${viewer.secret}` }, query = '') {
  const open = await openStream(`${service.url}/portal/v1${a}/changes${query}`, headers)
  streams.push(open)
  return open
}
afterEach(() => {
  for (const open of streams.splice(0)) open.close()
})
const waiting = () => service.ledger.changes.stats.waiting
const nobodyWaits = () => eventually('nobody waits', () => waiting().requests + waiting().streams === 0)
const events = ({ body }: HttpAnswer) => body.changes.map(({ event }: { event: string }) => event)
const seqs = ({ body }: HttpAnswer) => body.changes.map(({ seq }: { seq: number }) => seq)
const invalid = (field: string) => ({ status: 400, body: { code: 'VALIDATION', errors: [{ field }] } })

describe('the list', () => {
  test('shows a booking as the portal does, with its guest and notes', async () => {
    const guest = { firstName: 'Ana', lastName: 'Silva', email: 'ana@example.com' }
    const booking = await book({ guest, notes: 'Late arrival', sourceRef: 'Ref "1"' })
    const { body } = await changes({ after: 'start' })
    const change = body.changes.at(-1)
    expect(Object.keys(change)).toEqual(['cursor', 'id', 'seq', 'event', 'occurredAt', 'data'])
    expect(change.event).toBe('booking.created')
    expect(change.data).toEqual(booking)
    expect(change.data.guest.lastName).toBe('Silva')
    expect(Object.keys(body)).toEqual(['changes', 'cursor', 'hasMore'])
  })

  test('shows what partners do not see: a new lifetime of a hold, an expected extension, units and rates', async () => {
    const held = await book({ status: 'option' })
    const path = `${a}/bookings/${held.id}`
    const change = async (json: object) => (await service.patch(path, json)).body.booking
    const shown = [
      held,
      await change({ holdExpiresAt: new Date(Date.now() + 9_000_000).toISOString() }),
      await change({ status: 'confirmed' }),
      await change({ status: 'checked_in' }),
      await change({ expectedUntil: '2090-01-01' }),
      (await service.ask(`${path}/cancel`, { reason: 'ill' })).body.booking,
    ]
    const unit = (await service.patch(`${a}/units/sea-view`, { name: 'Sea View 2' })).body.unit
    const { rates } = (
      await service.put(`${a}/units/sea-view/rates`, { weekdayAdjustments: [{ weekday: 5, pct: 15 }] })
    ).body
    const answer = await changes({ after: 'start' })
    expect(events(answer)).toEqual([
      ...['unit.updated', 'booking.created'],
      ...Array.from({ length: 4 }, () => 'booking.updated'),
      ...['booking.cancelled', 'unit.updated', 'rates.updated'],
    ])
    const data = answer.body.changes.map(({ data }: { data: object }) => data)
    expect(data.slice(1, 7)).toEqual(shown)
    expect(data[5].expectedUntil).toBe('2090-01-01')
    expect([data[5].cancelReason, data[6].cancelReason]).toEqual([null, 'ill'])
    expect(data[7]).toEqual(unit)
    expect(data[8]).toEqual({ unitId: unit.id, unitSlug: 'sea-view', unitName: 'Sea View 2', rates })
  })

  test('shows a booking as it was after the change, with the guest as he is now', async () => {
    const { id, guest } = await book({ guest: { firstName: 'Ana', lastName: 'Silva' } })
    await service.patch(`${a}/bookings/${id}`, { departure: '2090-01-03', arrival: '2090-01-01' })
    await service.patch(`${a}/guests/${guest.id}`, { lastName: 'Costa' })
    await service.patch(`${a}/units/sea-view`, { slug: 'new-view' })
    const data = (await changes({ after: 'start' })).body.changes.slice(1, 3).map(({ data }: { data: object }) => data)
    expect(data).toMatchObject([
      { version: 1, unitSlug: 'sea-view', guest: { lastName: 'Costa' } },
      { version: 2, unitSlug: 'sea-view', arrival: '2090-01-01', guest: { lastName: 'Costa' } },
    ])
  })

  test('has every entry of the agency’s log, none of another agency’s, and no fee types', async () => {
    const other = await service.agency()
    const theirs = await service.unit(other)
    await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        await service.book(
          other,
          theirs,
          `2031-01-${String(i * 2 + 1).padStart(2, '0')}`,
          `2031-01-${String(i * 2 + 2).padStart(2, '0')}`,
        )
        const { id } = await book({ status: i % 2 === 0 ? 'option' : 'confirmed' })
        if (i % 3 === 0) await service.ask(`${a}/bookings/${id}/cancel`, {})
        if (i % 4 === 0) await service.put(`${a}/units/sea-view/rates`, {})
        await service.ask(`${a}/fee-types`, { label: `Fee ${i}`, kind: 'fixed', amount: i })
      }),
    )
    const log = await service.ledger.sql<{ seq: number; id: string }[]>`
      select seq::float8 as seq, 'evt_' || replace(entry_id::text, '-', '') as id from journal where agency_id = ${uuidOf(agency.id)} order by seq`
    const shown: { seq: number; id: string }[] = []
    for (let after = 'start', hasMore = true; hasMore; ) {
      const { body } = await changes({ after, limit: 7 })
      shown.push(...body.changes.map(({ seq, id }: { seq: number; id: string }) => ({ seq, id })))
      after = body.cursor
      hasMore = body.hasMore
    }
    expect(shown).toEqual([...log])
    expect(shown.length).toBeGreaterThan(15)
  })

  test('begins at today’s end without after', async () => {
    await book()
    const end = await changes({ wait: 20 })
    expect(end).toMatchObject({ status: 200, body: { changes: [], hasMore: false } })
    const { id } = await book()
    const next = await changes({ after: end.body.cursor })
    expect(next.body.changes.map(({ data }: { data: { id: string } }) => data.id)).toEqual([id])
  })

  test('is read by every role of the agency and by the operator, and by nobody else', async () => {
    for (const role of ['viewer', 'desk', 'manager', 'owner'] as const)
      expect((await changes({}, (await service.accessToken(agency, role)).secret)).status).toBe(200)
    expect((await service.get(`${a}/changes`)).status).toBe(200)
    const stranger = await service.accessToken(await service.agency(), 'owner')
    expect(await changes({}, stranger.secret)).toMatchObject({ status: 404, body: { title: 'No such agency' } })
    expect((await service.get('/agencies/no-such-agency/changes')).status).toBe(404)
    expect((await changes({}, 'x'.repeat(51))).status).toBe(401)
  })

  test('knows new rates by the route that sets them', () => {
    const setRates = PORTAL_OPERATIONS.find(({ id }) => id === 'setRates')
    expect(`${setRates?.method} ${setRates?.path}`).toBe(SET_RATES_ROUTE)
  })
})

describe('a cursor', () => {
  test('of the partners’ feed is 400 here, and the other way round', async () => {
    await book()
    const { secret } = await service.key(agency)
    const theirs = (await service.call('/changes?after=start', { key: secret })).body
    const ours = (await changes({ after: 'start' })).body
    for (const cursor of [theirs.cursor, theirs.changes[0].cursor])
      expect(await changes({ after: cursor })).toMatchObject(invalid('after'))
    for (const cursor of [ours.cursor, ours.changes[0].cursor])
      expect(await service.call(`/changes?after=${cursor}`, { key: secret })).toMatchObject(invalid('after'))
    const open = await stream({ authorization: `Bearer ${viewer.secret}`, 'last-event-id': theirs.cursor })
    expect(open.response.status).toBe(400)
  })

  test('of another agency, or a mangled one, is 400', async () => {
    const { cursor } = (await changes()).body
    const other = await service.agency()
    expect(await service.get(`/agencies/${other.slug}/changes?after=${cursor}`)).toMatchObject(invalid('after'))
    for (const after of ['', 'x', `${cursor}A`, cursor.slice(1)])
      expect(await changes({ after })).toMatchObject(invalid('after'))
    for (const limit of ['0', '501']) expect(await changes({ limit })).toMatchObject(invalid('limit'))
    expect(await changes({ wait: 21 })).toMatchObject(invalid('wait'))
  })
})

describe('whoever waits', () => {
  test('is answered as soon as there is a change, of any kind', async () => {
    const makers = [
      () => book(),
      () => service.patch(`${a}/units/sea-view`, { name: 'Renamed' }),
      () => service.put(`${a}/units/sea-view/rates`, {}),
    ]
    for (const make of makers) {
      const { cursor } = (await changes()).body
      const polls = [1, 2, 3].map(() => changes({ after: cursor, wait: 20 }))
      await eventually('three wait', () => waiting().requests === 3)
      await make()
      const answers = await Promise.all(polls)
      expect(seqs(answers[0] as HttpAnswer)).toHaveLength(1)
      for (const answer of answers) expect(answer.body).toEqual(answers[0]?.body)
    }
    await nobodyWaits()
  })

  test(`has ${WAITING_PER_KEY_MAX} places with one token and all its sessions; the next gets 429`, async () => {
    const { cookie: session } = await signIn(service.url, viewer.secret)
    const { cursor } = (await changes()).body
    const open = [await stream(), await stream({ cookie: session })]
    const polls = Array.from({ length: WAITING_PER_KEY_MAX - 2 }, () => changes({ after: cursor, wait: 20 }))
    await eventually('all wait', () => waiting().requests === WAITING_PER_KEY_MAX - 2)
    const refused = await changes({ after: cursor, wait: 1 })
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await stream({ cookie: session })).response.status).toBe(429)
    const other = await service.accessToken(agency, 'viewer')
    const otherPoll = changes({ after: cursor, wait: 20 }, other.secret)
    await eventually('the other waits', () => waiting().requests === WAITING_PER_KEY_MAX - 1)
    await book()
    await Promise.all([...polls, otherPoll])
    for (const each of open) each.close()
    await nobodyWaits()
  })

  test('does not keep the partners from waiting, nor they him; the metrics count both', async () => {
    const { secret } = await service.key(agency)
    const { cursor } = (await service.call('/changes', { key: secret })).body
    const theirs = service.call(`/changes?after=${cursor}&wait=20`, { key: secret })
    const ours = changes({ after: (await changes()).body.cursor, wait: 20 })
    await eventually('both wait', () => waiting().requests === 2)
    await service.patch(`${a}/units/sea-view`, { name: 'Renamed' })
    expect(events(await ours)).toEqual(['unit.updated'])
    expect(waiting().requests).toBe(1)
    await book()
    expect((await theirs).body.changes).toHaveLength(1)
  })

  const ENDINGS: Record<string, (cookie: string) => unknown> = {
    'his token is revoked': () => service.delete(`${a}/access-tokens/${viewer.token.id}`),
    'his token expires': async () => {
      service.ledger.catalogue.putAccessToken({ ...viewer.token, expiresAt: Date.now() + 100 })
      await Bun.sleep(110)
    },
    'the agency is suspended': () => service.patch(a, { status: 'suspended' }),
    'he signs out': (cookie) => signOut(service.url, cookie),
  }
  test.each(Object.entries(ENDINGS))(
    'is sent away within a second when %s, empty; then he gets 401',
    async (_, end) => {
      const { cookie } = await signIn(service.url, viewer.secret)
      const { cursor } = (await changes()).body
      const open = await stream({ cookie })
      const poll = service.ask(`${a}/changes?after=${cursor}&wait=20`, undefined, { token: null, headers: { cookie } })
      await eventually('both wait', () => waiting().requests + waiting().streams === 2)
      const since = performance.now()
      await end(cookie)
      await book().catch(() => undefined)
      expect(await poll).toMatchObject({ status: 200, body: { changes: [] } })
      await open.ended
      // Of the 20 s that it may wait.
      expect(performance.now() - since).toBeLessThan(15_000)
      expect(open.events).toEqual([])
      const again = await service.ask(`${a}/changes`, undefined, { token: null, headers: { cookie } })
      expect(again.status).toBe(401)
      expect((await stream({ cookie })).response.status).toBe(401)
    },
  )

  test('does not keep his session alive: a page asks for changes by itself', async () => {
    const { cookie } = await signIn(service.url, viewer.secret)
    const headers = { cookie }
    const seenAt = () => service.ledger.sessions.find(cookie.split('=')[1] ?? '')?.seenAt
    const opened = seenAt()
    await Bun.sleep(5)
    await service.ask(`${a}/changes`, undefined, { token: null, headers })
    await stream(headers)
    expect(seenAt()).toBe(opened as number)
    await service.ask(`${a}/units`, undefined, { token: null, headers })
    expect(seenAt()).toBeGreaterThan(opened as number)
  })

  test('with a session that others of the token outlive is the only one sent away', async () => {
    const [one, two] = [
      (await signIn(service.url, viewer.secret)).cookie,
      (await signIn(service.url, viewer.secret)).cookie,
    ]
    const open = [await stream({ cookie: one }), await stream({ cookie: two }), await stream()]
    await eventually('all wait', () => waiting().streams === 3)
    await signOut(service.url, one)
    await open[0]?.ended
    await book()
    await eventually('the others see it', () => open.slice(1).every(({ events }) => events.length === 1))
    expect(open[0]?.events).toEqual([])
  })
})

describe('server-sent events', () => {
  test('id is the cursor, event the kind, data the whole change as the list shows it; with the cookie alone', async () => {
    const { cookie } = await signIn(service.url, viewer.secret)
    const open = await stream({ cookie }, '?after=start')
    expect(open.response.headers.get('content-type')).toBe('text/event-stream')
    expect(open.response.headers.get('cache-control')).toBe('no-store')
    await eventually('the first event', () => open.events.length === 1)
    const { id } = await book({ guest: { firstName: 'Ana', lastName: 'Silva' } })
    await service.ask(`${a}/bookings/${id}/cancel`, { reason: 'ill' })
    await service.put(`${a}/units/sea-view/rates`, {})
    await eventually('all events', () => open.events.length === 4)
    const { body } = await changes({ after: 'start' })
    const listed = body.changes.map((change: { cursor: string; event: string; data: object }) => ({
      id: change.cursor,
      event: change.event,
      data: JSON.stringify(change),
    }))
    // Cancelled since it was shown: the reason is shown with the change that cancelled it.
    expect(open.events).toEqual(listed)
  })

  test('continue after Last-Event-ID, and miss nothing while the client was away', async () => {
    const open = await stream()
    await eventually('an id', () => open.lastEventId() !== '')
    open.close()
    const made = [(await book()).id, (await book()).id]
    const headers = { authorization: `Bearer ${viewer.secret}`, 'last-event-id': open.lastEventId() }
    const again = await stream(headers)
    await eventually('both', () => again.events.length === 2)
    expect(again.events.map(({ data }) => JSON.parse(data).data.id)).toEqual(made)
  })

  test('show a history longer than a page without a pause', async () => {
    for (let n = 0; n < 12; n++) await book()
    const open = await stream(undefined, '?after=start&limit=3')
    await eventually('all events', () => open.events.length === 13)
    expect(open.events.map(({ data }) => JSON.parse(data).seq)).toEqual(seqs(await changes({ after: 'start' })))
  })
})
