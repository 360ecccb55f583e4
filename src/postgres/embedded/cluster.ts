import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sha256Hex } from '../../lib/ids.ts'
import { EmbeddedError, makeSharedDir, SHARED_DIR } from './data-dir-lock.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { firstClosed, type ServerAccount } from './server-account.ts'

/** The superuser of the cluster: it creates the database, owns its tables, and migrates. */
export const SUPERUSER = 'nightledger'
/** The role that serves: it owns nothing. */
export const SERVICE_ROLE = 'nightledger_service'

/** Of the role that serves. Derived, so that there is one secret in the data folder; it does not reveal the superuser's. */
export function servicePassword(superuserPassword: string): string {
  return sha256Hex(`${SERVICE_ROLE}:${superuserPassword}`)
}

const CLUSTER = 'postgres'
const DRAFT_PREFIX = 'postgres.init-'

/**
 * The real path of this data folder's cluster.
 * @returns null before the first start
 * @throws EmbeddedError when its path is a broken link
 */
export function findCluster(dataDir: string): string | null {
  const path = join(dataDir, CLUSTER)
  if (existsSync(path)) return realpathSync(path)
  if (!lstatSync(path, { throwIfNoEntry: false })) return null
  throw new EmbeddedError(
    `Cannot find the database: ${path} is a link to a folder that no longer exists. Restore that folder, or remove the link to start with an empty database.`,
  )
}

/**
 * Creates the cluster. It gets its final name only when it is complete, so that a start killed half-way leaves nothing
 * but a draft, which the next start removes. The caller holds the data folder's lock.
 * @returns the folder, with all links resolved
 */
export async function createCluster(
  dataDir: string,
  {
    binaries,
    account,
    password,
    onStep,
  }: {
    binaries: PostgresBinaries
    account: ServerAccount
    password: string
    onStep: (step: string) => void
  },
): Promise<string> {
  const home = homeFor(dataDir, account, onStep)
  onStep('Creating the database for the first start')
  const draft = join(home, `${DRAFT_PREFIX}${randomBytes(6).toString('hex')}`)
  await initialize(draft, { binaries, account, password })
  const cluster = join(home, CLUSTER)
  renameSync(draft, cluster)
  if (home !== dataDir) symlinkSync(cluster, join(dataDir, CLUSTER))
  return realpathSync(cluster)
}

/**
 * Removes the drafts of killed starts. Call it at every start, not only before a cluster is created: the `initdb` of a
 * killed start keeps running for a while, and can recreate a draft that was removed. A draft that is being written
 * right now remains until the next start. The caller holds the data folder's lock.
 */
export function removeDrafts(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (!name.startsWith(DRAFT_PREFIX)) continue
    try {
      rmSync(join(dataDir, name), { recursive: true, force: true })
    } catch {
      // A file was added while the folder was being deleted.
    }
  }
}

/** The data folder or, if the server's account cannot enter it, a new folder under SHARED_DIR. */
function homeFor(dataDir: string, account: ServerAccount, onStep: (step: string) => void): string {
  const closed = account === null ? null : firstClosed(dataDir, account)
  if (account === null || closed === null) return dataDir
  makeSharedDir()
  const home = join(SHARED_DIR, `data-${randomBytes(6).toString('hex')}`)
  mkdirSync(home)
  chownSync(home, account.uid, account.gid)
  onStep(
    `Keeping the database files in ${home}, linked from ${join(dataDir, CLUSTER)}: PostgreSQL cannot run as root, and the account that runs it has no access to ${closed}`,
  )
  return home
}

async function initialize(
  draft: string,
  { binaries, account, password }: { binaries: PostgresBinaries; account: ServerAccount; password: string },
): Promise<void> {
  const passwordFile = `${draft}.password`
  mkdirSync(draft, { mode: 0o700 })
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
  if (account !== null) for (const path of [draft, passwordFile]) chownSync(path, account.uid, account.gid)
  try {
    // The built-in locale sorts and lower-cases identically on every machine, whatever its C library supports.
    const flags = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    await promisify(execFile)(
      binaries.initdb,
      [`--pgdata=${draft}`, `--username=${SUPERUSER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', ...flags],
      { env: serverEnv(), cwd: draft, ...account },
    )
  } catch (cause) {
    rmSync(draft, { recursive: true, force: true })
    const stderr = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause)
    throw new EmbeddedError(`Cannot create the database files in ${draft}: ${stderr}`, { cause })
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

/**
 * The environment of the server. It inherits none of ours, which contains secrets, and PG* variables that would change
 * the server.
 */
export function serverEnv(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}
