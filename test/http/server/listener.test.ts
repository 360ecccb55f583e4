import { afterEach, expect, spyOn, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { Elysia } from 'elysia'
import { drain } from '../../../src/http/server/drain.ts'
import { ListenError, Listener } from '../../../src/http/server/listener.ts'
import { notServing, whileConfirmed } from '../../../src/http/server/not-serving.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { eventually } from '../../support/eventually.ts'
import { sendRaw } from '../../support/raw-http.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const temporary = temporaryFolder('listener')
const open: Listener[] = []
afterEach(async () => {
  for (const listener of open.splice(0)) await listener.server?.stop(true)
})

function listen(): Listener {
  const listener = new Listener({ host: '127.0.0.1', port: 0 }, notServing('starting', systemIds))
  open.push(listener)
  return listener
}

type Context = { request: Request }

const app = () =>
  new Elysia({ serve: { routes: { '/direct': { GET: () => new Response('direct') } } } })
    .get('/direct', () => new Response('by Elysia'))
    .get('/list/:id', ({ params }: { params: { id: string } }) => new Response(`item ${params.id}`))
    .post('/list', ({ request }: Context) => request.text().then((body) => new Response(`made ${body}`)))
    .all('/any', ({ request }: Context) => new Response(request.method))
    .onError(({ code }) => new Response(code === 'NOT_FOUND' ? 'none' : 'fault', { status: 404 }))

test('while the process starts every route answers 503 with the error body, and only /healthz says that it is alive', async () => {
  const { port } = listen()
  const ask = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init)
  for (const [path, init] of [
    ['/partner/v1/bookings', { method: 'POST', body: '{}' }],
    ['/partner/v1/units?page=1', {}],
    ['/portal/v1/agencies', {}],
    ['/mcp', { method: 'POST', body: '{}' }],
    ['/metrics', {}],
  ] as const) {
    const response = await ask(path, { ...init, headers: { 'x-request-id': 'trace-1' } })
    expect([path, response.status, response.headers.get('retry-after')]).toEqual([path, 503, '1'])
    expect(response.headers.get('x-request-id')).toBe('trace-1')
    expect(await response.json()).toEqual({
      code: 'INTERNAL',
      requestId: 'trace-1',
      title: 'This request was not handled: the service is starting. Try again',
    })
  }
  const alive = await ask('/healthz')
  expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }])
  const ready = await ask('/readyz')
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', faults: ['starting'] }])
  expect(ready.headers.get('retry-after')).toBe('1')
})

test.each([
  ['nothing but the metrics from memory', true, ['/metrics']],
  ['nothing from memory where it has no probes', false, []],
])('a process that may have been taken over answers %s', async (_, hasProbes, paths) => {
  let isConfirmed = true
  const answer = whileConfirmed(
    () => isConfirmed,
    () => new Response('from memory'),
    systemIds,
    { hasProbes },
  )
  const all = ['/partner/v1/units', '/portal/v1/agencies', '/readyz', '/metrics']
  const answered = async () => {
    const texts = await Promise.all(all.map(async (path) => (await answer(new Request(`http://host${path}`))).text()))
    return all.filter((_, i) => texts[i] === 'from memory')
  }
  expect(await answered()).toEqual(all)
  isConfirmed = false
  expect(await answered()).toEqual(paths)
})

test('a connection that was opened while the process started gets the real answers afterwards', async () => {
  const listener = listen()
  const socket = connect(listener.port, '127.0.0.1')
  let received = ''
  let isClosed = false
  socket.on('data', (piece) => {
    received += piece
  })
  socket.on('close', () => {
    isClosed = true
  })
  const post = () => socket.write('POST /list HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\nhi')
  post()
  await eventually('the answer of a start', () => received.includes('the service is starting'))
  listener.serve(app())
  post()
  await eventually('the real answer', () => received.endsWith('made hi'))
  expect(isClosed).toBe(false)
  socket.destroy()
  expect(await drain(listener, systemClock, 2_000)).toBe(true)
})

test('an app is served as by its own listen: its direct routes, parameters, HEAD, any method, and what is unknown', async () => {
  const listener = listen()
  listener.serve(app())
  const own = app().listen({ hostname: '127.0.0.1', port: 0 })
  const answersOf = async (port: number) => {
    const answers: string[] = []
    for (const request of [
      'GET /direct',
      'HEAD /direct',
      'GET /list/a%20b',
      'HEAD /list/7',
      'PUT /list/7',
      'PURGE /any',
      'OPTIONS /any',
      'GET /unknown',
    ]) {
      const [answer] = await sendRaw(port, `${request} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
      answers.push(`${request}: ${answer?.status} ${answer?.body}`)
    }
    return answers
  }
  const answers = await answersOf(listener.port)
  expect(answers).toEqual(await answersOf(own.server?.port ?? 0))
  expect(answers).toContain('GET /direct: 200 direct')
  expect(answers).toContain('GET /list/a%20b: 200 item a b')
  await own.stop(true)
})

test('where another program listens, or the machine has no such address, it says so at once', () => {
  const { port } = listen()
  expect(() => new Listener({ host: '127.0.0.1', port }, () => new Response())).toThrow(ListenError)
  expect(() => new Listener({ host: '192.0.2.1', port: 0 }, () => new Response())).toThrow(
    'Cannot listen on 192.0.2.1:0: this machine does not have that address',
  )
})

test('on a socket, where the process at the other end is ours, no request is closed for being idle: a stream waits longer than Bun lets one by default', async () => {
  const options: { unix: string; idleTimeout?: number }[] = []
  const serve = spyOn(Bun, 'serve').mockImplementation(((given: (typeof options)[0]) => {
    options.push(given)
    writeFileSync(given.unix, '')
    return { stop: async () => {} }
  }) as never)
  try {
    open.push(new Listener({ unix: `${temporary}/socket` }, () => new Response()))
  } finally {
    serve.mockRestore()
  }
  expect(options.map(({ idleTimeout }) => idleTimeout)).toEqual([0])
})
