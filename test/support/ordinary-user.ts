import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The ordinary account used where tests run as root, which PostgreSQL refuses. Every machine has it. */
const NEWCOMER = 'nobody'

/** A clean clone: every file that git knows of, as it is now. Returns its folder. */
export function cloneInto(folder: string): string {
  const clone = join(folder, 'nightledger')
  const { stdout } = Bun.spawnSync(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  for (const path of stdout
    .toString()
    .split('\0')
    .filter((path) => path !== '' && existsSync(path))) {
    mkdirSync(dirname(join(clone, path)), { recursive: true })
    cpSync(path, join(clone, path))
  }
  return clone
}

/** An empty home in `folder`, and the environment of a user who lives there. With no settings of ours, least of all npm's. */
export function homeIn(folder: string, extra: Record<string, string> = {}): Record<string, string> {
  const home = join(folder, 'home')
  mkdirSync(home, { recursive: true })
  // npm speaks of its own updates on the error output.
  writeFileSync(join(home, '.npmrc'), 'update-notifier=false\n')
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && /proxy$|^(NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|LANG)$/i.test(entry[0]),
    ),
  )
  return { ...env, HOME: home, PATH: process.env['PATH'] ?? '', ...extra }
}

/** The command as an ordinary user would run it: as ourselves, unless we are root. */
export function asOrdinaryUser(command: readonly string[], folder: string): string[] {
  if (process.getuid?.() !== 0) return [...command]
  const group = Bun.spawnSync(['id', '-gn', NEWCOMER]).stdout.toString().trim()
  Bun.spawnSync(['chown', '-R', `${NEWCOMER}:${group}`, folder])
  return ['setpriv', `--reuid=${NEWCOMER}`, `--regid=${group}`, '--clear-groups', ...command]
}
