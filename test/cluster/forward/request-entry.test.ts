import { afterEach, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { HOP_HEADER } from '../../../src/cluster/forward/hop.ts'
import { noAnswer } from '../../../src/http/answer.ts'
import { NOT_OWNER_STATUS } from '../../../src/http/problem-of.ts'
import { readJson } from '../../../src/http/read-request.ts'
import { addSecret, EntryCluster, keyOf, OPERATOR_TOKEN } from '../../support/entry-nodes.ts'
import { eventually } from '../../support/eventually.ts'
import { sendRaw } from '../../support/raw-http.ts'
import { RecordedSpans } from '../../support/recorded-spans.ts'
import {
  AUTHORIZATION,
  PATH,
  post,
  readText,
  reported,
  SHARD,
  source,
  type Told,
  twoOf,
} from './support/entry-requests.ts'

const REPLAYED = { 'Idempotency-Replayed': 'true' }

describe.each(['nodes', 'workers'] as const)('%s', (kind) => {
  let cluster = new EntryCluster(kind)
  afterEach(async () => {
    await cluster.close()
    cluster = new EntryCluster(kind)
  })

  const two = (owner: 'a' | 'b' | null) => twoOf(cluster, owner)
  /** Only nodes say who has answered. */
  const name = (id: string) => (kind === 'nodes' ? id : null)

  test('a request for an agency of this process is answered here; a node says so', async () => {
    const { a, b } = two('a')
    const response = await fetch(a.url + PATH, { headers: AUTHORIZATION })
    expect(response.headers.get('x-served-by')).toBe(name('a'))
    expect((await reported(response)).by).toBe('a')
    expect(b.asks).toHaveLength(0)
  })

  test('a request for an agency of another node is answered by that one, as it was sent', async () => {
    const { a, b } = two('b')
    const response = await fetch(a.url + PATH, {
      ...post('{"n":1}', { host: 'api.example.com', 'x-forwarded-for': '203.0.113.7', 'idempotency-key': 'mine' }),
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-served-by')).toBe(name('b'))
    const { headers, ...rest } = await reported(response)
    expect(rest).toEqual({ by: 'b', method: 'POST', url: `http://api.example.com${PATH}`, body: '{"n":1}' })
    expect(headers).toMatchObject({
      host: 'api.example.com',
      'x-forwarded-for': '203.0.113.7',
      'idempotency-key': 'mine',
      authorization: AUTHORIZATION.authorization,
      'content-type': 'application/json',
      'content-length': '7',
    })
    expect(headers[HOP_HEADER.toLowerCase()]).toBeUndefined()
    if (kind === 'nodes') expect(headers['x-request-id']).toBeString()
    expect(a.asks).toHaveLength(0)
    expect(b.entry.forwardedPeerOf(b.asks[0] as Request)).toBe('127.0.0.1')
  })

  test.each(['HTTP/1.0', 'HTTP/1.1\r\nHost: [', 'HTTP/1.1\r\nHost: a:99999'])(
    'a request is forwarded whatever it says about its host: %p',
    async (version) => {
      const { a, b } = two('b')
      const [answer] = await sendRaw(
        Number(new URL(a.url).port),
        `GET ${PATH} ${version}\r\nAuthorization: ${AUTHORIZATION.authorization}\r\n\r\n`,
      )
      expect([answer?.status, answer?.headers.get('x-served-by') ?? null]).toEqual([200, name('b')])
      expect(b.asks).toHaveLength(1)
    },
  )

  test('status, headers and cookies of the owner’s answer reach the client, those of the connection between the nodes do not', async () => {
    const { a, b } = two('b')
    b.app = () =>
      new Response('{"code":"NOT_FOUND"}', {
        status: 404,
        headers: { 'set-cookie': 'x=1; HttpOnly', 'x-ratelimit-remaining': '3', 'content-type': 'application/json' },
      })
    const response = await fetch(a.url + PATH, { headers: AUTHORIZATION })
    expect(response.status).toBe(404)
    expect(response.headers.getSetCookie()).toEqual(['x=1; HttpOnly'])
    expect(response.headers.get('x-ratelimit-remaining')).toBe('3')
    expect(await response.json()).toEqual({ code: 'NOT_FOUND' })
  })

  test('a HEAD, an empty answer and a 304 are forwarded as they are', async () => {
    const { a, b } = two('b')
    b.app = ({ method }) =>
      method === 'HEAD' ? new Response('twelve bytes') : new Response(null, { status: 304, headers: { etag: '"1"' } })
    const head = await fetch(a.url + PATH, { method: 'HEAD', headers: AUTHORIZATION })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '12', ''])
    const unchanged = await fetch(a.url + PATH, { headers: AUTHORIZATION })
    expect([unchanged.status, unchanged.headers.get('etag')]).toEqual([304, '"1"'])
  })

  test('what belongs to no agency is answered by any node', async () => {
    const { a, b } = two('b')
    for (const path of ['/partner/v1/openapi.json', '/docs', '/portal/', '/healthz', '/portal/v1/openapi.json'])
      expect((await reported(await fetch(a.url + path))).by).toBe('a')
    expect(
      (await reported(await fetch(a.url + PATH, { headers: { authorization: `Bearer ${'x'.repeat(51)}` } }))).by,
    ).toBe('a')
    expect(b.asks).toHaveLength(0)
  })

  test('an entry that sees an old owner goes to the one that this one names, and the client sees no 421', async () => {
    const { a, b } = two(null)
    const c = cluster.node('c')
    cluster.own(SHARD, 'c')
    a.sees.set(SHARD, 'b')
    const response = await fetch(a.url + PATH, post())
    expect(response.status).toBe(200)
    expect((await reported(response)).by).toBe('c')
    expect([b.asks.length, c.asks.length]).toEqual([0, 1])
    expect(b.entry.stats.misdirected).toBe(1)
  })

  test('two nodes that name each other are asked until one of them is right', async () => {
    const { a, b } = two('b')
    const c = cluster.node('c')
    a.sees.set(SHARD, 'b')
    b.sees.set(SHARD, 'c')
    c.sees.set(SHARD, 'b')
    const answer = fetch(a.url + PATH, post())
    await Bun.sleep(150)
    expect(b.asks).toHaveLength(0)
    // With a pause each time.
    expect(a.entry.stats.sentAgain).toBeLessThan(10)
    b.sees.delete(SHARD)
    expect((await reported(await answer)).by).toBe('b')
  })

  test.each(['a', 'b'])('while a shard has no owner its requests wait, then continue: to %s', async (owner) => {
    const { a } = two(null)
    const answers = [fetch(a.url + PATH, { headers: AUTHORIZATION }), fetch(a.url + PATH, post())]
    await eventually('both wait', () => a.entry.stats.holding === 2)
    expect(a.entry.stats).toMatchObject({ holding: 2, held: 2 })
    cluster.own(SHARD, owner)
    for (const answer of answers) expect((await reported(await answer)).by).toBe(owner)
    expect(a.entry.stats).toMatchObject({ holding: 0, unanswered: 0 })
  })

  test('a client that leaves while its request waits is none that got no answer', async () => {
    const { a } = two(null)
    const leaving = new AbortController()
    const answer = fetch(a.url + PATH, { headers: AUTHORIZATION, signal: leaving.signal })
    answer.catch(() => {})
    await eventually('it waits', () => a.entry.stats.holding === 1)
    leaving.abort()
    await eventually('nothing waits any more', () => a.entry.stats.holding === 0)
    // The answer that nobody gets has been made.
    expect((await reported(await fetch(`${a.url}/here`))).by).toBe('a')
    expect(a.entry.stats.unanswered).toBe(0)
  })

  test('a forwarded request waits at a node that is still acquiring its shard', async () => {
    const { a, b } = two('b')
    b.sees.set(SHARD, null)
    const answer = fetch(a.url + PATH, post())
    await eventually('it waits', () => b.entry.stats.holding === 1)
    b.sees.delete(SHARD)
    cluster.own(SHARD, 'b')
    expect((await reported(await answer)).by).toBe('b')
    expect(b.entry.stats.misdirected).toBe(0)
  })

  test('a forwarded write without an idempotency key gets one, the same each time it is sent, and its client learns nothing of it', async () => {
    const { a, b } = two('b')
    const keys: (string | null)[] = []
    b.app = (request) => {
      keys.push(request.headers.get('idempotency-key'))
      if (keys.length === 1) return new Response(null, { status: NOT_OWNER_STATUS })
      return new Response('{}', { headers: REPLAYED })
    }
    const response = await fetch(a.url + PATH, post())
    expect(response.status).toBe(200)
    expect(response.headers.has('idempotency-replayed')).toBe(false)
    expect(keys).toHaveLength(2)
    expect(keys[0]).toStartWith('nightledger-op-')
    expect(keys[1]).toBe(keys[0] ?? null)
    expect(a.entry.stats).toMatchObject({ forwarded: 1, sentAgain: 1 })
    await fetch(a.url + PATH, { headers: AUTHORIZATION })
    expect(keys[2]).toBeNull()
  })

  test('a repetition of ours that lacks the secret of what was made is no answer: its client is told what to do', async () => {
    const { a, b } = two('b')
    let sent = 0
    b.app = () => {
      sent += 1
      if (sent === 1) return new Response(null, { status: NOT_OWNER_STATUS })
      return Response.json({ key: { id: 'key_7' }, secret: null }, { status: 201, headers: REPLAYED })
    }
    const response = await fetch(a.url + PATH, post())
    expect([response.status, response.headers.has('idempotency-replayed')]).toEqual([500, false])
    const { code, title } = (await response.json()) as { code: string; title: string }
    expect([code, title]).toEqual(['INTERNAL', expect.stringMatching(/key_7 was made.* secret was lost .*revoke/)])
    const own = await fetch(a.url + PATH, post('{}', { 'idempotency-key': 'mine' }))
    expect([own.status, await own.json()]).toEqual([201, { key: { id: 'key_7' }, secret: null }])
  })

  test('a write with its client’s key is sent with that, and a repetition is told', async () => {
    const { a, b } = two('b')
    b.app = (request) => new Response(request.headers.get('idempotency-key'), { headers: REPLAYED })
    const response = await fetch(a.url + PATH, post('{}', { 'idempotency-key': '"mine"' }))
    expect(await response.text()).toBe('"mine"')
    expect(response.headers.get('idempotency-replayed')).toBe('true')
  })

  test('a client that is to get no answer gets none from another node either, which does not ask for one again', async () => {
    const { a, b } = two('b')
    b.app = noAnswer
    for (const { url } of [b, a]) {
      expect(await fetch(url + PATH, post()).catch(() => null)).toBeNull()
      expect(b.asks.splice(0)).toHaveLength(1)
    }
    expect(a.entry.stats.unanswered).toBe(0)
  })

  test('a write that was sent to another node and is then decided here keeps the key that it was sent with', async () => {
    const { a, b } = two('b')
    const sent: (string | null)[] = []
    b.app = (request) => {
      sent.push(request.headers.get('idempotency-key'))
      return new Promise(() => {})
    }
    const answer = fetch(a.url + PATH, post())
    while (b.asks.length === 0) await Bun.sleep(5)
    cluster.own(SHARD, 'a')
    const { by, headers, body } = await reported(await answer)
    expect({ by, body }).toEqual({ by: 'a', body: '{"n":1}' })
    expect(headers['idempotency-key']).toBe(sent[0] as string)
  })

  test('a node that does not answer any more is not waited for once its shard has another owner', async () => {
    const { a, b } = two('b')
    const c = cluster.node('c')
    b.app = () => new Promise(() => {})
    const answers = [fetch(a.url + PATH, { headers: AUTHORIZATION }), fetch(a.url + PATH, post())]
    while (b.asks.length < 2) await Bun.sleep(5)
    cluster.own(SHARD, 'c')
    for (const answer of answers) expect((await reported(await answer)).by).toBe('c')
    expect(c.asks).toHaveLength(2)
  })

  test('what another node says about the owner is believed for as long as the owner takes to answer', async () => {
    const { a, b } = two('b')
    const c = cluster.node('c')
    // Cut off from etcd, it does not see that the shard has moved on.
    a.sees.set(SHARD, 'b')
    cluster.own(SHARD, 'c')
    const app = c.app
    c.app = async (request) => {
      await Bun.sleep(1_500)
      return app(request)
    }
    const answers = [fetch(a.url + PATH, { headers: AUTHORIZATION }), fetch(a.url + PATH, post())]
    for (const answer of answers) expect((await reported(await answer)).by).toBe('c')
    expect([b.asks.length, c.asks.length]).toEqual([0, 2])
  })

  test('a write that meets the loss of its shard continues to the next owner with its body', async () => {
    const { a } = two('a')
    a.app = async (request) => {
      await request.arrayBuffer()
      cluster.own(SHARD, 'b')
      return new Response(null, { status: NOT_OWNER_STATUS })
    }
    const { by, body } = await reported(await fetch(a.url + PATH, post('{"n":3}')))
    expect({ by, body }).toEqual({ by: 'b', body: '{"n":3}' })
  })

  test('a body without a declared length continues too', async () => {
    const { a } = two('a')
    a.app = async (request) => {
      expect(new TextDecoder().decode(await request.arrayBuffer())).toBe('{"n":4}')
      cluster.own(SHARD, 'b')
      return new Response(null, { status: NOT_OWNER_STATUS })
    }
    const chunks = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('{"n":'))
        controller.enqueue(new TextEncoder().encode('4}'))
        controller.close()
      },
    })
    const { by, body } = await reported(await fetch(a.url + PATH, { ...post(), body: chunks }))
    expect({ by, body }).toEqual({ by: 'b', body: '{"n":4}' })
  })

  test('of a body that is too large the owner gets no more than it needs to refuse it', async () => {
    const { a, b } = two('b')
    b.app = (request) => new Response(request.headers.get('content-length'), { status: 413 })
    const response = await fetch(a.url + PATH, post('x'.repeat(1_000_000)))
    expect([response.status, await response.text()]).toEqual([413, '65537'])
  })

  test.each([
    ['a read', 'b', { headers: AUTHORIZATION }, 200],
    ['a refused write', 'b', post(), 404],
    ['a failed write with a key', 'b', post('{}', { 'idempotency-key': 'k' }), 500],
    ['a failed write without a key, which may have been made', 'a', post(), 500],
    ['an acknowledged write', 'a', post(), 201],
  ] as const)(
    'the shard of a is lost while %s is answered: the client gets the answer of %s',
    async (_, by, sent, status) => {
      const { a } = two('a')
      a.app = async (request) => {
        await request.arrayBuffer()
        a.term += 1
        cluster.own(SHARD, 'b')
        return Response.json({ by: 'a' }, { status })
      }
      const response = await fetch(a.url + PATH, sent)
      expect(((await response.json()) as Told).by).toBe(by)
    },
  )

  test('what another node has forwarded, and this one lost meanwhile, is answered 421', async () => {
    const { a, b } = two('b')
    b.app = () => {
      b.term += 1
      cluster.own(SHARD, 'a')
      return new Response('{}', { status: 401 })
    }
    expect((await reported(await fetch(a.url + PATH, post()))).by).toBe('a')
    expect(b.entry.stats.misdirected).toBe(1)
  })

  test('a stream reaches the client part by part, and ends when its source does', async () => {
    const { a, b } = two('b')
    const events = source()
    b.app = events.response
    const response = await fetch(a.url + PATH, { headers: AUTHORIZATION })
    const reader = response.body?.getReader()
    if (reader === undefined) throw new Error('no body')
    expect(await readText(reader)).toBe('first ')
    events.send('second ')
    expect(await readText(reader)).toBe('second ')
    events.end()
    expect((await reader.read()).done).toBe(true)
  })

  test('a client that closes a stream closes it at the owner', async () => {
    const { a, b } = two('b')
    const events = source()
    b.app = events.response
    const abort = new AbortController()
    const response = await fetch(a.url + PATH, { headers: AUTHORIZATION, signal: abort.signal })
    await response.body?.getReader().read()
    abort.abort()
    await events.gone
  })

  test('a stream whose shard has another owner is broken off, so that its client asks again', async () => {
    const { a, b } = two('b')
    const events = source()
    b.app = events.response
    const response = await fetch(a.url + PATH, { headers: AUTHORIZATION })
    const reader = response.body?.getReader()
    await reader?.read()
    cluster.own(SHARD, 'a')
    const end = await reader?.read().then(
      ({ done }) => done,
      () => true,
    )
    expect(end).toBe(true)
  })

  test('streams are counted until they end: what is too much is refused at once, and other requests have room beside them', async () => {
    const a = cluster.node('a', undefined, { forwardedMax: 3, forwardedFeedsMax: 2 })
    const b = cluster.node('b')
    cluster.own(SHARD, 'b')
    const sources: ReturnType<typeof source>[] = []
    b.app = ({ method, headers }) => {
      if (method === 'POST') return new Promise(() => {})
      if (headers.get('accept') !== 'text/event-stream') return new Response('read')
      const made = source()
      sources.push(made)
      return made.response()
    }
    const stream = async () => {
      const abort = new AbortController()
      const headers = { ...AUTHORIZATION, accept: 'text/event-stream' }
      const response = await fetch(a.url + PATH, { headers, signal: abort.signal })
      return { response, abort, reader: response.body?.getReader() }
    }
    const read = async (query = '') => (await fetch(`${a.url}${PATH}${query}`, { headers: AUTHORIZATION })).status
    const open = [await stream(), await stream()]
    expect((await stream()).response.status).toBe(500)
    expect([await read('&wait=20'), await read()]).toEqual([500, 200])
    const abort = new AbortController()
    void fetch(a.url + PATH, { ...post(), signal: abort.signal }).catch(() => null)
    while (b.asks.length < 4) await Bun.sleep(5)
    expect(await read()).toBe(500)
    expect(a.entry.stats).toMatchObject({ holding: 0, unanswered: 3 })
    // One ends by its owner, one by its client.
    sources[0]?.end()
    open[1]?.abort.abort()
    await sources[1]?.gone
    while ((await open[0]?.reader?.read())?.done === false);
    const again = [await stream(), await stream(), await stream()]
    expect(again.map(({ response }) => response.status)).toEqual([200, 200, 500])
  })

  test('a node that stops has what waits elsewhere answered at once: without a wait', async () => {
    const { a, b } = two('b')
    b.app = (request) =>
      request.url.includes('wait=20') ? new Promise(() => {}) : new Response(new URL(request.url).search)
    const answer = fetch(`${a.url}/partner/v1/changes?after=x&wait=20`, { headers: AUTHORIZATION })
    while (b.asks.length === 0) await Bun.sleep(5)
    a.leave()
    expect(await (await answer).text()).toBe('?after=x&wait=0')
    expect(await (await fetch(`${a.url}/partner/v1/changes?wait=20`, { headers: AUTHORIZATION })).text()).toBe(
      '?wait=0',
    )
  })

  test('a node that stops ends the streams that come through it, and lets a new one begin', async () => {
    const { a, b } = two('b')
    const events = source()
    b.app = events.response
    const response = await fetch(a.url + PATH, { headers: AUTHORIZATION })
    const reader = response.body?.getReader()
    await reader?.read()
    a.leave()
    expect(await reader?.read()).toMatchObject({ done: true })
    await events.gone
    b.app = source().response
    expect(await (await fetch(a.url + PATH, { headers: AUTHORIZATION })).text()).toBe('first ')
  })

  test('a client that goes away while it waits for another node is not waited for there', async () => {
    const { a, b } = two('b')
    const gone = Promise.withResolvers<void>()
    b.app = (request) => {
      request.signal.addEventListener('abort', () => gone.resolve())
      return new Promise(() => {})
    }
    const abort = new AbortController()
    const answer = fetch(a.url + PATH, { headers: AUTHORIZATION, signal: abort.signal }).catch(() => null)
    while (b.asks.length === 0) await Bun.sleep(5)
    abort.abort()
    await gone.promise
    expect(await answer).toBeNull()
  })

  test.each(['GET', 'POST'])(
    'a client that goes away while its request is held frees its place, and nothing is sent: %s',
    async (method) => {
      const { a, b } = two(null)
      const abort = new AbortController()
      const answer = fetch(a.url + PATH, { method, headers: AUTHORIZATION, signal: abort.signal }).catch(() => null)
      while (a.entry.stats.holding === 0) await Bun.sleep(5)
      abort.abort()
      expect(await answer).toBeNull()
      while (a.entry.stats.holding > 0) await Bun.sleep(5)
      cluster.own(SHARD, 'b')
      expect((await reported(await fetch(a.url + PATH, { headers: AUTHORIZATION }))).by).toBe('b')
      expect(b.asks).toHaveLength(1)
    },
  )

  test.each(['Content-Length: 100\r\n\r\n{"n":', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"n":\r\n'])(
    'of a write whose body is cut short the owner gets what it refuses, so that the attempt is counted and recorded: %j',
    async (rest) => {
      const { a, b } = two('b')
      const bodies: unknown[] = []
      b.app = async (request) => {
        const read = await readJson(request)
        bodies.push(read.kind === 'refused' ? read.problem.code : read.value)
        return new Response()
      }
      for (const { url } of [b, a]) {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.write(
          `POST ${PATH} HTTP/1.1\r\nHost: h\r\nAuthorization: ${AUTHORIZATION.authorization}\r\nContent-Type: application/json\r\n${rest}`,
        )
        await Bun.sleep(50)
        socket.destroy()
        await eventually('it is refused', () => bodies.length > 0, 5_000)
        expect(bodies.splice(0)).toEqual(['VALIDATION'])
      }
      expect(a.entry.stats.holding + b.entry.stats.holding).toBe(0)
    },
    20_000,
  )

  test('a write is completed though its client has gone', async () => {
    const { a, b } = two('b')
    const made = Promise.withResolvers<boolean>()
    b.app = async (request) => {
      await Bun.sleep(200)
      made.resolve(request.signal.aborted)
      return new Response('{}')
    }
    const abort = new AbortController()
    void fetch(a.url + PATH, { ...post(), signal: abort.signal }).catch(() => null)
    while (b.asks.length === 0) await Bun.sleep(5)
    abort.abort()
    expect(await made.promise).toBe(false)
  })

  test('what comes in by the listener for the operator is answered by what answers there at the owner', async () => {
    const { a } = two('b')
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}`, 'x-test-admin': '1' }
    const path = `/portal/v1/agencies/agency-${SHARD}`
    const response = await fetch(a.url + path, { headers: { ...headers } })
    expect(await response.json()).toEqual({ by: "b's admin app", path })
  })

  test('a sign-in belongs to the agency of its token, and ends the session that the browser had, wherever that is', async () => {
    const { a, b } = two('b')
    addSecret('token', 'hp_live_token', SHARD)
    addSecret('session', 'former', 9)
    cluster.own(9, 'a')
    b.app = async (request) => Response.json({ method: request.method, body: await request.json() })
    const response = await fetch(`${a.url}/portal/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: 'nightledger_session=former' },
      body: '{"token":" hp_live_token "}',
    })
    expect(await response.json()).toEqual({ method: 'POST', body: { token: ' hp_live_token ' } })
    while (a.asks.length === 0) await Bun.sleep(5)
    expect(a.asks.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual(['DELETE /portal/session'])
    expect(a.asks[0]?.headers.get('cookie')).toBe('nightledger_session=former')
  })

  test('only a sign-in ends the session that the browser had: no other change does', async () => {
    const { a } = two('a')
    addSecret('session', 'current', SHARD)
    const headers = { 'content-type': 'application/json', cookie: 'nightledger_session=current' }
    const path = `/portal/v1/agencies/agency-${SHARD}/units`
    const paths: string[] = []
    a.app = async (request) => {
      paths.push(`${request.method} ${new URL(request.url).pathname}`)
      return Response.json({})
    }
    for (let i = 0; i < 2; i++)
      expect((await fetch(a.url + path, { method: 'POST', headers, body: '{}' })).status).toBe(200)
    expect(paths).toEqual([`POST ${path}`, `POST ${path}`])
  })

  test('a write with a session ends no session: only signing in does', async () => {
    const { a } = two('a')
    addSecret('session', 'of-seven', Promise.resolve(SHARD))
    const headers = { cookie: 'nightledger_session=of-seven' }
    const units = `${a.url}/portal/v1/agencies/agency-${SHARD}/units`
    expect((await fetch(units, { method: 'POST', headers, body: '{}' })).status).toBe(200)
    expect((await fetch(units, { headers })).status).toBe(200)
    expect(a.asks.map(({ method }) => method)).toEqual(['POST', 'GET'])
  })

  test('before a request of the operator is decided here, his session is read as it is stored: another node may have ended it', async () => {
    addSecret('session', 'of-the-operator', 'operator')
    const order: string[] = []
    const a = cluster.node(
      'a',
      () => {
        order.push('answered')
        return new Response()
      },
      { refreshSession: async () => void order.push('read') },
    )
    cluster.own(SHARD, 'a')
    const headers = { cookie: 'nightledger_session=of-the-operator' }
    await fetch(`${a.url}/portal/v1/agencies/agency-${SHARD}`, { headers })
    expect(order).toEqual(['read', 'answered'])
  })

  test('A1: the requests of one shard that other nodes are answering leave room for those of the others', async () => {
    const a = cluster.node('a', undefined, { forwardedOfShardMax: 2 })
    const b = cluster.node('b')
    for (const shard of [SHARD, SHARD + 1]) cluster.own(shard, 'b')
    const answers: (() => void)[] = []
    b.app = () => new Promise((resolve) => answers.push(() => resolve(new Response())))
    const ask = (shard: number) => fetch(a.url + PATH, { headers: { authorization: `Bearer ${keyOf(shard)}` } })
    const open = [ask(SHARD), ask(SHARD), ask(SHARD + 1)]
    await eventually('three requests are forwarded', () => answers.length === 3)
    expect((await ask(SHARD)).status).toBe(500)
    for (const answer of answers) answer()
    expect((await Promise.all(open)).map(({ status }) => status)).toEqual([200, 200, 200])
    const next = ask(SHARD)
    await eventually('there is room again', () => answers.length === 4)
    answers[3]?.()
    expect((await next).status).toBe(200)
  })

  test('the owner gets the trace that a request belongs to, and what it answers itself names it', async () => {
    const { a, b } = two('b')
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    await fetch(a.url + PATH, { headers: { ...AUTHORIZATION, traceparent } })
    await fetch(a.url + PATH, { ...post(), headers: { ...AUTHORIZATION, traceparent } })
    expect(b.asks.map(({ headers }) => headers.get('traceparent'))).toEqual([traceparent, traceparent])
    const full = cluster.node('c', undefined, { forwardedMax: 0 })
    const unanswered = await fetch(full.url + PATH, { headers: { ...AUTHORIZATION, traceparent } })
    expect(await unanswered.json()).toMatchObject({ code: 'INTERNAL', traceId: '4bf92f3577b34da6a3ce929d0e0e4736' })
  })

  test('each attempt to have a request answered elsewhere is a span, which the owner continues', async () => {
    const tracer = new RecordedSpans()
    const b = cluster.node('b')
    const a = cluster.node('a', undefined, { tracer })
    cluster.own(SHARD, 'b')
    let attempts = 0
    b.app = (request) => {
      attempts += 1
      return attempts === 1 ? new Response(null, { status: NOT_OWNER_STATUS }) : Response.json({ url: request.url })
    }
    await fetch(a.url + PATH, { headers: AUTHORIZATION })
    const [first, second] = tracer.spans
    expect(tracer.spans.map(({ kind, end }) => [kind, end?.isError])).toEqual([
      ['hop', true],
      ['hop', false],
    ])
    expect([first?.parent, second?.parent]).toEqual([null, first?.traceparent])
    expect(b.asks.map(({ headers }) => headers.get('traceparent'))).toEqual(
      tracer.spans.map(({ traceparent }) => traceparent),
    )
    expect(second?.end?.attributes).toEqual({ 'nightledger.owner': 'b', 'nightledger.outcome': 'answered' })
  })
})
