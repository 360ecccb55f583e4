import { Glob } from 'bun'

/**
 * What a test file needs, by the end of its name, and when it runs:
 * - `unit`, `*.test.ts`: nothing. In `bun run check` and in `npm test`.
 * - `postgres`, `*.pg.test.ts`: the server that test/run.ts starts. In `npm test`.
 * - `browser`, `*.browser.test.ts`: that server and Chromium; skipped without it, except in CI. On every push.
 * - `fault`, `*.fault.test.ts`: that server, and real processes that are started, killed and starved. On every push.
 * - `long`, `*.long.test.ts`: minutes, some of them Patroni, etcd, HAProxy or root too. Every night, by `bun run test:long`.
 */
export const TEST_KINDS = ['unit', 'postgres', 'browser', 'fault', 'long'] as const
export type TestKind = (typeof TEST_KINDS)[number]

export function kindOf(file: string): TestKind {
  const suffix = /\.(pg|browser|fault|long)\.test\.ts$/.exec(file)?.[1]
  if (suffix === undefined) return 'unit'
  return suffix === 'pg' ? 'postgres' : (suffix as TestKind)
}

/** Test files under test/, sorted, whose path contains one of the filters (all of them when there is none). */
export function testFiles({ filters, kinds }: { filters: readonly string[]; kinds: readonly TestKind[] }): string[] {
  const wanted = filters.map((filter) => filter.replace(/^\.\//, ''))
  return [...new Glob('test/**/*.test.ts').scanSync('.')]
    .filter((file) => kinds.includes(kindOf(file)))
    .filter((file) => wanted.length === 0 || wanted.some((filter) => file.includes(filter)))
    .sort()
}
