/** Where a service with a database of its own says how to reach it, for the command line on the same machine. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readIfPresent } from '../lib/private-file.ts'

const NAME = 'service.json'

export interface RunningService {
  /** Base address, without a slash at its end. */
  readonly url: string
  readonly pid: number
}

/** Replaces what an earlier service has left: one that was killed could not remove it. Mode 0600. */
export function writeServiceFile(dataDir: string, service: RunningService): void {
  const draft = join(dataDir, `${NAME}.${service.pid}.tmp`)
  writeFileSync(draft, `${JSON.stringify(service)}\n`, { mode: 0o600 })
  renameSync(draft, join(dataDir, NAME))
}

/** At a clean stop. Leaves the file of another process alone. */
export function removeServiceFile(dataDir: string, pid: number): void {
  if (readServiceFile(dataDir)?.pid === pid) rmSync(join(dataDir, NAME), { force: true })
}

/** Null when no service has left one that can be read. */
export function readServiceFile(dataDir: string): RunningService | null {
  const text = readIfPresent(join(dataDir, NAME))
  try {
    const { url, pid } = JSON.parse(text ?? 'null') ?? {}
    return typeof url === 'string' && typeof pid === 'number' ? { url, pid } : null
  } catch {
    return null
  }
}
