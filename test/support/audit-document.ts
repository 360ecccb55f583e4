import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Argued } from './audit-verdict.ts'

export const AUDIT_DOCUMENT = 'docs/dependencies-audit.md'
const ROOT = join(import.meta.dir, '../..')

/** The sections whose tables are read by programs; the first two columns are package and version in each. */
const SECTIONS = {
  argued: 'Findings argued',
  loaded: 'Loaded by the running service',
  installed: 'Installed with it, not loaded',
  bundled: 'Inside another package',
  development: 'Development only',
} as const

export interface Row {
  readonly package: string
  readonly version: string
  /** The other columns. */
  readonly rest: readonly string[]
}

export function readAuditDocument(): string {
  return readFileSync(join(ROOT, AUDIT_DOCUMENT), 'utf8')
}

/**
 * The rows of the table below a heading of the second level; none when the section has no table.
 * @throws Error when there is no such heading, so that a renamed section does not read as an empty one
 */
export function rowsOf(document: string, section: keyof typeof SECTIONS): Row[] {
  const lines = document.split('\n')
  const begin = lines.indexOf(`## ${SECTIONS[section]}`)
  if (begin === -1) throw new Error(`${AUDIT_DOCUMENT} has no section "${SECTIONS[section]}"`)
  const length = lines.slice(begin + 1).findIndex((line) => line.startsWith('## '))
  const own = lines.slice(begin + 1, length === -1 ? undefined : begin + 1 + length)
  return own
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => {
      const [name = '', version = '', ...rest] = line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim())
      return { package: name, version, rest }
    })
}

export function arguedFindings(document: string): Argued[] {
  return rowsOf(document, 'argued').map(({ package: name, version, rest: [advisory = ''] }) => ({
    package: name,
    version,
    advisory,
  }))
}
