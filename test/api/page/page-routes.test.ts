import { afterAll, describe, expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { PAGE_ASSETS } from '../../../src/api/page/page-assets.ts'
import { pageRoutes } from '../../../src/api/page/page-routes.ts'
import { servedRoutes } from '../../../src/http/server/served-routes.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { RequestStats } from '../../../src/observability/request-stats.ts'

const SCRIPT_GZIP_BYTES_MAX = 200_000

const requestStats = new RequestStats({ clock: systemClock, log: null })
const app = pageRoutes({ requestStats, newId: systemIds })
// As the service does: Elysia's own `listen` takes `/portal` and `/portal/` for the same route.
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, routes: servedRoutes(app), fetch: app.fetch })
const origin = server.url.origin
afterAll(() => server.stop(true))

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(origin + path, { method, headers, redirect: 'manual', decompress: false } as RequestInit)

describe('the document', () => {
  test('runs nothing but the script of the service, and is asked for again every time', async () => {
    const { status, headers } = await get('/portal/')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
  })

  test('names only files that are there', async () => {
    const html = await (await get('/portal/')).text()
    const names = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
    expect(names).toHaveLength(3)
    for (const name of names) expect((await get(name)).status).toBe(200)
  })

  test('is not sent again to a browser that has it', async () => {
    const tag = (await get('/portal/')).headers.get('etag') ?? ''
    expect((await get('/portal/', { 'If-None-Match': tag })).status).toBe(304)
    expect((await get('/portal/', { 'If-None-Match': '"another"' })).status).toBe(200)
  })

  test('is found without the slash', async () => {
    const { status, headers } = await get('/portal')
    expect(status).toBe(308)
    expect(new URL(headers.get('location') ?? '', `${origin}/portal`).pathname).toBe('/portal/')
  })
})

describe('a file', () => {
  const [{ name, hash, bytes }] = PAGE_ASSETS as [(typeof PAGE_ASSETS)[0] & object]
  const path = `/portal/assets/${name}`

  test('is named by its content, and kept for good', async () => {
    for (const asset of PAGE_ASSETS) {
      expect(new Bun.CryptoHasher('sha256').update(asset.bytes.plain).digest('hex')).toStartWith(asset.hash)
      expect(asset.name).toContain(asset.hash)
      const { headers } = await get(`/portal/assets/${asset.name}`)
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(headers.get('vary')).toBe('Accept-Encoding')
    }
  })

  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['BR', 'br'],
    ['*', 'br'],
    ['identity', null],
    ['', null],
  ])('asked for with Accept-Encoding: %p comes as %p', async (accepted, encoding) => {
    const response = await get(path, { 'Accept-Encoding': accepted })
    expect(response.headers.get('content-encoding')).toBe(encoding)
    const body = new Uint8Array(await response.arrayBuffer())
    const plain = encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body
    expect(Buffer.compare(plain, bytes.plain)).toBe(0)
  })

  test('has another tag in each encoding', async () => {
    const tag = (await get(path, { 'Accept-Encoding': 'gzip' })).headers.get('etag') ?? ''
    expect(tag).toBe(`"${hash}-gzip"`)
    expect((await get(path, { 'Accept-Encoding': 'gzip', 'If-None-Match': tag })).status).toBe(304)
    expect((await get(path, { 'Accept-Encoding': 'br', 'If-None-Match': tag })).status).toBe(200)
  })

  test('answers HEAD with the headers of GET and no body', async () => {
    for (const address of ['/portal/', path]) {
      const [head, got] = [
        await get(address, { 'Accept-Encoding': 'br' }, 'HEAD'),
        await get(address, { 'Accept-Encoding': 'br' }),
      ]
      expect(head.status).toBe(200)
      expect(await head.text()).toBe('')
      for (const name of ['content-type', 'content-encoding', 'cache-control', 'etag', 'content-length'])
        expect(head.headers.get(name)).toBe(got.headers.get(name))
    }
  })

  test('that is not there is 404', async () => {
    expect((await get(`/portal/assets/page-${'0'.repeat(16)}.js`)).status).toBe(404)
    expect((await get('/portal/assets/')).status).toBe(404)
  })
})

test('the script stays under its budget', () => {
  const script = PAGE_ASSETS.find(({ kind }) => kind === 'js')
  expect(script?.bytes.gzip.length).toBeLessThan(SCRIPT_GZIP_BYTES_MAX)
})

test('answers are counted by template, not by name', () => {
  const routes = requestStats.counts().filter(({ statuses }) => statuses.length > 0)
  expect(routes.map(({ route }) => `${route.method} ${route.path}`)).toContain('GET /portal/assets/{name}')
  expect(routes.every(({ route }) => route.surface === 'page')).toBe(true)
})
