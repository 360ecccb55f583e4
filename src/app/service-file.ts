/** How the command line on the same machine finds a service that runs the embedded database. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readIfPresent } from '../lib/private-file.ts'

const NAME = 'service.json'

interface RunningService {
  /** Base URL, without a trailing slash. */
  readonly url: string
  /** Where the operator's token is accepted, and probes are served: `url`, unless ADMIN_PORT is set. */
  readonly adminUrl: string
  readonly pid: number
}

/** Replaces the file of an earlier service, which could not remove it if it was killed. Mode 0600. */
export function writeServiceFile(dataDir: string, service: RunningService): void {
  const draft = join(dataDir, `${NAME}.${service.pid}.tmp`)
  writeFileSync(draft, `${JSON.stringify(service)}\n`, { mode: 0o600 })
  renameSync(draft, join(dataDir, NAME))
}

/** For a clean shutdown. Does not remove the file of another process. */
export function removeServiceFile(dataDir: string, pid: number): void {
  if (readServiceFile(dataDir)?.pid === pid) rmSync(join(dataDir, NAME), { force: true })
}

/** Null when there is no file, or it cannot be read. */
export function readServiceFile(dataDir: string): RunningService | null {
  const text = readIfPresent(join(dataDir, NAME))
  try {
    const { url, adminUrl, pid } = JSON.parse(text ?? 'null') ?? {}
    return typeof url === 'string' && typeof adminUrl === 'string' && typeof pid === 'number'
      ? { url, adminUrl, pid }
      : null
  } catch {
    return null
  }
}
