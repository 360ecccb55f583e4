/**
 * X1, of everything that is served: whatever a header, a path, a query or a body says, nothing fails, and no other request waits for it. On
 * a busy machine time proves nothing, so the CPU time of this thread is measured, which has the service and its client; a value that
 * takes too much is sent again, because garbage may have been collected meanwhile.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ClientAddresses } from '../../../src/accounts/client-address.ts'
import { Hops } from '../../../src/cluster/forward/hop.ts'
import { healthRoutes, metricsRoute } from '../../../src/http/server/health.ts'
import { RequestStats } from '../../../src/observability/request-stats.ts'
import { seedsOf } from '../../sim/seeds.ts'
import type { Document } from '../../support/conformity.ts'
import { cpuMsSince } from '../../support/event-loop.ts'
import { HOSTILE, HOSTILE_BODIES, Schemas, withValue } from '../../support/hostile-values.ts'
import { openTestLedger, type TestLedger } from '../../support/ledger.ts'
import { type Rounds, rounds } from '../../support/long-run.ts'
import { FROM_THE_PAGE, signIn } from '../../support/page-sessions.ts'
import { sendRaw } from '../../support/raw-http.ts'
import { sampleId } from '../../support/samples.ts'
import { TEST_PORTAL_TOKEN } from '../../support/service-process.ts'
import { readSources } from '../../support/source-imports.ts'
import { appOver } from '../../support/test-service.ts'

/** Bun refuses more than 16 KiB of headers itself, the line with the path included. */
const SIZES = [48, 15_000]
const BODY_SIZES = [48, 16_384, 65_000]
const CPU_MS_MAX = 50
const ATTEMPTS = 5

/** Every header that the service reads, and the routes that read it: there it is sent with every hostile value. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  accept: ['GET /partner/v1/changes', 'GET /portal/v1/agencies/{agencySlug}/changes', 'POST /mcp'],
  'accept-encoding': ['GET asset'],
  authorization: ['GET /partner/v1/me', 'GET /portal/v1/me', 'POST /portal/v1/agencies', 'POST /mcp'],
  'content-type': ['POST /partner/v1/bookings', 'POST /portal/session', 'POST /mcp'],
  'content-encoding': ['POST /partner/v1/bookings'],
  cookie: ['GET /portal/v1/me', 'DELETE /portal/session'],
  host: ['GET /partner/v1/me', 'PUT /portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates'],
  'idempotency-key': ['POST /partner/v1/bookings', 'POST /portal/v1/agencies/{agencySlug}/bookings'],
  'if-match': [
    ...['POST /partner/v1/bookings', 'PUT /portal/v1/agencies/{agencySlug}/units/{unitSlug}/rates'],
    'PATCH /portal/v1/agencies/{agencySlug}/bookings/{bookingId}',
  ],
  'if-none-match': ['GET /partner/v1/units', 'GET /portal/v1/agencies/{agencySlug}/tape', 'GET /portal/', 'GET asset'],
  'last-event-id': ['GET /partner/v1/changes', 'GET /portal/v1/agencies/{agencySlug}/changes'],
  'mcp-method': ['POST /mcp'],
  'mcp-name': ['POST /mcp'],
  'mcp-protocol-version': ['POST /mcp'],
  origin: ['POST /portal/session', 'POST /portal/v1/agencies/{agencySlug}/units'],
  'sec-fetch-site': ['POST /portal/session', 'POST /portal/v1/agencies/{agencySlug}/units'],
  traceparent: [
    ...['POST /partner/v1/bookings', 'POST /portal/v1/agencies/{agencySlug}/bookings', 'POST /portal/session'],
    'GET /partner/v1/units',
  ],
  'user-agent': ['POST /portal/session'],
  'x-forwarded-proto': ['POST /portal/session'],
  'x-nightledger-automatic': ['GET /portal/v1/me'],
  'x-nightledger-page': ['POST /portal/session', 'POST /portal/v1/agencies/{agencySlug}/units'],
  'x-request-id': ['GET /partner/v1/me', 'GET /portal/v1/me', 'GET /healthz', 'POST /mcp'],
}
/** Read by a listener or an entry of a cluster, or before any of our code: each has a test of its own below, or in test/app/admin-relay.test.ts. */
const ELSEWHERE = ['x-forwarded-for', 'x-nightledger-hop', 'x-nightledger-peer', 'content-length', 'transfer-encoding']
/** Read from answers to requests of ours, which other nodes and receivers of webhooks give. */
const OF_ANSWERS = [
  'x-nightledger-hop-refused',
  'x-served-by',
  'x-nightledger-owner',
  'x-nightledger-outcome',
  'x-nightledger-no-answer',
  'idempotency-replayed',
]
/** Read by the MCP SDK, by no code of ours, or by nobody: they come with every browser and proxy. */
const OTHERS = [
  'mcp-session-id',
  'accept-language',
  'referer',
  'forwarded',
  'tracestate',
  'range',
  'expect',
  'x-http-method-override',
]

interface Route {
  /** `GET /partner/v1/units/{slug}`. */
  readonly name: string
  readonly method: string
  readonly path: string
  // biome-ignore lint/suspicious/noExplicitAny: a document is walked as it comes
  readonly operation: any
  readonly schemas: Schemas
}

let ledger: TestLedger
let app: ReturnType<typeof appOver>
let base = ''
let routes: readonly Route[] = []
const bugs: unknown[] = []
const secrets = { key: '', viewer: '', cookie: '' }
let tools: readonly { name: string; inputSchema: object }[] = []

beforeAll(async () => {
  ledger = await openTestLedger()
  const agency = await ledger.agency({ slug: 'lisbon-homes' })
  const unit = await ledger.unit(agency, { slug: 'sea-view' })
  const booking = await ledger.book(agency, unit, '2027-05-01', '2027-05-03')
  secrets.key = (await ledger.key(agency)).secret
  secrets.viewer = (await ledger.accessToken(agency, 'viewer')).secret
  const bug = (error: unknown) => bugs.push(error)
  app = appOver(ledger, { log: { error: (fields) => bug(fields) }, onBug: bug })
  const watch = {
    requestStats: new RequestStats({ clock: ledger.ledger.clock, log: null }),
    newId: ledger.ledger.newId,
  }
  const { journal } = ledger.ledger
  const health = {
    stats: () => journal.stats,
    fence: () => Promise.reject(new Error('away')),
    faults: () => [],
  }
  app.use(healthRoutes(health, watch)).use(metricsRoute({ text: async () => 'up 1' }, watch))
  app.listen({ hostname: '127.0.0.1', port: 0 })
  base = `http://127.0.0.1:${app.server?.port}`
  secrets.cookie = (await signIn(base, TEST_PORTAL_TOKEN)).cookie
  const known = {
    agencySlug: agency.slug,
    unitSlug: unit.slug,
    slug: unit.slug,
    unit: unit.slug,
    bookingId: booking.id,
    units: unit.slug,
    arrival: '2027-03-01',
    departure: '2027-03-04',
    from: '2027-03-01',
    to: '2027-03-31',
    nights: 2,
    city: 'Lisbon',
    email: 'a@example.com',
    url: 'https://localhost:9/',
    currency: 'EUR',
    timezone: 'Europe/Lisbon',
    country: 'PT',
    id: sampleId('bkg', 'none'),
    guestId: sampleId('gst', 'none'),
    keyId: sampleId('key', 'none'),
  }
  const documents = await Promise.all(
    ['partner', 'portal'].map(
      async (surface): Promise<Document> => (await fetch(`${base}/${surface}/v1/openapi.json`)).json(),
    ),
  )
  const described = documents.flatMap((document: Document) => {
    const schemas = new Schemas(document, known)
    return Object.entries<Document>(document.paths).flatMap(([path, methods]) =>
      Object.entries<Document>(methods).map(([method, operation]): Route => {
        const name = `${method.toUpperCase()} ${path}`
        return { name, method: method.toUpperCase(), path, operation, schemas }
      }),
    )
  })
  const byName = new Map(described.map((route) => [route.name, route]))
  routes = app.routes.map(({ method: given, path: template }): Route => {
    const method = given === 'ALL' ? 'POST' : given
    const path = template.replace(/:(\w+)/g, '{$1}').replace('*', 'x')
    return (
      byName.get(`${method} ${path}`) ?? {
        name: `${method} ${path}`,
        method,
        path,
        operation: {},
        schemas: new Schemas({}, known),
      }
    )
  })
  const list = await fetch(`${base}/mcp`, requestTo(routeNamed('POST /mcp'), { body: rpc('tools/list', {}) }).init)
  tools = ((await list.json()) as { result: { tools: typeof tools } }).result.tools
})
afterAll(async () => {
  await app.stop(true)
  await ledger.close()
})

function routeNamed(name: string): Route {
  const found =
    name === 'GET asset'
      ? routes.find(({ path }) => /assets\/.*\.js$/.test(path))
      : routes.find((route) => route.name === name)
  if (found === undefined) throw new Error(`Cannot send anything to ${name}: there is no such route`)
  return found
}

/** What it changes, all other requests here need. */
const AGENCY = '/portal/v1/agencies/{agencySlug}'

const { first } = seedsOf({ push: 1, long: 1 })
let turn = first

/** So many of `all`, beginning where the last ones ended, so that each has its turn; in the long run all of them unless told. */
function some<T>(
  all: readonly T[],
  { push, long = all.length, quick = push }: Partial<Rounds<number>> & { push: number },
): T[] {
  const begin = turn
  const count = Math.min(rounds({ quick, push, long }), all.length)
  turn += count
  return Array.from({ length: count }, (_, i) => all[(begin + i) % all.length] as T)
}

/** More attacks on a value that is read in some way for the first time than on another like it. */
function attacksOn(read: unknown): (typeof ATTACKS)[number][] {
  const known = JSON.stringify(read)
  const isKnown = seen.has(known)
  seen.add(known)
  return some(ATTACKS, isKnown ? { push: 1, long: SIZES.length } : { quick: 4, push: 8 })
}
const seen = new Set<string>()

const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

interface Change {
  readonly headers?: Record<string, string>
  readonly body?: string
  /** Of the path, already encoded. */
  readonly path?: Record<string, string>
  /** Already encoded. */
  readonly query?: string
}

/** A request that the route accepts, but for the change. Those of the page's headers come with its session. */
function requestTo({ method, path, operation, schemas, name }: Route, change: Change) {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const parameters: any[] = (operation.parameters ?? []).map((each: any) => schemas.resolved(each))
  const filled = path.replace(
    /\{(\w+)\}/g,
    (_, one) => change.path?.[one] ?? String(schemas.valueOf({ type: 'string' }, one)),
  )
  const needed = parameters.filter((each) => each.in === 'query' && each.required)
  const query =
    change.query ?? needed.map((each) => `${each.name}=${schemas.valueOf(each.schema, each.name)}`).join('&')
  const headers = new Headers({ accept: 'application/json, text/event-stream' })
  if (path.endsWith('/changes'))
    headers.set('accept', change.headers?.['last-event-id'] === undefined ? '*/*' : 'text/event-stream')
  const isSession = [
    'cookie',
    'origin',
    'sec-fetch-site',
    'x-nightledger-page',
    'x-nightledger-automatic',
    'host',
  ].some((one) => change.headers?.[one])
  // It starts a process.
  const portal = name.startsWith('POST /portal/v1/verification') ? secrets.viewer : TEST_PORTAL_TOKEN
  if (!path.startsWith('/portal/')) headers.set('authorization', `Bearer ${secrets.key}`)
  else if (!isSession && path !== '/portal/session') headers.set('authorization', `Bearer ${portal}`)
  else {
    for (const [one, value] of Object.entries({ cookie: secrets.cookie, ...FROM_THE_PAGE })) headers.set(one, value)
    if (change.headers?.['origin'] !== undefined || change.headers?.['host'] !== undefined)
      headers.delete('sec-fetch-site')
    if (change.headers?.['host'] !== undefined) headers.set('origin', base)
  }
  const body = method === 'GET' || method === 'HEAD' ? undefined : (change.body ?? bodyOf({ path, operation, schemas }))
  if (body !== undefined) headers.set('content-type', 'application/json')
  for (const [one, value] of Object.entries(change.headers ?? {})) headers.set(one, value)
  return {
    url: `${base}${filled}${query === '' ? '' : `?${query}`}`,
    init: { method, headers, ...(body === undefined ? {} : { body }) },
  }
}

function bodyOf({ path, operation, schemas }: Pick<Route, 'path' | 'operation' | 'schemas'>): string | undefined {
  if (path === '/mcp') return rpc('tools/call', { name: 'list_units', arguments: {} })
  const schema = bodySchemaOf(operation)
  if (schema === null) return undefined
  return JSON.stringify(path === AGENCY ? {} : schemas.valueOf(schema))
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function bodySchemaOf(operation: any): any {
  return operation.requestBody?.content['application/json'].schema ?? null
}

let sent = 0
const statuses = new Map<number, number>()

/** Sends it, again if it took long. @returns the last status @throws Error when it took long every time, or failed */
async function expectQuick(what: string, route: Route, change: Change): Promise<number> {
  let ms = 0
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { url, init } = requestTo(route, change)
    const before = process.threadCpuUsage()
    const response = await fetch(url, { ...init, redirect: 'manual' })
    if (response.headers.get('content-type') === 'text/event-stream') await response.body?.cancel()
    else await response.arrayBuffer()
    ms = cpuMsSince(before)
    sent += 1
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    if (response.status >= 500 && route.path !== '/readyz')
      throw new Error(`${what} at ${route.name} is answered with ${response.status}`)
    if (ms < CPU_MS_MAX) return response.status
  }
  throw new Error(`${what} at ${route.name} takes ${ms.toFixed(0)} ms of CPU, ${ATTEMPTS} times`)
}

/** As a header can carry it: a byte for each character, none of them a control character. */
const inHeader = (text: string) =>
  [...new TextEncoder().encode(text.toWellFormed())]
    .map((byte) => String.fromCharCode(byte < 32 ? 9 : byte === 127 ? 126 : byte))
    .join('')
    .slice(0, text.length)
    .replace(/^[ \t]|[ \t]$/g, 'x')
/** Not longer than the text was. */
const inUrl = (text: string) =>
  encodeURIComponent(text.toWellFormed()).slice(0, Math.min(text.length, 14_000)).replace(/%.?$/, '')
const ATTACKS = Object.entries(HOSTILE).flatMap(([name, make]) =>
  SIZES.map((chars) => ({ name: `${chars} characters of ${name}`, text: make(chars) })),
)

describe(`no hostile value stops the service, from SIM_FIRST=${first} on,`, () => {
  test('in a header, at the routes that read it', async () => {
    for (const [header, names] of Object.entries(READERS))
      for (const name of names)
        for (const { name: attack, text } of some(ATTACKS, { quick: 6, push: 16 }))
          expect([
            header,
            await expectQuick(`${header} of ${attack}`, routeNamed(name), { headers: { [header]: inHeader(text) } }),
          ]).not.toContain(431)
  }, 120_000)

  test('in any header at any route', async () => {
    const long = ATTACKS.filter(({ text }) => text.length > 1_000)
    // Nobody reads the others: whether that is so, one route of each surface shows.
    const shown = new Set(['GET /partner/v1/me', 'GET /portal/v1/me', 'POST /mcp', 'GET /portal/', 'GET /healthz'])
    for (const route of routes) {
      const headers = [...Object.keys(READERS), ...(shown.has(route.name) ? OTHERS : [])]
      for (const header of some(headers, { push: shown.has(route.name) ? headers.length : 3 }))
        for (const { name, text } of some(long, { push: 1, long: 1 }))
          await expectQuick(`${header} of ${name}`, route, { headers: { [header]: inHeader(text) } })
    }
  }, 120_000)

  test('If-Match is read, and refused, where bookings are made and rates are changed', async () => {
    for (const name of READERS['if-match'] ?? []) {
      const status = await expectQuick('If-Match', routeNamed(name), { headers: { 'if-match': '"a",  ,  ,  x' } })
      expect([name, status]).toEqual([name, 400])
    }
  })

  test('in a path', async () => {
    for (const route of routes)
      for (const [, parameter = ''] of route.path.matchAll(/\{(\w+)\}/g))
        for (const { name, text } of attacksOn(parameter)) {
          await expectQuick(`${parameter} of ${name}`, route, { path: { [parameter]: inUrl(text) || 'x' } })
          if (/^[%"=&,;]+$/.test(text))
            await expectQuick(`${parameter} of raw ${name}`, route, { path: { [parameter]: text } })
        }
  }, 120_000)

  test('in a query', async () => {
    for (const route of routes) {
      const own = (route.operation.parameters ?? [])
        .map((each: object) => route.schemas.resolved(each))
        .filter((each: { in: string }) => each.in === 'query')
      for (const { name: parameter, schema } of own)
        for (const { name, text } of attacksOn([parameter, schema]))
          await expectQuick(`${parameter} of ${name}`, route, { query: `${parameter}=${inUrl(text)}` })
      for (const { name, text } of attacksOn('query'))
        if (/^[\x21-\x7e]+$/.test(text))
          await expectQuick(`a query of ${name}`, route, { query: text.replaceAll('#', '') })
    }
  }, 120_000)

  test('in a member of a body', async () => {
    for (const route of routes) {
      const schema = bodySchemaOf(route.operation)
      if (schema === null) continue
      const valid = JSON.parse(bodyOf(route) ?? '{}')
      for (const place of route.schemas.placesOf(schema))
        for (const { name, text } of attacksOn(place))
          await expectQuick(`${place.join('.')} of ${name}`, route, {
            body: JSON.stringify(withValue(valid, place, text)),
          })
    }
  }, 120_000)

  test('in an argument of a tool, or another part of a message to /mcp', async () => {
    const route = routeNamed('POST /mcp')
    for (const tool of tools) {
      const schemas = new Schemas(tool.inputSchema, {})
      const valid = schemas.valueOf(tool.inputSchema)
      for (const place of schemas.placesOf(tool.inputSchema))
        for (const { name, text } of some(ATTACKS, { push: 4 }))
          await expectQuick(`${tool.name}, ${place.join('.')} of ${name}`, route, {
            body: rpc('tools/call', { name: tool.name, arguments: withValue(valid, place, text) as object }),
          })
    }
    for (const { name, text } of ATTACKS) {
      await expectQuick(`a tool called ${name}`, route, { body: rpc('tools/call', { name: text }) })
      await expectQuick(`a method called ${name}`, route, { body: rpc(text, {}) })
      await expectQuick(`an id of ${name}`, route, {
        body: JSON.stringify({ jsonrpc: '2.0', id: text, method: 'tools/list' }),
      })
    }
  }, 120_000)

  test('in the form of a body', async () => {
    const bodies = Object.entries(HOSTILE_BODIES).flatMap(([name, make]) =>
      BODY_SIZES.map((chars) => [name, make, chars] as const),
    )
    for (const route of routes.filter(({ method }) => !['GET', 'HEAD', 'OPTIONS'].includes(method)))
      for (const [name, make, chars] of some(bodies, { push: 6 }))
        await expectQuick(`a body of ${chars} characters, ${name},`, route, { body: make(chars) })
  }, 120_000)

  test('in a header that a listener or a node of a cluster reads', () => {
    const addresses = new ClientAddresses(['127.0.0.1', '::1'])
    const hops = new Hops(['s'.repeat(32)])
    for (const { name, text } of ATTACKS) {
      const quick = [1, 2, 3, 4, 5].some(() => {
        const before = process.threadCpuUsage()
        addresses.of({ peer: '127.0.0.1', forwardedFor: inHeader(text) })
        expect(hops.read(inHeader(text), { method: 'GET', url: base })).toBeNull()
        return cpuMsSince(before) < CPU_MS_MAX
      })
      expect([name, quick]).toEqual([name, true])
    }
  })

  test('in the length of a body, or its encoding', async () => {
    for (const { text } of ATTACKS)
      for (const header of ['Content-Length', 'Transfer-Encoding']) {
        const head = `POST /partner/v1/bookings HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secrets.key}\r\n`
        const [answer] = await sendRaw(app.server?.port ?? 0, `${head}${header}: ${inHeader(text)}\r\n\r\n`)
        expect(answer?.status ?? 400).toBeLessThan(500)
      }
  }, 120_000)

  test('and all of that ended no request as a bug', () => {
    console.log(sent, Object.fromEntries([...statuses].sort(([a], [b]) => a - b)))
    expect(bugs).toEqual([])
  })
})

test('every header that src reads is among those that are tried', async () => {
  const sources = (await readSources()).filter(({ path }) => !/^(page|cli|events\/webhooks|cluster\/etcd)\//.test(path))
  const names = new Map(
    sources.flatMap(({ code }) =>
      [...code.matchAll(/const ([A-Z_]+) = '([\w-]+)'/g)].map(([, name = '', value = '']) => [name, value]),
    ),
  )
  const read = sources.flatMap(({ code }) =>
    [...code.matchAll(/headers\??\.(?:get|has)\(\s*([^)]+?)\s*\)/g)].map(([, given = '']) =>
      (/^'/.test(given) ? given.slice(1, -1) : (names.get(given) ?? given)).toLowerCase(),
    ),
  )
  expect(read.length).toBeGreaterThan(40)
  const listed = [...Object.keys(READERS), ...ELSEWHERE, ...OF_ANSWERS]
  expect([...new Set(read)].filter((name) => !listed.includes(name))).toEqual([])
})
