/** A1: nothing is served or stored of which an agency has no share. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { createApp } from '../../src/api/app.ts'
import { type Bound, ROUTE_BOUNDS, SHARES, type ShareName, sharesTable, TABLE_BOUNDS } from '../../src/app/shares.ts'
import { healthRoutes, metricsRoute } from '../../src/http/server/health.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { RequestStats } from '../../src/observability/request-stats.ts'

/** Every route of the service over nothing: they are looked at, not asked. Those of a cluster are the operator's. */
function routeNames(): string[] {
  const ledger = { clock: systemClock, newId: systemIds, access: {} } as never
  const watch = { requestStats: new RequestStats({ clock: systemClock, log: null }), newId: systemIds }
  const app = createApp({
    ledger,
    portal: {
      ledger,
      access: {} as never,
      throttled: () => null,
      throttledSignIn: () => null,
      isFlooding: () => false,
      addressOf: () => '',
    },
    mounts: [() => ({ path: '/mcp', fetch: () => new Response() })],
    log: { error: () => {} },
    onBug: () => {},
  })
    .use(healthRoutes({} as never, watch))
    .use(metricsRoute({} as never, watch))
  const names = app.routes.map(({ method, path }) => {
    const pending = method === 'ALL' ? 'POST' : method === 'HEAD' ? 'GET' : method
    return `${pending} ${path.replace(/:(\w+)/g, '{$1}').replace(/^\/(docs|portal\/assets)\/.+/, '/$1/*')}`
  })
  return [...new Set(names)].sort()
}

test('every route draws on a share, or says why it needs none', () => {
  expect(Object.keys(ROUTE_BOUNDS).sort()).toEqual(routeNames())
})

test('every table is bounded by a share, or says why it needs none', () => {
  const tables = [...readFileSync('sql/001_schema.sql', 'utf8').matchAll(/^create table (\w+) /gm)].map(
    ([, name = '']) => name,
  )
  expect(tables.length).toBeGreaterThan(20)
  expect(Object.keys(TABLE_BOUNDS).sort()).toEqual(tables.sort())
})

test('every share bounds something', () => {
  const bounds: Bound[] = [...Object.values(ROUTE_BOUNDS), ...Object.values(TABLE_BOUNDS)]
  const used = new Set<ShareName>(bounds.flatMap((bound) => ('none' in bound ? [] : bound)))
  expect(Object.keys(SHARES).filter((name) => !used.has(name as ShareName))).toEqual([])
})

test('every request with a key or an access token is counted', () => {
  const uncounted = Object.entries(ROUTE_BOUNDS).filter(
    ([, bound]) => !('none' in bound) && !bound.includes('keyRequests') && !bound.includes('tokenRequests'),
  )
  // Whoever has the address of a calendar, or a link, has no credentials.
  expect(uncounted.map(([route]) => route)).toEqual([
    'GET /portal/v1/agencies/{agencySlug}/units/{unitSlug}/calendar.ics',
    'POST /portal/links',
  ])
})

test('docs/operating.md has the table as it is', () => {
  expect(readFileSync('docs/operating.md', 'utf8')).toContain(sharesTable())
})
