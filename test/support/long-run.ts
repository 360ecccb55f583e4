import { test } from 'bun:test'

/** Set by test/run.ts for `bun run test:long`. */
const IS_LONG_RUN = process.env['NIGHTLEDGER_TEST_LONG'] !== undefined

/** How often something is repeated, and what is expected of that: a few times on a push, more often in the long run. */
export function rounds<T>(of: { readonly push: T; readonly long: T }): T {
  return IS_LONG_RUN ? of.long : of.push
}

/** A test of the long run alone, in a file whose other tests run on every push. */
export function longTest(title: string, body: () => Promise<void>, msMax?: number): void {
  if (IS_LONG_RUN) test(title, body, msMax)
}
