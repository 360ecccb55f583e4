import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { refusalOfAddress } from '../../../src/events/webhooks/address-class.ts'
import {
  ANSWER_BYTES_MAX,
  coarseReason,
  type GuardedPostOptions,
  guardedPost,
} from '../../../src/events/webhooks/guarded-post.ts'
import { DnsResolver } from '../../../src/events/webhooks/name-resolver.ts'
import { type ServerCertificate, selfSigned, TestAuthority } from '../../support/test-authority.ts'
import { type DnsServer, startDnsServer, type Zone } from './support/dns-server.ts'
import { startOddReceiver } from './support/odd-receiver.ts'
import { startReceiver } from './support/receiver.ts'

/*
 * Runs against real TLS servers on loopback. `127.0.0.1` stands for the Internet, every other loopback address for the
 * internal network that must never be connected to.
 */

const NAME = 'hooks.example'
const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '{"a":1}' }
/** The deadline of sends that are expected to reach it. */
const DEADLINE_MS = 400
/** The deadline of all other sends, on a machine that may be busy. */
const PATIENT_MS = 15_000
/** How late a busy machine may be. Without the limit under test, an attempt would take far longer. */
const LATE_MS_MAX = 5_000

let authority: TestAuthority
let certificate: ServerCertificate
let zone: Zone = () => []
let dns: DnsServer

beforeAll(async () => {
  authority = await TestAuthority.create()
  certificate = await authority.issue({ names: [NAME] })
  dns = await startDnsServer((name, family) => zone(name, family))
})
afterAll(() => dns.stop())

const onLoopback: Zone = (name, family) => (name === NAME && family === 'A' ? ['127.0.0.1'] : [])

function post(options: Partial<GuardedPostOptions> = {}) {
  return guardedPost({
    resolver: new DnsResolver([dns.address]),
    allowHosts: [],
    trustedCa: [authority.pem],
    refusalOf: (address) => (address === '127.0.0.1' ? null : refusalOfAddress(address)),
    deadlineMs: PATIENT_MS,
    ...options,
  })
}

describe('an attempt', () => {
  test('reaches the receiver with name, bytes and headers unchanged', async () => {
    zone = onLoopback
    const receiver = startReceiver(certificate)
    const { outcome } = await post()(`https://${NAME}:${receiver.port}/in?a=1`, {
      headers: { 'x-one': '1' },
      body: '{"name":"Zoë"}',
    })
    expect(outcome).toEqual({ kind: 'answered', httpStatus: 204 })
    expect(receiver.received).toHaveLength(1)
    expect(receiver.received[0]).toMatchObject({ method: 'POST', path: '/in', body: '{"name":"Zoë"}' })
    expect(receiver.received[0]?.headers.get('host')).toBe(`${NAME}:${receiver.port}`)
    expect(receiver.received[0]?.headers.get('x-one')).toBe('1')
    await receiver.stop()
  })

  test('reaches a development receiver at its own URL, over HTTP', async () => {
    const receiver = startReceiver(null)
    const host = `127.0.0.1:${receiver.port}`
    const { outcome } = await post({ allowHosts: [host] })(`http://${host}/in`, MESSAGE)
    expect(outcome).toEqual({ kind: 'answered', httpStatus: 204 })
    expect(receiver.received[0]?.headers.get('host')).toBe(host)
    await receiver.stop()
  })

  test.each([200, 299, 301, 404, 410, 500, 503])('reports the status %i of the receiver unchanged', async (status) => {
    zone = onLoopback
    const receiver = startReceiver(certificate)
    const headers = { location: `https://${NAME}:${receiver.port}/elsewhere` }
    receiver.answer = () => new Response(status === 299 ? 'ok' : 'no', { status, headers })
    const { outcome } = await post()(`https://${NAME}:${receiver.port}/in`, MESSAGE)
    expect(outcome).toEqual({ kind: 'answered', httpStatus: status })
    expect(coarseReason(outcome)).toBeNull()
    expect(receiver.received.map(({ path }) => path)).toEqual(['/in'])
    await receiver.stop()
  })

  test('checks all addresses first, and tries the next one when a connection is refused', async () => {
    const receiver = startReceiver(certificate)
    zone = (_, family) => (family === 'A' ? ['127.0.0.3', '127.0.0.1'] : [])
    const both = post({ refusalOf: (address) => (address.startsWith('127.0.0.') ? null : 'private') })
    expect((await both(`https://${NAME}:${receiver.port}/`, MESSAGE)).outcome.kind).toBe('answered')
    expect((await post()(`https://${NAME}:${receiver.port}/`, MESSAGE)).outcome).toEqual({
      kind: 'refused',
      refusal: 'loopback',
    })
    expect(receiver.received).toHaveLength(1)
    await receiver.stop()
  })
})

describe('an unreachable endpoint', () => {
  test.each([
    ['a name that does not resolve', 'https://nowhere.example/', 'name'],
    ['a port on which nothing listens', `https://${NAME}:1/`, 'connection'],
  ])('%s is "endpoint not reachable"', async (_, url, cause) => {
    zone = onLoopback
    const { outcome } = await post()(url, MESSAGE)
    expect(outcome).toEqual({ kind: 'unreachable', cause } as typeof outcome)
    expect(coarseReason(outcome)).toBe('endpoint not reachable')
  })

  test('a receiver that closes the connection is "endpoint not reachable"', async () => {
    zone = onLoopback
    const receiver = await startOddReceiver(certificate, (socket) => socket.destroy())
    const { outcome } = await post()(`https://${NAME}:${receiver.port}/`, MESSAGE)
    expect(outcome).toEqual({ kind: 'unreachable', cause: 'connection' })
    await receiver.stop()
  })
})

describe('without sending a request, a certificate is refused', () => {
  const cases: [string, () => Promise<ServerCertificate>][] = [
    ['for another name', () => authority.issue({ names: ['other.example'] })],
    ['for the IP address only', () => authority.issue({ addresses: ['127.0.0.1'] })],
    ['that is self-signed', () => selfSigned(NAME)],
    ['that has expired', () => authority.issue({ names: [NAME], endedMs: 60_000 })],
    ['of an unknown authority', async () => (await TestAuthority.create()).issue({ names: [NAME] })],
  ]
  test.each(cases)('%s', async (_, make) => {
    zone = onLoopback
    const receiver = startReceiver(await make())
    const { outcome } = await post()(`https://${NAME}:${receiver.port}/`, MESSAGE)
    expect(outcome).toEqual({ kind: 'unreachable', cause: 'certificate' })
    expect(receiver.received).toHaveLength(0)
    await receiver.stop()
  })

  test('even if the environment disables certificate checks', async () => {
    zone = onLoopback
    const receiver = startReceiver(await selfSigned(NAME))
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    const { outcome } = await post()(`https://${NAME}:${receiver.port}/`, MESSAGE)
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    expect(outcome).toEqual({ kind: 'unreachable', cause: 'certificate' })
    await receiver.stop()
  })
})

describe('the deadline ends', () => {
  const every = (socket: Socket, ms: number, text: string) => {
    const timer = setInterval(() => socket.write(text), ms)
    socket.on('close', () => clearInterval(timer))
  }
  const cases: [string, boolean, (socket: Socket) => void][] = [
    ['a TLS handshake that stalls', false, () => {}],
    ['a response that never starts', true, () => {}],
    [
      'headers that never end',
      true,
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        every(socket, 20, 'x-more: 1\r\n')
      },
    ],
    [
      'a status line that never ends',
      true,
      (socket) => {
        socket.write('HTTP/1.1 200 O')
        every(socket, 20, 'K')
      },
    ],
    ['endless 1xx responses', true, (socket) => every(socket, 5, 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n')],
    [
      'an endless stream of 100 Continue',
      true,
      (socket) => every(socket, 1, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50)),
    ],
  ]
  test.each(cases)('%s', async (_, isTls, onRequest) => {
    zone = onLoopback
    const receiver = await startOddReceiver(isTls ? certificate : null, onRequest)
    const since = performance.now()
    // The name server has a test of its own.
    const send = post({ deadlineMs: DEADLINE_MS, resolver: { resolve: async () => ['127.0.0.1'] } })
    const { outcome, durationMs } = await send(`https://${NAME}:${receiver.port}/`, MESSAGE)
    expect(outcome).toEqual({ kind: 'timed_out', during: 'answer' })
    expect(coarseReason(outcome)).toBe('no answer within 10s')
    expect(durationMs).toBeGreaterThanOrEqual(DEADLINE_MS - 5)
    expect(performance.now() - since).toBeLessThan(DEADLINE_MS + LATE_MS_MAX)
    await receiver.stop()
  })

  test('the request, so that its connection closes, and the attempt even if the request goes on', async () => {
    let signal: AbortSignal | null | undefined
    const spy = spyOn(globalThis, 'fetch').mockImplementation(((_: string, request?: RequestInit) => {
      signal = request?.signal
      return new Promise<Response>(() => {})
    }) as typeof fetch)
    try {
      const send = post({ deadlineMs: DEADLINE_MS, resolver: { resolve: async () => ['127.0.0.1'] } })
      expect((await send(`https://${NAME}/`, MESSAGE)).outcome).toEqual({ kind: 'timed_out', during: 'answer' })
      expect(signal?.aborted).toBe(true)
    } finally {
      spy.mockRestore()
    }
  })

  test('a name server that does not answer', async () => {
    zone = () => 'silent'
    const since = performance.now()
    const { outcome } = await post({ deadlineMs: DEADLINE_MS })(`https://${NAME}:4443/`, MESSAGE)
    expect(outcome).toEqual({ kind: 'timed_out', during: 'name' })
    expect(coarseReason(outcome)).toBe('no answer within 10s')
    expect(performance.now() - since).toBeLessThan(DEADLINE_MS + LATE_MS_MAX)
  })

  test('a slow body at most a second after its headers, and the response counts', async () => {
    zone = onLoopback
    const receiver = await startOddReceiver(certificate, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
      every(socket, 20, 'x')
    })
    const since = performance.now()
    const { outcome, durationMs } = await post()(`https://${NAME}:${receiver.port}/`, MESSAGE)
    expect(outcome).toEqual({ kind: 'answered', httpStatus: 200 })
    // The whole body would take twenty seconds.
    expect(durationMs).toBeLessThan(LATE_MS_MAX)
    expect(performance.now() - since).toBeLessThan(1_000 + LATE_MS_MAX)
    await receiver.stop()
  })
})

describe('the cost of a response', () => {
  /** The body chunks of each response that the code under test reads from `fetch`. */
  async function takenBy(send: () => Promise<unknown>): Promise<Uint8Array[][]> {
    const taken: Uint8Array[][] = []
    const fetching = globalThis.fetch
    const spy = spyOn(globalThis, 'fetch').mockImplementation((async (...request: Parameters<typeof fetch>) => {
      const response = await fetching(...request)
      const chunks: Uint8Array[] = []
      taken.push(chunks)
      const reader = response.body?.getReader()
      const read = async () => {
        const chunk = await reader?.read()
        if (chunk?.value !== undefined) chunks.push(chunk.value)
        return chunk
      }
      const body = { getReader: () => ({ read, cancel: () => reader?.cancel() }) }
      return Object.defineProperty(response, 'body', { value: body })
    }) as typeof fetch)
    try {
      await send()
    } finally {
      spy.mockRestore()
    }
    return taken
  }

  test('does not include decompressing a gzip bomb: only the bytes on the wire are read', async () => {
    zone = onLoopback
    const bomb = gzipSync(Buffer.alloc(210_000_000))
    const receiver = startReceiver(certificate)
    receiver.answer = () => new Response(bomb, { headers: { 'content-encoding': 'gzip' } })
    const [chunks = []] = await takenBy(() => post()(`https://${NAME}:${receiver.port}/`, MESSAGE))
    const taken = Buffer.concat(chunks)
    expect(taken.length).toBeGreaterThan(0)
    expect(taken.equals(bomb.subarray(0, taken.length))).toBe(true)
    await receiver.stop()
  })

  test('includes no timer that stays behind, neither that of the headers nor that of the body', async () => {
    zone = onLoopback
    const receiver = startReceiver(certificate)
    receiver.answer = () => new Response('ok')
    const stacks: (string | undefined)[] = []
    const setTimer = globalThis.setTimeout
    const started = spyOn(globalThis, 'setTimeout').mockImplementation(((...args: Parameters<typeof setTimeout>) => {
      stacks.push(new Error('here').stack)
      return setTimer(...args)
    }) as typeof setTimeout)
    const cleared = spyOn(globalThis, 'clearTimeout')
    try {
      await post()(`https://${NAME}:${receiver.port}/`, MESSAGE)
      // Other files may have left timers of their own in this process: only those that the attempt started count.
      const isOurs = (stack = '') => stack.includes('guarded-post.ts')
      const timers = started.mock.results.filter((_, i) => isOurs(stacks[i])).map(({ value }) => value)
      const ended = new Set<unknown>(cleared.mock.calls.map(([timer]) => timer))
      expect(timers.length).toBeGreaterThanOrEqual(2)
      expect(timers.filter((timer) => !ended.has(timer))).toEqual([])
    } finally {
      started.mockRestore()
      cleared.mockRestore()
    }
    await receiver.stop()
  })

  test('is limited for an endless body, which is cut off once enough of it is read', async () => {
    zone = onLoopback
    const closed = Promise.withResolvers<void>()
    const receiver = await startOddReceiver(certificate, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.on('close', () => closed.resolve())
      const chunk = Buffer.alloc(65_536, 'x')
      const more = () => {
        for (let flows = true; flows && !socket.destroyed; ) flows = socket.write(chunk)
      }
      socket.on('drain', more)
      more()
    })
    const [chunks = []] = await takenBy(() => post()(`https://${NAME}:${receiver.port}/`, MESSAGE))
    // Reading stopped exactly at the chunk that reached the limit.
    const before = chunks.slice(0, -1).reduce((bytes, { length }) => bytes + length, 0)
    expect(before).toBeLessThan(ANSWER_BYTES_MAX)
    await closed.promise
    await receiver.stop()
  })
})

describe('a DNS answer that changes', () => {
  test('between check and connection has no effect: 1,000 sends, no connection to the forbidden address', async () => {
    // Each send uses a fresh name and counter: a query left over from another test, or sent twice by the resolver on a
    // busy machine, must not shift the sequence of answers.
    const name = 'changing.example'
    let requests = 0
    // In half of the sends the name resolves to a good address first and to the forbidden one next: code that resolves
    // twice connects to it.
    zone = (queried, family) => {
      if (queried !== name || family !== 'A') return []
      requests += 1
      return [requests % 2 === 1 ? '127.0.0.1' : '127.0.0.2']
    }
    const outside = startReceiver(await authority.issue({ names: [name] }))
    let insideConnections = 0
    const inside = Bun.listen({
      hostname: '127.0.0.2',
      port: outside.port,
      data: undefined,
      socket: {
        open: () => {
          insideConnections += 1
        },
        data: () => {},
      },
    })
    const send = post({ deadlineMs: 10_000 })
    const requestStats = new Map<string, number>()
    for (let i = 0; i < 1_000; i++) {
      requests = i % 2
      const { outcome } = await send(`https://${name}:${outside.port}/`, MESSAGE)
      const kind = outcome.kind === 'unreachable' ? `unreachable by ${outcome.cause}` : outcome.kind
      requestStats.set(kind, (requestStats.get(kind) ?? 0) + 1)
    }
    expect(insideConnections).toBe(0)
    expect(Object.fromEntries(requestStats)).toEqual({ answered: 500, refused: 500 })
    expect(outside.received).toHaveLength(500)
    inside.stop(true)
    await outside.stop()
  })
})
