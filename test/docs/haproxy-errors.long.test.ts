/** What HAProxy answers itself, with each of the two files: the contract's errors, with an id that the service logs too. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type RawAnswer, sendRaw } from '../support/raw-http.ts'

const GENERATED = /^req_[0-9a-f-]{36}$/

describe.skipIf(Bun.which('haproxy') === null).each(['deploy/haproxy/haproxy.cfg', 'deploy/cluster/haproxy.cfg'])(
  '%s',
  (file) => {
    const folder = mkdtempSync(join(tmpdir(), 'nightledger-haproxy-'))
    const port = freePort()
    const plainPort = freePort()
    /** The ids of the requests that arrived. */
    const received: (string | null)[] = []
    let isSilent = false
    let haproxy: Bun.Subprocess | undefined
    const service = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url, headers }) => {
        if (new URL(url).pathname === '/readyz') return new Response()
        received.push(headers.get('x-request-id'))
        return isSilent ? new Promise<Response>(() => {}) : Response.json({})
      },
    })
    let at = `127.0.0.1:${service.port}`

    /** The file as it is, but for names, and for times that would make a test long. */
    async function start(): Promise<void> {
      const text = readFileSync(file, 'utf8')
        .replace(/^ {2}(?:user|group) .*$/gm, '')
        .replace('bind :8080', `bind 127.0.0.1:${port}`)
        .replaceAll('/etc/haproxy', folder)
        .replaceAll(/\bhost\d:3000/g, at)
        .replace(/ ssl crt .*/, '')
        .replace(/timeout server .*/, 'timeout server 1s')
      writeFileSync(join(folder, 'haproxy.cfg'), text)
      writeFileSync(join(folder, 'owner.map'), '')
      haproxy = Bun.spawn(['haproxy', '-db', '-f', join(folder, 'haproxy.cfg')], {
        env: {
          PATH: process.env['PATH'] ?? '',
          LISTEN: `127.0.0.1:${port}`,
          LISTEN_PLAIN: `127.0.0.1:${plainPort}`,
          NODE_A: at,
          NODE_B: at,
        },
        stdout: 'ignore',
        stderr: 'inherit',
      })
      await eventually('HAProxy listens', () =>
        fetch(`http://127.0.0.1:${port}/metrics`).then(
          ({ status }) => status === 404,
          () => false,
        ),
      )
    }
    async function stop(): Promise<void> {
      haproxy?.kill('SIGKILL')
      await haproxy?.exited
    }
    beforeAll(start)
    beforeEach(() => {
      received.length = 0
      isSilent = false
    })
    afterAll(async () => {
      await stop()
      await service.stop(true)
      rmSync(folder, { recursive: true, force: true })
    })

    function problemIn(answer: RawAnswer | undefined) {
      const body = JSON.parse(answer?.body ?? '')
      const { headers, status } = answer as RawAnswer
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('x-request-id')).toBe(body.requestId)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(body.title).toBeString()
      return { status, code: body.code, requestId: body.requestId, retryAfter: headers.get('retry-after') }
    }
    const ask = async (head: string) => problemIn((await sendRaw(port, `${head}\r\n\r\n`))[0])
    const booking = 'POST /partner/v1/bookings HTTP/1.1\r\nHost: host\r\nContent-Length: 0'

    test('a request has one id at the client, here and at the service: its own if that is one', async () => {
      const url = `http://127.0.0.1:${port}/partner/v1/units`
      for (const id of ['trace-1', 'a"b', 'x'.repeat(129)]) await fetch(url, { headers: { 'x-request-id': id } })
      await fetch(url)
      const generated = expect.stringMatching(GENERATED)
      expect(received).toEqual(['trace-1', generated, generated, generated])
    })

    test('what it lets nobody reach is no route', async () => {
      expect(await ask('GET /metrics HTTP/1.1\r\nHost: host\r\nX-Request-Id: trace-2')).toEqual({
        status: 404,
        code: 'NOT_FOUND',
        requestId: 'trace-2',
        retryAfter: undefined,
      })
    })

    test('a write that gets no answer may have been made', async () => {
      isSilent = true
      expect(await ask(`${booking}\r\nX-Request-Id: trace-3`)).toEqual({
        status: 500,
        code: 'INTERNAL',
        requestId: 'trace-3',
        retryAfter: '1',
      })
      expect(received).toEqual(['trace-3'])
    })

    test.each([
      ['500 Internal Server Error', 500],
      ['429 Too Many Requests', 500],
      ['409 Conflict', 409],
      ['201 Created', 201],
    ])(
      'a write that a second server answers with %s, after the first one has fallen silent, gets %d',
      async (answer, status) => {
        let attempts = 0
        const servers = createServer((socket) =>
          socket.on('data', (data) => {
            if (data.includes('/readyz')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
            // As of a server that is killed. One that is only stopped would still read the request, and carry it out later.
            else if (++attempts === 1) socket.destroy()
            else socket.end(`HTTP/1.1 ${answer}\r\nContent-Length: 31\r\n\r\n{"title":"Nothing was changed"}\n`)
          }),
        ).listen(0, '127.0.0.1')
        await stop()
        at = `127.0.0.1:${(servers.address() as AddressInfo).port}`
        await start()
        const response = await fetch(`http://127.0.0.1:${port}/partner/v1/bookings`, {
          method: 'POST',
          headers: { 'idempotency-key': 'a' },
        })
        expect([attempts, response.status]).toEqual([2, status])
        if (status === 500)
          expect(await response.json()).toMatchObject({
            title: expect.stringContaining('may or may not have been made'),
          })
        servers.close()
      },
    )

    test('a service that cannot be reached is a failure that clients repeat', async () => {
      await stop()
      at = `127.0.0.1:${freePort()}`
      await start()
      // Later than a raw answer is waited for: it tries for a while.
      const response = await fetch(`http://127.0.0.1:${port}/partner/v1/bookings`, { method: 'POST' })
      expect([response.status, response.headers.get('retry-after')]).toEqual([500, '1'])
      const { code, requestId } = (await response.json()) as { code: string; requestId: string }
      expect([code, requestId]).toEqual(['INTERNAL', expect.stringMatching(GENERATED)])
    })
  },
)
