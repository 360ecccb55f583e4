/** The files of the page, in every encoding that it is served in. */

import { pageBundle } from './page-bundle.ts' with { type: 'macro' }
import type { BundledAsset } from './page-bundle.ts'

export const ENCODINGS = ['br', 'gzip', 'plain'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** One file, ready to be sent. */
export interface PageAsset {
  readonly kind: BundledAsset['kind']
  readonly name: string
  readonly hash: string
  readonly bytes: Readonly<Record<Encoding, Uint8Array<ArrayBuffer>>>
}

export const PAGE_ASSETS: readonly PageAsset[] = pageBundle().map(({ kind, name, hash, plain, gzip, br }) => ({
  kind,
  name,
  hash,
  bytes: { br: Uint8Array.fromBase64(br), gzip: Uint8Array.fromBase64(gzip), plain: Uint8Array.fromBase64(plain) },
}))
