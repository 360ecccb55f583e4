import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { isSampled, spanIdOf, traceIdOf } from '../../src/lib/traceparent.ts'
import { OtlpTracer, SPANS_WAITING_MAX } from '../../src/observability/otlp-tracer.ts'
import { eventually } from '../support/eventually.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startCollector, type TraceCollector } from '../support/trace-collector.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`
const NOT_SAMPLED = `00-${TRACE}-00f067aa0ba902b7-00`
const T0 = Date.UTC(2027, 0, 1)

let collector: TraceCollector
let clock: FakeClock
let failures: unknown[] = []
beforeEach(() => {
  collector = startCollector()
  clock = new FakeClock(T0)
  failures = []
})
afterEach(() => collector.stop())

function opened({ ratio = 1, dice = () => 0.5 }: { ratio?: number; dice?: () => number } = {}): OtlpTracer {
  const headers = { 'api-key': 'hunter2' }
  return new OtlpTracer({
    settings: { url: `${collector.url}/v1/traces`, headers, serviceName: 'bookings', ratio },
    instance: 'host 1',
    clock,
    dice,
    post: fetch,
    onFailure: (cause) => failures.push(cause),
  })
}

/** Starts and ends so many spans. */
function trace(tracer: OtlpTracer, spans: number): void {
  for (let n = 0; n < spans; n++) tracer.start('command', PARENT).end()
}

/** Lets a second pass, and the collector answer. */
async function exported(tracer: OtlpTracer, done: () => boolean): Promise<void> {
  await clock.advance(1_000)
  await eventually('the collector has answered', () => done())
  expect(tracer.stats.sent + tracer.stats.dropped).toBeGreaterThan(0)
}

test('spans arrive within a second or so, as OTLP, with the headers that the collector wants', async () => {
  const tracer = opened()
  const request = tracer.start('request', PARENT)
  await clock.advance(3)
  const command = tracer.start('command', request.traceparent)
  await clock.advance(2)
  command.end()
  request.end({ name: 'POST /x', attributes: { status: 500, route: '/x' }, isError: true })
  expect(collector.requests).toEqual([])
  await exported(tracer, () => tracer.stats.sent === 2)

  expect(collector.requests.map(({ path }) => path)).toEqual(['/v1/traces'])
  const [first] = collector.requests
  expect([first?.headers.get('api-key'), first?.headers.get('content-type')]).toEqual(['hunter2', 'application/json'])
  const resource = {
    'service.name': 'bookings',
    'service.instance.id': 'host 1',
    'service.version': expect.any(String),
  }
  const begin = BigInt(T0) * 1_000_000n
  expect(collector.spans).toEqual([
    {
      ...{ name: 'command', kind: 1, traceId: TRACE, spanId: spanIdOf(command.traceparent), isError: false },
      ...{ parentSpanId: spanIdOf(request.traceparent), start: begin + 3_000_000n, end: begin + 5_000_000n },
      ...{ attributes: {}, resource },
    },
    {
      ...{ name: 'POST /x', kind: 2, traceId: TRACE, spanId: spanIdOf(request.traceparent), isError: true },
      ...{ parentSpanId: '00f067aa0ba902b7', start: begin, end: begin + 5_000_000n },
      ...{ attributes: { status: '500', route: '/x' }, resource },
    },
  ])
})

describe('whether a trace is sent', () => {
  test('is what its caller says, whatever the part of our own is', async () => {
    const tracer = opened({ ratio: 0 })
    const dropped = opened({ ratio: 1 }).start('request', NOT_SAMPLED)
    dropped.end()
    expect([traceIdOf(dropped.traceparent), isSampled(dropped.traceparent)]).toEqual([TRACE, false])
    expect(clock.nextTimerIn).toBeNull()
    trace(tracer, 1)
    await exported(tracer, () => tracer.stats.sent === 1)
  })

  test.each([
    [0.5, 0.49, true],
    [0.5, 0.5, false],
    [0, 0, false],
    [1, 0.999, true],
  ])(
    'is decided at its beginning when it begins here: the part %d, the dice %d, sent %s',
    async (ratio, dice, isSent) => {
      const tracer = opened({ ratio, dice: () => dice })
      const begun = tracer.start('request', null)
      expect(isSampled(begun.traceparent)).toBe(isSent)
      expect(isSampled(tracer.start('command', begun.traceparent).traceparent)).toBe(isSent)
      begun.end()
      if (!isSent) return
      await exported(tracer, () => tracer.stats.sent === 1)
      expect(collector.spans).toMatchObject([{ parentSpanId: null, traceId: traceIdOf(begun.traceparent) }])
    },
  )
})

describe('a collector that', () => {
  test('does not answer gets one batch at a time; what there is no room for is dropped and counted', async () => {
    const tracer = opened()
    collector.answer = () => new Promise(() => {})
    trace(tracer, 300)
    await clock.advance(1_000)
    await eventually('a batch is sent', () => collector.requests.length === 1)
    trace(tracer, SPANS_WAITING_MAX)
    expect(tracer.stats).toEqual({ sent: 0, dropped: 300 - 256 })
    await clock.advance(4_000)
    expect(collector.requests.length).toBe(1)
    await clock.advance(1_000)
    await eventually('it is given up', () => failures.length === 1)
    expect(tracer.stats).toEqual({ sent: 0, dropped: 300 })
  })

  test('refuses a batch gets the next one after a while, and is named once until it takes one', async () => {
    const tracer = opened()
    collector.answer = () => new Response(null, { status: 503 })
    trace(tracer, 1)
    await clock.advance(1_000)
    await eventually('it is refused', () => tracer.stats.dropped === 1)
    trace(tracer, 1)
    expect(clock.nextTimerIn).toBe(5_000)
    await clock.advance(5_000)
    await eventually('it is refused again', () => tracer.stats.dropped === 2)
    expect([failures.length, collector.requests.length]).toEqual([1, 2])
    collector.answer = () => Response.json({})
    trace(tracer, 1)
    await clock.advance(5_000)
    await eventually('it is taken', () => tracer.stats.sent === 1)
    expect([failures.length, collector.spans.length]).toEqual([1, 1])
  })

  test('is away costs spans, and nothing is thrown', async () => {
    const tracer = opened()
    await collector.stop()
    trace(tracer, 3)
    await exported(tracer, () => tracer.stats.dropped === 3)
    expect(failures.length).toBe(1)
  })
})

describe('at the end of the process', () => {
  test('what waits is sent, in as many batches as it needs', async () => {
    const tracer = opened()
    trace(tracer, 600)
    await tracer.stop(500)
    expect([collector.requests.length, tracer.stats]).toEqual([3, { sent: 600, dropped: 0 }])
    expect(clock.nextTimerIn).toBeNull()
  })

  test('a batch that is on its way is waited for', async () => {
    const tracer = opened()
    const answered = Promise.withResolvers<Response>()
    collector.answer = () => answered.promise
    trace(tracer, 1)
    await clock.advance(1_000)
    await eventually('it is sent', () => collector.requests.length === 1)
    const stopped = tracer.stop(500)
    answered.resolve(Response.json({}))
    await stopped
    expect(tracer.stats).toEqual({ sent: 1, dropped: 0 })
  })

  test('a collector that does not answer holds it up for no longer than it may', async () => {
    const tracer = opened()
    collector.answer = () => new Promise(() => {})
    trace(tracer, 600)
    const stopped = tracer.stop(500)
    await eventually('a batch is sent', () => collector.requests.length === 1)
    await clock.advance(500)
    await stopped
    expect([collector.requests.length, tracer.stats]).toEqual([1, { sent: 0, dropped: 600 }])
  })
})
