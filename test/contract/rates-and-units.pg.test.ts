/** See docs/partner-additions.md#9-changes-of-rates-and-units: one test per sentence. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { sharedTestService } from '../support/test-service.ts'

let agency: Agency
let unit: Unit
let key: string
let cursor: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  unit = await service.unit(agency, { slug: 'sea-view', name: 'Sea View' })
  key = (await service.key(agency)).secret
  cursor = (await changes({})).body.cursor
})

interface Shown {
  readonly cursor: string
  readonly event: string
  readonly seq: number
  readonly data: Record<string, unknown>
}

const changes = (query: Record<string, string>, secret = key) =>
  service.call(`/changes?${new URLSearchParams(query)}`, { key: secret })
const after = async (query: Record<string, string> = {}, secret = key): Promise<Shown[]> =>
  (await changes({ after: cursor, ...query }, secret)).body.changes
const events = async (query: Record<string, string> = {}) => (await after(query)).map(({ event }) => event)
const unitPath = () => `/agencies/${agency.slug}/units/${unit.slug}`
const JULY = { name: 'July', from: '2027-07-01', to: '2027-08-01', nightlyPrice: 15_000 }
const done = async (answer: Promise<{ status: number }>) => expect((await answer).status).toBe(200)
const setRates = (seasons: object[] = [JULY]) => done(service.put(`${unitPath()}/rates`, { seasons }))
const restrict = (body: object) => done(service.put(`${unitPath()}/restrictions`, body))
const change = (body: object) => done(service.patch(unitPath(), body))
const book = () => service.book(agency, unit, '2030-01-01', '2030-01-03')
const ALL = { include: 'rates,units' }

describe('GET /changes?include=rates,units', () => {
  test('adds rates.updated and unit.updated, in the same order and with the same cursors', async () => {
    await setRates()
    await book()
    await change({ name: 'Other' })
    const shown = await after(ALL)
    expect(shown.map(({ event }) => event)).toEqual(['rates.updated', 'booking.created', 'unit.updated'])
    expect(shown.map(({ seq }) => seq)).toEqual(shown.map(({ seq }) => seq).toSorted((a, b) => a - b))
    const [booked] = await after()
    expect(shown[1]).toEqual(booked as Shown)
    for (const [i, { cursor: after }] of shown.entries())
      expect((await changes({ after, ...ALL })).body.changes).toEqual(shown.slice(i + 1))
    expect(shown[0] && Object.keys(shown[0])).toEqual(['cursor', 'id', 'event', 'occurredAt', 'seq', 'data'])
  })

  test('rates adds changes of rates and restrictions, units all others', async () => {
    await setRates()
    await restrict({ advanceNoticeHours: 24 })
    await change({ basePrice: 1 })
    await service.unit(agency, { slug: 'garden' })
    expect(await events({ include: 'rates' })).toEqual(['rates.updated', 'rates.updated'])
    expect(await events({ include: 'units' })).toEqual(['unit.updated', 'unit.updated'])
    expect(await events({ include: 'units,rates' })).toHaveLength(4)
  })

  test('rates needs the scope read:rates, units read:units, and both read:bookings', async () => {
    const missing = (scope: string) => ({ status: 403, body: { code: 'SCOPE_MISSING', scope } })
    const secretOf = async (...scopes: string[]) => (await service.key(agency, { scopes: scopes as never })).secret
    const bookings = await secretOf('read:bookings')
    expect(await changes({ include: 'rates' }, bookings)).toMatchObject(missing('read:rates'))
    expect(await changes({ include: 'units' }, bookings)).toMatchObject(missing('read:units'))
    expect(await changes({}, bookings)).toMatchObject({ status: 200 })
    const rates = await secretOf('read:bookings', 'read:rates')
    expect(await changes({ include: 'rates' }, rates)).toMatchObject({ status: 200 })
    for (const include of ['rates,units', 'units,rates', 'nothing,units'])
      expect(await changes({ include }, rates)).toMatchObject(missing('read:units'))
    expect(await service.call('/changes?%69nclude=units', { key: rates })).toMatchObject(missing('read:units'))
    const others = await secretOf('read:rates', 'read:units')
    expect(await changes(ALL, others)).toMatchObject(missing('read:bookings'))
  })

  test('is 400 for any other value', async () => {
    for (const include of ['', 'bookings', 'rates,', 'rates units', 'rates,rates', 'RATES'])
      expect(await changes({ include })).toMatchObject({ status: 400, body: { errors: [{ field: 'include' }] } })
  })

  test('without include nothing changes, and a cursor can be used with and without it', async () => {
    await setRates()
    await book()
    await change({ name: 'Other' })
    const [rates, booked, named] = await after(ALL)
    expect(await after()).toEqual([booked as Shown])
    expect((await changes({ after: rates?.cursor ?? '' })).body.changes).toEqual([booked])
    const end = (await changes({ after: cursor })).body.cursor
    expect(end).toBe(booked?.cursor as string)
    expect((await changes({ after: end, ...ALL })).body.changes).toEqual([named])
    expect((await changes({ after: named?.cursor ?? '' })).body).toMatchObject({ changes: [], cursor: named?.cursor })
  })

  test('a waiting request is answered by a change of rates, and without include is not woken', async () => {
    const waiting = () => service.ledger.changes.stats.waiting.requests
    const [woken, asleep] = [after({ ...ALL, wait: '20' }), changes({ after: cursor, wait: '1' })]
    await eventually('both wait', () => waiting() === 2)
    await setRates()
    expect((await woken).map(({ event }) => event)).toEqual(['rates.updated'])
    expect(waiting()).toBe(1)
    expect((await asleep).body.changes).toEqual([])
  })

  test('a stream has them too', async () => {
    const authorization = `Bearer ${key}`
    const stream = await openStream(`${service.url}/partner/v1/changes?include=rates&after=${cursor}`, {
      authorization,
    })
    await setRates()
    await eventually('it has arrived', () => stream.events.some(({ event }) => event === 'rates.updated'))
    stream.close()
  })
})

describe('data: {unitId, unitSlug, version, from, to}', () => {
  test('has the dates for which prices, minimum stays or restrictions may have changed, half-open, never the prices', async () => {
    await setRates()
    const [{ data, seq } = { data: {}, seq: 0 }] = await after(ALL)
    expect(data).toEqual({
      unitId: unit.id,
      unitSlug: 'sea-view',
      version: seq,
      from: '2027-07-01',
      to: '2027-08-01',
    })
    expect(Object.keys(data)).toEqual(['unitId', 'unitSlug', 'version', 'from', 'to'])
  })

  test('has only the dates that differ if rates are set again', async () => {
    await setRates()
    await setRates([JULY, { ...JULY, name: 'Spring', from: '2028-04-01', to: '2028-05-01' }])
    await restrict({ restrictions: [{ from: '2028-06-01', to: null, weekdays: [6], rule: 'maxStay', value: 3 }] })
    const spans = (await after(ALL)).map(({ data: { from, to } }) => [from, to])
    expect(spans.slice(1)).toEqual([
      ['2028-04-01', '2028-05-01'],
      ['2028-06-01', null],
    ])
  })

  test('null for both dates: everywhere', async () => {
    await restrict({ bookingWindowDays: 90 })
    await done(service.put(`${unitPath()}/rates`, { lengthOfStayDiscounts: [{ minNights: 7, pct: 10 }] }))
    expect((await after(ALL)).map(({ event, data: { from, to } }) => [event, from, to])).toEqual([
      ['rates.updated', null, null],
      ['rates.updated', null, null],
    ])
  })

  test('version is the unit’s, and increases with every change of the unit', async () => {
    await setRates()
    await book()
    await change({ name: 'Other' })
    await setRates([])
    const versions = (await after(ALL)).flatMap(({ data: { version, unitId } }) => (unitId ? [Number(version)] : []))
    expect(versions).toHaveLength(3)
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(versions).size).toBe(3)
  })

  test('a base price or minimum stay changed with the unit’s master data is unit.updated, with null for both dates', async () => {
    await change({ basePrice: 77 })
    await change({ minStay: 5 })
    expect((await after(ALL)).map(({ event, data: { from, to } }) => [event, from, to])).toEqual([
      ['unit.updated', null, null],
      ['unit.updated', null, null],
    ])
  })

  test('unitSlug is the slug after the change, and unitId stays the same', async () => {
    await change({ slug: 'lake-view' })
    expect(await after(ALL)).toMatchObject([{ data: { unitId: unit.id, unitSlug: 'lake-view' } }])
  })

  test('a write that changes nothing has no event, nor has a change of a unit that stays archived; archiving has one', async () => {
    await setRates()
    await setRates()
    await change({ name: unit.name })
    await change({ status: 'archived' })
    await change({ name: 'Gone' })
    await setRates([])
    expect(await events(ALL)).toEqual(['rates.updated', 'unit.updated'])
  })
})
