import { afterEach, expect, test } from 'bun:test'
import { PortalAccess } from '../../../src/accounts/portal-access.ts'
import type { PortalDependencies } from '../../../src/api/portal/portal-dependencies.ts'
import { VERIFICATION } from '../../../src/api/portal/verification.ts'
import { elysiaRoutes } from '../../../src/http/route.ts'
import { SERVE_OPTIONS, withoutIdleTimeout } from '../../../src/http/server/listener.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { RequestStats } from '../../../src/observability/request-stats.ts'
import type { Verification } from '../../../src/verify/findings.ts'
import { eventually } from '../../support/eventually.ts'

const TOKEN = 'a-portal-token-of-32-characters-'
const NO_ACCESS_TOKENS = {
  catalogue: { accessTokens: { holderByHash: () => null }, member: () => null },
  clock: systemClock,
}
const RESULT: Verification = {
  units: 0,
  entries: 0,
  bookings: 0,
  snapshots: 0,
  events: 0,
  differences: [],
  differenceCount: 0,
}

let server: Bun.Server<undefined>
afterEach(() => server.stop(true))

test('a verification may take longer than a connection may be idle', async () => {
  const result = Promise.withResolvers<Verification>()
  let pending: AbortSignal | null = null
  const dependencies = {
    access: new PortalAccess({ ...NO_ACCESS_TOKENS, operatorTokens: [TOKEN] }),
    requestStats: new RequestStats({ clock: systemClock, log: null }),
    onFailure: () => {},
    ledger: {
      newId: () => 'id',
      withoutIdleTimeout: <T>(request: Request, answer: () => Promise<T>) =>
        withoutIdleTimeout(server, request, answer),
      verify: (signal: AbortSignal) => {
        pending = signal
        return result.promise
      },
    },
  } as unknown as PortalDependencies
  const app = elysiaRoutes(dependencies, VERIFICATION)
  const never = new Promise<Response>(() => {})
  server = Bun.serve({
    ...SERVE_OPTIONS,
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 1,
    fetch: (request) => (request.url.endsWith('/never') ? never : app.fetch(request)),
  })

  const answer = fetch(`${server.url}portal/v1/verification`, { headers: { authorization: `Bearer ${TOKEN}` } })
  const outcome = Promise.allSettled([answer])
  await eventually('it is asked for', () => pending !== null)
  // Began later, and was idle for too long: so was the other one.
  const [idle] = await Promise.allSettled([fetch(`${server.url}never`)])
  result.resolve(RESULT)
  const [ended] = await outcome
  expect([idle.status, ended.status]).toEqual(['rejected', 'fulfilled'])
  const response = await answer
  expect([response.status, await response.json()]).toEqual([200, { verification: RESULT }])
})

test('a connection is idle again once its request is answered, whatever it came to', async () => {
  const timeouts: number[] = []
  const recorded = { timeout: (_: Request, seconds: number) => timeouts.push(seconds) }
  const request = new Request('http://localhost/')
  const failed = withoutIdleTimeout(recorded as never, request, () => Promise.reject(new Error('no result')))
  expect((await Promise.allSettled([failed]))[0].status).toBe('rejected')
  expect(await withoutIdleTimeout(recorded as never, request, async () => timeouts.length)).toBe(3)
  expect(timeouts).toEqual([0, SERVE_OPTIONS.idleTimeout, 0, SERVE_OPTIONS.idleTimeout])
})
