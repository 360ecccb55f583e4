import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes the data folder, and those above it, where they are missing. Closed to other users; but root's database server runs
 * as another account, which must pass through, so what is private in there has a mode of its own.
 */
export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
}

/**
 * Makes a folder, and those above it, where they are missing: on disk before this returns.
 * @param sync as syncFolder
 */
export function makeSyncedFolder(path: string, sync: (path: string) => void = syncFolder): void {
  const whole = resolve(path)
  const first = mkdirSync(whole, { recursive: true, mode: 0o700 }) ?? whole
  // The name of a folder is in the one above it. Also if it is there: the process that made it may have crashed before this.
  for (let made = whole; made.length >= first.length; made = dirname(made)) sync(dirname(made))
}

/**
 * Reads a small private file, or makes it (mode 0600, on disk before this returns). Whole or absent at every moment, and
 * of several processes that make it at once all get the same content.
 * @returns the content without its last line end
 */
export function keepPrivateFile(path: string, make: () => string): string {
  const kept = readIfPresent(path)
  if (kept !== null) return kept
  createWhole(path, `${make()}\n`)
  return readIfPresent(path) ?? keepPrivateFile(path, make)
}

/**
 * Creates a file of mode 0600 with all of its content at once.
 * @returns false, with nothing changed, when the path is already taken
 */
export function createWhole(path: string, content: string): boolean {
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, content)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  try {
    // Unlike rename, link refuses to replace what is there.
    linkSync(draft, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    unlinkSync(draft)
    syncFolder(dirname(path))
  }
}

/** @returns null when there is no such file */
export function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

/** So that a rename in it, or a new folder, survives a power failure. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
