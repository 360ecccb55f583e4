/**
 * Bundles the browser's program: `bun bundle-script.ts` prints it as JSON (`BundledAsset[]`). A process of its own, because
 * `Bun.build` is refused inside the macro that needs it (page-assets.ts).
 */
import { join } from 'node:path'
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib'
import type { BundledAsset } from './page-bundle.ts'

const ENTRY = join(import.meta.dir, '../../page/main.tsx')
const ICON = join(import.meta.dir, '../../page/icon.svg')

/** 11 takes half a second at every start from source, and saves 5 KB of 83. */
const BROTLI_QUALITY = 9

const { outputs } = await Bun.build({
  entrypoints: [ENTRY],
  target: 'browser',
  format: 'esm',
  minify: true,
  define: { 'process.env.NODE_ENV': '"production"' },
})
const bundled = await Promise.all(
  outputs.map(async (output) =>
    asset(output.path.endsWith('.css') ? 'css' : 'js', new Uint8Array(await output.arrayBuffer())),
  ),
)
console.log(JSON.stringify([...bundled, asset('svg', await Bun.file(ICON).bytes())]))

function asset(kind: BundledAsset['kind'], bytes: Uint8Array): BundledAsset {
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 16)
  const brotli = {
    params: { [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  }
  return {
    kind,
    name: `page-${hash}.${kind}`,
    hash,
    plain: base64(bytes),
    gzip: base64(gzipSync(bytes, { level: 9 })),
    br: base64(brotliCompressSync(bytes, brotli)),
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
