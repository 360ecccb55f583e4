import { afterEach, expect, test } from 'bun:test'
import { adminRelay } from '../../src/app/admin-relay.ts'
import { adminSocketOf } from '../../src/cluster/workers/worker-sockets.ts'
import { MINUTE_MS } from '../../src/lib/clock.ts'
import { eventually } from '../support/eventually.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/* What the parent of workers does with requests on ADMIN_PORT. */

const folder = temporaryFolder('relay')
const opened: Bun.Server<undefined>[] = []
afterEach(() => Promise.all(opened.splice(0).map((server) => server.stop(true))))

/** A worker's listener for the operator, which tells what it was asked. */
function worker(number: number, answer: (request: Request) => Response | Promise<Response> = told): number {
  opened.push(Bun.serve({ unix: adminSocketOf(folder, number), fetch: answer }))
  return number
}

async function told(request: Request): Promise<Response> {
  const { method, url, headers } = request
  const body = await request.arrayBuffer()
  return Response.json(
    { method, url, peer: headers.get('x-nightledger-peer'), bytes: body.byteLength },
    { status: 207 },
  )
}

function relayTo(numbers: readonly number[], { isStandby = false, clock = new FakeClock() } = {}) {
  return adminRelay({
    folder,
    clock,
    workers: {
      serving: numbers.map((number) => ({ worker: number, calls: {} as never })),
      isStandby,
      metricsPage: async () => 'nightledger_workers 2\n',
    },
    listener: { peerOf: () => '10.1.2.3', withoutIdleTimeout: (_, answer) => answer() },
  })
}

const portal = 'http://admin.example:9090/portal/v1/agencies?limit=2'

test('a request reaches a worker as it was sent, with the address of its client, whatever that says itself', async () => {
  const relay = relayTo([worker(1)])
  const headers = { 'x-nightledger-peer': '127.0.0.1', host: 'admin.example:9090' }
  const answer = await relay(new Request(portal, { method: 'POST', headers, body: 'four' }))
  expect(answer.status).toBe(207)
  expect(await answer.json()).toEqual({ method: 'POST', url: portal, peer: '10.1.2.3', bytes: 4 })
})

test('a request whose client says nothing usable of its host reaches a worker as well', async () => {
  const relay = relayTo([worker(1)])
  for (const host of ['[', '', 'a b'])
    expect((await relay(new Request(portal, { headers: { host } }))).status).toBe(207)
})

test('the workers take turns, and a read that one does not answer is answered by the next one', async () => {
  const asked: number[] = []
  const telling = (number: number) => worker(number, () => new Response(String(asked.push(number))))
  const relay = relayTo([telling(1), telling(2), 3])
  for (let i = 0; i < 6; i++) expect((await relay(new Request(portal))).status).toBe(200)
  expect(new Set(asked)).toEqual(new Set([1, 2]))
})

test('an answer is waited for as long as it takes, such as that of a verification; another worker is not asked meanwhile', async () => {
  const asked: number[] = []
  const { promise: made, resolve: make } = Promise.withResolvers<Response>()
  const slow = (number: number) =>
    worker(number, () => {
      asked.push(number)
      return made
    })
  const clock = new FakeClock()
  const answer = relayTo([slow(1), slow(2)], { clock })(new Request('http://admin.example/portal/v1/verification'))
  await eventually('a worker is asked', () => asked.length > 0)
  await clock.advance(10 * MINUTE_MS)
  make(new Response('{}'))
  expect((await answer).status).toBe(200)
  expect(asked).toHaveLength(1)
})

test('a probe is answered by the next worker when one takes three seconds', async () => {
  const asked: number[] = []
  const told = (number: number, answer: () => Response | Promise<Response>) =>
    worker(number, () => {
      asked.push(number)
      return answer()
    })
  const clock = new FakeClock()
  const hung = told(2, () => new Promise(() => {}))
  const answer = relayTo([told(1, () => new Response('{}')), hung], { clock })(
    new Request('http://admin.example/readyz'),
  )
  await eventually('a worker is asked', () => asked.length > 0)
  await clock.advance(3_000)
  expect((await answer).status).toBe(200)
  expect(asked).toEqual([2, 1])
})

test('the answer to HEAD has the length that the one to GET has', async () => {
  const relay = relayTo([worker(1, () => new Response('four'))])
  const { status, headers } = await relay(new Request(portal, { method: 'HEAD' }))
  expect([status, headers.get('content-length')]).toEqual([200, '4'])
})

test('a write that is not answered is not sent again: whether it was made is not known', async () => {
  const asked: number[] = []
  const relay = relayTo([7, worker(1, () => new Response(String(asked.push(1))))])
  const answers = [
    await relay(new Request(portal, { method: 'POST', body: '{}' })),
    await relay(new Request(portal, { method: 'POST', body: '{}' })),
  ]
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 500])
  const lost = await answers.find(({ status }) => status === 500)?.json()
  expect((lost as { title: string }).title).toContain('may or may not have been made')
  expect(asked).toHaveLength(1)
})

test('of a body that is too large no more is passed on than shows that', async () => {
  const relay = relayTo([worker(1)])
  const answer = await relay(new Request(portal, { method: 'POST', body: new Uint8Array(5_000_000) }))
  expect(((await answer.json()) as { bytes: number }).bytes).toBe(65_537)
})

test('an answer that comes in parts is passed on part by part', async () => {
  let more = () => {}
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('one'))
      more = () => controller.close()
    },
  })
  const answer = await relayTo([worker(1, () => new Response(body))])(new Request(portal))
  const reader = answer.body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('one')
  more()
  expect((await reader?.read())?.done).toBe(true)
})

test('while no worker serves, probes are answered, and everything else is refused with the reason', async () => {
  const asked = async (path: string, options = {}) => {
    const answer = await relayTo([], options)(new Request(`http://admin.example${path}`))
    return [answer.status, await answer.text()]
  }
  expect(await asked('/healthz')).toMatchObject([200, expect.stringContaining('ok')])
  expect(await asked('/readyz')).toMatchObject([503, expect.stringContaining('starting')])
  expect(await asked('/readyz', { isStandby: true })).toMatchObject([503, expect.stringContaining('standby')])
  expect(await asked('/metrics', { isStandby: true })).toEqual([200, 'nightledger_workers 2\n'])
  expect(await asked('/portal/v1/agencies')).toMatchObject([503, expect.stringContaining('was not handled')])
})
