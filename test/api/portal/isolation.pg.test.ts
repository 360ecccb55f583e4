/** Everything of agency B, tried by an owner of agency A, a token and a person, on A's own paths, answers as if it did not exist. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { PortalOperation } from '../../../src/api/portal/portal-operation.ts'
import { PORTAL_OPERATIONS } from '../../../src/api/portal/portal-surface.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { isWrite } from '../../../src/http/operation.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import type { HttpAnswer } from '../../support/http-call.ts'
import { FROM_THE_PAGE } from '../../support/page-sessions.ts'
import { joined } from '../../support/people.ts'
import { sampleId } from '../../support/samples.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

let service: TestService
let a: Agency
let b: Agency
let owner: string
/** How the owners of A ask. */
let owners: Record<'token' | 'person', { token: string | null; headers?: Record<string, string> }>
/** Of each parameter of a path, what B has. */
const ofB: Record<string, string> = {}

beforeAll(async () => {
  service = await startTestService()
  a = await service.agency()
  b = await service.agency()
  for (const { slug } of [a, b]) await service.ask(`/agencies/${slug}/sandbox`, undefined, { method: 'POST' })
  owner = (await service.accessToken(a, 'owner')).secret
  const { cookie } = await joined(service, a, 'owner')
  owners = { token: { token: owner }, person: { token: null, headers: { ...FROM_THE_PAGE, cookie } } }
  await fill(a, 'own')
  Object.assign(ofB, await fill(b, 'hidden'))
})
afterAll(() => service.close())

async function fill(agency: Agency, name: string): Promise<Record<string, string>> {
  const path = `/agencies/${agency.slug}`
  const unitSlug = `${name}-villa`
  await service.unit(agency, { slug: unitSlug, name: unitSlug })
  const guest = { firstName: name, lastName: name, email: `${name}@example.com` }
  const stay = { unit: unitSlug, arrival: '2027-03-01', departure: '2027-03-05', sourceRef: `${name}-1`, guest }
  const { webhookEndpoint } = (
    await service.ask(`${path}/webhook-endpoints`, { url: 'https://localhost:9/', description: name })
  ).body
  const { booking } = (await service.ask(`${path}/bookings`, stay)).body
  await makeDeliveries(service.database.url, service.ledger.epoch)
  const { deliveries } = (await service.get(`${path}/webhook-endpoints/${webhookEndpoint.id}/deliveries`)).body
  const { key } = await service.key(agency, { name })
  const { token } = await service.accessToken(agency, 'desk', { name })
  const { person, cookie } = await joined(service, agency, 'owner', name)
  const own = (at: string) => service.ask(at, undefined, { token: null, headers: { cookie } })
  const [{ passkeys }, { sessions }] = [(await own('/me/passkeys')).body, (await own('/me/sessions')).body]
  const { id: feeTypeId } = await service.feeType(agency, { label: name })
  const stays = ['2027-04-01', '2027-04-03'].map((arrival) => ({
    unit: unitSlug,
    arrival,
    departure: arrival.replace(/..$/, (day) => `0${Number(day) + 1}`),
  }))
  const { groupId } = (await service.ask(`${path}/bookings/group`, { stays })).body
  return {
    unitSlug,
    bookingId: booking.id,
    guestId: booking.guest.id,
    endpointId: webhookEndpoint.id,
    feeTypeId,
    deliveryId: deliveries[0].id,
    keyId: key.id,
    tokenId: token.id,
    personId: person.id,
    passkeyId: passkeys[0].id,
    sessionId: sessions[0].id,
    groupId,
  }
}

const NONE: Record<string, string> = {
  unitSlug: 'none',
  ...Object.fromEntries(
    Object.entries({
      bookingId: 'bkg',
      guestId: 'gst',
      endpointId: 'whe',
      feeTypeId: 'fee',
      deliveryId: 'dlv',
      groupId: 'grp',
    }).map(([name, prefix]) => [name, sampleId(prefix as 'bkg', 'none')]),
  ),
  keyId: sampleId('key', 'none'),
  tokenId: sampleId('tok', 'none'),
  personId: sampleId('per', 'none'),
  passkeyId: sampleId('pky', 'none'),
  sessionId: sampleId('ses', 'none'),
}

function comparable({ status, body }: HttpAnswer) {
  const { requestId: _, ...rest } = body ?? {}
  return { status, body: rest }
}

/** Only people have passkeys. */
const WAYS_OF = ({ problems = [] }: PortalOperation) =>
  problems.includes('PEOPLE_ONLY') ? (['person'] as const) : (['token', 'person'] as const)
const NAMING = PORTAL_OPERATIONS.filter(({ path }) => /\{(?!agencySlug)/.test(path))

describe('isolation in the portal', () => {
  test('there is something to hide', () => {
    expect(Object.keys(ofB).toSorted()).toEqual(Object.keys(NONE).toSorted())
    expect(new Set(NAMING.flatMap(({ path }) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))).size).toBe(
      Object.keys(NONE).length + 1,
    )
  })

  test.each(NAMING.flatMap((operation) => WAYS_OF(operation).map((way) => [operation.id, way, operation] as const)))(
    '%s does not know what belongs to B, asked by a %s',
    async (_, way, operation) => {
      const answerTo = (names: Record<string, string>) => {
        const values: Record<string, string> = { ...names, agencySlug: a.slug }
        const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? name)
        const query = operation.id === 'getUnitCalendar' ? '?from=2027-03-01&to=2027-03-09' : ''
        const json = 'body' in operation ? operation.bodyExample : undefined
        return service.ask(`/${path}${query}`, json, { method: operation.method, ...owners[way] })
      }
      const answer = await answerTo(ofB)
      expect(answer.status).toBe(404)
      expect(comparable(answer)).toEqual(comparable(await answerTo(NONE)))
    },
  )

  test('what a body or a filter names of B does not exist', async () => {
    const path = `/agencies/${a.slug}`
    const as = (at: string, json?: object, method?: string) =>
      service.ask(`${path}${at}`, json, { token: owner, ...(method === undefined ? {} : { method }) })
    const stay = { unit: ofB['unitSlug'], arrival: '2028-03-01', departure: '2028-03-02' }
    expect((await as('/bookings', stay)).body.title).toBe('No such unit')
    const { bookings } = (await as('/bookings')).body
    expect((await as(`/bookings/${bookings[0].id}`, { unit: ofB['unitSlug'] }, 'PATCH')).status).toBe(404)
    for (const filter of [
      ...[`bookings?unit=${ofB['unitSlug']}`, `bookings?guest=${ofB['guestId']}`, 'bookings?sourceRef=secret-1'],
      ...['guests?search=hidden', `audit?key=${ofB['keyId']}`, `audit?token=${ofB['tokenId']}`],
      `audit?person=${ofB['personId']}`,
      `audit?booking=${ofB['bookingId']}&outcome=OK`,
    ])
      expect([filter, (await as(`/${filter}`)).body.totalItems]).toEqual([filter, 0])
  })

  test('no list of A shows anything of B', async () => {
    const lists = PORTAL_OPERATIONS.filter(
      ({ path, method, role }) =>
        method === 'GET' &&
        role !== 'operator' &&
        path.startsWith('/portal/v1/agencies/{agencySlug}') &&
        !NAMING.some((each) => each.path === path),
    )
    expect(lists.length).toBeGreaterThan(8)
    for (const { path } of lists) {
      const query = path.endsWith('/tape') ? '?from=2027-01-01&to=2028-01-01' : ''
      const { status, text } = await service.ask(`/${path.replace('{agencySlug}', a.slug)}${query}`, undefined, {
        token: owner,
      })
      expect([path, status]).toEqual([path, 200])
      expect(text).not.toContain('hidden')
      // The audit trail shows what a caller has named, whatever it is.
      if (!path.endsWith('/audit')) for (const id of Object.values(ofB)) expect(text).not.toContain(id)
    }
  })

  test('B is as it was, and its audit trail shows nothing of A', async () => {
    const { bookings } = (await service.get(`/agencies/${b.slug}/bookings`)).body
    expect(bookings.map(({ status, version }: Record<string, unknown>) => [status, version])).toEqual(
      Array.from({ length: 3 }, () => ['confirmed', 1]),
    )
    expect((await service.get(`/agencies/${b.slug}/audit?actor=access_token`)).body.totalItems).toBe(0)
    expect((await service.get(`/agencies/${b.slug}/audit?actor=person&outcome=NOT_FOUND`)).body.totalItems).toBe(0)
    const keys = (await service.get(`/agencies/${b.slug}/keys`)).body.keys
    expect(keys.map(({ revokedAt }: Record<string, unknown>) => revokedAt)).toEqual([null])
    expect(PORTAL_OPERATIONS.filter(isWrite).length).toBeGreaterThan(15)
  })
})
