import { afterAll } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder, removed after the last test of the file that calls this while it is loaded. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `nightledger-${name}-`))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
