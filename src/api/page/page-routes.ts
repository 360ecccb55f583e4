/**
 * The agency's page at /portal/: one document, which names its script, style and icon by the hash of their content, so that
 * browsers keep those for good and a new version is loaded at once.
 */
import { Elysia } from 'elysia'
import { holdsTag } from '../../http/answer.ts'
import { type CountedRouteOptions, countedRoute } from '../../http/route.ts'
import { acceptedEncoding } from './accepted-encoding.ts'
import { PAGE_ASSETS, type PageAsset } from './page-assets.ts'
import { ASSETS_PATH, PAGE_DOCUMENT, PAGE_PATH, PAGE_POLICY } from './page-document.ts'

const TYPES = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
} as const satisfies Record<PageAsset['kind'], string>

const SAFE = { 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'same-origin' } as const
const FOREVER = 'public, max-age=31536000, immutable'

const DOCUMENT_TAG = `"${new Bun.CryptoHasher('sha256').update(PAGE_DOCUMENT).digest('hex').slice(0, 16)}"`

/** The page and its files. A name that is not among them is 404, as any unknown route. */
export function pageRoutes(options: CountedRouteOptions) {
  const app = new Elysia({ strictPath: true })
  const add = (path: string, template: string, answer: (request: Request, requestId: string) => Response) => {
    for (const method of ['GET', 'HEAD'] as const) {
      const counted = countedRoute(options, { surface: 'page', method, path: template }, answer)
      // A literal: Elysia reads from a handler's source which parts of a request to parse.
      app.route(method, path, ({ request }) => counted(request), { detail: { hide: true } })
    }
  }
  add(PAGE_PATH.slice(0, -1), PAGE_PATH.slice(0, -1), (_, requestId) => {
    // Relative to `/`: behind a proxy, only the browser knows the address.
    return new Response(null, { status: 308, headers: { ...SAFE, Location: 'portal/', 'X-Request-Id': requestId } })
  })
  add(PAGE_PATH, PAGE_PATH, documentAnswer)
  for (const asset of PAGE_ASSETS) {
    const path = `${ASSETS_PATH}/${asset.name}`
    add(path, `${ASSETS_PATH}/{name}`, (request, requestId) => assetAnswer(asset, request, requestId))
  }
  return app
}

function documentAnswer(request: Request, requestId: string): Response {
  const headers = {
    ...SAFE,
    'Content-Security-Policy': PAGE_POLICY,
    'Cache-Control': 'no-cache',
    ETag: DOCUMENT_TAG,
    'X-Request-Id': requestId,
  }
  if (holdsTag(request.headers.get('if-none-match'), DOCUMENT_TAG)) return new Response(null, { status: 304, headers })
  return withBody(request, PAGE_DOCUMENT, { ...headers, 'Content-Type': 'text/html; charset=utf-8' })
}

function assetAnswer({ kind, hash, bytes }: PageAsset, request: Request, requestId: string): Response {
  const encoding = acceptedEncoding(request.headers.get('accept-encoding'))
  const tag = `"${hash}-${encoding}"`
  const headers = {
    ...SAFE,
    'Cache-Control': FOREVER,
    Vary: 'Accept-Encoding',
    ETag: tag,
    'X-Request-Id': requestId,
  }
  if (holdsTag(request.headers.get('if-none-match'), tag)) return new Response(null, { status: 304, headers })
  return withBody(request, bytes[encoding], {
    ...headers,
    'Content-Type': TYPES[kind],
    ...(encoding === 'plain' ? {} : { 'Content-Encoding': encoding }),
  })
}

/** To HEAD, the same headers without the body. */
function withBody(request: Request, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>): Response {
  if (request.method !== 'HEAD') return new Response(body, { headers })
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  return new Response(null, { headers: { ...headers, 'Content-Length': String(length) } })
}
