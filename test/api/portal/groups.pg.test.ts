/** Several stays at once, made by the agency (docs/partner-additions.md#11-several-stays-at-once). */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { sampleRules } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let path: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  path = `/agencies/${agency.slug}`
  await service.unit(agency, {
    slug: 'sea-view',
    name: 'Sea View',
    rules: sampleRules({ turnoverNights: 2, minStay: 3 }),
  })
  await service.unit(agency, { slug: 'garden', name: 'Garden' })
})

const stay = (unit: string, arrival: string, departure: string, more: object = {}) => ({
  unit,
  arrival: `2027-03-${arrival}`,
  departure: `2027-03-${departure}`,
  ...more,
})
const PAIR = [stay('sea-view', '01', '02', { notes: 'late' }), stay('garden', '01', '02')]
const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' }
const send = (at: string, json: object, headers: Record<string, string> = {}) =>
  service.ask(`${path}/bookings/group${at}`, json, { method: 'POST', headers })
const group = (stays: readonly object[], more: object = {}, headers?: Record<string, string>) =>
  send('', { stays, ...more }, headers)
const left = async () => {
  const id = uuidOf(agency.id)
  const [row] = await service.database.sql`
    select (select count(*)::int from journal where agency_id = ${id}) as entries,
      (select count(*)::int from audit_line where agency_id = ${id}) as lines,
      (select count(*)::int from idempotency where agency_id = ${id}) as answers,
      (select count(*)::int from guest where agency_id = ${id}) as guests`
  return row
}

describe('a group of the agency', () => {
  test('is checked by the night guard alone, has its guest and notes, and is priced', async () => {
    const { status, body } = await group([...PAIR, stay('sea-view', '02', '03')], { guest: GUEST, source: 'phone' })
    expect(status).toBe(201)
    expect(body.bookings).toMatchObject([
      { unitSlug: 'sea-view', notes: 'late', source: 'phone', guest: { firstName: 'Ana' }, groupId: body.groupId },
      { unitSlug: 'garden', notes: null, guest: { firstName: 'Ana' }, totalAmount: 15_000 },
      { unitSlug: 'sea-view', arrival: '2027-03-02', version: 1 },
    ])
    expect(body).not.toHaveProperty('warnings')
    expect((await service.get(`${path}/bookings?group=${body.groupId}`)).body.totalItems).toBe(3)
    expect(await group(PAIR)).toMatchObject({
      status: 409,
      body: { code: 'BOOKING_CONFLICT', stay: 0, refusals: [{ stay: 0 }, { stay: 1 }] },
    })
  })

  test('blocks several units at once', async () => {
    const { body } = await group(PAIR, { type: 'maintenance' })
    expect(body.bookings).toMatchObject([
      { type: 'maintenance', totalAmount: 0, adults: 0 },
      { type: 'maintenance', totalAmount: 0, adults: 0 },
    ])
  })

  test('has warnings for the stays that restrictions would refuse to partners', async () => {
    const rules = { restrictions: [{ rule: 'closedToArrival', value: true }] }
    await service.ask(`${path}/units/garden/restrictions`, rules, { method: 'PUT' })
    const expected = [
      {
        stay: 1,
        restrictions: [{ rule: 'closedToArrival', date: '2027-03-01', value: true }],
        alternatives: { previousArrival: null, nextArrival: null },
      },
    ]
    expect((await send('?dryRun=true', { stays: PAIR })).body.warnings).toEqual(expected)
    const headers = { 'idempotency-key': 'warned' }
    expect((await group(PAIR, {}, headers)).body.warnings).toEqual(expected)
    expect((await group(PAIR, {}, headers)).body.warnings).toEqual(expected)
  })

  test('leaves nothing behind in a dry run, which shows the bookings and their prices', async () => {
    const before = await left()
    const tried = await send('?dryRun=true', { stays: PAIR, guest: GUEST })
    expect(tried.status).toBe(200)
    expect(tried.body.bookings).toMatchObject([
      { guest: null, notes: 'late' },
      { guest: null, notes: null },
    ])
    expect(tried.body.quotes.map(({ total }: { total: number }) => total)).toEqual([15_000, 15_000])
    const refused = await send('?dryRun=true', { stays: [...PAIR, stay('nowhere', '01', '02'), ...PAIR] })
    expect([refused.status, refused.body.stay, refused.body.refusals.length]).toEqual([404, 2, 3])
    expect(await left()).toEqual(before)
    const made = await group(PAIR)
    const cancelled = await send(`/${made.body.groupId}/cancel?dryRun=true`, { reason: 'x' })
    expect(cancelled.body.bookings).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }])
    const { bookings } = (await service.get(`${path}/bookings?group=${made.body.groupId}`)).body
    expect(bookings.map(({ status }: { status: string }) => status)).toEqual(['confirmed', 'confirmed'])
    expect((await send(`/grp_${'0'.repeat(32)}/cancel?dryRun=true`, {})).status).toBe(404)
  })

  test('is made once per Idempotency-Key, and a repeat shows the current data of the guest', async () => {
    const headers = { 'idempotency-key': 'group' }
    const first = await group(PAIR, { guest: GUEST }, headers)
    const { id } = first.body.bookings[0].guest
    await service.patch(`${path}/guests/${id}`, { firstName: 'Anna' })
    const again = await group(PAIR, { guest: GUEST }, headers)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect(again.body.bookings).toMatchObject(
      first.body.bookings.map((booking: { id: string }) => ({ id: booking.id, guest: { firstName: 'Anna' } })),
    )
    expect((await service.get(`${path}/bookings?group=${first.body.groupId}`)).body.totalItems).toBe(2)
    const [kept] = await service.database.sql`select body from idempotency where agency_id = ${uuidOf(agency.id)}`
    expect(kept?.['body']).not.toContain('Ana')
  })

  test('names the stay whose dates are invalid', async () => {
    expect(await group([PAIR[0] as object, stay('garden', '05', '04')])).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'stays[1].departure' }] },
    })
  })

  test('is cancelled as a whole', async () => {
    const { body } = await group(PAIR, { guest: GUEST })
    const cancelled = await send(`/${body.groupId}/cancel`, { reason: 'off' })
    expect(cancelled).toMatchObject({
      status: 200,
      body: {
        groupId: body.groupId,
        bookings: [
          { status: 'cancelled', cancelReason: 'off', notes: 'late', guest: { firstName: 'Ana' } },
          { status: 'cancelled', cancelReason: 'off', notes: null },
        ],
      },
    })
    expect(await send(`/grp_${'0'.repeat(32)}/cancel`, {})).toMatchObject({
      status: 404,
      body: { title: 'No such group' },
    })
  })
})
