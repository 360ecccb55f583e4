import { chmodSync, mkdirSync } from 'node:fs'

/** Where root keeps files that the server's account needs when it has no access to our own folders. */
export const SHARED_DIR = '/var/lib/nightledger'

export function makeSharedDir(): void {
  mkdirSync(SHARED_DIR, { recursive: true })
  // Regardless of the umask: others may enter and list the folder.
  chmodSync(SHARED_DIR, 0o755)
}
