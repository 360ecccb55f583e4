import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')

interface Package {
  readonly path: string
  readonly name: string
  readonly version: string
  readonly licence: string
}

/** Licences that a service may be built from and handed on under. MPL-2.0 binds changes to its own files only. */
export const ACCEPTED = [
  '(MIT OR CC0-1.0)',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MPL-2.0',
  'PostgreSQL',
  'Unlicense',
]

interface Locked {
  /** Where an override puts one package in the place of another. */
  readonly name?: string
  readonly version: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
}

/** What package-lock.json says, by the path where npm puts it; '' is the project itself. */
export function lockedPackages(): Record<string, Locked> {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> }
  return lock.packages
}

/** The package's name, from where it is put. */
export function nameAt(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** Every package that the running service needs, by the lock file. */
export function runtimePackages(): Package[] {
  return Object.entries(lockedPackages())
    .filter(([path, { dev, devOptional, optional }]) => path !== '' && !dev && !devOptional && !optional)
    .map(([path, { name, version, license }]) => ({
      path,
      name: name ?? nameAt(path),
      version,
      licence: license ?? 'none given',
    }))
    .sort((a, b) => (a.name === b.name ? (a.version < b.version ? -1 : 1) : a.name < b.name ? -1 : 1))
}

/** The text of docs/licences.md. */
export function licencesDocument(): string {
  const rows = runtimePackages().map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`)
  return [
    '# Licences',
    '',
    'The packages of the running service and their licences. nightledger itself is MIT. Generated from the lock file by',
    '`bun run licences`; a test compares the two. The built-in PostgreSQL (PostgreSQL licence) comes with the package of the platform.',
    '',
    '| package | version | licence |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
