/** What `listen` keeps from one run to the next, for each API key: the secret that it signs with, and the cursor. */
import { renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { newSecret } from '../events/webhooks/secret-box.ts'
import { keepPrivateFile, makeFolder } from '../lib/private-file.ts'
import type { Terminal } from './terminal.ts'

/** The file of a key, named by a hash of the key: nobody who reads the folder learns the key. */
export class ListenState {
  readonly path: string
  readonly secret: string
  #cursor: string | null

  /** Reads the file, or makes it with a new secret (mode 0600). @throws a file system error */
  constructor(key: string, env: Terminal['env']) {
    const folder = join(stateFolder(env), 'nightledger', 'listen')
    makeFolder(folder)
    const hash = new Bun.CryptoHasher('sha256').update(key).digest('hex').slice(0, 32)
    this.path = join(folder, `${hash}.json`)
    const kept = keepPrivateFile(this.path, () => JSON.stringify({ secret: newSecret(), cursor: null }))
    const { secret, cursor } = JSON.parse(kept) as { secret: string; cursor: string | null }
    this.secret = secret
    this.#cursor = cursor
  }

  /** Everything up to it was delivered, given up or dropped; null before the first run. */
  get cursor(): string | null {
    return this.#cursor
  }

  /** Whole or as before, whenever the process ends. */
  keep(cursor: string): void {
    if (cursor === this.#cursor) return
    const draft = `${this.path}.tmp`
    writeFileSync(draft, `${JSON.stringify({ secret: this.secret, cursor })}\n`, { mode: 0o600 })
    renameSync(draft, this.path)
    this.#cursor = cursor
  }
}

/** As the XDG base directories are defined: a path that is not absolute is ignored. */
function stateFolder(env: Terminal['env']): string {
  const given = env['XDG_STATE_HOME'] ?? ''
  return given.startsWith('/') ? given : join(env['HOME'] || homedir(), '.local', 'state')
}
