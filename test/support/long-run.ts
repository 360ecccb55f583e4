import { test } from 'bun:test'

/** Set by test/run.ts: `push` for `.ci/run`, `long` for `bun run test:long`; otherwise it is `npm test`. */
const RUN = process.env['NIGHTLEDGER_TEST_RUN']
const IS_LONG_RUN = RUN === 'long'

/** What is repeated, how often, and what is expected of that: in `npm test` (as on a push, unless told), on a push, and in the long run. */
export interface Rounds<T> {
  readonly quick?: T
  readonly push: T
  readonly long: T
}

/** Those of the present run. */
export function rounds<T>({ push, long, quick = push }: Rounds<T>): T {
  if (IS_LONG_RUN) return long
  return RUN === 'push' ? push : quick
}

/** A test of the long run alone, in a file whose other tests run on every push. */
export function longTest(title: string, body: () => Promise<void>, msMax?: number): void {
  if (IS_LONG_RUN) test(title, body, msMax)
}
