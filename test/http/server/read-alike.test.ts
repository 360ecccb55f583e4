import { afterAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { Elysia } from 'elysia'
import { Listener } from '../../../src/http/server/listener.ts'
import { notServing } from '../../../src/http/server/not-serving.ts'
import { ifRouted } from '../../../src/http/server/served-routes.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { sendRaw } from '../../support/raw-http.ts'

type Context = { request: Request }
const reported =
  (of: string) =>
  ({ request }: Context) =>
    new Response(`${of} ${new URL(request.url).pathname}`)

const app = new Elysia()
  .get('/metrics', reported('metrics'))
  .get('/docs', reported('docs'))
  .get('/docs/*', reported('file'))
  .get('/partner/v1/units/:slug', reported('unit'))
  .post('/partner/v1/units', reported('made'))
  .all('/mcp', reported('tools'))
  .onError(({ code }) => new Response(code === 'NOT_FOUND' ? 'none' : 'fault', { status: 404 }))

const listener = new Listener({ host: '127.0.0.1', port: 0 }, notServing('starting', systemIds))
listener.serve(app, (answer, path) => (path === null ? answer : ifRouted(path, answer)))
afterAll(() => listener.server?.stop(true))

async function ask(target: string, method = 'GET') {
  const [answer] = await sendRaw(
    listener.port,
    `${method} ${target} HTTP/1.1\r\nHost: host\r\nX-Request-Id: trace-1\r\n\r\n`,
  )
  return answer
}

const REFUSED = { code: 'NOT_FOUND', title: 'No such route', requestId: 'trace-1' }

describe('a path that the router reads as another one than its URL is no route', () => {
  test.each([
    ['/docs/../metrics'],
    ['/docs/..\\metrics'],
    ['/docs/%2e%2E/metrics'],
    ['/docs\\..\\metrics'],
    ['/.//../metrics'],
    ['/./metrics'],
    ['/partner/v1/../../metrics'],
    ['/partner/v1/units/..\\..\\..\\metrics'],
    ['/docs/../partner/v1/units/a'],
    ['/partner/v1/units/..'],
    ['/partner/v1/units/a\\b'],
    ['/partner/v1/units/a#b'],
  ])('GET %s', async (target) => {
    const answer = await ask(target)
    expect([answer?.status, JSON.parse(answer?.body ?? '')]).toEqual([404, REFUSED])
    expect(answer?.headers.has('access-control-allow-origin')).toBe(false)
  })

  test('HEAD and POST too', async () => {
    const head = 'HEAD /docs/..\\metrics HTTP/1.1\r\nHost: host\r\n\r\n'
    const text = await new Promise<string>((resolve) => {
      const socket = connect(listener.port, '127.0.0.1', () => socket.write(head))
      socket.once('data', (bytes) => {
        socket.destroy()
        resolve(String(bytes))
      })
    })
    expect(text).toStartWith('HTTP/1.1 404 ')
    expect((await ask('/docs/..\\partner/v1/units', 'POST'))?.status).toBe(404)
  })
})

describe('whatever is read alike is answered as ever', () => {
  test.each([
    ['/metrics', 'metrics /metrics'],
    ['/metrics?at=/../x', 'metrics /metrics'],
    ['http://other/metrics', 'metrics /metrics'],
    ['/partner/v1/units/a..b', 'unit /partner/v1/units/a..b'],
    ['/partner/v1/units/...', 'unit /partner/v1/units/...'],
    ['/partner/v1/units/a%2Fb%5C..', 'unit /partner/v1/units/a%2Fb%5C..'],
    ['/partner/v1/units/%C3%A9"', 'unit /partner/v1/units/%C3%A9%22'],
    ['/docs/a.js', 'file /docs/a.js'],
    ['/mcp', 'tools /mcp'],
    ['/partner/v1/units', 'none'],
  ])('GET %s', async (target, body) => {
    expect((await ask(target))?.body).toBe(body)
  })
})
