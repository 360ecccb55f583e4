import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../src/postgres/client/connect.ts'
import { serverAccount } from '../../src/postgres/embedded/server-account.ts'
import { freePort } from './free-port.ts'

const ROOT = '/usr/lib/postgresql'
const READY_MS_MAX = 60_000

/** The folder with the programs of the machine's own PostgreSQL, pg_dump among them; null when there is none. */
export function systemPostgres(): string | null {
  const versions = existsSync(ROOT) ? readdirSync(ROOT).toSorted((a, b) => Number(b) - Number(a)) : []
  const folders = versions.map((version) => join(ROOT, version, 'bin'))
  const needed = ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'pg_basebackup']
  return folders.find((folder) => needed.every((program) => existsSync(join(folder, program)))) ?? null
}

/** A server made from them, in a temporary folder, that trusts every connection from this machine. */
export async function startSystemPostgres(
  programs: string,
  settings: readonly string[] = [],
): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-system-postgres-'))
  const account = serverAccount({ cluster: null, onStep: () => {} })
  if (account !== null) chownSync(folder, account.uid, account.gid)
  const cluster = join(folder, 'cluster')
  const options = { cwd: folder, stdio: 'ignore' as const, ...account }
  execFileSync(
    join(programs, 'initdb'),
    ['-D', cluster, '-U', 'nightledger', '-E', 'UTF8', '--locale=C.UTF-8', '-A', 'trust'],
    options,
  )
  const port = freePort()
  const server = spawn(
    join(programs, 'postgres'),
    [
      '-D',
      cluster,
      '-p',
      String(port),
      '-c',
      `unix_socket_directories=${folder}`,
      ...settings.flatMap((each) => ['-c', each]),
    ],
    options,
  )
  const url = `postgres://nightledger@127.0.0.1:${port}/postgres`
  await untilReady(url)
  return {
    url,
    stop: async () => {
      const ended = new Promise((resolve) => server.once('exit', resolve))
      server.kill('SIGINT')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX
  for (;;) {
    const sql = connect(url, { purpose: 'admin' })
    try {
      await sql`select 1`
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await Bun.sleep(50)
    } finally {
      await sql.end({ timeout: 0 })
    }
  }
}
