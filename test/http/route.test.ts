/** The one way into every route, with an admission that records what it is asked. */
import { describe, expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import type { FailureReport } from '../../src/http/answer.ts'
import { type Outcome, recorded } from '../../src/http/answer.ts'
import type { Operation } from '../../src/http/operation.ts'
import { notFound, type Problem, problem } from '../../src/http/problems.ts'
import type { RouteAdmission } from '../../src/http/route.ts'
import { served } from '../../src/http/route.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { RequestStats } from '../../src/observability/request-stats.ts'

const GET_THING = {
  id: 'getThing',
  method: 'GET',
  path: '/things/{id}',
  tag: 'Things',
  summary: 'A thing',
  answer: { status: 200, description: 'The thing.', schema: Type.Object({}) },
} as const satisfies Operation
const MAKE_THING = {
  id: 'makeThing',
  method: 'POST',
  path: '/things/{id}',
  tag: 'Things',
  summary: 'Make a thing',
  body: Type.Object({ name: Type.String() }),
  answer: { status: 201, description: 'The thing.', schema: Type.Object({}) },
} as const satisfies Operation

/** Each time it is asked, the admission tells the next number. */
class Recorded implements RouteAdmission<{ n: number }> {
  readonly unauthorized = problem('UNAUTHORIZED', 'No', {})
  readonly events: string[] = []
  isAllowed = true
  #n = 0

  admit(): { n: number } | null {
    return this.isAllowed ? { n: ++this.#n } : null
  }
  refused() {
    return this.unauthorized
  }

  readmit() {
    return this.admit()
  }
  refusalOf() {
    return null
  }
  answer(_: unknown, body: string, status: number): Response {
    return new Response(body, { status })
  }
  headersOf(): Headers {
    return new Headers({ 'X-Surface': 'test' })
  }
  async recordRefusal(_: unknown, { code }: Problem, { id }: Readonly<Record<string, string>>): Promise<void> {
    await Promise.resolve()
    this.events.push(`recorded ${code} ${id}`)
  }
  recordFailure(_: unknown, outcome: string): void {
    this.events.push(`failed ${outcome}`)
  }
}

function routeOf(operation: Operation, handle: (n: number, body: unknown) => Outcome | Promise<Outcome>) {
  const admission = new Recorded()
  const failures: FailureReport[] = []
  const serve = served(
    {
      operation,
      surface: 'portal',
      newId: () => 'req_1',
      requestStats: new RequestStats({ clock: systemClock, log: null }),
      onFailure: (report) => failures.push(report),
    },
    admission,
    ({ admission }, _path, _query, body) => handle(admission.n, body),
  )
  return { admission, failures, serve }
}

const get = (path = '/things/a') => new Request(`http://localhost${path}`)
const post = (body: unknown = { name: 'x' }) =>
  new Request('http://localhost/things/a', {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })

describe('a route', () => {
  test('answers at once when its handler does', () => {
    const { serve } = routeOf(GET_THING, () => '{}')
    expect(serve(get())).toBeInstanceOf(Response)
  })

  test('of a write records a refusal, its own or the handler’s, before it answers', async () => {
    const { admission, serve } = routeOf(MAKE_THING, () => notFound('unit'))
    expect((await serve(post())).status).toBe(404)
    expect((await serve(post({ name: 7 }))).status).toBe(400)
    expect(admission.events).toEqual(['recorded NOT_FOUND a', 'recorded VALIDATION a'])
  })

  test('does not record what the handler has recorded, nor the refusal of a read', async () => {
    const write = routeOf(MAKE_THING, () => recorded(notFound('unit')))
    expect((await write.serve(post())).status).toBe(404)
    const read = routeOf(GET_THING, async () => notFound('unit'))
    expect((await read.serve(get())).headers.get('X-Surface')).toBe('test')
    expect((await read.serve(get('/things/%ff'))).status).toBe(400)
    expect([...write.admission.events, ...read.admission.events]).toEqual([])
  })

  test('asks for admission again when the body is there, and handles what it was told then', async () => {
    const { admission, serve } = routeOf(MAKE_THING, (n, body) => JSON.stringify({ n, body }))
    const first = await serve(post())
    expect([first.status, await first.json()]).toEqual([201, { n: 2, body: { name: 'x' } }])
    const late = serve(post())
    admission.isAllowed = false
    expect((await late).status).toBe(401)
    expect((await late).headers.get('X-Surface')).toBeNull()
  })

  test('answers a failure with 500, reports it, and counts it if it was a write', async () => {
    const fail = () => {
      throw new Error('no')
    }
    const write = routeOf(MAKE_THING, fail)
    expect((await write.serve(post())).status).toBe(500)
    expect(write.admission.events).toEqual(['failed OUTCOME_UNKNOWN'])
    const read = routeOf(GET_THING, async () => fail())
    expect((await read.serve(get())).status).toBe(500)
    expect([read.admission.events, read.failures]).toMatchObject([[], [{ route: 'GET /things/{id}', isBug: false }]])
  })

  test('gives a replayed answer as it was first given, and says so', async () => {
    const answer = { status: 200, body: '{"n":1}' }
    const { serve } = routeOf(MAKE_THING, () => ({ kind: 'replayed', answer }))
    const response = await serve(post())
    expect([response.status, await response.text(), response.headers.get('Idempotency-Replayed')]).toEqual([
      200,
      answer.body,
      'true',
    ])
  })
})
