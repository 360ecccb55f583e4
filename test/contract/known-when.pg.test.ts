/** See docs/partner-additions.md#10-what-was-known-when: a test per sentence, and generated changes. */

import { beforeEach, describe, expect, test } from 'bun:test'
import { keepMonthEnds } from '../../src/app/month-archive.ts'
import { ENTRIES_PER_PART } from '../../src/core/bookings/units-as-of.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { addNights, formatNight } from '../../src/core/domain/night.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { HOUR_MS } from '../../src/lib/clock.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { makeCheckpoints } from '../support/checkpoints.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { rounds } from '../support/long-run.ts'
import { clockAt, haveMonthsSince, monthsAgo } from '../support/past-months.ts'
import { testDatabase } from '../support/postgres.ts'
import { night, sampleId, sampleRules } from '../support/samples.ts'
import { sharedTestService, startTestService } from '../support/test-service.ts'

let now = Date.now()
let agency: Agency
let key: string
let seaView: Unit
let garden: Unit

const service = await sharedTestService({ clock: clockAt(() => now), limits: { snapshotEvery: 4 } })
beforeEach(async () => {
  agency = await service.agency()
  key = (await service.key(agency)).secret
  seaView = await service.unit(agency, { slug: 'sea-view', name: 'Sea View' })
  garden = await service.unit(agency, { slug: 'garden', name: 'Garden', rules: sampleRules({ turnoverNights: 2 }) })
  now += HOUR_MS
})

const STAY = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-05' }
const RANGE = 'from=2027-02-25&to=2027-04-01'
const iso = (at: number) => new Date(at).toISOString()
const availability = (slug: string, asOf: number | string, secret = key): Promise<HttpAnswer> => {
  const moment = encodeURIComponent(typeof asOf === 'number' ? iso(asOf) : asOf)
  return service.call(`/availability?unit=${slug}&${RANGE}&asOf=${moment}`, { key: secret })
}
const portalPath = (path: string) => `/agencies/${agency.slug}${path}`
const history = async (id: string, secret = key) =>
  (await service.call(`/bookings/${id}/history`, { key: secret })).body.history
const portalHistory = async (id: string) => (await service.get(portalPath(`/bookings/${id}/history`))).body.history

/** @returns its id */
async function book(body: object = STAY, secret = key): Promise<string> {
  const { status, body: answer } = await service.asPartner(secret, '/bookings', body)
  expect(status).toBe(201)
  now += 1_000
  return answer.booking.id
}

async function change(id: string, body: object): Promise<void> {
  expect((await service.patch(portalPath(`/bookings/${id}`), body)).status).toBe(200)
  now += 1_000
}

describe('GET /bookings/{id}/history', () => {
  test('has every announced change, oldest first, with the booking as it was after it', async () => {
    const created = now
    const id = await book({ ...STAY, status: 'option', holdHours: 24 })
    await change(id, { status: 'confirmed' })
    await change(id, { departure: '2027-03-07' })
    await service.asPartner(key, `/bookings/${id}/cancel`, { reason: 'plans changed' })
    const common = { unitSlug: 'sea-view', arrival: '2027-03-01' }
    const before = { ...common, departure: '2027-03-05', totalAmount: 45_000 }
    const after = { ...common, departure: '2027-03-07', totalAmount: 65_000 }
    const at = (seconds: number) => iso(created + seconds * 1_000)
    expect(await history(id)).toEqual([
      { version: 1, at: at(0), event: 'booking.created', status: 'option', ...before, by: 'you' },
      { version: 2, at: at(1), event: 'booking.updated', status: 'confirmed', ...before, by: 'agency' },
      { version: 3, at: at(2), event: 'booking.updated', status: 'confirmed', ...after, by: 'agency' },
      { version: 4, at: at(3), event: 'booking.cancelled', status: 'cancelled', ...after, by: 'you' },
    ])
  })

  test('`by` is you (this key), partner (another key), agency or system; in the portal partner, agency or system', async () => {
    const other = await service.key(agency)
    const person = await service.accessToken(agency, 'desk')
    const id = await book({ ...STAY, status: 'option', holdHours: 1 })
    const path = `/portal/v1${portalPath(`/bookings/${id}`)}`
    const byPerson = { method: 'PATCH', token: person.secret }
    expect((await service.ask(`/${path}`, { departure: '2027-03-06' }, byPerson)).status).toBe(200)
    await change(id, { departure: '2027-03-07' })
    now += HOUR_MS
    await service.ledger.commands.expire(agency, id)
    const who = (changes: { by: string }[]) => changes.map(({ by }) => by)
    expect(who(await history(id))).toEqual(['you', 'agency', 'agency', 'system'])
    expect(who(await history(id, other.secret))).toEqual(['partner', 'agency', 'agency', 'system'])
    expect(who(await portalHistory(id))).toEqual(['partner', 'agency', 'agency', 'system'])
  })

  test('contains no personal data and no free text', async () => {
    const guest = { firstName: 'Wilhelmina', lastName: 'Quarter', email: 'w@quarter.example', phone: '+1 555' }
    const id = await book({ ...STAY, guest, notes: 'Late arrival', sourceRef: 'REF-7' })
    await service.asPartner(key, `/bookings/${id}/cancel`, { reason: 'plans changed' })
    for (const changes of [await history(id), await portalHistory(id)]) {
      expect(changes).toHaveLength(2)
      const text = JSON.stringify(changes)
      for (const secret of [...Object.values(guest), 'Late arrival', 'REF-7', 'plans changed', agency.id, 'key_'])
        expect(text).not.toContain(secret)
    }
  })

  test('does not list changes without an event, which may raise the version in between', async () => {
    const id = await book({ ...STAY, status: 'option', holdHours: 24 })
    await change(id, { holdExpiresAt: iso(now + 48 * HOUR_MS) })
    await change(id, { status: 'confirmed' })
    await change(id, { status: 'checked_in' })
    await change(id, { expectedUntil: '2027-03-08' })
    await change(id, { status: 'checked_out' })
    const versions = (changes: { version: number; status: string }[]) => changes.map((c) => [c.version, c.status])
    const expected = [
      [1, 'option'],
      [3, 'confirmed'],
      [4, 'checked_in'],
      [6, 'checked_out'],
    ]
    expect(versions(await history(id))).toEqual(expected)
    expect(versions(await portalHistory(id))).toEqual(expected)
  })

  test('follows the booking through the units it was moved to, each with the slug that it had then', async () => {
    const id = await book()
    // Its neighbours are not listed.
    await book({ ...STAY, arrival: '2027-03-10', departure: '2027-03-12' })
    await change(id, { unit: 'garden' })
    await service.patch(portalPath('/units/garden'), { slug: 'old-garden' })
    await change(id, { departure: '2027-03-06' })
    await change(id, { unit: 'sea-view' })
    await change(id, { unit: 'old-garden' })
    const slugs = (changes: { unitSlug: string }[]) => changes.map(({ unitSlug }) => unitSlug)
    const expected = ['sea-view', 'garden', 'old-garden', 'sea-view', 'old-garden']
    expect(slugs(await history(id))).toEqual(expected)
    expect(slugs(await portalHistory(id))).toEqual(expected)
  })

  test('has the same changes as the feed, in the same order', async () => {
    const id = await book()
    await book({ ...STAY, unit: 'garden' })
    await change(id, { arrival: '2027-03-02' })
    await service.asPartner(key, `/bookings/${id}/cancel`, {})
    const { changes } = (await service.call('/changes?after=start', { key })).body
    const told = changes.filter(({ data }: { data: { id: string } }) => data.id === id)
    expect((await history(id)).map(({ by: _, ...shown }: Record<string, unknown>) => shown)).toEqual(
      told.map(({ event, occurredAt, data }: { event: string; occurredAt: string; data: Record<string, unknown> }) => {
        const { version, status, unitSlug, arrival, departure, totalAmount } = data
        return { version, at: occurredAt, event, status, unitSlug, arrival, departure, totalAmount }
      }),
    )
  })

  test('has all changes of a booking, if they are more than a page and in several units', async () => {
    const id = await book()
    const at = (i: number) => ({ departure: night(`2027-03-0${6 - (i % 2)}`) })
    const slugs = ['sea-view']
    for (let i = 0; i < 320; i++) {
      const unit = Math.floor(i / 50) % 2 === 0 ? seaView : garden
      // A page ends at a move, another one between two.
      const change = i % 50 === 0 && i > 0 ? { unitId: unit.id } : at(i)
      const caller = { actor: { kind: 'portal', id: null }, route: 'PATCH', requestId: null } as const
      const { kind } = await service.ledger.commands.change(agency, { bookingId: id, change }, caller)
      expect(kind).toBe('done')
      slugs.push(unit.slug)
    }
    const changes: { version: number; unitSlug: string }[] = await history(id)
    const last = changes.length
    expect(changes.map(({ version }) => version)).toEqual(Array.from({ length: last }, (_, i) => i + 1))
    expect(last).toBeGreaterThan(300)
    expect(new Set(changes.map(({ unitSlug }) => unitSlug))).toEqual(new Set(slugs))
  })

  test('needs read:bookings, and is the same 404 for a booking of another agency and for an unknown one', async () => {
    const id = await book()
    const { secret } = await service.key(agency, { scopes: ['read:availability'] })
    const refused = await service.call(`/bookings/${id}/history`, { key: secret })
    expect([refused.status, refused.body.code, refused.body.scope]).toEqual([403, 'SCOPE_MISSING', 'read:bookings'])
    const stranger = await service.key(await service.agency())
    const ids = [id, sampleId('bkg', 'none'), 'none', sampleId('gst', 'none')]
    for (const each of ids) {
      const { status, body } = await service.call(`/bookings/${each}/history`, { key: stranger.secret })
      expect([status, body.title]).toEqual([404, 'No such booking'])
    }
    const owner = await service.accessToken(await service.agency(), 'owner')
    const theirs = await service.ask(portalPath(`/bookings/${id}/history`), undefined, { token: owner.secret })
    expect([theirs.status, theirs.body.title]).toEqual([404, 'No such agency'])
    const foreign = await service.agency()
    for (const each of ids)
      expect((await service.get(`/agencies/${foreign.slug}/bookings/${each}/history`)).status).toBe(404)
  })

  test('counts as one request', async () => {
    const id = await book()
    const before = await usedOf(key)
    await history(id)
    expect(await usedOf(key)).toBe(before + 2)
  })
})

async function usedOf(secret: string): Promise<number> {
  return (await service.call('/me', { key: secret })).body.quota.used
}

/** @returns how much the request took of the key's minute, and of the agency's month */
async function costOf(ask: () => Promise<HttpAnswer>, secret = key): Promise<[number, number]> {
  const left = async () => {
    const { headers, body } = await service.call('/me', { key: secret })
    return [Number(headers.get('x-ratelimit-remaining')), body.quota.used] as const
  }
  const [leftBefore, usedBefore] = await left()
  const answer = await ask()
  const [leftAfter, usedAfter] = await left()
  expect(Number(answer.headers.get('x-ratelimit-remaining'))).toBe(leftAfter + 1)
  return [leftBefore - leftAfter - 1, usedAfter - usedBefore - 1]
}

describe('GET /availability?…&asOf=', () => {
  const seed = Math.floor(Math.random() * 2 ** 31)

  test(`answers what it would have answered at that moment, whatever happened (seed ${seed})`, async () => {
    const dice = new SeededRandom(seed)
    const ids: string[] = []
    const seen: { at: number; until: number; slug: string; partner: string; portal: string }[] = []
    const calendar = (slug: string, asOf = '') =>
      service.get(portalPath(`/units/${slug}/calendar?${RANGE}${asOf}`)).then(({ text }) => text)
    const stay = () => {
      const arrival = addNights(night('2027-02-26'), dice.below(30))
      return { arrival: formatNight(arrival), departure: formatNight(addNights(arrival, dice.int(1, 4))) }
    }
    const unit = () => dice.pick(['sea-view', 'garden'])
    const deeds: (() => Promise<unknown>)[] = [
      async () => {
        const status = dice.pick(['confirmed', 'confirmed', 'option'])
        const answer = await service.asPartner(key, '/bookings', { unit: unit(), ...stay(), status })
        if (answer.status === 201) ids.push(answer.body.booking.id)
      },
      async () => {
        const type = dice.pick(['block', 'maintenance', 'owner_stay'])
        const answer = await service.ask(portalPath('/bookings'), { unit: unit(), ...stay(), type })
        if (answer.status === 201) ids.push(answer.body.booking.id)
      },
      () => service.patch(portalPath(`/bookings/${dice.pick(ids)}`), stay()),
      () => service.patch(portalPath(`/bookings/${dice.pick(ids)}`), { unit: unit() }),
      () => service.asPartner(key, `/bookings/${dice.pick(ids)}/cancel`, {}),
      () => service.patch(portalPath(`/units/${unit()}`), { turnoverNights: dice.below(4) }),
      () => service.patch(portalPath(`/units/${unit()}`), { status: dice.pick(['active', 'draft']) }),
      () => {
        const { arrival: from, departure: to } = stay()
        const restrictions = dice.chance(0.3) ? [] : [{ rule: 'stopSell', value: true, from, to }]
        return service.put(portalPath(`/units/${unit()}/restrictions`), { restrictions })
      },
    ]
    await deeds[0]?.()
    for (let step = 0; step < rounds({ push: 25, long: 60 }); step++) {
      if (ids.length === 0 || dice.chance(0.4)) await deeds[0]?.()
      else await dice.pick(deeds)()
      const gap = dice.int(1, 5_000)
      for (const slug of ['sea-view', 'garden']) {
        const { text } = await service.call(`/availability?unit=${slug}&${RANGE}`, { key })
        seen.push({ at: now, until: now + gap - 1, slug, partner: text, portal: await calendar(slug) })
      }
      now += gap
    }
    for (const { at, until, slug, partner, portal } of seen)
      for (const moment of new Set([at, until])) {
        expect((await availability(slug, moment)).text).toBe(partner)
        expect(await calendar(slug, `&asOf=${iso(moment)}`)).toBe(portal)
      }
    expect(new Set(seen.map(({ partner }) => partner)).size).toBeGreaterThan(3)
  })

  test('accepts any ISO timestamp with an offset from UTC; a + is sent as %2B', async () => {
    const before = now
    await book()
    const zoned = iso(before - 1 + 2 * HOUR_MS).replace('Z', '+02:00')
    for (const text of [iso(before - 1), zoned]) {
      const { status, body } = await availability('sea-view', text)
      expect([status, body.blockedNights]).toEqual([200, []])
    }
    const answer = await service.call(`/availability?unit=sea-view&${RANGE}&asOf=${zoned}`, { key })
    expect([answer.status, answer.body.errors[0]]).toEqual([
      400,
      {
        field: 'asOf',
        message:
          'asOf must be an ISO 8601 timestamp with a UTC offset, such as 2027-03-01T12:00:00Z (in a URL, + is written %2B)',
      },
    ])
    for (const text of ['', 'now', '2027-03-01', '2027-03-01T12:00:00', '1999-12-31T00:00:00Z', String(before)])
      expect((await availability('sea-view', text)).status).toBe(400)
  })

  test('a change counts from its own time on', async () => {
    const at = now
    await book()
    expect((await availability('sea-view', at - 1)).body.blockedNights).toHaveLength(0)
    expect((await availability('sea-view', at)).body.blockedNights).toHaveLength(4)
  })

  test('finds a unit by its current slug and only if it is listed now; the portal also finds archived units', async () => {
    await book()
    const then = now
    await service.patch(portalPath('/units/sea-view'), { slug: 'lake-view' })
    now += 1_000
    expect((await availability('sea-view', then)).status).toBe(404)
    const { status, body } = await availability('lake-view', then)
    expect([status, body.unit, body.blockedNights.length]).toEqual([200, 'lake-view', 4])
    await service.patch(portalPath('/units/lake-view'), { status: 'archived' })
    now += 1_000
    expect((await availability('lake-view', then)).status).toBe(404)
    const portal = await service.get(portalPath(`/units/lake-view/calendar?${RANGE}&asOf=${iso(then)}`))
    expect([portal.status, portal.body.calendar.nights.length]).toEqual([200, 4])
  })

  test('needs read:availability and read:bookings, which are checked before the query, however asOf is encoded', async () => {
    const { secret } = await service.key(agency, { scopes: ['read:availability'] })
    for (const query of [
      `unit=sea-view&${RANGE}&asOf=${iso(now)}`,
      `unit=none&from=x&asOf=x`,
      `unit=sea-view&${RANGE}&%61sOf=${iso(now)}`,
      'asOf',
    ]) {
      const { status, body } = await service.call(`/availability?${query}`, { key: secret })
      expect([query, status, body.code, body.scope]).toEqual([query, 403, 'SCOPE_MISSING', 'read:bookings'])
    }
    expect((await service.call(`/availability?unit=sea-view&${RANGE}`, { key: secret })).status).toBe(200)
    expect((await service.call(`/availability?unit=sea-view&${RANGE}&x=%61sOf`, { key: secret })).status).toBe(200)
    const other = await service.key(agency, { scopes: ['read:bookings'] })
    expect((await availability('sea-view', now, other.secret)).body.scope).toBe('read:availability')
  })

  test('costs ten requests, of the minute and of the month; without asOf, one', async () => {
    expect(await costOf(() => availability('sea-view', now))).toEqual([10, 10])
    expect(await costOf(() => service.call(`/availability?unit=sea-view&${RANGE}`, { key }))).toEqual([1, 1])
  })

  test('a refusal costs one request', async () => {
    for (const [slug, asOf, status] of [
      ['sea-view', now + 1, 400],
      ['sea-view', 'x', 400],
      ['none', now, 404],
      ['sea-view', now - 24 * HOUR_MS, 404],
    ] as const)
      expect(
        await costOf(async () => {
          const answer = await availability(slug, asOf)
          expect([slug, asOf, answer.status]).toEqual([slug, asOf, status])
          return answer
        }),
      ).toEqual([1, 1])
  })

  test('is 429 without room for ten requests, which costs one of the minute and none of the month', async () => {
    const small = await service.agency({ plan: { apiAccess: true, requestsPerMinute: 25, requestsPerMonth: 1_000 } })
    await service.unit(small, { slug: 'sea-view' })
    const { secret } = await service.key(small)
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await availability('sea-view', now, secret)).status)
    expect(statuses).toEqual([200, 200, 429])
    const last = await availability('sea-view', now, secret)
    expect([last.body.code, Number(last.headers.get('retry-after')) > 0]).toEqual(['RATE_LIMITED', true])
    expect(await usedOf(secret)).toBe(21)
    const month = await service.agency({ plan: { apiAccess: true, requestsPerMinute: 1_000, requestsPerMonth: 15 } })
    await service.unit(month, { slug: 'sea-view' })
    const ofMonth = (await service.key(month)).secret
    expect((await availability('sea-view', now, ofMonth)).status).toBe(200)
    const refused = await availability('sea-view', now, ofMonth)
    expect([refused.status, refused.body.code, refused.body.used]).toEqual([429, 'QUOTA_EXCEEDED', 11])
    expect(await usedOf(ofMonth)).toBe(11)
  })

  test('many at once pass only as far as the budget has room', async () => {
    const small = await service.agency({ plan: { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 1_000 } })
    await service.unit(small, { slug: 'sea-view' })
    const { secret } = await service.key(small)
    const answers = await Promise.all(Array.from({ length: 20 }, () => availability('sea-view', now, secret)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(16)
  })

  test('the entries that it reads count in the pace of the agency', async () => {
    await book()
    const parts: number[] = []
    const { access } = service.ledger
    const { takeParts } = access
    access.takeParts = (agencyId, count) => {
      if (agencyId === agency.id) parts.push(count * ENTRIES_PER_PART)
      return takeParts.call(access, agencyId, count)
    }
    await availability('sea-view', now)
    access.takeParts = takeParts
    // The unit and its booking; then the answer, which is small.
    expect(parts[0]).toBe(2)
  })

  test('is 400 in the future, 404 before the unit existed, and the current answer for now', async () => {
    await book()
    const future = await availability('sea-view', now + 1)
    expect([future.status, future.body.title]).toEqual([400, 'asOf must not be in the future'])
    const before = await availability('sea-view', now - 3 * HOUR_MS)
    expect([before.status, before.body.title]).toEqual([404, 'No such unit'])
    const present = await service.call(`/availability?unit=sea-view&${RANGE}`, { key })
    expect((await availability('sea-view', now)).text).toBe(present.text)
    for (const [asOf, status] of [
      [now + 1, 400],
      [now - 3 * HOUR_MS, 404],
      [now, 200],
    ] as const) {
      const answer = await service.get(portalPath(`/units/sea-view/calendar?${RANGE}&asOf=${iso(asOf)}`))
      expect([asOf, answer.status]).toEqual([asOf, status])
    }
  })

  test('is the same 404 for a unit of another agency and for an unknown one', async () => {
    const { secret } = await service.key(await service.agency())
    const [theirs, nobodys] = [await availability('sea-view', now, secret), await availability('none', now, secret)]
    expect([theirs.status, theirs.body.title]).toEqual([nobodys.status, nobodys.body.title])
    expect(theirs.status).toBe(404)
  })

  test('answers 304 for its own tag, and never for the tag of a current answer under another slug', async () => {
    await book()
    const then = now - 1
    const first = await availability('sea-view', then)
    const tag = first.headers.get('etag') ?? ''
    const again = await service.call(`/availability?unit=sea-view&${RANGE}&asOf=${iso(then)}`, {
      key,
      headers: { 'If-None-Match': tag },
    })
    expect([tag === '', again.status]).toEqual([false, 304])
    await service.patch(portalPath('/units/sea-view'), { slug: 'lake-view' })
    const renamed = await service.call(`/availability?unit=lake-view&${RANGE}&asOf=${iso(then)}`, {
      key,
      headers: { 'If-None-Match': tag },
    })
    expect([renamed.status, renamed.body?.unit]).toEqual([200, 'lake-view'])
  })

  test('never skips a damaged entry', async () => {
    await book()
    await service.database.sql`
      update journal set payload = replace(payload, '2027-03-05', '2027-03-04') where unit_id = ${seaView.id.slice(4)} and kind <> 'unit_set'`
    const answer = await availability('sea-view', now)
    expect([answer.status, answer.body.title]).toEqual([
      500,
      'The service could not answer: stored data is damaged, and the operator has to repair it',
    ])
    expect((await availability('garden', now)).status).toBe(200)
    expect(garden.slug).toBe('garden')
  })
})

test('a moment before the beginning of the journal is 410 HISTORY_EXPIRED, which costs one request', async () => {
  const database = await testDatabase()
  const [oldest, later] = [monthsAgo(2), monthsAgo(1)]
  await haveMonthsSince(database.sql, oldest)
  let then = Date.parse(`${oldest}T12:00:00Z`)
  const past = await startTestService({ on: database, clock: clockAt(() => then) })
  try {
    const its = await past.agency()
    const { secret } = await past.key(its)
    await past.unit(its, { slug: 'sea-view' })
    await past.unit(its, { slug: 'quiet' })
    const booked = (arrival: string, departure: string, unit = 'sea-view') =>
      past.asPartner(secret, '/bookings', { unit, arrival, departure })
    const { id } = (await booked('2030-01-01', '2030-01-05')).body.booking
    await booked('2030-01-01', '2030-01-03', 'quiet')
    const [archivedAt, lateAt] = [then, then + 10 * 24 * HOUR_MS]
    const asOf = (at: number, unit = 'sea-view') =>
      past.call(`/availability?unit=${unit}&from=2030-01-01&to=2030-02-01&asOf=${iso(at)}`, { key: secret })
    then = Date.parse(`${later}T12:00:00Z`)
    const change = { method: 'PATCH', json: { departure: '2030-01-06' } }
    expect((await past.ask(`/agencies/${its.slug}/bookings/${id}`, change.json, change)).status).toBe(200)
    await past.unit(its, { slug: 'new' })
    expect((await asOf(archivedAt)).body.blockedNights).toHaveLength(4)

    await makeCheckpoints(database.sql)
    await keepMonthEnds(database.sql, oldest)
    await database.sql`select retire_month(${oldest}::text::date)`
    for (const at of [archivedAt, lateAt]) {
      const answer = await asOf(at)
      expect([answer.status, answer.body.code]).toEqual([410, 'HISTORY_EXPIRED'])
      expect((await asOf(at, 'quiet')).status).toBe(410)
      const calendar = `/agencies/${its.slug}/units/sea-view/calendar?from=2030-01-01&to=2030-02-01&asOf=${iso(at)}`
      expect((await past.get(calendar)).body.code).toBe('HISTORY_EXPIRED')
    }
    const used = async () => (await past.call('/me', { key: secret })).body.quota.used
    const before = await used()
    await asOf(archivedAt)
    expect(await used()).toBe(before + 2)
    // A unit that was created since did not exist.
    expect((await asOf(archivedAt, 'new')).status).toBe(404)
    // After that moment, the archived entries count with the state at their end.
    const begins = Date.parse(`${later}T00:00:00Z`)
    expect((await asOf(begins - 1)).status).toBe(410)
    expect((await asOf(begins)).body.blockedNights).toHaveLength(4)
    expect((await asOf(begins, 'quiet')).body.blockedNights).toHaveLength(2)
    expect((await asOf(then)).body.blockedNights).toHaveLength(5)
    // The history begins with the first change that is kept.
    const { history: kept } = (await past.call(`/bookings/${id}/history`, { key: secret })).body
    expect(kept.map(({ version }: { version: number }) => version)).toEqual([2])
  } finally {
    await past.close()
    await database.drop()
  }
})
