import { afterEach, expect, mock, spyOn, test } from 'bun:test'
import { Elysia } from 'elysia'
import { type AppOptions, createApp } from '../../../src/api/app.ts'
import { servedRoutes } from '../../../src/api/server/served-routes.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'

afterEach(() => mock.restore())

/** All surfaces of the service over nothing: their routes are looked at, not asked. */
function appOverNothing() {
  const ledger = {
    clock: systemClock,
    newId: systemIds,
    access: { enter: () => null },
  } as unknown as AppOptions['ledger']
  return createApp({
    ledger,
    portal: { ledger: ledger as never, access: {} as never, throttled: () => null, throttledSignIn: () => null },
    mounts: [() => ({ path: '/mcp', fetch: () => new Response('tools') })],
    log: { error: () => {} },
    onBug: () => {},
  }).use(new Elysia().get('/healthz', () => new Response('alive')))
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
