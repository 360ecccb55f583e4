import { afterEach, expect, mock, spyOn, test } from 'bun:test'
import { Elysia } from 'elysia'
import { type AppOptions, createAdminApp, createApp } from '../../../src/api/app.ts'
import { servedRoutes } from '../../../src/http/server/served-routes.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { RequestStats } from '../../../src/observability/request-stats.ts'

afterEach(() => mock.restore())

const LEDGER = {
  clock: systemClock,
  newId: systemIds,
  access: { enter: () => null },
} as unknown as AppOptions['ledger']
const PORTAL = {
  ledger: LEDGER as never,
  access: {} as never,
  throttled: () => null,
  throttledSignIn: () => null,
  isFlooding: () => false,
  addressOf: () => '',
}
const ALIVE = new Elysia().get('/healthz', () => new Response('alive'))

/** All surfaces of the service over nothing: their routes are looked at, not asked. */
function appOverNothing() {
  return createApp({
    ledger: LEDGER,
    portal: PORTAL,
    mounts: [() => ({ path: '/mcp', fetch: () => new Response('tools') })],
    log: { error: () => {} },
    onBug: () => {},
  }).use(ALIVE)
}

/** Path and method of every route. */
const namesOf = (routes: object) =>
  Object.entries(routes)
    .flatMap(([path, byMethod]) => Object.keys(byMethod).map((method) => `${method} ${path}`))
    .sort()

test('Bun’s router is given the routes that Elysia’s own listen would give it', async () => {
  const serve = spyOn(Bun, 'serve')
  const app = appOverNothing()
  app.listen({ hostname: '127.0.0.1', port: 0 })
  const byElysia = serve.mock.calls[0]?.[0].routes ?? {}
  // Elysia takes `/portal/` for `/portal`; the page needs both, because its addresses are relative to the former.
  const names = namesOf(servedRoutes(app)).filter((name) => !name.endsWith(' /portal/'))
  expect(names).toEqual(namesOf(byElysia))
  expect(namesOf(byElysia).length).toBeGreaterThan(40)
  await app.stop(true)
})

test('the routes that the app was made with come before Elysia’s, as with listen', () => {
  const app = appOverNothing()
  const direct = (app.config.serve?.routes ?? {}) as Record<string, Record<string, unknown>>
  const served = servedRoutes(app)
  expect(Object.keys(direct).length).toBeGreaterThan(5)
  for (const [path, byMethod] of Object.entries(direct)) expect(served[path]).toMatchObject(byMethod)
})

test('the listener for the operator has the portal and every operating route, and nothing of partners', async () => {
  const app = createAdminApp({
    portal: PORTAL,
    operating: [ALIVE, new Elysia().get('/metrics', () => new Response('up 1'))],
    requestStats: new RequestStats({ clock: systemClock, log: null }),
    log: { error: () => {} },
    onBug: () => {},
  })
  const names = namesOf(servedRoutes(app))
  expect(names).toContain('GET /portal/v1/agencies')
  expect(names.filter((name) => name.includes('/partner/'))).toEqual([])
  for (const [path, body] of [
    ['/healthz', 'alive'],
    ['/metrics', 'up 1'],
  ])
    expect(await (await app.handle(new Request(`http://localhost${path}`))).text()).toBe(body as string)
})
