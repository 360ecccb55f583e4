/** The traces of a real service with workers, as a collector gets them: docs/operating.md#traces. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spanIdOf, traceIdOf } from '../../src/lib/traceparent.ts'
import { type Receiver, startReceiver } from '../events/webhooks/support/receiver.ts'
import { eventually } from '../support/eventually.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { scrape } from '../support/scrape.ts'
import { makeAgencyByPortal } from '../support/service-process.ts'
import { type ServiceWorkers, startWorkers } from '../support/service-workers.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type CollectedSpan, startCollector, type TraceCollector } from '../support/trace-collector.ts'

const folder = temporaryFolder('traces')
let database: TestDatabase
let collector: TraceCollector
let receiver: Receiver
let service: ServiceWorkers
let key = ''

beforeAll(async () => {
  database = await testDatabase()
  collector = startCollector()
  receiver = startReceiver(null)
  service = await startWorkers(database.url, {
    count: 2,
    dataDir: folder,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER_ARG: '0',
      LOG_LEVEL: 'debug',
      WEBHOOK_ALLOW_HOSTS: `127.0.0.1:${receiver.port}`,
    },
  })
  key = await makeAgencyByPortal(service, { scopes: ['write:bookings'] })
  await service.portal('/agencies/harbour/webhook-endpoints', { url: `http://127.0.0.1:${receiver.port}/in` })
}, 120_000)
afterAll(async () => {
  service?.kill('SIGTERM')
  await service?.exited
  await Promise.all([receiver?.stop(), collector?.stop(), database?.drop()])
})

/** Books on a connection of its own, which the kernel gives to any worker. @returns the trace id */
async function book(index: number): Promise<string> {
  const traceparent = `00-${String(index + 1).padStart(32, 'a')}-00f067aa0ba902b7-01`
  const arrival = new Date(Date.UTC(2027, 0, 1 + 5 * index)).toISOString().slice(0, 10)
  const departure = new Date(Date.UTC(2027, 0, 3 + 5 * index)).toISOString().slice(0, 10)
  const response = await fetch(`${service.baseUrl}/partner/v1/bookings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close', traceparent },
    body: JSON.stringify({ unit: 'sea-view', arrival, departure }),
  })
  expect(response.status).toBe(201)
  return traceIdOf(traceparent)
}

const of = (traceId: string) => collector.spans.filter((span) => span.traceId === traceId)

test('a booking is five spans, from the hop between two workers to the webhook, each part of the one before', async () => {
  let traceId = ''
  for (let index = 0; traceId === ''; index++) {
    expect(index).toBeLessThan(60)
    const booked = await book(index)
    await eventually('its request has arrived', () => of(booked).some(({ kind }) => kind === 2))
    if (of(booked).some(({ name }) => name === 'hop to the owner')) traceId = booked
  }
  await eventually('all of it has arrived', () => of(traceId).length === 5)

  const spans = of(traceId)
  const named = (name: string): CollectedSpan => {
    const span = spans.find((each) => each.name === name)
    if (span === undefined) throw new Error(`There is no span ${name}`)
    return span
  }
  const [hop, request] = [named('hop to the owner'), named('POST /partner/v1/bookings')]
  const [command, commit, delivery] = [named('command'), named('journal commit'), named('webhook delivery')]
  expect(hop.parentSpanId).toBe('00f067aa0ba902b7')
  expect(request.parentSpanId).toBe(hop.spanId)
  expect(command.parentSpanId).toBe(request.spanId)
  expect([commit.parentSpanId, delivery.parentSpanId]).toEqual([command.spanId, command.spanId])
  expect(spans.map(({ isError, end, start }) => [isError, end >= start])).toEqual(spans.map(() => [false, true]))
  expect(request.attributes['http.response.status_code']).toBe('201')
  // Two workers, and the sender of the owner.
  const instances = [hop, request, delivery].map(({ resource }) => resource['service.instance.id'])
  expect(new Set(instances).size).toBe(3)
  expect(command.resource).toEqual(request.resource)

  const sent = receiver.received.find(({ headers }) => headers.get('traceparent')?.includes(traceId))
  expect(spanIdOf(sent?.headers.get('traceparent') ?? '')).toBe(delivery.spanId)
  const line = service
    .log()
    .split('\n')
    .find((each) => each.includes(traceId) && each.includes('request answered'))
  expect(JSON.parse(line ?? '{}')).toMatchObject({ traceId, status: 201, route: 'POST /partner/v1/bookings' })
  const { body } = await service.portal(`/agencies/harbour/audit?trace=${traceId}`)
  expect(body.audit).toMatchObject([{ outcome: 'OK', traceId }])
}, 120_000)

test('a request without a trace gets one, which is sent only if the part of OTEL_TRACES_SAMPLER_ARG says so', async () => {
  const before = collector.spans.length
  const headers = { 'x-request-id': 'untraced' }
  await service.ask('/partner/v1/bookings', { token: key, headers, json: { unit: 'nowhere' } })
  const { body } = await service.portal('/agencies/harbour/audit?request=untraced')
  expect(body.audit).toMatchObject([{ outcome: 'VALIDATION', traceId: expect.stringMatching(/^[0-9a-f]{32}$/) }])
  const traceId: string = body.audit[0].traceId
  await book(100)
  await eventually('what came after it has arrived', () => collector.spans.length > before)
  expect(of(traceId)).toEqual([])
})

test('a collector that fails costs no request its answer, shows in the metrics, and does not hold up the end', async () => {
  collector.answer = () => new Response(null, { status: 503 })
  for (let index = 0; index < 10; index++) await book(110 + index)
  await eventually('spans are dropped', async () => {
    const samples = (await scrape(service.baseUrl)).samplesOf('nightledger_trace_spans_total')
    return samples.some(({ labels, value }) => labels['outcome'] === 'dropped' && value > 0)
  })
  collector.answer = () => new Promise(() => {})
  await book(130)
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
}, 120_000)
