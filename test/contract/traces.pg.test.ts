/** What becomes of a request's `traceparent`: docs/operating.md#traces. */
import { expect, test } from 'bun:test'
import { childOf, traceIdOf } from '../../src/lib/traceparent.ts'
import { sharedTestService } from '../support/test-service.ts'
import { verifyDatabase } from '../support/verify-database.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const TRACE = traceIdOf(TRACEPARENT)

const service = await sharedTestService()
const agency = await service.agency()
const unit = await service.unit(agency, { slug: 'sea-view' })
const key = await service.key(agency)

const stay = (month: string) => ({ unit: 'sea-view', arrival: `2027-${month}-01`, departure: `2027-${month}-04` })

const book = (json: object, headers: Record<string, string>) =>
  service.call('/bookings', { key: key.secret, json, headers })

async function audited(query: string, slug = agency.slug): Promise<{ outcome: string; traceId: string | null }[]> {
  const { status, body } = await service.get(`/agencies/${slug}/audit?${query}`)
  expect(status).toBe(200)
  return body.audit
}

test('every line of the audit trail that a trace has left is found by it: done, refused, repeated and counted', async () => {
  const retry = { traceparent: TRACEPARENT, 'idempotency-key': 'once' }
  expect((await book(stay('03'), retry)).status).toBe(201)
  expect((await book(stay('03'), retry)).headers.get('idempotency-replayed')).toBe('true')
  expect((await book(stay('03'), { traceparent: childOf(TRACEPARENT), 'x-request-id': 'own-1' })).status).toBe(409)
  const path = `/agencies/${agency.slug}/units/${unit.slug}`
  const portal = { method: 'PATCH', headers: { traceparent: TRACEPARENT } }
  expect((await service.ask(path, { name: 'Sea View' }, portal)).status).toBe(200)
  const revoked = await service.key(agency)
  await service.delete(`/agencies/${agency.slug}/keys/${revoked.key.id}`)
  const headers = { traceparent: TRACEPARENT }
  expect((await service.call('/bookings', { key: revoked.secret, json: stay('04'), headers })).status).toBe(401)
  await service.ledger.refusals.flush()

  const lines = await audited(`trace=${TRACE}`)
  expect(lines.map(({ outcome }) => outcome).toSorted()).toEqual([
    ...['BOOKING_CONFLICT', 'OK', 'OK', 'REPLAYED', 'UNAUTHORIZED'],
  ])
  expect(new Set(lines.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]))
  // The request id stays what the caller calls its request.
  expect(await audited('request=own-1')).toMatchObject([{ outcome: 'BOOKING_CONFLICT', traceId: TRACE }])
})

test('what is malformed is neither refused nor stored', async () => {
  const faulty = [
    TRACEPARENT.toUpperCase(),
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    "'; drop table journal --",
    ' ',
  ]
  for (const [index, traceparent] of faulty.entries())
    expect((await book(stay(`0${5 + index}`), { traceparent, 'x-request-id': `faulty-${index}` })).status).toBe(201)
  for (const index of faulty.keys())
    expect(await audited(`request=faulty-${index}`)).toMatchObject([{ outcome: 'OK', traceId: null }])
})

test('the same trace of another agency shows nothing of this one', async () => {
  const other = await service.agency({ slug: 'other-homes' })
  expect(await audited(`trace=${TRACE}`, other.slug)).toEqual([])
  const own = await service.accessToken(other, 'owner')
  const ask = (slug: string) => service.ask(`/agencies/${slug}/audit?trace=${TRACE}`, undefined, { token: own.secret })
  expect([(await ask(other.slug)).body.audit, (await ask(agency.slug)).status]).toEqual([[], 404])
})

test('entries with and without a trace verify', async () => {
  expect(await verifyDatabase(service.ledger.sql)).toMatchObject({ entries: 7, differences: [] })
})
