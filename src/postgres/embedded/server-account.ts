import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { EmbeddedError } from './data-dir-lock.ts'

/** The account the database server runs as. `null`: our own. PostgreSQL refuses to run as root. */
export type ServerAccount = { uid: number; gid: number } | null

const ACCOUNT_NAME = 'postgres'

/**
 * Chooses the account: our own or, if we are root, the owner of the existing cluster or the system account `postgres`,
 * which is created if it does not exist.
 * @param cluster folder of an initialized cluster; null before the first start
 * @throws EmbeddedError when we are root and no other account is available
 */
export function serverAccount({
  cluster,
  onStep,
}: {
  cluster: string | null
  onStep: (step: string) => void
}): ServerAccount {
  if (process.getuid?.() !== 0) return null
  if (cluster !== null) {
    const { uid, gid } = statSync(cluster)
    if (uid !== 0) return { uid, gid }
  }
  const known = lookUp()
  if (known !== null) return known
  onStep(`Creating the system account ${ACCOUNT_NAME}, because PostgreSQL cannot run as root`)
  // Two services may do this at once. All that matters is that the account exists afterwards.
  const failure = create()
  const created = lookUp()
  if (created !== null) return created
  throw new EmbeddedError(
    `Cannot run PostgreSQL as root, and cannot create the account ${ACCOUNT_NAME} for it${failure}. Create that account, run as a normal user, or set DATABASE_URL.`,
  )
}

/** Whether the account can enter this folder, by the modes of the folder and of all its parents. */
export function canEnter(folder: string, account: ServerAccount): boolean {
  return account === null || firstClosed(folder, account) === null
}

/** The topmost folder on the path that the account cannot enter; null when it can enter all of them. */
export function firstClosed(folder: string, account: NonNullable<ServerAccount>): string | null {
  const parent = dirname(folder)
  const above = parent === folder ? null : firstClosed(parent, account)
  if (above !== null) return above
  const { mode, uid, gid } = statSync(folder)
  const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
  return (mode & bit) === 0 ? folder : null
}

function lookUp(): ServerAccount {
  try {
    const id = (flag: string) =>
      Number(execFileSync('id', [flag, ACCOUNT_NAME], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
    const [uid, gid] = [id('-u'), id('-g')]
    return Number.isInteger(uid) && Number.isInteger(gid) && uid !== 0 ? { uid, gid } : null
  } catch {
    return null
  }
}

/** @returns a description of the failure, empty on success */
function create(): string {
  try {
    execFileSync(
      'useradd',
      ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', ACCOUNT_NAME],
      { stdio: 'pipe' },
    )
    return ''
  } catch (error) {
    return ` (${error instanceof Error ? error.message.trim() : String(error)})`
  }
}
