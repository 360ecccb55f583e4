/** `bench` against servers that behave as deployments may, and as this service never would. */
import { afterEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchResult } from '../../../src/cli/bench/figures.ts'
import { cliWith } from '../../support/cli-terminal.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const SCOPES = ['read:units', 'read:availability', 'read:rates', 'write:bookings']
const KEY = 'hr_test_0123456789abcdefghijkl'
const folder = temporaryFolder('bench')

interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: Headers
}
type Answer = (seen: Seen, n: number) => Response | null | Promise<Response | null>

const json = (body: unknown, status = 200, headers = {}) => Response.json(body, { status, headers })
const ME = {
  tenant: { slug: 'harbour' },
  key: { scopes: SCOPES },
  rateLimit: { requestsPerMinute: 60_000 },
  quota: { remaining: 1_000_000 },
}

let close = () => {}
afterEach(() => close())

/** The service, as far as `bench` needs it. @param answer what to answer otherwise; null: as usual */
function service(answer: Answer = () => null) {
  const seen: Seen[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const one = { method: request.method, path: pathname + search, headers: request.headers }
      seen.push(one)
      return (await answer(one, seen.length)) ?? usual(one)
    },
  })
  close = () => void server.stop(true)
  return { seen, url: server.url.href.replace(/\/$/, ''), port: server.port ?? 0 }
}

const OFFERS = Array.from({ length: 40 }, (_, i) => ({ unit: `u${i}`, arrival: '2030-01-01', departure: '2030-01-04' }))

function usual({ method, path }: Seen): Response {
  if (path === '/healthz') return json({ status: 'ok' })
  if (path === '/metrics') return new Response('nightledger_build_info{version="1.2.3",bun="1"} 1\n')
  if (path === '/partner/v1/me') return json(ME, 200, { 'X-RateLimit-Remaining': '59990' })
  if (path === '/partner/v1/units') return json({ units: [{ slug: 'a', status: 'active', minStay: 2 }] })
  if (path === '/partner/v1/test/clock') return json({ now: '2030-01-01T00:00:00Z' })
  if (path.startsWith('/partner/v1/search')) return json({ offers: OFFERS, pageCount: 1 })
  if (path.endsWith('/cancel')) return json({ booking: {} })
  if (method === 'POST' && path === '/partner/v1/bookings')
    return json({ booking: { id: `bkg_${crypto.randomUUID()}` } }, 201)
  return json({})
}

const SHORT = ['--duration', '1s', '--rate', '100']
const bench = (url: string, ...args: string[]) =>
  cliWith({ NIGHTLEDGER_URL: url, NIGHTLEDGER_KEY: KEY })('bench', ...args)
const isLoad = ({ path }: Seen) => /availability|quote/.test(path)

describe('before anything is sent', () => {
  test('bookings with a key that is not of a sandbox are refused by its name', async () => {
    const { url, seen } = service()
    const run = await cliWith({ NIGHTLEDGER_KEY: 'hr_live_0123' })('bench', '--url', url, '--mix', 'bookings')
    expect([run.code, seen]).toEqual([2, []])
    expect(run.stderr).toContain('only takes keys that begin with hr_test_')
  })

  test('a report that cannot be written, and a missing key, are said', async () => {
    const { url, seen } = service()
    const run = await bench(url, '--out', '/nowhere/report.html')
    expect([run.code, run.stderr, seen]).toEqual([2, '--out: there is no folder /nowhere.\n', []])
    expect(await cliWith({})('bench', '--url', url)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('NIGHTLEDGER_KEY'),
    })
  })
})

describe('the limits of the key', () => {
  test('are read first: a load beyond them is refused, after that one request', async () => {
    const { url, seen } = service(({ path }) =>
      path.endsWith('/me') ? json({ ...ME, rateLimit: { requestsPerMinute: 60 } }) : null,
    )
    const run = await bench(url, ...SHORT)
    expect([run.code, seen.length]).toEqual([2, 1])
    expect(run.stderr).toContain('the key allows 60 per minute')
    expect(run.stderr).toContain('nightledger agencies update --agency harbour --requests-per-minute 200')
  })

  test('met before the load are said as such', async () => {
    const title = 'Rate limit of 60 requests per minute exceeded: retry in 30 s'
    const { url } = service(() => json({ code: 'RATE_LIMITED', title }, 429))
    expect(await bench(url)).toMatchObject({ code: 3, stderr: `Cannot run yet: ${title}\n` })
  })

  test('met during it end the run: neither a refusal nor what waits behind it is a latency or a failure', async () => {
    let loaded = 0
    const { url } = service(async (one) => {
      if (!isLoad(one) || ++loaded <= 20) return null
      await Bun.sleep(200)
      return json({ code: 'RATE_LIMITED', title: 'Rate limit exceeded' }, 429)
    })
    const run = await bench(url, ...SHORT, '--connections', '1', '--json')
    const result: BenchResult = run.json
    expect([run.code, result.end?.reason, result.total.failed, result.unsent]).toEqual([3, 'rate_limited', 0, 0])
    expect(Object.keys(result.total.outcomes)).toEqual(['200'])
    expect(result.total.measured).toBeLessThan(60)
    expect(result.end?.message).toContain('429 RATE_LIMITED: Rate limit exceeded')
    expect(run.stderr).toContain('something else uses the key')
  })

  test('a key that is revoked during it ends it, too', async () => {
    let loaded = 0
    const { url } = service((one) =>
      isLoad(one) && ++loaded > 5 ? json({ code: 'UNAUTHORIZED', title: 'No' }, 401) : null,
    )
    const run = await bench(url, ...SHORT, '--json')
    expect([run.code, run.json.end.reason]).toEqual([3, 'refused'])
    expect(run.stderr).toContain('the service no longer accepts the key (401 UNAUTHORIZED: No)')
  })
})

describe('what is measured', () => {
  test('every request is counted once, failures by code, and none of them as a latency', async () => {
    const { url, seen } = service(({ path }) =>
      path.includes('/quote') ? json({ code: 'INTERNAL', title: 'Oops' }, 500) : null,
    )
    const { json: result, code } = await bench(url, ...SHORT, '--json')
    const quotes = seen.filter(({ path }) => path.endsWith('/quote')).length
    const operation = result.operations.find(({ operation: name }: { operation: string }) => name === 'quote')
    expect(code).toBe(0)
    expect(operation).toMatchObject({ measured: 0, failed: quotes, p50Ms: null, outcomes: { '500 INTERNAL': quotes } })
    expect(result.total.measured + result.total.failed).toBe(
      result.timeline.reduce((sum: number, { due }: { due: number }) => sum + due, 0),
    )
    expect(result.warnings.join('\n')).toContain(`${quotes} requests failed or had no answer`)
  })

  test('nothing is followed to another address, and no more requests are open than connections', async () => {
    let [open, most] = [0, 0]
    let followed = 0
    const elsewhere = Bun.serve({
      port: 0,
      fetch: () => {
        followed += 1
        return json({})
      },
    })
    const { url } = service(async (one) => {
      if (!isLoad(one)) return null
      most = Math.max(most, ++open)
      await Bun.sleep(5)
      open -= 1
      return one.path.includes('/quote') ? Response.redirect(elsewhere.url.href) : null
    })
    const { json: result } = await bench(url, '--duration', '1s', '--rate', '500', '--connections', '3', '--json')
    expect(most).toBe(3)
    expect(followed).toBe(0)
    expect(Object.keys(result.operations[1].outcomes)).toEqual(['UnexpectedRedirect'])
    expect(result.generator.waited).toBeGreaterThan(0)
    await elsewhere.stop(true)
  })

  test('the round trip without load is that of /healthz, or of GET /me where a proxy does not pass it on', async () => {
    const open = service()
    expect((await bench(open.url, ...SHORT, '--json')).json).toMatchObject({
      floor: { wire: 'GET /healthz', requests: 20 },
      serviceVersion: '1.2.3',
    })
    close()
    const closed = service(({ path }) => (path.startsWith('/partner') ? null : new Response('', { status: 404 })))
    expect((await bench(closed.url, ...SHORT, '--json')).json).toMatchObject({
      floor: { wire: 'GET /partner/v1/me', requests: 5 },
      serviceVersion: null,
    })
  })

  test('a service that cannot be reached, or that is another, is said', async () => {
    expect(await bench('http://127.0.0.1:9')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Cannot reach'),
    })
    const { url } = service(() => json({ hello: 'world' }))
    expect(await bench(url)).toMatchObject({ code: 1, stderr: expect.stringContaining('Is it nightledger?') })
  })
})

describe('bookings', () => {
  test('whose answers are lost are found by their idempotency keys, and cancelled', async () => {
    const made = new Map<string, string>()
    const cancelled = new Set<string>()
    const { url } = service(({ method, path, headers }) => {
      const id = /bookings\/(.*)\/cancel$/.exec(path)?.[1]
      if (id !== undefined) cancelled.add(id)
      if (method !== 'POST' || path !== '/partner/v1/bookings') return null
      const key = headers.get('idempotency-key') ?? ''
      const known = made.get(key)
      if (known !== undefined) return json({ booking: { id: known } }, 201)
      made.set(key, `bkg_${made.size}`)
      return made.size % 10 === 0
        ? json({ code: 'INTERNAL', title: 'Outcome unknown' }, 500)
        : json({ booking: { id: made.get(key) } }, 201)
    })
    const { json: result, code } = await bench(url, ...SHORT, '--mix', 'bookings', '--json')
    expect(code).toBe(0)
    expect(made.size).toBeGreaterThan(10)
    expect(cancelled).toEqual(new Set(made.values()))
    expect(result.cleanup).toEqual({ booked: made.size, cancelled: made.size, left: [] })
    expect(result.plan.connections).toBe(20)
  })

  test('whose answers a refusal has cut off are cancelled as well', async () => {
    const made = new Map<string, string>()
    const open = new Set<string>()
    const refused = Promise.withResolvers<void>()
    let hasRefused = false
    const { url } = service(async ({ method, path, headers }) => {
      const id = /bookings\/(.*)\/cancel$/.exec(path)?.[1]
      if (id !== undefined) open.delete(id)
      if (method !== 'POST' || path !== '/partner/v1/bookings') return null
      const key = headers.get('idempotency-key') ?? ''
      const isNew = !made.has(key)
      if (isNew && made.size === 8 && !hasRefused) {
        hasRefused = true
        refused.resolve()
        return json({ code: 'RATE_LIMITED', title: 'Slow down' }, 429)
      }
      if (isNew) {
        made.set(key, `bkg_${made.size}`)
        open.add(made.get(key) ?? '')
        // Booked, and not answered before another request is refused.
        if (made.size === 5) await refused.promise.then(() => Bun.sleep(100))
      }
      return json({ booking: { id: made.get(key) } }, 201)
    })
    const run = await bench(url, ...SHORT, '--mix', 'bookings', '--json')
    // A request that was under way to the service is made again, and cancelled with the others.
    const { size } = made
    expect([run.code, open, run.json.cleanup]).toEqual([3, new Set(), { booked: size, cancelled: size, left: [] }])
  })
})

describe('the report', () => {
  /** Whatever a service answers, with markup in it, and with the key that it was sent. */
  const hostile = (text: string) => `<script>alert(1)</script>"'&${text}`
  const HOSTILE: Answer = ({ path, headers }) => {
    const said = hostile(headers.get('authorization') ?? '')
    if (path === '/metrics') return new Response('nightledger_build_info{version="<b>1</b>"} 1\n')
    if (path.endsWith('/me')) return json({ ...ME, tenant: { slug: said }, key: { scopes: [...SCOPES, said] } })
    if (path.includes('/quote')) return json({ code: said, title: said }, 418)
    if (path.includes('/availability') && path.includes('from=2030-0')) return json({ code: said, title: said }, 401)
    return null
  }

  test('has neither the markup of a hostile service nor the key, and loads nothing', async () => {
    const { port } = service(HOSTILE)
    const out = join(folder, 'hostile.html')
    const run = await cliWith({ NIGHTLEDGER_KEY: KEY })(
      ...['bench', '--url', `http://user:${KEY}@127.0.0.1:${port}`, ...SHORT, '--out', out],
    )
    const page = readFileSync(out, 'utf8')
    expect(run.stderr).toContain(`Report: ${out}`)
    for (const text of [page, run.stdout, run.stderr.split('\n').slice(1).join('\n')]) expect(text).not.toContain(KEY)
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;Bearer hr_…')
    expect(page).not.toMatch(/<script|<b>|user:/)
    const elements: string[] = []
    const addresses: string[] = []
    new HTMLRewriter()
      .on('*', {
        element: ({ tagName, attributes }) => {
          elements.push(tagName)
          for (const [name = '', value = ''] of attributes)
            if (['src', 'href', 'action'].includes(name) || name.startsWith('on')) addresses.push(value)
        },
      })
      .transform(page)
    expect(addresses).toEqual([])
    expect(elements).toContain('svg')
    for (const name of ['script', 'link', 'img', 'iframe']) expect(elements).not.toContain(name)
  })
})
