/** See docs/design.md#tape: a test per sentence. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { type Clock, DAY_MS, systemClock } from '../../../src/lib/clock.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { HttpAnswer } from '../../support/http-call.ts'
import { CALLER, sampleRules } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let path: string
let seaView: Unit
/** Of the service, later than the real time. */
let shiftMs = 0
const clock: Clock = {
  now: () => systemClock.now() + shiftMs,
  monotonicMs: () => systemClock.monotonicMs(),
  after: (ms, task) => systemClock.after(ms, task),
}

const service = await sharedTestService({ clock })
beforeEach(async () => {
  agency = await service.agency({ currency: 'JPY', timezone: 'Asia/Tokyo' })
  path = `/agencies/${agency.slug}`
  seaView = await service.unit(agency, { slug: 'sea-view', name: 'Sea View', city: 'Oslo', area: null })
})

/** As a stay begins; what else it has are names. */
type Row = [string, number, number, number, number, number, string | null, number, number]

const WINDOW = 'from=2027-03-01&to=2027-04-01'
const tape = (query = WINDOW, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
  service.ask(`${path}/tape?${query}`, undefined, { method: 'GET', headers })
const book = async (arrival: string, departure: string, more: object = {}) => {
  const answer = await service.ask(`${path}/bookings`, { unit: 'sea-view', arrival, departure, ...more })
  if (answer.status !== 201) throw new Error(`Cannot book in a test: ${answer.text}`)
  return answer.body.booking
}
const idsIn = ({ body }: HttpAnswer): string[] => body.stays.map(([id]: string[]) => id)
const change = (to: Partial<Unit>) =>
  service.ledger.commands.setUnit(agency, seaView.id, (current) => ({ ...(current ?? seaView), ...to }), CALLER)

describe('the window', () => {
  test('has the units with what the chart needs of them, and the stays with indexes in place of names', async () => {
    await change({ rules: sampleRules({ minStay: 2, turnoverNights: 1, extraBedFee: 700 }) })
    const guest = { firstName: 'Zoë', lastName: 'O"Neil\n' }
    const party = { adults: 3, children: 1, source: 'phone', sourceRef: 'A "1"' }
    const stay = await book('2027-03-03', '2027-03-05', { guest, ...party })
    const hold = await book('2027-02-27', '2027-03-02', { status: 'option', holdHours: 2, type: 'guest' })
    const block = await book('2027-03-31', '2027-04-03', { type: 'block' })
    const { status, body } = await tape()
    expect(status).toBe(200)
    const { stays, cursor, ...rest } = body
    expect(rest).toEqual({
      from: '2027-03-01',
      to: '2027-04-01',
      currency: 'JPY',
      currencyDigits: 0,
      timezone: 'Asia/Tokyo',
      today: new Date(clock.now() + 9 * 3_600_000).toISOString().slice(0, 10),
      types: ['guest', 'owner_stay', 'maintenance', 'block'],
      statuses: ['draft', 'option', 'confirmed', 'checked_in', 'checked_out'],
      sources: expect.arrayContaining(['portal', 'phone']),
      units: [['sea-view', 'Sea View', 'Oslo', null, seaView.bedrooms, seaView.maxGuests, 2, 1, 700, 'active']],
    })
    const expires = Math.ceil(Date.parse(hold.holdExpiresAt) / 1_000)
    const [portal, phone] = [rest.sources.indexOf('portal'), rest.sources.indexOf('phone')]
    expect(stays).toHaveLength(3)
    const shown = [stay.id, 0, 2, 4, 0, 2, 'Zoë O"Neil\n', phone, stay.totalAmount, null, null, 1, 3, 1, 'A "1"']
    expect(stays).toContainEqual(shown)
    const held = [hold.id, 0, -2, 1, 0, 1, null, portal, hold.totalAmount, expires, null, 1, 2, 0, null]
    expect(stays).toContainEqual(held)
    expect(stays).toContainEqual([block.id, 0, 30, 33, 3, 2, null, portal, 0, null, null, 1, 0, 0, null])
    expect(cursor).toBeString()
  })

  test('lists which of its stays were booked together', async () => {
    await book('2027-03-02', '2027-03-03')
    expect((await tape()).body).not.toHaveProperty('groups')
    const stays = [
      ['2027-03-05', '2027-03-06'],
      ['2027-03-10', '2027-03-11'],
      ['2027-05-10', '2027-05-11'],
    ].map(([arrival, departure]) => ({ unit: 'sea-view', arrival, departure }))
    const { bookings, groupId } = (await service.ask(`${path}/bookings/group`, { stays })).body
    const answer = await tape()
    const [[named, places]] = answer.body.groups
    expect(named).toBe(groupId)
    expect(places.map((place: number) => idsIn(answer)[place]).toSorted()).toEqual(
      [bookings[0].id, bookings[1].id].toSorted(),
    )
  })

  test('ends where a stay begins on its last day, and begins with a departure on its first', async () => {
    await book('2027-04-01', '2027-04-03')
    await book('2027-02-26', '2027-02-28')
    expect(idsIn(await tape())).toEqual([])
    const leaving = await book('2027-02-28', '2027-03-01')
    expect(idsIn(await tape())).toEqual([leaving.id])
  })

  test('shows a stay whose cleaning or expected extension reaches into it, and no cancelled booking', async () => {
    await change({ rules: sampleRules({ turnoverNights: 3 }) })
    const cleaned = await book('2027-02-20', '2027-02-26')
    expect(idsIn(await tape())).toEqual([cleaned.id])
    await service.ask(`${path}/bookings/${cleaned.id}/cancel`, {})
    await book('2027-02-19', '2027-02-25')
    expect(idsIn(await tape())).toEqual([])
    const inHouse = await book('2027-02-25', '2027-02-26', { status: 'checked_in', expectedUntil: '2027-03-04' })
    expect(idsIn(await tape())).toEqual([inHouse.id])
    expect((await tape()).body.stays[0][10]).toBe(3)
    // Once, although it reaches into it with both.
    await service.patch(`${path}/bookings/${inHouse.id}`, { expectedUntil: '2027-03-01' })
    expect(idsIn(await tape())).toEqual([inHouse.id])
  })

  test('shows a stay whose expected extension reaches into it, even behind later stays that begin before it', async () => {
    const inHouse = await book('2027-02-10', '2027-02-12', { status: 'checked_in', expectedUntil: '2027-03-04' })
    await book('2027-02-14', '2027-02-16')
    expect(idsIn(await tape())).toEqual([inHouse.id])
    const next = await book('2027-02-26', '2027-03-02')
    expect(idsIn(await tape()).toSorted()).toEqual([inHouse.id, next.id].toSorted())
    await service.patch(`${path}/bookings/${inHouse.id}`, { expectedUntil: null })
    expect(idsIn(await tape())).toEqual([next.id])
  })

  test('has archived units last, and only those whose stays are shown', async () => {
    const first = await service.unit(agency, { slug: 'attic', name: 'Attic' })
    await service.unit(agency, { slug: 'barn', name: 'Barn', status: 'archived' })
    await book('2027-03-03', '2027-03-05', { unit: 'attic' })
    await service.patch(`${path}/units/attic`, { status: 'archived' })
    const slugs = async (query?: string) => (await tape(query)).body.units.map(([slug]: string[]) => slug)
    expect(await slugs()).toEqual(['sea-view', 'attic'])
    expect((await tape()).body.stays[0][1]).toBe(1)
    expect(await slugs('from=2027-05-01&to=2027-06-01')).toEqual(['sea-view'])
    expect(first.status).toBe('active')
  })

  test.each([
    ['from=2027-03-01&to=2027-03-01', 'to'],
    ['from=2027-03-02&to=2027-03-01', 'to'],
    ['from=2027-03-01&to=2030-03-02', 'to'],
    ['from=2027-02-30&to=2027-03-01', 'from'],
    ['to=2027-03-01', 'from'],
  ])('is refused as %s: of one day at least, and of 1,096 at most', async (query, field) => {
    expect(await tape(query)).toMatchObject({ status: 400, body: { code: 'VALIDATION', errors: [{ field }] } })
    expect((await tape('from=2027-03-01&to=2030-03-01')).status).toBe(200)
  })

  const SEED = Number(process.env['TAPE_SEED'] ?? 20_270_401)
  test(`has exactly the bookings of the list that touch it, as the list has them (seed ${SEED})`, async () => {
    const random = new SeededRandom(SEED)
    const roll = (below: number) => random.below(below)
    const day = (n: number) => new Date(Date.UTC(2027, 0, 1 + n)).toISOString().slice(0, 10)
    const units = ['sea-view', 'two', 'three']
    for (const slug of units.slice(1)) await service.unit(agency, { slug, name: slug })
    for (let i = 0; i < 120; i++) {
      const from = roll(200)
      const type = ['guest', 'block', 'owner_stay'][roll(3)]
      const stay = { unit: units[roll(3)], arrival: day(from), departure: day(from + 1 + roll(20)), type }
      const { status, body } = await service.ask(`${path}/bookings`, stay)
      if (status === 201 && roll(4) === 0) await service.ask(`${path}/bookings/${body.booking.id}/cancel`, {})
    }
    const { bookings } = (await service.get(`${path}/bookings?pageSize=200`)).body
    expect(bookings.length).toBeGreaterThan(20)
    for (let i = 0; i < 20; i++) {
      const start = roll(200)
      const [from, to] = [day(start), day(start + 1 + roll(60))]
      const { body } = await tape(`from=${from}&to=${to}`)
      const shown = body.stays.map(([id, unit, arrival, departure, type, status, , , total]: Row) => ({
        id,
        unit: body.units[unit][0],
        arrival: day(start + arrival),
        departure: day(start + departure),
        total,
        type: body.types[type],
        status: body.statuses[status],
      }))
      const expected = bookings
        .filter((each: Record<string, string>) => each['status'] !== 'cancelled')
        .filter((each: { arrival: string; departure: string }) => each.arrival < to && each.departure >= from)
        .map(({ id, unitSlug, arrival, departure, totalAmount, type, status }: Record<string, string>) => ({
          id,
          unit: unitSlug,
          arrival,
          departure,
          total: totalAmount,
          type,
          status,
        }))
      const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
      expect(shown.toSorted(byId)).toEqual(expected.toSorted(byId))
    }
  })
})

describe('If-None-Match', () => {
  test('gets 304 while nothing has changed, and another tag after every change of a stay, a unit, a guest or the day', async () => {
    const guest = { firstName: 'Ana', lastName: 'Reis' }
    const { id, guest: made } = await book('2027-03-03', '2027-03-05', { guest })
    const seen = new Set<string>()
    const changes: [string, () => unknown][] = [
      ['at first', () => {}],
      ['a stay was booked', () => book('2027-03-08', '2027-03-10')],
      ['a stay was moved', () => service.patch(`${path}/bookings/${id}`, { arrival: '2027-03-02' })],
      ['a stay was confirmed again', () => service.patch(`${path}/bookings/${id}`, { status: 'checked_in' })],
      ['a guest was renamed', () => service.patch(`${path}/guests/${made.id}`, { lastName: 'Silva' })],
      ['a unit was renamed', () => service.patch(`${path}/units/sea-view`, { name: 'Seaside' })],
      ['a unit was made', () => service.unit(agency)],
      ['the next day has begun', () => (shiftMs += DAY_MS)],
    ]
    for (const [what, make] of changes) {
      await make()
      const { status, headers } = await tape()
      const tag = headers.get('etag') ?? ''
      expect([what, status, headers.get('cache-control'), seen.has(tag)]).toEqual([
        what,
        200,
        'private, no-cache',
        false,
      ])
      seen.add(tag)
      for (const held of seen) {
        const again = await tape(WINDOW, { 'If-None-Match': held })
        expect([what, again.status, again.text === '']).toEqual(held === tag ? [what, 304, true] : [what, 200, false])
      }
    }
    expect((await tape('from=2027-03-01&to=2027-04-02', { 'If-None-Match': [...seen].join() })).status).toBe(200)
  })
})

describe('the cursor', () => {
  test('comes before whatever the window does not show: each booking made meanwhile is in the window or after the cursor', async () => {
    const units = await Promise.all(Array.from({ length: 6 }, (_, i) => service.unit(agency, { slug: `unit-${i}` })))
    for (let round = 0; round < 8; round++) {
      const day = (n: number) => new Date(Date.UTC(2027, 2, 1 + 3 * round + n)).toISOString().slice(0, 10)
      const booked = units.map((unit) => service.book(agency, unit, day(0), day(2)))
      const answers = await Promise.all([tape(), tape()])
      const ids = (await Promise.all(booked)).map(({ id }) => id)
      for (const answer of answers) {
        const after = await service.get(`/agencies/${agency.slug}/changes?after=${answer.body.cursor}&limit=500`)
        const reported = after.body.changes.map(({ data }: { data: { id: string } }) => data.id)
        for (const id of ids) expect([...idsIn(answer), ...reported]).toContain(id)
      }
    }
  })

  test('is followed by nothing that the window shows, when nothing has happened meanwhile', async () => {
    await book('2027-03-03', '2027-03-05')
    const { cursor } = (await tape()).body
    const changes = async () => (await service.get(`/agencies/${agency.slug}/changes?after=${cursor}`)).body.changes
    expect(await changes()).toEqual([])
    const next = await book('2027-03-08', '2027-03-10')
    expect((await changes()).map(({ data }: { data: { id: string } }) => data.id)).toEqual([next.id])
  })
})
