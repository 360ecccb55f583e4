/**
 * E2: what belongs to a live agency does not exist in its sandbox, and the other way round. The routes are those of the surfaces and the
 * tables those of the database, so that a new one is tried too.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { partnerDocument } from '../../src/api/partner/partner-surface.ts'
import { PORTAL_OPERATIONS } from '../../src/api/portal/portal-surface.ts'
import { type Agency, SCOPES } from '../../src/core/catalogue/agency.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { makeDeliveries } from '../events/webhooks/support/make-deliveries.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { sampleId } from '../support/samples.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

/** Whatever the live agency knows of people and keeps to itself. */
const MARKER = 'Zzyzx'
/** Who is in the sandbox. */
const SANDY = 'Sandy'

interface Side {
  readonly slug: string
  readonly key: string
  /** What it has, by the names of path parameters. */
  readonly has: Readonly<Record<string, string>>
}

const NONE: Record<string, string> = {
  slug: 'none',
  unitSlug: 'none',
  ...Object.fromEntries(
    (
      [
        ['bookingId', 'bkg'],
        ['guestId', 'gst'],
        ['endpointId', 'whe'],
        ['feeTypeId', 'fee'],
        ['deliveryId', 'dlv'],
        ['groupId', 'grp'],
        ['keyId', 'key'],
        ['tokenId', 'tok'],
        ['personId', 'per'],
      ] as const
    ).map(([name, prefix]) => [name, sampleId(prefix, 'none')]),
  ),
}

/** @param person what everything about people and everything private has in it */
async function fill(slug: string, name: string, person: string): Promise<Side> {
  const path = `/agencies/${slug}`
  const unitSlug = `${name}-only`
  const of = async (route: string, json?: unknown) => (await service.ask(`${path}${route}`, json)).body
  await of('/units', { slug: unitSlug, name: unitSlug, basePrice: 10_000, maxGuests: 4 })
  const guest = { firstName: person, lastName: person, email: `${person}@example.org`, phone: `+351 ${person}` }
  const stay = {
    unit: unitSlug,
    arrival: '2028-03-01',
    departure: '2028-03-05',
    guest,
    notes: person,
    sourceRef: person,
  }
  const { webhookEndpoint } = await of('/webhook-endpoints', { url: 'https://localhost:9/', description: person })
  const { booking } = await of('/bookings', stay)
  await makeDeliveries(service.database.url, service.ledger.epoch)
  const { deliveries } = (await service.get(`${path}/webhook-endpoints/${webhookEndpoint.id}/deliveries`)).body
  const { key, secret } = await of('/keys', { name: person, scopes: SCOPES })
  const { accessToken } = await of('/access-tokens', { name: person, role: 'desk' })
  const invited = await of('/people', { name: person, role: 'desk' })
  const { feeType } = await of('/fee-types', { label: `${name} fee`, kind: 'fixed', amount: 1 })
  const days = [1, 3].map((day) => ({ unit: unitSlug, arrival: `2028-04-0${day}`, departure: `2028-04-0${day + 1}` }))
  const { groupId } = await of('/bookings/group', { stays: days })
  const has = {
    slug: unitSlug,
    unitSlug,
    groupId,
    bookingId: booking.id,
    guestId: booking.guest.id,
    endpointId: webhookEndpoint.id,
    deliveryId: deliveries[0].id,
    keyId: key.id,
    tokenId: accessToken?.id ?? sampleId('tok', 'none'),
    personId: invited.person?.id ?? sampleId('per', 'none'),
    feeTypeId: feeType.id,
  }
  return { slug, key: secret, has }
}

let live: Agency
let sandbox: Agency
let sides: readonly [Side, Side]
beforeAll(async () => {
  live = await service.agency()
  await service.unit(live, { slug: 'sea-view' })
  const first = await fill(live.slug, 'live', MARKER)
  await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
  const made = service.ledger.catalogue.sandboxOf(live.id)
  if (made === null) throw new Error('Expected a sandbox')
  sandbox = made
  await service.ask(`/agencies/${live.slug}/units`, { slug: 'live-later', name: 'x', basePrice: 1, maxGuests: 2 })
  sides = [
    { ...first, has: { ...first.has, slug: 'live-later', unitSlug: 'live-later' } },
    await fill(made.slug, 'sandbox', SANDY),
  ]
})

function comparable({ status, body }: HttpAnswer) {
  const { requestId: _, ...rest } = body ?? {}
  const title = typeof rest.title === 'string' ? rest.title.replace(/^(No such unit: ).*/, '$1…') : undefined
  return { status, body: title === undefined ? rest : { ...rest, title } }
}

/** The path with these values for its parameters. @throws Error for a parameter that this test does not know */
function filled(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`Give this test something for {${name}}`)
    return value
  })
}

interface PartnerRoute {
  readonly method: string
  readonly path: string
}
const document = JSON.parse(await partnerDocument()) as { paths: Record<string, Record<string, object>> }
const PARTNER_ROUTES: PartnerRoute[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
)

/** `{id}` is a booking or a guest. */
const named = (path: string) => path.replace('/guests/{id}', '/guests/{guestId}').replace('{id}', '{bookingId}')

describe('partner routes', () => {
  const withParameters = PARTNER_ROUTES.filter(({ path }) => path.includes('{'))
  test('there are some', () => expect(withParameters.length).toBeGreaterThan(5))

  test.each(withParameters.map(({ method, path }) => [method, path] as const))(
    '%s %s: what the other side has is unknown here',
    async (method, path) => {
      for (const [own, other] of [sides, [sides[1], sides[0]]] as const) {
        const ask = (values: Readonly<Record<string, string>>) =>
          service.call(`/${filled(named(path), values)}`, {
            key: own.key,
            method,
            ...(method === 'GET' ? {} : { json: {} }),
          })
        const theirs = comparable(await ask(other.has))
        expect(theirs).toEqual(comparable(await ask(NONE)))
        expect(theirs.status).toBe(404)
      }
    },
  )

  test('a unit of the other side cannot be quoted, booked or looked for', async () => {
    for (const [own, other] of [sides, [sides[1], sides[0]]] as const) {
      const unit = other.has['unitSlug'] ?? ''
      const stay = { unit, arrival: '2028-06-01', departure: '2028-06-04' }
      for (const path of ['/quote', '/bookings'])
        expect([path, (await service.call(path, { key: own.key, json: stay })).status]).toEqual([path, 404])
      const group = { stays: [stay, { ...stay, arrival: '2028-07-01', departure: '2028-07-04' }] }
      expect((await service.call('/bookings/group', { key: own.key, json: group })).status).toBe(404)
      const range = 'from=2028-06-01&to=2028-07-01'
      expect((await service.call(`/availability?unit=${unit}&${range}`, { key: own.key })).status).toBe(404)
      expect((await service.call(`/bookings?unit=${unit}`, { key: own.key })).body).toMatchObject({ totalItems: 0 })
      const { cursor } = (await service.call('/changes', { key: other.key })).body
      expect((await service.call(`/changes?after=${cursor}`, { key: own.key })).status).toBeOneOf([400, 410])
    }
  })

  test('no answer to the key of the sandbox has a marker of the live agency', async () => {
    const range = 'from=2028-01-01&to=2028-12-01'
    const queries: Record<string, string> = {
      '/partner/v1/availability': `?unit=sea-view&${range}`,
      '/partner/v1/calendar': `?${range}`,
      '/partner/v1/search': '?from=2028-03-01&to=2028-04-01&nights=3',
      '/partner/v1/changes': '?after=start&include=rates,units',
      '/partner/v1/checkpoint/proof': '?from=0&to=0',
    }
    const lists = PARTNER_ROUTES.filter(
      ({ method, path }) => method === 'GET' && !path.includes('{') && !path.endsWith('.json'),
    )
    expect(lists.length).toBeGreaterThan(8)
    for (const { path } of lists) {
      const answer = await service.call(`/${path}${queries[path] ?? ''}`, { key: sides[1].key })
      expect([path, answer.status]).toEqual([path, 200])
      expect(JSON.stringify(answer.body)).not.toContain(MARKER)
    }
  })
})

describe('portal routes', () => {
  const PREFIX = '/portal/v1/agencies/{agencySlug}'
  const routes = PORTAL_OPERATIONS.filter(
    ({ path }) => path.startsWith(`${PREFIX}/`) && path.slice(PREFIX.length).includes('{'),
  )
  test('there are some', () => expect(routes.length).toBeGreaterThan(20))

  test.each(routes.map((operation) => [operation.method, operation.path] as const))(
    '%s %s: what the other side has is unknown here',
    async (method, path) => {
      const operation = routes.find((other) => other.method === method && other.path === path)
      const json = operation?.bodyExample
      for (const [own, other] of [sides, [sides[1], sides[0]]] as const) {
        const ask = (values: Readonly<Record<string, string>>) =>
          service.ask(`/${filled(path, { ...values, agencySlug: own.slug })}`, json, { method })
        const theirs = comparable(await ask(other.has))
        expect(theirs).toEqual(comparable(await ask(NONE)))
        expect(theirs.status).toBeOneOf([200, 400, 404])
        // A list of what belongs to something unknown is empty.
        if (theirs.status === 200) expect(theirs.body['totalItems']).toBe(0)
      }
    },
  )
})

describe('the database', () => {
  /** Tables whose rows belong to an agency. */
  const tables = async () => {
    const rows = await service.database.sql<{ name: string }[]>`
      select c.table_name as name from information_schema.columns c
      join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
      where c.table_schema = 'public' and c.column_name = 'agency_id' and t.table_type = 'BASE TABLE'
      order by 1`
    return rows.map(({ name }) => name)
  }
  const rowsOf = async (agencyId: string) => {
    const found: Record<string, string> = {}
    for (const name of await tables()) {
      const rows = await service.database.sql<{ text: string }[]>`
        select t::text as text from ${service.database.sql(name)} t where agency_id = ${uuidOf(agencyId)}`
      found[name] = rows.map(({ text }) => text).join('\n')
    }
    return found
  }

  test('has the markers in the rows of the live agency, and in none of the sandbox', async () => {
    const ofLive = Object.entries(await rowsOf(live.id)).filter(([, text]) => text.includes(MARKER))
    expect(ofLive.map(([name]) => name)).toEqual([
      ...['access_token', 'api_key', 'booking', 'guest', 'person', 'webhook_endpoint'],
    ])
    const ofSandbox = Object.entries(await rowsOf(sandbox.id)).filter(([, text]) => text.includes(MARKER))
    expect(ofSandbox).toEqual([])
    expect((await rowsOf(sandbox.id))['booking']).not.toBe('')
  })

  test('still has none after a reset, and the former sandbox has nothing personal left', async () => {
    await service.ask(`/agencies/${live.slug}/sandbox/reset`, undefined, { method: 'POST' })
    const next = service.ledger.catalogue.sandboxOf(live.id)
    if (next === null) throw new Error('Expected a sandbox')
    expect(Object.entries(await rowsOf(next.id)).filter(([, text]) => text.includes(MARKER))).toEqual([])
    const former = Object.values(await rowsOf(sandbox.id)).join('\n')
    for (const text of [SANDY, '@example']) expect(former).not.toContain(text)
  })
})
