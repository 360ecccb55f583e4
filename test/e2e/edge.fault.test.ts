/** What agencies and partners rely on, through each of the proxies of deploy/, with TLS. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { WRONG_TOKENS_PER_MINUTE } from '../../src/accounts/wrong-token-throttle.ts'
import { BODY_BYTES_MAX } from '../../src/http/read-request.ts'
import { EDGES, NODE_ADDRESSES, type RunningEdge, startEdge } from '../support/edge-proxies.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { answerOf, type HttpCall, requestOf } from '../support/http-call.ts'
import { longTest } from '../support/long-run.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { parseAnswers, type RawAnswer } from '../support/raw-http.ts'
import {
  credentialsFor,
  makeAgencyByPortal,
  type StartingService,
  startListening,
  TEST_PORTAL_TOKEN,
} from '../support/service-process.ts'
import { type ServerCertificate, TestAuthority } from '../support/test-authority.ts'

const installed = EDGES.filter(({ program }) => Bun.which(program) !== null)
const missing = EDGES.filter((edge) => !installed.includes(edge)).map((edge) => edge.package)
if (missing.length > 0) console.log(`Skipped for some proxies: install ${missing.join(' ')}`)

/** One that is no proxy's: what it says in X-Forwarded-For is not believed. */
const CLIENTS = '127.0.0.'
const folder = mkdtempSync(join(tmpdir(), 'nightledger-edge-'))
let authority: TestAuthority
let certificate: ServerCertificate

beforeAll(async () => {
  authority = await TestAuthority.create()
  certificate = await authority.issue({ names: ['localhost'], addresses: ['127.0.0.1'] })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function ask({ url }: RunningEdge, path: string, call: HttpCall = {}) {
  return answerOf(await fetch(url + path, { ...requestOf(call), redirect: 'manual', tls: { ca: authority.pem } }))
}

/** Sends requests over one connection from an address of this machine, each when the one before is answered. */
async function sendFrom(address: string, { listen }: RunningEdge, heads: readonly string[]): Promise<RawAnswer[]> {
  const socket = connect({ port: listen, host: '127.0.0.1', localAddress: address })
  await new Promise<void>((resolve, reject) => socket.once('connect', () => resolve()).once('error', reject))
  const tls = connectTls({ socket, servername: 'localhost', ca: authority.pem, ALPNProtocols: ['http/1.1'] })
  let received = Buffer.alloc(0)
  tls.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data])
  })
  await new Promise<void>((resolve, reject) => tls.once('secureConnect', () => resolve()).once('error', reject))
  for (const [i, head] of heads.entries()) {
    tls.write(`${head}\r\nHost: localhost:${listen}\r\n\r\n`)
    await eventually('an answer', () => parseAnswers(received).length > i)
  }
  tls.destroy()
  return parseAnswers(received)
}

describe('with the service', () => {
  const [port, adminPort] = [freePort(), freePort()]
  const edges = new Map<string, RunningEdge>()
  const services: StartingService[] = []
  let database: TestDatabase
  let key = ''
  let accessToken = ''

  async function start(address: string, until: string): Promise<StartingService> {
    const service = await startListening({
      ...credentialsFor(database.url),
      HOST: address,
      PORT: String(port),
      ADMIN_HOST: address,
      ADMIN_PORT: String(adminPort),
      TRUSTED_PROXIES: '127.0.0.1',
    })
    services.push(service)
    await eventually(until, () => service.log().includes(until))
    return service
  }

  beforeAll(async () => {
    database = await testDatabase()
    const service = await start(NODE_ADDRESSES[0], '"listening"')
    const scopes = ['write:bookings', 'read:bookings', 'read:units']
    key = await makeAgencyByPortal(service, { scopes, plan: { requestsPerMinute: 100_000 } })
    accessToken = (await service.portal('/agencies/harbour/access-tokens', { name: 'Maria', role: 'owner' })).body
      .secret
    await start(NODE_ADDRESSES[1], 'waiting as a standby')
    for (const edge of installed)
      edges.set(edge.name, await startEdge(edge, { port, adminPort, certificate, folder: join(folder, edge.name) }))
    for (const edge of edges.values())
      await eventually('the health checks have found the writer', async () => (await ask(edge, '/docs')).status < 400)
  })
  afterAll(async () => {
    for (const edge of edges.values()) await edge.stop()
    for (const service of services) service.kill('SIGKILL')
    await Promise.all(services.map(({ exited }) => exited))
    await database.drop()
  })

  let nights = 0
  /** A free night of the unit. */
  function booking() {
    const arrival = new Date(Date.UTC(2031, 0, 1 + 2 * nights++))
    const departure = new Date(arrival.getTime() + 86_400_000)
    return {
      unit: 'sea-view',
      arrival: arrival.toISOString().slice(0, 10),
      departure: departure.toISOString().slice(0, 10),
    }
  }

  describe.each(installed.map((edge) => [edge.name] as [string]))('behind %s', (name) => {
    const edge = () => edges.get(name) as RunningEdge
    const number = installed.findIndex((other) => other.name === name) + 1

    test('the page loads', async () => {
      const root = await ask(edge(), '/')
      expect([root.status, root.headers.get('location')?.replace(edge().url, '')]).toEqual([302, '/portal/'])
      const { status, text } = await ask(edge(), '/portal/')
      expect([status, text.includes('<script')]).toEqual([200, true])
    })

    test.each([
      ['with', { 'sec-fetch-site': 'same-origin' }],
      ['without', {}],
    ])(
      'a person signs in and changes something, in a browser %s Sec-Fetch-Site; the cookie is Secure',
      async (_, browser) => {
        const headers = { ...browser, 'x-nightledger-page': '1', origin: edge().url }
        const signedIn = await ask(edge(), '/portal/session', { json: { token: accessToken }, headers })
        const [cookie = '', ...attributes] = signedIn.headers.get('set-cookie')?.split('; ') ?? []
        expect([signedIn.status, attributes]).toEqual([200, ['HttpOnly', 'SameSite=Strict', 'Path=/portal', 'Secure']])
        const made = { json: { name: 'Website', scopes: ['read:units'] }, headers: { ...headers, cookie } }
        expect((await ask(edge(), '/portal/v1/agencies/harbour/keys', made)).status).toBe(201)
      },
    )

    test('a stream arrives as it is written', async () => {
      const { body } = await ask(edge(), '/partner/v1/changes', { token: key })
      const leaving = new AbortController()
      let text = ''
      const reading = (async () => {
        const { body: stream } = await fetch(`${edge().url}/partner/v1/changes?after=${body.cursor}`, {
          headers: { accept: 'text/event-stream', authorization: `Bearer ${key}` },
          signal: leaving.signal,
          tls: { ca: authority.pem },
        })
        for await (const part of stream?.pipeThrough(new TextDecoderStream()) ?? []) text += part
      })().catch(() => undefined)
      await eventually('the beginning', () => text.startsWith(':\nid: '))
      const made = await ask(edge(), '/partner/v1/bookings', { token: key, json: booking() })
      expect([made.status, made.text]).toEqual([201, expect.any(String)])
      await eventually(
        'the booking',
        () => text.includes('event: booking.created') && text.includes(made.body.booking.id),
      )
      leaving.abort()
      await reading
    })

    longTest('a request that waits for changes is answered when its time is over', async () => {
      const { body } = await ask(edge(), '/partner/v1/changes', { token: key })
      const since = performance.now()
      const path = `/partner/v1/changes?after=${body.cursor}&wait=20`
      const { status, body: waited } = await ask(edge(), path, { token: key })
      expect([status, waited.changes]).toEqual([200, []])
      expect(performance.now() - since).toBeGreaterThan(19_000)
    })

    test('wrong tokens are counted by the address of the client, whatever it claims', async () => {
      const guess = (i: number) =>
        `GET /portal/v1/me HTTP/1.1\r\nAuthorization: Bearer a-guess-that-is-long-enough-0123456789\r\nX-Forwarded-For: 192.0.2.${i}`
      const guesses = Array.from({ length: WRONG_TOKENS_PER_MINUTE + 1 }, (_, i) => guess(i))
      const answers = await sendFrom(`${CLIENTS}${10 + number}`, edge(), guesses)
      expect(answers.map(({ status }) => status)).toEqual([...guesses.slice(1).map(() => 401), 429])
      // The address of the proxy, and that of another client.
      const [other] = await sendFrom(`${CLIENTS}${20 + number}`, edge(), [guess(0)])
      expect(other?.status).toBe(401)
    })

    test.each([BODY_BYTES_MAX + 1, 2 * 1_024 * 1_024])(
      'a body of %d bytes is refused as the service refuses it',
      async (bytes) => {
        const raw = JSON.stringify('x'.repeat(bytes - 2))
        const { status, body } = await ask(edge(), '/partner/v1/bookings', { token: key, raw })
        expect(status).toBe(413)
        const fault = `body must be at most ${BODY_BYTES_MAX} bytes`
        expect(body).toEqual({
          code: 'VALIDATION',
          title: fault,
          requestId: expect.stringMatching(/^req_/),
          errors: [{ field: 'body', message: fault }],
        })
      },
    )

    test('a body of the largest size passes', async () => {
      const notes = 'x'.repeat(BODY_BYTES_MAX - JSON.stringify({ notes: '' }).length)
      const { status, body } = await ask(edge(), '/partner/v1/bookings', { token: key, json: { notes } })
      // Read, and found to lack everything else.
      expect([status, body.code]).toEqual([400, 'VALIDATION'])
    })

    test('a head that is too long is refused with the service’s 431, without a page', async () => {
      const { status, text } = await ask(edge(), '/partner/v1/units', {
        token: key,
        headers: { 'x-long': 'x'.repeat(20_000) },
      })
      expect([status, text]).toEqual([431, ''])
    })

    test('an auditor gets the public keys of the checkpoints', async () => {
      const { status, text } = await ask(edge(), '/.well-known/nightledger-checkpoint-key')
      expect([status, text.includes('+')]).toEqual([200, true])
    })

    test('what the operator uses is not there', async () => {
      const paths = [
        '/metrics',
        '/.well-known/other',
        '/readyz',
        '/healthz',
        '/docs/../metrics',
        '/partner/v1/%2e%2E/%2e%2e/metrics',
        '/portal/..\\metrics',
        '//metrics',
      ]
      const answers = await sendFrom(
        '127.0.0.1',
        edge(),
        paths.map((path) => `GET ${path} HTTP/1.1`),
      )
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 404))
      for (const { body, headers } of answers)
        expect([JSON.parse(body).code, JSON.parse(body).requestId]).toEqual(['NOT_FOUND', headers.get('x-request-id')])
      expect((await ask(edge(), '/portal/v1/agencies', { token: TEST_PORTAL_TOKEN })).status).toBe(401)
    })

    test('a request has one id: the client’s, if the service would accept it', async () => {
      const idOf = async (id: string, path: string) =>
        (await ask(edge(), path, { token: key, headers: { 'x-request-id': id } })).headers.get('x-request-id')
      for (const path of ['/partner/v1/units', '/no-route']) {
        expect(await idOf('trace-1', path)).toBe('trace-1')
        expect(await idOf('a"b', path)).toStartWith('req_')
      }
    })

    test('browsers get HTTP/2', async () => {
      const tls = connectTls({
        port: edge().listen,
        host: '127.0.0.1',
        servername: 'localhost',
        ca: authority.pem,
        ALPNProtocols: ['h2', 'http/1.1'],
      })
      await new Promise<void>((resolve, reject) => tls.once('secureConnect', () => resolve()).once('error', reject))
      expect(tls.alpnProtocol).toBe('h2')
      tls.destroy()
    })
  })

  longTest(
    'while the writer is replaced, requests wait where the proxy knows the standby; what fails elsewhere is the contract’s error, to be repeated',
    async () => {
      const answers = new Map(installed.map(({ name }) => [name as string, new Map<string, number>()] as const))
      const madeBy = (name: string) => answers.get(name)?.get('write made') ?? 0
      let isOver = false
      const loads = installed.map(async ({ name }) => {
        const edge = edges.get(name) as RunningEdge
        while (!isOver) {
          const write = { token: key, json: booking(), headers: { 'idempotency-key': crypto.randomUUID() } }
          for (const [kind, path, call] of [
            ['write', '/partner/v1/bookings', write],
            ['read', '/partner/v1/units', { token: key }],
          ] as const) {
            const answer = await ask(edge, path, call)
            const isProblem = answer.body?.code === 'INTERNAL' && answer.headers.get('retry-after') === '1'
            const outcome = answer.status < 300 ? 'made' : isProblem ? 'failed' : `${answer.status} ${answer.text}`
            const counts = answers.get(name)
            counts?.set(`${kind} ${outcome}`, (counts.get(`${kind} ${outcome}`) ?? 0) + 1)
          }
        }
      })
      const more = async (names: readonly string[]) => {
        const wanted = new Map(names.map((name) => [name, madeBy(name) + 10]))
        await eventually('bookings', () => names.every((name) => madeBy(name) >= (wanted.get(name) ?? 0)))
      }
      const checking = installed
        .filter(({ failsMeanwhile }) => !failsMeanwhile.includes('read'))
        .map(({ name }) => name)
      const replace = async (writer: StartingService | undefined) => {
        await more(checking)
        writer?.kill('SIGTERM')
        await writer?.exited
        await more(checking)
      }
      const [first, standby] = services
      await replace(first)
      await start(NODE_ADDRESSES[0], 'waiting as a standby')
      await replace(standby)
      await more(installed.map(({ name }) => name))
      isOver = true
      await Promise.all(loads)
      console.log(
        JSON.stringify(Object.fromEntries([...answers].map(([name, counts]) => [name, Object.fromEntries(counts)]))),
      )
      for (const { name, failsMeanwhile } of installed) {
        const accepted = ['read made', 'write made', ...failsMeanwhile.map((kind) => `${kind} failed`)]
        const others = [...(answers.get(name)?.keys() ?? [])].filter((outcome) => !accepted.includes(outcome))
        expect([name, others]).toEqual([name, []])
      }
    },
    120_000,
  )
})

describe('a booking whose connection is lost', () => {
  test.each(installed.map((edge) => [edge.name, edge] as const))(
    'is not repeated by %s without an Idempotency-Key, and its client learns that the outcome is unknown',
    async (name, edge) => {
      const received: string[] = []
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('data', (data) => {
          if (!data.includes('POST ')) return socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
          received.push(data.toString())
          return socket.destroy()
        })
      })
      const port = freePort()
      server.listen(port, NODE_ADDRESSES[0])
      const running = await startEdge(edge, {
        port,
        adminPort: port,
        certificate,
        folder: join(folder, `${name}-lost`),
      })
      await eventually('the health checks have found it', async () => (await ask(running, '/docs')).status === 200)
      // Over a new connection: HAProxy closes one that it has kept instead of answering, which says the same to a client.
      const [answer] = await sendFrom('127.0.0.1', running, ['POST /partner/v1/bookings HTTP/1.1\r\nContent-Length: 0'])
      const { status, headers } = answer as RawAnswer
      const body = JSON.parse(answer?.body ?? '')
      expect([status, headers.get('retry-after'), received.length]).toEqual([500, '1', 1])
      expect(body).toEqual({
        code: 'INTERNAL',
        title: expect.stringContaining('A change may or may not have been made'),
        requestId: headers.get('x-request-id'),
      })
      expect(received[0]?.toLowerCase()).toContain(`x-request-id: ${body.requestId}`)
      await running.stop()
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  )
})
