import { afterEach, expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { Listeners } from '../../src/app/listeners.ts'
import { withoutCors } from '../../src/http/server/served-routes.ts'
import { freePort } from '../support/free-port.ts'
import { sendRaw } from '../support/raw-http.ts'

const LOOPBACK = { host: '127.0.0.1', port: 0 }

const opened: Listeners[] = []
afterEach(async () => {
  for (const { all } of opened.splice(0)) for (const { server } of all) await server?.stop(true)
})

function listen(options: ConstructorParameters<typeof Listeners>[0]): Listeners {
  const listeners = new Listeners(options, async (reason) => `${reason}\n`)
  opened.push(listeners)
  return listeners
}

/** `GET` on PORT and on ADMIN_PORT. */
async function statuses({ all }: Listeners, path: string): Promise<number[]> {
  return Promise.all(all.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}${path}`)).status))
}

test('without ADMIN_PORT there is one listener, which has the probes', async () => {
  const listeners = listen({ main: LOOPBACK, admin: null })
  expect(listeners.operating).toBe(listeners.public)
  expect(await statuses(listeners, '/healthz')).toEqual([200])
  expect(await statuses(listeners, '/readyz')).toEqual([503])
})

test('with ADMIN_PORT only its listener has the probes, while the process starts and after it is fenced', async () => {
  const listeners = listen({ main: LOOPBACK, admin: LOOPBACK })
  for (const refused of [503, 500]) {
    expect([await statuses(listeners, '/healthz'), await statuses(listeners, '/readyz')]).toEqual([
      [refused, 200],
      [refused, 503],
    ])
    expect(await statuses(listeners, '/portal/v1/agencies')).toEqual([refused, refused])
    const { headers } = await fetch(`http://127.0.0.1:${listeners.operating.port}/readyz`)
    expect(headers.has('access-control-allow-origin')).toBe(false)
    listeners.refuse('fenced', { isDraining: false })
  }
})

test('a process that does not serve shows its metrics where the probes are, and says why it does not, also while it holds requests', async () => {
  const listeners = listen({ main: LOOPBACK, admin: LOOPBACK })
  const metrics = async () => {
    const answer = await fetch(`http://127.0.0.1:${listeners.operating.port}/metrics`)
    expect(answer.headers.get('content-type')).toStartWith('text/plain; version=0.0.4')
    return [answer.status, await answer.text()]
  }
  expect(await metrics()).toEqual([200, 'starting\n'])
  listeners.refuse('standby', { isDraining: false })
  expect(await metrics()).toEqual([200, 'standby\n'])
  expect(await statuses(listeners, '/metrics')).toEqual([503, 200])
  listeners.hold()
  expect(await metrics()).toEqual([200, 'standby\n'])
})

test('metrics that cannot be read are refused as everything else is', async () => {
  const unreadable = new Listeners({ main: LOOPBACK, admin: null }, () => Promise.reject(new Error('no parent')))
  opened.push(unreadable)
  expect(await statuses(unreadable, '/metrics')).toEqual([503])
})

test('while requests are held, a probe is answered, whatever it says about its host', async () => {
  const listeners = listen({ main: LOOPBACK, admin: null })
  listeners.hold()
  for (const version of ['HTTP/1.0', 'HTTP/1.1\r\nHost: ['])
    expect(await sendRaw(listeners.public.port, `GET /readyz ${version}\r\n\r\n`)).toMatchObject([{ status: 503 }])
})

test("a worker's own port is answered as PORT is, and closed until there is an app if others serve already", async () => {
  const ports = [freePort(), freePort()]
  const [main, at] = ports.map((port) => ({ ...LOOPBACK, port })) as [typeof LOOPBACK, typeof LOOPBACK]
  const early = listen({ main, own: { at, isLate: false }, admin: LOOPBACK })
  expect(await statuses(early, '/partner/v1/units')).toEqual([503, 503, 503])
  early.refuse('fenced', { isDraining: false })
  expect(await statuses(early, '/partner/v1/units')).toEqual([500, 500, 500])
  for (const { server } of early.all) await server?.stop(true)
  const late = listen({ main, own: { at, isLate: true }, admin: null, isLate: true })
  for (const port of ports) await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('ECONNREFUSED')
  for (const each of late.all) each.serve(new Elysia().get('/', () => 'here'))
  for (const port of ports) expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here')
})

test('it listens on all addresses or on none', () => {
  const taken = listen({ main: LOOPBACK, admin: null }).public.port
  const [free, at] = [freePort(), { ...LOOPBACK, port: freePort() }]
  const own = { at, isLate: false }
  expect(() => listen({ main: { ...LOOPBACK, port: free }, own, admin: { ...LOOPBACK, port: taken } })).toThrow(
    /another program is listening there, .* set ADMIN_PORT to a different port/,
  )
  const opened = listen({ main: { ...LOOPBACK, port: free }, own, admin: null })
  expect([opened.public.port, opened.own?.port]).toEqual([free, at.port])
  expect(() => listen({ main: LOOPBACK, admin: { host: '192.0.2.1', port: 0 } })).toThrow('Set ADMIN_HOST to one of')
})

test('scripts of other origins can read no answer of a listener without CORS', async () => {
  const { public: listener } = listen({ main: LOOPBACK, admin: null })
  const headers = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'x', 'x-kept': 'yes' }
  const app = new Elysia()
    .get('/now', () => new Response('now', { headers }))
    .get('/later', async () => new Response('later', { headers }))
    .onError(() => new Response('none', { status: 404, headers }))
  listener.serve(app, withoutCors)
  for (const path of ['/now', '/later', '/none']) {
    const answer = await fetch(`http://127.0.0.1:${listener.port}${path}`)
    const names = [...answer.headers.keys()].filter((name) => name.startsWith('access-control'))
    expect([path, names, answer.headers.get('x-kept')]).toEqual([path, [], 'yes'])
  }
})
