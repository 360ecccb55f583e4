/**
 * The human page at /docs, made by swagger-ui from the service's own OpenAPI document. Script and styles are in the package and in
 * the compiled binary, so the page loads nothing from other hosts.
 */

import { Elysia } from 'elysia'
import styles from 'swagger-ui-dist/swagger-ui.css' with { type: 'text' }
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'text' }
import { type CountedRouteOptions, countedRoute } from '../../route.ts'

const DOCS_PATH = '/docs'

const START = `SwaggerUIBundle({ url: '/partner/v1/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null })`

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>nightledger partner API</title>
    <link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css">
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="docs"></div>
    <noscript>This page needs JavaScript. The description itself is at <a href="/partner/v1/openapi.json">/partner/v1/openapi.json</a>.</noscript>
    <script src="${DOCS_PATH}/swagger-ui-bundle.js"></script>
    <script src="${DOCS_PATH}/start.js"></script>
  </body>
</html>
`

/** Loads nothing from other hosts, whatever the document contains. swagger-ui writes its styles inline. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const CACHED = 'public, max-age=3600'

export function docsPage(options: CountedRouteOptions) {
  const serve = (path: string, content: string, type: string, caching: string) =>
    countedRoute(options, { surface: 'docs', method: 'GET', path }, (_, requestId) =>
      file(requestId, content, type, caching),
    )
  const page = serve(DOCS_PATH, PAGE, 'text/html; charset=utf-8', 'no-cache')
  const start = serve(`${DOCS_PATH}/start.js`, START, 'text/javascript; charset=utf-8', CACHED)
  const css = serve(`${DOCS_PATH}/swagger-ui.css`, styles, 'text/css; charset=utf-8', CACHED)
  const bundle = serve(`${DOCS_PATH}/swagger-ui-bundle.js`, script, 'text/javascript; charset=utf-8', CACHED)
  return new Elysia()
    .get(DOCS_PATH, ({ request }) => page(request), { detail: { hide: true } })
    .get(`${DOCS_PATH}/start.js`, ({ request }) => start(request), { detail: { hide: true } })
    .get(`${DOCS_PATH}/swagger-ui.css`, ({ request }) => css(request), { detail: { hide: true } })
    .get(`${DOCS_PATH}/swagger-ui-bundle.js`, ({ request }) => bundle(request), { detail: { hide: true } })
}

function file(requestId: string, content: string, type: string, caching: string): Response {
  return new Response(content, {
    headers: {
      'Content-Type': type,
      'X-Request-Id': requestId,
      'Cache-Control': caching,
      'Content-Security-Policy': POLICY,
      'X-Content-Type-Options': 'nosniff',
    },
  })
}
