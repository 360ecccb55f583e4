import { chmodSync, mkdirSync } from 'node:fs'

/** Where root keeps what the server's account must reach when our own folders are closed to it. */
export const SHARED_DIR = '/var/lib/nightledger'

export function makeSharedDir(): void {
  mkdirSync(SHARED_DIR, { recursive: true })
  // Whatever the umask: others may pass through, and see nothing but names.
  chmodSync(SHARED_DIR, 0o755)
}
