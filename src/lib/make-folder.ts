import { mkdirSync } from 'node:fs'

/**
 * Makes the data folder, and those above it, where they are missing. Closed to other users; but root's database server runs
 * as another account, which must pass through, so what is private in there has a mode of its own.
 */
export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
}
