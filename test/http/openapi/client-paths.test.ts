/** The types that clients call the surfaces with, held to the documents: both are made from the operations. */
import { describe, expect, test } from 'bun:test'
import createClient from 'openapi-fetch'
import { type PartnerPaths, partnerDocument } from '../../../src/api/partner/partner-surface.ts'
import { type PortalPaths, portalDocument } from '../../../src/api/portal/portal-surface.ts'

/** Names that a type has: the compiler asks for all of them and no others, the test compares them with the document. */
interface Exactly<N> {
  readonly names: readonly N[]
  // A parameter, so that more names are another type too.
  readonly has: (name: N) => boolean
}
interface Named<S, H> {
  readonly statuses: Exactly<S>
  readonly headers: Exactly<H>
}
type NamesOf<O> = O extends { responses: infer R; parameters: { header?: infer H } }
  ? Named<keyof R, H extends object ? keyof H : never>
  : never
type Table<Paths, P extends keyof Paths> = { [K in P]: { [M in keyof Paths[K]]: NamesOf<Paths[K][M]> } }

const REFUSED = [400, 401, 404, 429, 500] as const
const CHANGED = [...REFUSED, 403, 413, 422] as const

function named<S extends number | '4XX', H extends string = never>(
  statuses: readonly S[],
  ...headers: H[]
): Named<S, H> {
  return { statuses: exactly(statuses), headers: exactly(headers) }
}

function exactly<N>(names: readonly N[]): Exactly<N> {
  return { names, has: (name) => names.includes(name) }
}

describe('statuses and headers of the types are those of the document', () => {
  const portal: Table<
    PortalPaths,
    | '/portal/session'
    | '/portal/v1/agencies'
    | `/portal/v1/agencies/{agencySlug}${'/bookings' | '/bookings/{bookingId}' | '/units' | '/units/{unitSlug}/rates'}`
  > = {
    '/portal/session': {
      post: named([200, 400, 401, 403, 413, 429, 500, '4XX']),
      delete: named([200, 403, 500, '4XX']),
    },
    '/portal/v1/agencies': {
      get: named([200, ...REFUSED, 403]),
      post: named([201, ...CHANGED, 409], 'Idempotency-Key'),
    },
    '/portal/v1/agencies/{agencySlug}/units': {
      get: named([200, ...REFUSED]),
      post: named([201, ...CHANGED, 409], 'Idempotency-Key'),
    },
    '/portal/v1/agencies/{agencySlug}/bookings': {
      get: named([200, ...REFUSED]),
      post: named([200, 201, ...CHANGED, 409], 'Idempotency-Key'),
    },
    '/portal/v1/agencies/{agencySlug}/bookings/{bookingId}': {
      get: named([200, ...REFUSED]),
      patch: named([200, ...CHANGED, 409, 412], 'Idempotency-Key', 'If-Match'),
    },
    '/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates': {
      get: named([200, 304, ...REFUSED], 'If-None-Match'),
      put: named([200, ...CHANGED, 412], 'Idempotency-Key', 'If-Match'),
    },
  }
  const partner: Table<
    PartnerPaths,
    `/partner/v1/${'units' | 'bookings' | 'changes' | 'test/events' | 'openapi.json'}`
  > = {
    '/partner/v1/units': { get: named([200, 304, 401, 403, 429, 500], 'If-None-Match', 'X-Request-Id') },
    '/partner/v1/bookings': {
      get: named([200, 400, 401, 403, 429, 500], 'X-Request-Id'),
      post: named([201, ...CHANGED, 409, 412], 'Idempotency-Key', 'If-Match', 'X-Request-Id'),
    },
    '/partner/v1/changes': {
      get: named([200, 400, 401, 403, 410, 429, 500], 'Last-Event-ID', 'X-Request-Id'),
    },
    '/partner/v1/test/events': { post: named([202, 400, 401, 403, 404, 413, 429, 500], 'X-Request-Id') },
    '/partner/v1/openapi.json': { get: named([200, 500, '4XX'], 'X-Request-Id') },
  }

  test.each([
    ['the portal', portal, portalDocument],
    ['the partner API', partner, partnerDocument],
  ])('of %s', async (_, typed, documentText) => {
    const { paths, components } = JSON.parse(await documentText())
    for (const [path, methods] of Object.entries(typed))
      for (const [method, { statuses, headers }] of Object.entries<Named<number | string, string>>(methods)) {
        const { responses, parameters } = paths[path][method]
        const named = (parameters as { $ref?: string }[]).flatMap(({ $ref }) =>
          $ref === undefined ? [] : [components.parameters[$ref.split('/').at(-1) ?? ''].name],
        )
        expect([method, path, statuses.names.map(String).sort(), [...headers.names].sort()]).toEqual([
          ...[method, path, Object.keys(responses).sort(), named.sort()],
        ])
      }
  })
})

test('a call with a wrong path, parameter or member does not compile, and an answer has no other members', async () => {
  const client = createClient<PortalPaths, 'application/json'>({
    baseUrl: 'http://localhost',
    fetch: async () => Response.json({ booking: { arrival: '2027-03-01' } }),
  })
  const path = { agencySlug: 'a', bookingId: 'b' }
  const url = '/portal/v1/agencies/{agencySlug}/bookings/{bookingId}'

  // @ts-expect-error: no such path
  await client.GET('/portal/v1/agencies/{agencySlug}/booking/{bookingId}', { params: { path } })
  // @ts-expect-error: no such method
  await client.DELETE(url, { params: { path } })
  // @ts-expect-error: `bookingId` is missing
  await client.GET(url, { params: { path: { agencySlug: 'a', id: 'b' } } })
  // @ts-expect-error: no such parameter
  await client.GET('/portal/v1/agencies/{agencySlug}/bookings', { params: { path, query: { stauts: 'option' } } })
  // @ts-expect-error: no such status of a booking
  await client.PATCH(url, { params: { path }, body: { status: 'confirmd' } })
  // @ts-expect-error: no such member
  await client.PATCH(url, { params: { path }, body: { status: 'draft', arival: '2027-03-01' } })
  const { data, error } = await client.GET(url, { params: { path } })
  // @ts-expect-error: no such member
  expect(data?.booking.arival).toBeUndefined()
  expect(data?.booking.arrival).toBe('2027-03-01')
  // @ts-expect-error: a read never answers this
  expect(error?.code === 'BOOKING_CONFLICT').toBe(false)
  // @ts-expect-error: the body of an answer is that of its status
  type Created = PortalPaths[typeof url]['get']['responses'][201]
  expect<Created | null>(null).toBeNull()
})
