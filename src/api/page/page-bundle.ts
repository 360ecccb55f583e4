/** The bundle of the page, made when this file's importer is loaded or compiled: it is called as a macro. */
import { join } from 'node:path'

/** A file of the page. Its bytes are base64: a macro returns JSON. */
export interface BundledAsset {
  readonly kind: 'js' | 'css' | 'svg'
  /** With the hash of its content, so that a name never means other bytes. */
  readonly name: string
  readonly hash: string
  readonly plain: string
  readonly gzip: string
  readonly br: string
}

/** @throws Error with what the bundler said */
export function pageBundle(): BundledAsset[] {
  // `bun`, also under `bun build --compile`, whose `process.execPath` is the compiler.
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, join(import.meta.dir, 'bundle-script.ts')])
  if (exitCode !== 0) {
    // What a macro throws, Bun reports without its message.
    console.error(`Cannot bundle the page: ${stderr}`)
    throw new Error('Cannot bundle the page')
  }
  return JSON.parse(stdout.toString())
}
