import { rounds } from '../support/long-run.ts'

/** Seeds fit into 31 bits, with room for those that follow the first. */
const FIRST_MAX = 2_000_000_000

/**
 * The seeds of a run: from a random one on, so that every run tries others. Printed in the test's name. `SIM_FIRST` runs them again,
 * `SIM_SEEDS` says how many.
 */
export function seedsOf(counts: { readonly push: number; readonly long: number }): { first: number; count: number } {
  return {
    first: Number(process.env['SIM_FIRST'] ?? Math.floor(Math.random() * FIRST_MAX)),
    count: Number(process.env['SIM_SEEDS'] ?? rounds(counts)),
  }
}
