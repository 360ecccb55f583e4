/** Webhooks of a sandbox (docs/partner-additions.md#12-sandbox), with the real service and its sender. */
import { afterAll, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { startSender } from '../support/running-sender.ts'
import { startTestService } from '../support/test-service.ts'
import { verifyDatabase } from '../support/verify-database.ts'

/** The bodies that the receivers have got. */
const sent: string[] = []

const service = await startTestService()
const sending = await startSender(service, async (_, { body }) => {
  sent.push(body)
  return { outcome: { kind: 'answered', httpStatus: 204 }, durationMs: 1 }
})
afterAll(async () => {
  await sending.stop()
  await service.close()
})

const SCOPES = ['read:bookings', 'write:bookings']
const STAY = { unit: 'sea-view', arrival: '2028-07-03', departure: '2028-07-06' }

async function makeSandbox() {
  const live = await service.agency()
  await service.unit(live, { slug: 'sea-view' })
  const made = await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
  const path = `/agencies/${made.body.agency.slug}`
  const endpoint = await service.ask(`${path}/webhook-endpoints`, { url: 'http://localhost:9/hook' })
  expect(endpoint.status).toBe(201)
  const { secret } = (await service.ask(`${path}/keys`, { name: 'Partner', scopes: SCOPES })).body
  return { live, call: (route: string, json?: object) => service.asPartner(secret, route, json) }
}

/** The body that the event of a booking was sent with. */
async function sentOf(bookingId: string): Promise<string> {
  const find = () => sent.find((body) => JSON.parse(body).data.id === bookingId)
  await eventually('the event is sent', () => {
    sending.sender.wake('all')
    return find() !== undefined
  })
  return find() ?? ''
}

test('after a reset its endpoint gets the events of the new sandbox, and the ledger is verified without a finding', async () => {
  const { live, call } = await makeSandbox()
  await sentOf((await call('/bookings', STAY)).body.booking.id)
  expect((await service.ask(`/agencies/${live.slug}/sandbox/reset`, undefined, { method: 'POST' })).status).toBe(200)
  const { id } = (await call('/bookings', STAY)).body.booking
  expect(JSON.parse(await sentOf(id))).toMatchObject({ event: 'booking.created', mode: 'test' })
  expect(sending.failures).toEqual([])
  expect((await verifyDatabase(service.database.sql)).differences).toEqual([])
})

test('its feed has the bytes of its webhooks, with mode: test, whether a change is in memory or read from the log', async () => {
  const { call } = await makeSandbox()
  const { cursor } = (await call('/changes')).body
  const body = await sentOf((await call('/bookings', STAY)).body.booking.id)
  expect(JSON.parse(body)).toHaveProperty('mode', 'test')
  for (const after of [cursor, 'start']) {
    const { text } = await call(`/changes?after=${after}`)
    expect(text.replaceAll(/"cursor":"[\w-]+",/g, '')).toContain(body)
  }
})
