/** Everything of agency B, tried with every key of agency A, answers as if it did not exist. */
import { describe, expect, test } from 'bun:test'
import { type Agency, SCOPES } from '../../src/core/catalogue/agency.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { sampleId } from '../support/samples.ts'
import { type PartnerCall, sharedTestService } from '../support/test-service.ts'

const keysOfA: string[] = []
const idsOfB: { bookings: string[]; guests: string[] } = { bookings: [], guests: [] }
const NO_BOOKING = sampleId('bkg', 'none')
const NO_GUEST = sampleId('gst', 'none')
const SLUGS_OF_B = ['secret-villa', 'secret-loft']

const service = await sharedTestService()
const a = await service.agency()
const b = await service.agency()
for (const scopes of [SCOPES, ...SCOPES.map((scope) => [scope])])
  keysOfA.push((await service.key(a, { scopes })).secret)
const keyOfB = (await service.key(b)).secret
await fill(a, ['own-villa'], keysOfA[0] ?? '')
await fill(b, SLUGS_OF_B, keyOfB)
idsOfB.bookings = (await service.call('/bookings', { key: keyOfB })).body.bookings.map(({ id }: { id: string }) => id)
idsOfB.guests = (await service.call('/guests', { key: keyOfB })).body.guests.map(({ id }: { id: string }) => id)

async function fill(agency: Agency, slugs: string[], key: string) {
  for (const [i, slug] of slugs.entries()) {
    await service.unit(agency, { slug, name: slug, city: slug })
    await service.feeType(agency, { label: `${slug} fee` })
    const guest = {
      firstName: `First ${slug}`,
      lastName: `Last ${slug}`,
      email: `guest${i}@${slug}.example`,
      phone: `+1 ${slug}`,
    }
    for (const month of ['03', '04'])
      await service.call('/bookings', {
        key,
        json: { unit: slug, arrival: `2027-${month}-01`, departure: `2027-${month}-05`, guest },
      })
  }
}

/** The answer without what differs from request to request, or only repeats what was asked. */
function comparable({ status, body }: HttpAnswer) {
  const { requestId: _, ...rest } = body ?? {}
  const title = typeof rest.title === 'string' ? rest.title.replace(/^(No such unit: ).*/, '$1…') : undefined
  return { status, body: title === undefined ? rest : { ...rest, title } }
}

/** Every route that takes an id, slug or filter, with one of B's and with one that does not exist. */
function pairs(): [path: string, unknown: string, call: PartnerCall][] {
  const stay = (unit: string) => ({ unit, arrival: '2028-01-01', departure: '2028-01-03' })
  return [
    ...SLUGS_OF_B.flatMap((slug): [string, string, PartnerCall][] => [
      [`/units/${slug}`, '/units/none', {}],
      [
        `/availability?unit=${slug}&from=2027-03-01&to=2027-04-01`,
        '/availability?unit=none&from=2027-03-01&to=2027-04-01',
        {},
      ],
      [
        `/availability?unit=${slug}&from=2027-03-01&to=2027-04-01&asOf=2026-11-01T00:00:00Z`,
        '/availability?unit=none&from=2027-03-01&to=2027-04-01&asOf=2026-11-01T00:00:00Z',
        {},
      ],
      [
        `/calendar?units=own-villa,${slug}&prices=true&from=2027-03-01&to=2027-04-01`,
        '/calendar?units=own-villa,none&prices=true&from=2027-03-01&to=2027-04-01',
        {},
      ],
      [
        `/search?arrival=2027-03-10&departure=2027-03-12&city=${slug}`,
        '/search?arrival=2027-03-10&departure=2027-03-12&city=none',
        {},
      ],
      [`/bookings?unit=${slug}`, '/bookings?unit=none', {}],
      [`/guests?search=${slug}`, '/guests?search=nobody', {}],
    ]),
    ...idsOfB.bookings.flatMap((id): [string, string, PartnerCall][] => [
      [`/bookings/${id}`, `/bookings/${NO_BOOKING}`, {}],
      [`/bookings/${id}/history`, `/bookings/${NO_BOOKING}/history`, {}],
      [`/bookings/${id}/proof`, `/bookings/${NO_BOOKING}/proof`, {}],
      [`/bookings/${id}/cancel`, `/bookings/${NO_BOOKING}/cancel`, { json: {} }],
      [`/guests/${id}`, `/guests/${NO_GUEST}`, {}],
      [`/units/${id}`, '/units/none', {}],
    ]),
    ...idsOfB.guests.flatMap((id): [string, string, PartnerCall][] => [
      [`/guests/${id}`, `/guests/${NO_GUEST}`, {}],
      [`/bookings/${id}`, `/bookings/${NO_BOOKING}`, {}],
    ]),
    ...SLUGS_OF_B.flatMap((slug): [string, string, PartnerCall][] => [
      [`/quote?as=${slug}`, '/quote?as=none', { json: stay(slug) }],
      [`/bookings?as=${slug}`, '/bookings?as=none', { json: stay(slug) }],
    ]),
  ]
}

describe('isolation', () => {
  test('there is something to hide', () => {
    expect([idsOfB.bookings.length, idsOfB.guests.length, keysOfA.length]).toEqual([4, 2, 7])
  })
  test('every id, slug and filter of B with every key of A answers as one that does not exist, same body', async () => {
    for (const key of keysOfA)
      for (const [theirs, nobodys, call] of pairs()) {
        const json = call.json as { unit?: string } | undefined
        const unknown = json?.unit === undefined ? call : { ...call, json: { ...json, unit: 'none' } }
        const answer = comparable(await service.call(theirs, { ...call, key }))
        expect({ theirs, ...answer }).toEqual({
          theirs,
          ...comparable(await service.call(nobodys, { ...unknown, key })),
        })
        expect(answer.status).toBeOneOf([200, 403, 404])
      }
  })
  test('no list of A shows anything of B', async () => {
    const calendar = '/calendar?from=2027-03-01&to=2027-05-01&prices=true'
    const search = '/search?from=2027-03-01&to=2027-05-01&nights=2&each=stay'
    const lists = ['/bookings?pageSize=200', '/guests?pageSize=200']
    for (const path of ['/me', '/units', '/fee-types', calendar, search, ...lists]) {
      const text = JSON.stringify((await service.call(path, { key: keysOfA[0] ?? '' })).body)
      expect(text).not.toContain('secret-')
      expect(text.length).toBeGreaterThan(50)
    }
  })
  test('a search of A finds its own unit only, with its own fees, and as many offers as if there were no other agency', async () => {
    const stay = 'arrival=2027-03-10&departure=2027-03-12'
    const { body } = await service.call(`/search?${stay}`, { key: keysOfA[0] ?? '' })
    expect([body.totalItems, body.offers[0].unit]).toEqual([1, 'own-villa'])
    const json = { unit: 'own-villa', arrival: '2027-03-10', departure: '2027-03-12' }
    const { quote } = (await service.call('/quote', { key: keysOfA[0] ?? '', json })).body
    expect(body.offers[0].total).toBe(quote.total)
    const other = await service.call(`/search?${stay}`, { key: keyOfB })
    expect(other.body.offers.map(({ unit }: { unit: string }) => unit)).toEqual(SLUGS_OF_B.toSorted())
  })
  test("B's entity tags are worth nothing to A", async () => {
    const range = 'from=2027-03-01&to=2027-05-01'
    for (const path of ['/units', '/fee-types', `/calendar?${range}`, `/calendar?${range}&prices=true`]) {
      const tag = (await service.call(path, { key: keyOfB })).headers.get('etag') ?? ''
      const answer = await service.call(path, { key: keysOfA[0] ?? '', headers: { 'If-None-Match': tag } })
      expect([path, answer.status]).toEqual([path, 200])
    }
  })
  test('the changes of B open to no key of A, whatever cursor it brings', async () => {
    const { body } = await service.call('/changes?after=start', { key: keyOfB })
    expect(body.changes).toHaveLength(4)
    const [readAll = '', ...others] = keysOfA
    for (const { cursor } of [...body.changes, body]) {
      const answer = await service.call(`/changes?after=${cursor}`, { key: readAll })
      const mangled = await service.call(`/changes?after=${cursor.slice(1)}A`, { key: readAll })
      expect(comparable(answer)).toEqual({ ...comparable(mangled), status: 400 })
    }
    const own = await service.call('/changes?after=start&limit=500', { key: readAll })
    expect(own.body.changes.map(({ data }: { data: { unitSlug: string } }) => data.unitSlug)).toEqual(
      Array(2).fill('own-villa'),
    )
    for (const key of others) expect((await service.call('/changes?after=start', { key })).status).toBeOneOf([200, 403])
  })
  test("B's bookings are as they were", async () => {
    const { body } = await service.call('/bookings', { key: keyOfB })
    expect(body.bookings.map(({ status }: { status: string }) => status)).toEqual(Array(4).fill('confirmed'))
  })
  test('the same slug in two agencies names two units', async () => {
    const [one, two] = [await service.agency(), await service.agency()]
    const [keyOne, keyTwo] = [(await service.key(one)).secret, (await service.key(two)).secret]
    await service.unit(one, { slug: 'same', name: 'One' })
    await service.unit(two, { slug: 'same', name: 'Two' })
    await service.call('/bookings', {
      key: keyOne,
      json: { unit: 'same', arrival: '2027-03-01', departure: '2027-03-02' },
    })
    const blocked = async (key: string) =>
      (await service.call('/availability?unit=same&from=2027-03-01&to=2027-03-02', { key })).body.blockedNights.length
    expect([await blocked(keyOne), await blocked(keyTwo)]).toEqual([1, 0])
  })
})
