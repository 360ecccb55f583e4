/** The types that clients call the surfaces with, held to the documents: both are made from the operations. */
import { describe, expect, test } from 'bun:test'
import createClient from 'openapi-fetch'
import { type PartnerPaths, partnerDocument } from '../../../src/api/partner/partner-surface.ts'
import { type PortalPaths, portalDocument } from '../../../src/api/portal/portal-surface.ts'

interface Described {
  parameters: { header?: unknown }
  responses: object
}
/** The compiler asks for exactly the names that the types have; the test compares them with the document. */
interface Names<O> {
  readonly statuses: O extends Described ? Record<keyof O['responses'], true> : never
  readonly headers: O extends Described ? Record<keyof NonNullable<O['parameters']['header']>, true> : never
}

const READ = { 200: true, 400: true, 401: true, 404: true, 429: true, 500: true } as const
const WRITE = { ...READ, 403: true, 422: true } as const

describe('statuses and headers of the types are those of the document', () => {
  type Path =
    `/portal/v1/agencies/{agencySlug}${'/bookings' | '/bookings/{bookingId}' | '/units' | '/units/{unitSlug}/rates'}`
  const portal: { [P in '/portal/session' | Path]: { [M in keyof PortalPaths[P]]: Names<PortalPaths[P][M]> } } = {
    '/portal/session': {
      post: {
        statuses: { 200: true, 400: true, 401: true, 403: true, 413: true, 429: true, 500: true, '4XX': true },
        headers: {},
      },
      delete: { statuses: { 200: true, 403: true, 500: true, '4XX': true }, headers: {} },
    },
    '/portal/v1/agencies/{agencySlug}/bookings': {
      get: { statuses: READ, headers: {} },
      post: { statuses: { ...WRITE, 201: true, 409: true, 413: true }, headers: { 'Idempotency-Key': true } },
    },
    '/portal/v1/agencies/{agencySlug}/bookings/{bookingId}': {
      get: { statuses: READ, headers: {} },
      patch: {
        statuses: { ...WRITE, 409: true, 412: true, 413: true },
        headers: { 'Idempotency-Key': true, 'If-Match': true },
      },
    },
    '/portal/v1/agencies/{agencySlug}/units': {
      get: { statuses: READ, headers: {} },
      post: {
        statuses: {
          201: true,
          400: true,
          401: true,
          403: true,
          404: true,
          409: true,
          413: true,
          422: true,
          429: true,
          500: true,
        },
        headers: { 'Idempotency-Key': true },
      },
    },
    '/portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates': {
      get: { statuses: { ...READ, 304: true }, headers: { 'If-None-Match': true } },
      put: { statuses: { ...WRITE, 412: true, 413: true }, headers: { 'Idempotency-Key': true, 'If-Match': true } },
    },
  }
  const partner: {
    [P in '/partner/v1/units' | '/partner/v1/bookings' | '/partner/v1/openapi.json']: {
      [M in keyof PartnerPaths[P]]: Names<PartnerPaths[P][M]>
    }
  } = {
    '/partner/v1/units': {
      get: {
        statuses: { 200: true, 304: true, 401: true, 403: true, 429: true, 500: true },
        headers: { 'If-None-Match': true, 'X-Request-Id': true },
      },
    },
    '/partner/v1/bookings': {
      get: {
        statuses: { 200: true, 400: true, 401: true, 403: true, 429: true, 500: true },
        headers: { 'X-Request-Id': true },
      },
      post: {
        statuses: {
          201: true,
          400: true,
          401: true,
          403: true,
          404: true,
          409: true,
          412: true,
          413: true,
          422: true,
          429: true,
          500: true,
        },
        headers: { 'Idempotency-Key': true, 'If-Match': true, 'X-Request-Id': true },
      },
    },
    '/partner/v1/openapi.json': {
      get: { statuses: { 200: true, 500: true, '4XX': true }, headers: { 'X-Request-Id': true } },
    },
  }

  test.each([
    ['the portal', portal, portalDocument],
    ['the partner API', partner, partnerDocument],
  ])('of %s', async (_, typed, documentText) => {
    const { paths, components } = JSON.parse(await documentText())
    for (const [path, methods] of Object.entries(typed))
      for (const [method, { statuses, headers }] of Object.entries<Names<Described>>(methods)) {
        const { responses, parameters } = paths[path][method]
        const named = (parameters as { $ref?: string }[]).flatMap(({ $ref }) =>
          $ref === undefined ? [] : [components.parameters[$ref.split('/').at(-1) ?? ''].name],
        )
        expect([method, path, Object.keys(statuses).sort(), Object.keys(headers).sort()]).toEqual([
          ...[method, path, Object.keys(responses).sort(), named.sort()],
        ])
      }
  })
})

test('a call with a wrong path, parameter or member does not compile, and an answer has no other members', async () => {
  const answers: (status: number, body: object) => typeof fetch = (status, body) =>
    Object.assign(async () => Response.json(body, { status }), { preconnect: () => {} })
  const client = createClient<PortalPaths, 'application/json'>({
    baseUrl: 'http://localhost',
    fetch: answers(200, { booking: { arrival: '2027-03-01' } }),
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
