import { afterEach, expect, test } from 'bun:test'
import { HOP_HEADER, Hops } from '../../../src/cluster/forward/hop.ts'
import { NOT_OWNER_STATUS } from '../../../src/http/problem-of.ts'
import { CLUSTER_SECRET, EntryCluster } from '../../support/entry-nodes.ts'
import { AUTHORIZATION, PATH, post, reported, SHARD, twoOf } from './support/entry-requests.ts'

let cluster = new EntryCluster()
afterEach(async () => {
  await cluster.close()
  cluster = new EntryCluster()
})

const two = (owner: 'a' | 'b' | null) => twoOf(cluster, owner)

test('whoever sends the header of nodes without the secret is refused at once, at any node', async () => {
  const { a, b } = two('b')
  const forged = new Hops(['another secret'.repeat(3)]).text(
    { shard: SHARD, listener: 'admin', peer: '10.0.0.1' },
    { method: 'GET', url: a.url + PATH },
  )
  for (const { url } of [a, b]) {
    const response = await fetch(url + PATH, { headers: { ...AUTHORIZATION, [HOP_HEADER]: forged } })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'VALIDATION', errors: [{ field: HOP_HEADER }] })
  }
  expect([a.asks, b.asks]).toEqual([[], []])
})

test.each(['GET', 'POST'])(
  'what a node with another secret forwards is refused at once, which it tells: %s',
  async (method) => {
    const a = cluster.node('a')
    const b = cluster.node('b', undefined, { secrets: ['another secret'.repeat(3)] })
    cluster.own(SHARD, 'b')
    for (let calls = 0; calls < 2; calls++) {
      const response = await fetch(a.url + PATH, { headers: AUTHORIZATION, method })
      expect([response.status, response.headers.get('x-served-by')]).toEqual([500, 'a'])
      expect(await response.json()).toMatchObject({ code: 'INTERNAL', title: expect.stringMatching(/not handled/) })
    }
    expect(a.entry.stats).toMatchObject({ refused: 2, unanswered: 0, held: 0 })
    expect([a.refusals, b.asks]).toEqual([['b'], []])
  },
)

test('nodes with a secret in common understand each other, whichever is the other one', async () => {
  const [first, second, third] = ['1', '2', '3'].map((each) => each.repeat(32)) as [string, string, string]
  const a = cluster.node('a', undefined, { secrets: [first, second] })
  const b = cluster.node('b', undefined, { secrets: [second, third] })
  cluster.own(SHARD, 'b')
  expect((await reported(await fetch(a.url + PATH, post()))).by).toBe('b')
  cluster.own(SHARD, 'a')
  expect((await reported(await fetch(b.url + PATH, post()))).by).toBe('a')
})

test('a request makes one hop: a node that is asked for a shard of another answers 421 and names the owner', async () => {
  const { a, b } = two('a')
  const hop = new Hops([CLUSTER_SECRET]).text(
    { shard: SHARD, listener: 'public', peer: null },
    { method: 'GET', url: b.url + PATH },
  )
  const response = await fetch(b.url + PATH, { headers: { ...AUTHORIZATION, [HOP_HEADER]: hop } })
  expect(response.status).toBe(NOT_OWNER_STATUS)
  expect(response.headers.get('x-nightledger-owner')).toBe(`a ${a.url}`)
  expect([a.asks, b.asks]).toEqual([[], []])
})

test.each(['http://user:password@127.0.0.1:1', 'http://127.0.0.1:1/x', 'nowhere', ''])(
  'an owner at %p, as another node names it, is none',
  async (url) => {
    const { a } = two(null)
    const calls: string[] = []
    const naming = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => {
        calls.push(url)
        if (calls.length === 2) cluster.own(SHARD, 'a')
        return new Response(null, { status: NOT_OWNER_STATUS, headers: { 'X-Nightledger-Owner': `x ${url}` } })
      },
    })
    cluster.stranger('n', `http://127.0.0.1:${naming.port}`)
    cluster.own(SHARD, 'n')
    expect((await reported(await fetch(a.url + PATH, { headers: AUTHORIZATION }))).by).toBe('a')
    expect([calls.length, a.entry.stats.sentAgain]).toEqual([2, 1])
    await naming.stop(true)
  },
)

test('a write whose node breaks off is sent again, to the next owner and with the same key', async () => {
  const { a } = two(null)
  const c = cluster.node('c')
  const received: string[] = []
  const broken = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (socket, bytes) => {
        received.push(bytes.toString())
        socket.terminate()
      },
    },
  })
  cluster.stranger('x', `http://127.0.0.1:${broken.port}`)
  cluster.own(SHARD, 'x')
  const answer = fetch(a.url + PATH, post('{"n":2}'))
  while (received.length === 0) await Bun.sleep(5)
  cluster.own(SHARD, 'c')
  const { by, body, headers } = await reported(await answer)
  expect({ by, body }).toEqual({ by: 'c', body: '{"n":2}' })
  const [key = ''] = /nightledger-op-[\w-]+/.exec(received[0] ?? '') ?? []
  expect(key).not.toBe('')
  expect(headers['idempotency-key']).toBe(key)
  broken.stop(true)
  expect(c.asks).toHaveLength(1)
})

test('a process that does not serve yet is not taken for the owner', async () => {
  const { a } = two(null)
  const starting = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('{}', { status: 503 }) })
  cluster.stranger('x', `http://127.0.0.1:${starting.port}`)
  cluster.own(SHARD, 'x')
  const answer = fetch(a.url + PATH, { headers: AUTHORIZATION })
  await Bun.sleep(30)
  cluster.own(SHARD, 'a')
  expect((await reported(await answer)).by).toBe('a')
  await starting.stop(true)
})

test('headers that are too large for the owner are refused at once, as they are by one process', async () => {
  const { a } = two(null)
  let calls = 0
  const strict = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => {
      calls += 1
      return new Response(null, { status: 431 })
    },
  })
  cluster.stranger('x', `http://127.0.0.1:${strict.port}`)
  cluster.own(SHARD, 'x')
  const response = await fetch(a.url + PATH, { headers: AUTHORIZATION })
  expect([response.status, calls, a.entry.stats.held]).toEqual([431, 1, 0])
  await strict.stop(true)
})
