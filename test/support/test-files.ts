import { Glob } from 'bun'

/**
 * `unit`: needs nothing. `postgres`: named `*.pg.test.ts`, needs the server that test/run.ts starts. `fault`: named
 * `*.fault.test.ts`, kills and starves real processes; needs that server too, and minutes. `failover`: named `*.failover.test.ts`,
 * needs Patroni and etcd; run only by `bun run test:failover`. `browser`: needs Postgres too, and is skipped without Chromium. `cluster`: named
 * `*.cluster.test.ts`, makes three hosts of its own, and is skipped where that cannot be done.
 */
export type TestKind = 'unit' | 'postgres' | 'browser' | 'fault' | 'failover' | 'cluster'

export function kindOf(file: string): TestKind {
  if (file.endsWith('.fault.test.ts')) return 'fault'
  if (file.endsWith('.failover.test.ts')) return 'failover'
  if (file.endsWith('.cluster.test.ts')) return 'cluster'
  if (file.endsWith('.browser.test.ts')) return 'browser'
  return file.endsWith('.pg.test.ts') ? 'postgres' : 'unit'
}

/** Test files under test/, sorted, whose path contains one of the filters (all of them when there is none). */
export function testFiles({ filters, kinds }: { filters: readonly string[]; kinds: readonly TestKind[] }): string[] {
  const wanted = filters.map((filter) => filter.replace(/^\.\//, ''))
  return [...new Glob('test/**/*.test.ts').scanSync('.')]
    .filter((file) => kinds.includes(kindOf(file)))
    .filter((file) => wanted.length === 0 || wanted.some((filter) => file.includes(filter)))
    .sort()
}
