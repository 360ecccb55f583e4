import { afterEach, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { headersText, requestHead } from '../../../src/cluster/forward/frame-heads.ts'
import { FRAME, FrameQueue } from '../../../src/cluster/forward/frames.ts'
import { HOP_HEADER } from '../../../src/cluster/forward/hop.ts'
import { WorkerListener } from '../../../src/cluster/forward/worker-listener.ts'
import { hasNewKey } from '../../../src/http/idempotent-writes.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { EntryCluster, keyOf, ROUTED_PATH } from '../../support/entry-nodes.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { sendRaw } from '../../support/raw-http.ts'
import { AUTHORIZATION, PATH, post, readText, reported, SHARD, source, twoOf } from './support/entry-requests.ts'

let cluster = new EntryCluster('workers')
afterEach(async () => {
  await cluster.close()
  cluster = new EntryCluster('workers')
})

const two = (owner: 'a' | 'b' | null) => twoOf(cluster, owner)

test('only the user of the process can connect to its socket', () => {
  const { a } = two('a')
  expect(statSync(a.address.slice('unix:'.length)).mode & 0o777).toBe(0o600)
})

test('the socket of a process that was killed is replaced; a file that is none is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'worker-'))
  const path = join(folder, 's')
  const never = () => new Promise<Response>(() => {})
  const killed = Bun.spawn([
    process.execPath,
    '-e',
    `Bun.listen({ unix: ${JSON.stringify(path)}, socket: { data() {} } }); process.kill(process.pid, 'SIGKILL')`,
  ])
  await killed.exited
  const listener = new WorkerListener(path, never)
  await listener.close(systemClock, 0)
  await Bun.write(path, 'text')
  expect(() => new WorkerListener(path, never)).toThrow()
  expect(await Bun.file(path).text()).toBe('text')
  rmSync(folder, { recursive: true })
})

/** How many sockets listen there, also if no file leads to them any more (unix(7)). */
function listenersAt(path: string): number {
  const sockets = readFileSync('/proc/net/unix', 'utf8').split('\n')
  return sockets.filter((line) => line.endsWith(` ${path}`) && line.split(' ')[3] === '00010000').length
}

test('a socket that somebody has removed is made again, with its folder; the connections that there were stay', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'worker-'))
  const path = join(folder, 'sockets', 's')
  mkdirSync(join(folder, 'sockets'))
  const clock = new FakeClock()
  const listener = new WorkerListener(path, () => new Promise<Response>(() => {}), clock)
  let closed = 0
  const close = () => {
    closed += 1
  }
  const earlier = await Bun.connect({ unix: path, socket: { data: () => {}, close } })
  const reconnect = () => Bun.connect({ unix: path, socket: { data: () => {} } })
  for (const removed of [path, join(folder, 'sockets')]) {
    rmSync(removed, { recursive: true })
    await expect(reconnect()).rejects.toThrow()
    await clock.advance(1_000)
    const again = await reconnect()
    again.terminate()
    expect([statSync(path).mode & 0o777, listenersAt(path)]).toEqual([0o600, 1])
  }
  expect([statSync(join(folder, 'sockets')).mode & 0o777, closed]).toEqual([0o700, 0])
  earlier.terminate()
  await listener.close(systemClock, 0)
  await clock.advance(5_000)
  expect(existsSync(path)).toBe(false)
  rmSync(folder, { recursive: true })
})

test('what a client says in the header of nodes means nothing, wherever its request comes in', async () => {
  const { a, b } = two('b')
  for (const { url } of [a, b]) {
    const response = await fetch(url + PATH, { headers: { ...AUTHORIZATION, [HOP_HEADER]: 'x 9 admin 1.2.3.4' } })
    expect([response.status, (await reported(response)).by]).toEqual([200, 'b'])
  }
})

test('an answer says which worker has made it, to a proxy that learns it', async () => {
  const [a, b] = [
    cluster.node('a', undefined, { namesOwner: true }),
    cluster.node('b', undefined, { namesOwner: true }),
  ]
  cluster.own(SHARD, 'b')
  const nobodys = '/partner/v1/openapi.json'
  const named = async (url: string) => (await fetch(url, { headers: AUTHORIZATION })).headers.get('x-served-by')
  expect([await named(a.url + PATH), await named(b.url + PATH)]).toEqual(['b', 'b'])
  expect([await named(a.url + nobodys), await named(b.url + nobodys)]).toEqual(['a', 'b'])
})

test('a connection whose requests are all of one agency of another worker is closed soon; one at its owner stays', async () => {
  const { a, b } = two('b')
  const untilClosed = async (url: string) => {
    // After about 64: that it takes more than 1,000 has no chance.
    for (let request = 1; request <= 1_000; request++) {
      const response = await fetch(url + PATH, { headers: AUTHORIZATION })
      expect((await reported(response)).by).toBe('b')
      if (response.headers.get('connection') === 'close') return 'soon'
    }
    return 'never'
  }
  expect([await untilClosed(a.url), await untilClosed(a.url), await untilClosed(b.url)]).toEqual([
    'soon',
    'soon',
    'never',
  ])
})

test('bytes that are no text arrive as they are, in both directions', async () => {
  const { a, b } = two('b')
  const bytes = Uint8Array.of(255, 254, 0, 195, 10)
  b.app = async (request) =>
    new Response(await request.arrayBuffer(), { headers: { 'content-type': 'application/octet-stream' } })
  const response = await fetch(a.url + PATH, { ...post(), body: bytes })
  expect(await response.bytes()).toEqual(bytes)
})

test('of a request whose client says nothing usable of its host, the owner sees the path alone, as where it came in', async () => {
  const { a, b } = two('b')
  for (const { url } of [b, a]) {
    const request = `GET ${PATH} HTTP/1.1\r\nHost: a b\r\nAuthorization: ${AUTHORIZATION.authorization}\r\n\r\n`
    const [answer] = await sendRaw(Number(new URL(url).port), request)
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ by: 'b', url: PATH })
  }
})

test('a body of 64 KB and an answer of 8 MB arrive', async () => {
  const { a, b } = two('b')
  b.app = async (request) =>
    Response.json({ got: (await request.arrayBuffer()).byteLength, large: 'ü'.repeat(4_000_000) })
  const { got, large } = (await (await fetch(a.url + PATH, post('x'.repeat(65_536)))).json()) as {
    got: number
    large: string
  }
  expect([got, large.length]).toEqual([65_536, 4_000_000])
})

test('an owner that is killed while it answers: reads and writes go to the next owner, writes with the same key', async () => {
  const { a, b } = two('b')
  const c = cluster.node('c')
  const keys: (string | null)[] = []
  b.app = (request) => {
    keys.push(request.headers.get('idempotency-key'))
    return new Promise(() => {})
  }
  const answers = [fetch(a.url + PATH, { headers: AUTHORIZATION }), fetch(a.url + PATH, post())]
  await eventually('both are forwarded', () => b.asks.length === 2)
  cluster.own(SHARD, 'c')
  await b.kill()
  for (const answer of answers) expect((await reported(await answer)).by).toBe('c')
  expect(c.asks.map(({ headers }) => headers.get('idempotency-key')).filter(Boolean)).toEqual(keys.filter(Boolean))
})

test('the first owner that gets a write is told that its key is new, unless it is the client’s; the next owner is not', async () => {
  const { a, b } = two('b')
  const c = cluster.node('c')
  const seen: string[] = []
  for (const node of [b, c])
    node.app = (request) => {
      seen.push(`${node.id} ${hasNewKey(request)}`)
      return node === b && seen.length === 1 ? new Promise(() => {}) : Response.json({ by: node.id })
    }
  const answer = fetch(a.url + PATH, post())
  await eventually('it is forwarded', () => seen.length === 1)
  cluster.own(SHARD, 'c')
  await b.kill()
  expect((await reported(await answer)).by).toBe('c')
  await fetch(a.url + PATH, post('{}', { 'idempotency-key': 'ours' }))
  await fetch(a.url + PATH, { headers: AUTHORIZATION })
  expect(seen).toEqual(['b true', 'c false', 'c false', 'c false'])
})

test('what has not been sent of a write never arrives once the write goes to the next owner', async () => {
  const { a } = two(null)
  cluster.node('c')
  const folder = mkdtempSync(join(tmpdir(), 'worker-'))
  const connected = Promise.withResolvers<Socket>()
  // It reads nothing until it is told to.
  const stalled = createServer({ pauseOnConnect: true }, connected.resolve).listen(join(folder, 's'))
  cluster.stranger('s', `unix:${join(folder, 's')}`)
  cluster.own(SHARD, 's')
  const writes = 20
  const answers = Array.from({ length: writes }, () => fetch(a.url + PATH, post('x'.repeat(65_536))))
  const socket = await connected.promise
  await Bun.sleep(200)
  cluster.own(SHARD, 'c')
  for (const answer of answers) expect((await reported(await answer)).by).toBe('c')
  let arrived = 0
  const ended = new Promise<void>((resolve) => socket.once('close', resolve))
  socket.on('data', (bytes) => {
    arrived += bytes.length
  })
  socket.resume()
  await ended
  expect(arrived).toBeLessThan(writes * 65_536)
  stalled.close()
  rmSync(folder, { recursive: true })
})

test('the owner learns the address of a client, unless the request is for a route of the partner API', async () => {
  const { a, b } = two('b')
  const peers: (string | null | undefined)[] = []
  b.app = (request) => {
    peers.push(b.entry.forwardedPeerOf(request))
    return Response.json({ by: 'b' })
  }
  for (const path of [PATH, ROUTED_PATH]) await fetch(a.url + path, { headers: AUTHORIZATION })
  expect(peers).toEqual(['127.0.0.1', null])
})

test('an owner that comes back at the same place is connected to again', async () => {
  const { a, b } = two('b')
  expect((await reported(await fetch(a.url + PATH, { headers: AUTHORIZATION }))).by).toBe('b')
  await b.kill()
  const back = new WorkerListener(b.address.slice('unix:'.length), (...received) => b.entry.receive(...received))
  expect((await reported(await fetch(a.url + PATH, { headers: AUTHORIZATION }))).by).toBe('b')
  await back.close(systemClock, 1_000)
})

test('an owner that is killed within a stream breaks it off', async () => {
  const { a, b } = two('b')
  b.app = source().response
  const response = await fetch(a.url + PATH, { headers: AUTHORIZATION })
  const reader = response.body?.getReader()
  if (reader === undefined) throw new Error('no body')
  expect(await readText(reader)).toBe('first ')
  await b.kill()
  const end = await reader.read().then(
    ({ done }) => done,
    () => true,
  )
  expect(end).toBe(true)
})

test('of a stream that its client does not read the owner makes no more than fits in between', async () => {
  const { a, b } = two('b')
  let made = 0
  b.app = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => {
          made += 1
          controller.enqueue(new Uint8Array(65_536))
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
  const abort = new AbortController()
  await fetch(a.url + PATH, { headers: AUTHORIZATION, signal: abort.signal })
  let before = -1
  await eventually('nothing more is made', async () => {
    const isSame = before === made
    before = made
    await Bun.sleep(50)
    return isSame && made === before
  })
  expect(made).toBeLessThan(1_000)
  abort.abort()
})

test('thousands of requests are open on one connection, and each gets its own answer', async () => {
  const { a, b } = two('b')
  const waiting: (() => void)[] = []
  b.app = ({ url }) => new Promise((resolve) => waiting.push(() => resolve(Response.json({ url }))))
  cluster.own(SHARD + 1, 'b')
  const each = 4_000
  const sent = Array.from({ length: 2 * each }, (_, n) => {
    const authorization = `Bearer ${keyOf(SHARD + (n % 2))}`
    return a.handle(new Request(`http://a/partner/v1/units?n=${n}`, { headers: { authorization } }))
  })
  await eventually('all are forwarded', () => waiting.length === 2 * each)
  for (const answer of waiting.reverse()) answer()
  const urls = await Promise.all(sent.map(async (answer) => ((await (await answer).json()) as { url: string }).url))
  expect(urls).toEqual(Array.from({ length: 2 * each }, (_, n) => `http://a/partner/v1/units?n=${n}`))
})

test.each([
  ['no frame', Buffer.alloc(64, 0xff)],
  ['a frame of no kind', Buffer.from([9, 0, 0, 0, 99, 1, 0, 0, 0, 0, 0, 0, 0])],
  ['a request without a head', Buffer.from([9, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0])],
])('a connection that sends %s is closed, and others are not disturbed', async (_, bytes) => {
  const { a, b } = two('b')
  const closed = Promise.withResolvers<void>()
  await fetch(a.url + PATH, { headers: AUTHORIZATION })
  await Bun.connect({
    unix: b.address.slice('unix:'.length),
    socket: { open: (socket) => void socket.write(bytes), data() {}, close: () => closed.resolve() },
  })
  await closed.promise
  expect((await reported(await fetch(a.url + PATH, { headers: AUTHORIZATION }))).by).toBe('b')
})

test('nothing of what follows bytes that are no request is answered, although it arrived with them', async () => {
  const { b } = two('b')
  const head = { method: 'GET', url: `http://a${PATH}`, route: null, shard: SHARD, peer: null, hasNewKey: false }
  const request = requestHead({ ...head, listener: 'public' }, headersText(new Headers(AUTHORIZATION)))
  const sent: Buffer[] = []
  const queue = new FrameQueue((bytes) => sent.push(Buffer.from(bytes)) && bytes.length)
  queue.push(FRAME.request, 1, request, null)
  queue.push(99, 2, '', null)
  queue.push(FRAME.request, 3, request, null)
  queue.flush()
  const closed = Promise.withResolvers<void>()
  await Bun.connect({
    unix: b.address.slice('unix:'.length),
    socket: { open: (socket) => void socket.write(Buffer.concat(sent)), data() {}, close: () => closed.resolve() },
  })
  await closed.promise
  expect(b.asks).toHaveLength(1)
})

test('what answers a request has thrown: the others of the connection are answered', async () => {
  const { a, b } = two('b')
  let thrown = 0
  b.app = ({ url }) => {
    if (!url.includes('throw') || thrown > 0) return Response.json({ by: 'b' })
    thrown += 1
    throw new Error('no answer')
  }
  const answers = ['throw', 'other'].map((q) => fetch(`${a.url}/partner/v1/units?${q}`, { headers: AUTHORIZATION }))
  for (const answer of answers) expect((await reported(await answer)).by).toBe('b')
  expect(a.entry.stats.sentAgain).toBe(1)
})

test('a listener that is closed answers what it has got first', async () => {
  const { a, b } = two('b')
  const answered = Promise.withResolvers<Response>()
  b.app = () => answered.promise
  const answer = fetch(a.url + PATH, { headers: AUTHORIZATION })
  await eventually('it is forwarded', () => b.asks.length === 1)
  const stopped = b.stopListening()
  answered.resolve(Response.json({ by: 'b' }))
  expect((await reported(await answer)).by).toBe('b')
  await stopped
})
