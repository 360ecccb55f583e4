/** Ids are UUIDs in the database: a text that cannot be one names nothing, and is answered like an id that does not exist. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { auditTrail } from '../../support/audit-trail.ts'
import { FROM_THE_PAGE } from '../../support/page-sessions.ts'
import { joined } from '../../support/people.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

let service: TestService
let agency: Agency
/** Who has passkeys and sessions of their own. */
let asPerson: { token: null; headers: Record<string, string> }
beforeAll(async () => {
  service = await startTestService()
  agency = await service.agency()
  const { cookie } = await joined(service, agency, 'viewer')
  asPerson = { token: null, headers: { ...FROM_THE_PAGE, cookie } }
})
afterAll(async () => {
  expect([service.logged, service.bugs]).toEqual([[], []])
  await service.close()
})

const HEX = '01a2018e31f8761fba15aa4b27ae1c47'
/** By the first part of an id: too short, upper case, of another kind, as the database writes it, too long. */
const malformed = (prefix: string) => [
  'x',
  `${prefix}_none`,
  `${prefix}_${HEX.toUpperCase()}`,
  `${prefix === 'bkg' ? 'gst' : 'bkg'}_${HEX}`,
  `${prefix}_${'01a2018e-31f8-761f-ba15-aa4b27ae1c47'}`,
  HEX,
  `${prefix}_${HEX}${HEX.slice(0, 16)}`,
]

/** A body that every route accepts which takes one. */
const BODIES: Record<string, object> = {
  'PATCH /bookings': { status: 'cancelled' },
  'PUT /bookings': { notes: null },
  'PATCH /guests': { phone: '1' },
  'PATCH /fee-types': { active: false },
  'PATCH /people': { name: 'x' },
  'PATCH /{passkeyId}': { name: 'x' },
  'PATCH /webhook-endpoints': { description: 'x' },
  'POST /webhook-endpoints': { since: '2027-03-01T00:00:00Z' },
}
const PREFIXES: Record<string, string> = {
  bookingId: 'bkg',
  guestId: 'gst',
  keyId: 'key',
  tokenId: 'tok',
  personId: 'per',
  passkeyId: 'pky',
  sessionId: 'ses',
  feeTypeId: 'fee',
  endpointId: 'whe',
  deliveryId: 'dlv',
  groupId: 'grp',
}

test('404 on every route that names one by id', async () => {
  const { paths } = (await service.get('//portal/v1/openapi.json')).body as { paths: Record<string, object> }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
  )
  const seen = new Set<string>()
  for (const [method, path] of routes) {
    const name = /\{(\w+Id)\}/.exec(path)?.[1]
    if (name === undefined) continue
    seen.add(name)
    for (const id of malformed(PREFIXES[name] ?? name)) {
      const probe = path.replace('{agencySlug}', agency.slug).replace(`{${name}}`, id)
      const body = BODIES[`${method} /${path.split('/')[5]}`] ?? (method === 'POST' ? {} : undefined)
      const answer = await service.ask(`/${probe}`, body, { method, ...(path.includes('/me/') ? asPerson : {}) })
      expect([method, probe, answer.status, answer.body.code]).toEqual([method, probe, 404, 'NOT_FOUND'])
    }
  }
  expect([...seen].toSorted()).toEqual(Object.keys(PREFIXES).toSorted())
})

test('an empty list where one is a filter, and the audit trail is found by what the caller gave', async () => {
  const path = `/agencies/${agency.slug}`
  for (const id of malformed('gst')) {
    const { status, body } = await service.get(`${path}/bookings?guest=${id}`)
    expect([id, status, body.totalItems]).toEqual([id, 200, 0])
  }
  for (const id of malformed('key')) expect((await service.get(`${path}/audit?key=${id}`)).body.totalItems).toBe(0)
  for (const id of malformed('bkg')) {
    await service.ask(`${path}/bookings/${id}/cancel`, {})
    const { audit } = (await service.get(`${path}/audit?booking=${id}`)).body
    expect(audit[0]).toMatchObject({ bookingId: id, outcome: 'NOT_FOUND' })
    expect((await service.get(`${path}/audit?booking=${id}&outcome=OK`)).body.audit).toEqual([])
  }
  const lines = await auditTrail(service.database.sql, agency.id)
  expect(lines.filter(({ booking_id }) => booking_id === 'bkg_none').length).toBeGreaterThan(0)
})
