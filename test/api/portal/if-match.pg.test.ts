import { describe, expect, test } from 'bun:test'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService()
const agency = await service.agency()
const a = `/agencies/${agency.slug}`

async function booked(): Promise<{ path: string; id: string }> {
  const unit = await service.unit(agency)
  const { id } = await service.book(agency, unit, '2027-03-01', '2027-03-05')
  return { path: `${a}/bookings/${id}`, id }
}

const answerTo = (path: string, json: object, ifMatch: string | null, method: string) =>
  service.ask(path, json, { method, headers: ifMatch === null ? {} : { 'If-Match': ifMatch } })
const change = (path: string, json: object, ifMatch: string | null) => answerTo(path, json, ifMatch, 'PATCH')
const cancel = (path: string, ifMatch: string | null) => answerTo(`${path}/cancel`, {}, ifMatch, 'POST')

describe('If-Match', () => {
  test('lets a change pass that is based on the current version', async () => {
    const { path } = await booked()
    const first = await change(path, { departure: '2027-03-06' }, '"1"')
    expect(first.body.booking).toMatchObject({ version: 2, departure: '2027-03-06' })
    expect((await cancel(path, '"2"')).body.booking).toMatchObject({ version: 3, status: 'cancelled' })
  })

  test('refuses one that is based on another, with the current one, and leaves its line', async () => {
    const { path, id } = await booked()
    await change(path, { departure: '2027-03-06' }, null)
    for (const answer of [await change(path, { arrival: '2027-03-02' }, '"1"'), await cancel(path, '"3"')]) {
      expect(answer.status).toBe(412)
      expect(answer.body).toMatchObject({ code: 'VERSION_CHANGED', version: 2 })
    }
    expect((await service.get(path)).body.booking).toMatchObject({ version: 2, arrival: '2027-03-01' })
    const { audit } = (await service.get(`${a}/audit?booking=${id}&outcome=VERSION_CHANGED`)).body
    expect(audit).toHaveLength(2)
  })

  test('of two colleagues who change the same version at once lets one through', async () => {
    const { path } = await booked()
    const answers = await Promise.all(
      ['2027-03-06', '2027-03-07', '2027-03-08'].map((departure) => change(path, { departure }, '"1"')),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412])
    expect((await service.get(path)).body.booking.version).toBe(2)
  })

  test('also when the booking moves, and when it is cancelled already', async () => {
    const { path } = await booked()
    const { slug } = await service.unit(agency)
    expect((await change(path, { unit: slug }, '"7"')).status).toBe(412)
    expect((await change(path, { unit: slug }, '"1"')).body.booking.version).toBe(2)
    await cancel(path, null)
    expect((await cancel(path, '"2"')).status).toBe(412)
    expect((await cancel(path, '"3"')).status).toBe(200)
  })

  test('that is malformed is 400; on an unknown booking 404', async () => {
    const { path } = await booked()
    for (const answer of [await change(path, {}, '3'), await cancel(path, '*')])
      expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field: 'If-Match' }] })
    expect((await change(path, {}, '3')).status).toBe(400)
    expect((await cancel(`${a}/bookings/bkg_none`, '"1"')).status).toBe(404)
  })
})
