/** The one HTML document of the page. Everything else is drawn by its script. */
import { PAGE_ASSETS } from './page-assets.ts'

export const PAGE_PATH = '/portal/'
export const ASSETS_PATH = '/portal/assets'

function addressOf(kind: 'js' | 'css' | 'svg'): string {
  return `${ASSETS_PATH}/${PAGE_ASSETS.find((asset) => asset.kind === kind)?.name}`
}

export const PAGE_DOCUMENT = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
    <meta name="color-scheme" content="light dark">
    <title>nightledger</title>
    <link rel="icon" href="${addressOf('svg')}" type="image/svg+xml">
    <link rel="stylesheet" href="${addressOf('css')}">
    <script type="module" src="${addressOf('js')}"></script>
  </head>
  <body>
    <noscript>This page needs JavaScript. The command line does the same: nightledger --help.</noscript>
  </body>
</html>
`

/** Nothing but the service's own files, and no inline script or style. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
