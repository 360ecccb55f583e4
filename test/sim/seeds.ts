import { type Rounds, rounds } from '../support/long-run.ts'

/** Seeds fit into 31 bits, with room for those that follow the first. */
const FIRST_MAX = 2_000_000_000

/**
 * The seeds of a run: from a random one on, so that every run tries others. Printed in the test's name. `SIM_FIRST` runs them again,
 * `SIM_SEEDS` says how many.
 */
export function seedsOf(counts: Rounds<number>): { first: number; count: number } {
  return {
    first: Number(process.env['SIM_FIRST'] ?? Math.floor(Math.random() * FIRST_MAX)),
    count: Number(process.env['SIM_SEEDS'] ?? rounds(counts)),
  }
}

/** Which of the broken builds are tried: a few in `npm test`, from a random one on, and all on every push. */
export function someBuilds<T>(broken: Readonly<Record<string, T>>): [what: string, build: T][] {
  const all = Object.entries(broken)
  const { first, count } = seedsOf({ quick: 3, push: all.length, long: all.length })
  return all.filter((_, i) => (i - (first % all.length) + all.length) % all.length < count)
}
