import { afterEach, expect, test } from 'bun:test'
import type { Load } from '../../../src/cli/bench/load.ts'
import type { LoadPlan } from '../../../src/cli/bench/plan.ts'
import { runLoad } from '../../../src/cli/bench/run.ts'
import { eventually } from '../../support/eventually.ts'

const PLAN: LoadPlan = { perSecond: 50, durationS: 1, connections: 4, mix: 'reads', requestsMax: 100 }

let close = () => {}
afterEach(() => close())

/** A run against a server, of requests for `/partner/v1/0`, `/partner/v1/1` and so on. */
function running(answer: (n: number) => Response | Promise<Response>, plan: Partial<LoadPlan> = {}, answerMsMax = 300) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => answer(Number(new URL(url).pathname.split('/').at(-1))),
  })
  close = () => void server.stop(true)
  const settled: (number | null)[] = []
  let n = 0
  const load: Load = {
    operations: { read: 'GET /' },
    leftOut: [],
    cleanUp: null,
    next: () => ({
      ...{ operation: 'read', method: 'GET', path: `/${n++}` },
      settled: (given) => settled.push(given?.status ?? null),
    }),
  }
  const stop = new AbortController()
  const result = runLoad({
    ...{ connection: { url: server.url.href.replace(/\/$/, ''), token: 'key' }, load, plan: { ...PLAN, ...plan } },
    ...{ seed: 1, answerMsMax, stop: stop.signal, onSecond: () => {} },
  })
  return { result, settled, stop, sent: () => n }
}

const never = () => new Promise<Response>(() => {})
const ok = () => new Response('{}')

test('a request that is not answered in time is given up, and its latency is at least that time', async () => {
  const run = running((n) => (n === 3 ? never() : ok()))
  const { total } = await run.result
  expect(total.outcomes).toEqual({ '200': run.sent() - 1, 'no answer': 1 })
  expect(total.failed).toBe(1)
  expect(total.maxMs).toBeGreaterThanOrEqual(300)
  expect(run.settled.filter((status) => status === null)).toHaveLength(1)
})

test('what waits for a connection until the end was never sent, and counts', async () => {
  const run = running(never, { connections: 1 })
  const { total, unsent, timeline } = await run.result
  expect(unsent).toBeGreaterThan(0)
  expect(total.outcomes).toEqual({ 'never sent': unsent, 'no answer': run.sent() })
  expect(total.measured).toBe(timeline.reduce((sum, { due }) => sum + due, 0))
})

test('a run that is stopped takes the answers to what it has sent, and sends nothing more', async () => {
  const answers = Promise.withResolvers<void>()
  const run = running(() => answers.promise.then(ok), { durationS: 600, requestsMax: 100_000 }, 60_000)
  await eventually('every connection is in use', () => run.sent() === 4)
  // Others wait by now.
  await Bun.sleep(150)
  run.stop.abort()
  answers.resolve()
  const { end, total, operations } = await run.result
  expect([end?.reason, run.sent(), operations[0]?.outcomes]).toEqual(['interrupted', 4, { '200': 4 }])
  expect(total.measured).toBeGreaterThanOrEqual(4)
})

test('no more requests come than were planned, however long the run', async () => {
  const run = running(ok, { requestsMax: 7, perSecond: 200 })
  const { total, timeline } = await run.result
  expect([run.sent(), total.measured, timeline.reduce((sum, { due }) => sum + due, 0)]).toEqual([7, 7, 7])
})
