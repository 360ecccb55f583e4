/** Several stays at once (docs/partner-additions.md#11-several-stays-at-once): a test per sentence. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { AMPLE_PLAN, sampleRules } from '../support/samples.ts'
import { sharedTestService } from '../support/test-service.ts'

let agency: Agency
let key: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency({ plan: AMPLE_PLAN })
  key = (await service.key(agency)).secret
  await service.unit(agency, { slug: 'sea-view', name: 'Sea View', rules: sampleRules({ turnoverNights: 1 }) })
  await service.unit(agency, { slug: 'garden', name: 'Garden', rules: sampleRules({ minStay: 2 }) })
  await service.unit(agency, { slug: 'loft', name: 'Loft' })
})

type Headers = Record<string, string>
const call = (route: string, json?: object, headers: Headers = {}) =>
  service.call(route, { key, headers, ...(json === undefined ? {} : { json }) })
const group = (stays: readonly object[], more: object = {}, headers?: Headers) =>
  call('/bookings/group', { stays, ...more }, headers)
const stay = (unit: string, arrival: string, departure: string, more: object = {}) => ({
  unit,
  arrival: `2027-03-${arrival}`,
  departure: `2027-03-${departure}`,
  ...more,
})
const PAIR = [stay('sea-view', '01', '05', { sourceRef: 'G/1' }), stay('garden', '01', '05', { sourceRef: 'G/2' })]
const count = async (table: 'booking' | 'journal' | 'guest') => {
  const id = uuidOf(agency.id)
  const rows = await service.database
    .sql`select count(*)::int as n from ${service.database.sql(table)} where agency_id = ${id}`
  return rows[0]?.['n']
}
const blocked = async (unit: string) =>
  (await call(`/availability?unit=${unit}&from=2027-03-01&to=2027-04-01`)).body.blockedNights.length

describe('POST /bookings/group', () => {
  test('books all of the stays: 201 with the bookings in the same order, each with its group', async () => {
    const { status, body } = await group([...PAIR, stay('sea-view', '10', '12', { adults: 1, children: 2 })], {
      status: 'option',
      holdHours: 5,
    })
    expect(status).toBe(201)
    expect(Object.keys(body)).toEqual(['groupId', 'bookings'])
    expect(body.groupId).toMatch(/^grp_[0-9a-f]{32}$/)
    expect(body.bookings).toMatchObject([
      { unitSlug: 'sea-view', arrival: '2027-03-01', sourceRef: 'G/1', status: 'option', groupId: body.groupId },
      { unitSlug: 'garden', arrival: '2027-03-01', sourceRef: 'G/2', status: 'option', groupId: body.groupId },
      { unitSlug: 'sea-view', arrival: '2027-03-10', sourceRef: null, adults: 1, children: 2, groupId: body.groupId },
    ])
    for (const booking of body.bookings) {
      expect(Date.parse(booking.holdExpiresAt) - Date.parse(booking.createdAt)).toBe(5 * 3_600_000)
      expect((await call(`/bookings/${booking.id}`)).body.booking).toEqual(booking)
    }
  })

  test('prices each stay like a single booking, and a single booking has no groupId anywhere', async () => {
    const { body } = await group(PAIR)
    await call(`/bookings/group/${body.groupId}/cancel`, {})
    for (const [i, each] of PAIR.entries()) {
      const alone = (await call('/bookings', each)).body.booking
      expect(alone.totalAmount).toBe(body.bookings[i].totalAmount)
      expect(alone).not.toHaveProperty('groupId')
    }
    const { changes } = (await call('/changes?after=start')).body
    expect(changes.map(({ data }: { data: object }) => 'groupId' in data)).toEqual([
      ...[true, true, true, true, false, false],
    ])
  })

  test('refuses all with the status and code of the first refused stay, and lists every refused one', async () => {
    await call('/bookings', stay('loft', '02', '04'))
    const before = [await count('booking'), await count('journal')]
    const { status, body } = await group([
      stay('sea-view', '01', '05'),
      stay('loft', '01', '05'),
      stay('garden', '01', '02'),
      stay('sea-view', '05', '07'),
      stay('nowhere', '01', '05'),
    ])
    const conflict = {
      from: '2027-03-02',
      to: '2027-03-04',
      nights: ['2027-03-02', '2027-03-03'],
      bookableFrom: '2027-03-04',
    }
    expect([status, body]).toEqual([
      409,
      {
        code: 'BOOKING_CONFLICT',
        title: 'stays[1]: These nights are already booked: 2027-03-02, 2027-03-03',
        requestId: expect.any(String),
        conflict,
        stay: 1,
        refusals: [
          { stay: 1, code: 'BOOKING_CONFLICT', conflict },
          { stay: 2, code: 'MIN_STAY', minStay: 2 },
          {
            stay: 3,
            code: 'TURNOVER_BLOCK_CONFLICT',
            conflict: { bookableFrom: '2027-03-06', departure: '2027-03-05' },
          },
          { stay: 4, code: 'NOT_FOUND' },
        ],
      },
    ])
    expect([await count('booking'), await count('journal')]).toEqual(before)
    expect(await blocked('sea-view')).toBe(0)
  })

  test('checks each stay as if every one before it were booked, even a refused one', async () => {
    const { status, body } = await group([
      stay('garden', '01', '02'),
      stay('garden', '01', '04'),
      stay('garden', '03', '06'),
    ])
    expect([status, body.stay, body.refusals.map(({ code }: { code: string }) => code)]).toEqual([
      422,
      0,
      ['MIN_STAY', 'BOOKING_CONFLICT', 'BOOKING_CONFLICT'],
    ])
  })

  test('refuses a stay in an unknown or archived unit with 404', async () => {
    await service.patch(`/agencies/${agency.slug}/units/loft`, { status: 'archived' })
    for (const unit of ['nowhere', 'loft']) {
      const { status, body } = await group([stay('sea-view', '01', '05'), stay(unit, '01', '05')])
      expect([status, body]).toEqual([
        404,
        {
          code: 'NOT_FOUND',
          title: 'stays[1]: No such unit',
          requestId: expect.any(String),
          stay: 1,
          refusals: [{ stay: 1, code: 'NOT_FOUND' }],
        },
      ])
    }
  })

  test('checks each stay against the restrictions of its unit', async () => {
    const path = `/agencies/${agency.slug}/units/garden/restrictions`
    const rule = { rule: 'closedToArrival', value: true, from: '2027-03-01', to: '2027-03-02' }
    await service.ask(path, { restrictions: [rule] }, { method: 'PUT' })
    const { status, body } = await group(PAIR)
    expect([status, body.code, body.stay]).toEqual([422, 'RESTRICTED', 1])
    expect(body.refusals).toEqual([
      { stay: 1, code: 'RESTRICTED', restrictions: body.restrictions, alternatives: body.alternatives },
    ])
    expect(body.restrictions).toEqual([{ rule: 'closedToArrival', date: '2027-03-01', value: true }])
  })

  test('accepts twenty stays, in one unit or in many, and makes one guest', async () => {
    const stays = Array.from({ length: 20 }, (_, i) =>
      stay('loft', String(i + 1).padStart(2, '0'), String(i + 2).padStart(2, '0'), { notes: 'x'.repeat(2_000) }),
    )
    const { status, body } = await group(stays, {
      guest: { firstName: 'Ana', lastName: 'Reis', email: 'a@example.com' },
    })
    expect([status, body.bookings.length]).toEqual([201, 20])
    expect([await blocked('loft'), await count('booking'), await count('guest')]).toEqual([20, 20, 1])
    const { guests } = (await call('/guests')).body
    expect((await call(`/guests/${guests[0].id}`)).body.guest.stays).toHaveLength(20)
  })

  test.each<[field: string, stays: readonly object[], more: object]>([
    ['stays', [PAIR[0] as object], {}],
    ['stays', Array.from({ length: 21 }, () => PAIR[0] as object), {}],
    ['stays[1].arrival', [PAIR[0] as object, { ...PAIR[1], arrival: '2027-02-30' }], {}],
    ['stays[1].departure', [PAIR[0] as object, stay('garden', '05', '05')], {}],
    ['stays[0].notes', [{ ...PAIR[0], notes: 'x'.repeat(2_001) }, PAIR[1] as object], {}],
    ['status', PAIR, { status: 'checked_in' }],
    ['guest.lastName', PAIR, { guest: { firstName: 'Ana' } }],
    ['holdHours', PAIR, { holdHours: 0 }],
  ])('names what is malformed: %s', async (field, stays, more) => {
    expect(await group(stays, more)).toMatchObject({ status: 400, body: { code: 'VALIDATION', errors: [{ field }] } })
    expect(await count('booking')).toBe(0)
  })

  test('names the allowed number of stays in a 400', async () => {
    expect((await group([])).body.title).toBe('stays must be an array of 2 to 20 items')
  })

  test('ignores members of a stay that belong to the whole group', async () => {
    const guest = { firstName: 'Ana', lastName: 'Reis' }
    const { status, body } = await group(
      PAIR.map((each) => ({ ...each, status: 'draft', holdHours: -1, guest: 7 })),
      { guest },
    )
    expect(status).toBe(201)
    expect(body.bookings.map((booking: { status: string }) => booking.status)).toEqual(['confirmed', 'confirmed'])
  })

  test('answers any If-Match with 400', async () => {
    for (const header of ['*', '"abc"', 'abc'])
      expect(await group(PAIR, {}, { 'if-match': header })).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION', errors: [{ field: 'If-Match' }] },
      })
  })

  test('needs the scope write:bookings', async () => {
    const reader = (await service.key(agency, { scopes: ['read:bookings'] })).secret
    for (const route of ['/bookings/group', `/bookings/group/grp_${'0'.repeat(32)}/cancel`])
      expect(await service.call(route, { key: reader, json: { stays: PAIR } })).toMatchObject({
        status: 403,
        body: { code: 'SCOPE_MISSING', scope: 'write:bookings' },
      })
  })

  test('takes effect once per Idempotency-Key: a repeat gets the first answer, another request 422', async () => {
    const headers = { 'idempotency-key': 'group-1' }
    const [first, again] = await Promise.all([group(PAIR, {}, headers), group(PAIR, {}, headers)])
    const later = await group(PAIR, {}, headers)
    expect([first.status, again.status, later.status]).toEqual([201, 201, 201])
    expect([again.body, later.body]).toEqual([first.body, first.body])
    expect(later.headers.get('idempotency-replayed')).toBe('true')
    expect(await count('booking')).toBe(2)
    const other = await group(PAIR.toReversed(), {}, headers)
    expect(other).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } })
    // A refusal is not stored.
    const refused = { 'idempotency-key': 'group-2' }
    expect((await group(PAIR, {}, refused)).status).toBe(409)
    await call(`/bookings/group/${first.body.groupId}/cancel`, {})
    expect((await group(PAIR, {}, refused)).status).toBe(201)
  })

  test('leaves one audit line per booking, and one for a refusal', async () => {
    await group(PAIR)
    await group(PAIR)
    const { audit } = (await service.get(`/agencies/${agency.slug}/audit`)).body
    const lines = audit
      .filter(({ route }: { route: string }) => route === 'POST /partner/v1/bookings/group')
      .map(({ outcome, bookingId }: { outcome: string; bookingId: string | null }) => [outcome, bookingId !== null])
    expect(lines).toEqual([
      ['BOOKING_CONFLICT', false],
      ['OK', true],
      ['OK', true],
    ])
  })

  test('is one request, however many stays it has', async () => {
    const left = async () => Number((await call('/me')).headers.get('x-ratelimit-remaining'))
    const before = await left()
    await group(PAIR)
    expect(before - (await left())).toBe(2)
  })

  test('fires one event per booking, in the order of the stays', async () => {
    const { body } = await group(PAIR)
    const { changes } = (await call('/changes?after=start')).body
    expect(
      changes.map(({ event, data }: { event: string; data: { id: string; groupId: string } }) => [
        event,
        data.id,
        data.groupId,
      ]),
    ).toEqual(body.bookings.map(({ id }: { id: string }) => ['booking.created', id, body.groupId]))
  })
})

test('many groups at once over the same units, in opposite orders, all complete, and a night is sold once', async () => {
  const units = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => (await service.unit(agency, { slug: `unit-${i}` })).slug),
  )
  const stays = units.map((unit) => stay(unit, '01', '05'))
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => group(i % 2 === 0 ? stays : stays.toReversed())),
  )
  const statuses = answers.map(({ status }) => status)
  expect([
    statuses.filter((status) => status === 201).length,
    statuses.filter((status) => status === 409).length,
  ]).toEqual([1, 39])
  expect(await count('booking')).toBe(20)
})

describe('POST /bookings/group/{groupId}/cancel', () => {
  test('cancels all bookings that are not cancelled, with the reason, and answers with all of them', async () => {
    const { body } = await group([...PAIR, stay('loft', '01', '05')])
    const [first] = body.bookings
    await call(`/bookings/${first.id}/cancel`, { reason: 'alone' })
    const cancelled = await call(`/bookings/group/${body.groupId}/cancel`, { reason: 'together' })
    expect(cancelled.status).toBe(200)
    expect(Object.keys(cancelled.body)).toEqual(['groupId', 'bookings'])
    expect(cancelled.body.bookings).toMatchObject([
      { id: first.id, status: 'cancelled', cancelReason: 'alone' },
      { unitSlug: 'garden', status: 'cancelled', cancelReason: 'together', groupId: body.groupId },
      { unitSlug: 'loft', status: 'cancelled', cancelReason: 'together' },
    ])
    expect(await Promise.all(['sea-view', 'garden', 'loft'].map(blocked))).toEqual([0, 0, 0])
    // Cancelling again is not an error.
    const again = await call(`/bookings/group/${body.groupId}/cancel`, {})
    expect([again.status, again.body]).toEqual([200, cancelled.body])
  })

  test('is 404 for an unknown or malformed group, and for one of another agency', async () => {
    const { body } = await group(PAIR)
    const other = await service.agency()
    const foreign = (await service.key(other)).secret
    const asked = [
      call(`/bookings/group/grp_${'0'.repeat(32)}/cancel`, {}),
      call(`/bookings/group/${body.bookings[0].id}/cancel`, {}),
      call('/bookings/group/x/cancel', {}),
      service.call(`/bookings/group/${body.groupId}/cancel`, { key: foreign, json: {} }),
    ]
    for (const answer of await Promise.all(asked))
      expect([answer.status, answer.body.title]).toEqual([404, 'No such group'])
    expect((await call(`/bookings?group=${body.groupId}&status=confirmed`)).body.totalItems).toBe(2)
  })

  test('gets the first answer again for the same Idempotency-Key', async () => {
    const { body } = await group(PAIR)
    const headers = { 'idempotency-key': 'cancel-1' }
    const path = `/bookings/group/${body.groupId}/cancel`
    const first = await call(path, { reason: 'a' }, headers)
    const again = await call(path, { reason: 'a' }, headers)
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
  })
})

describe('GET /bookings?group=', () => {
  test('lists the bookings of the group, and none for an unknown one', async () => {
    const { body } = await group(PAIR)
    await call('/bookings', stay('loft', '01', '05'))
    const ids = async (query: string) => {
      const listed = (await call(`/bookings?${query}`)).body
      return [listed.totalItems, listed.bookings.map(({ id }: { id: string }) => id).toSorted()]
    }
    const made = body.bookings.map(({ id }: { id: string }) => id).toSorted()
    expect(await ids(`group=${body.groupId}`)).toEqual([2, made])
    expect(await ids(`group=${body.groupId}&unit=garden`)).toEqual([1, [body.bookings[1].id]])
    for (const unknown of [`grp_${'0'.repeat(32)}`, 'x', body.bookings[0].id])
      expect(await ids(`group=${unknown}`)).toEqual([0, []])
  })
})

test('verify finds no differences after groups were made, changed and cancelled', async () => {
  const { body } = await group(PAIR)
  await service.patch(`/agencies/${agency.slug}/bookings/${body.bookings[0].id}`, { unit: 'loft' })
  await call(`/bookings/group/${body.groupId}/cancel`, {})
  await group(PAIR)
  expect((await service.get('/verification')).body.verification.differences).toEqual([])
})
