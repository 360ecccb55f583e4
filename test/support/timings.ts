import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Counts } from './junit.ts'
import { kindOf, TEST_KINDS, type TestKind } from './test-files.ts'

/** What earlier runs in this checkout took, by file, in ms; not in git. The format is that of `bun test --timings`. */
const PATH = 'node_modules/.cache/nightledger-test-timings.json'
/** What a file is taken for that has not run here: those that wait begin first, those that take a moment fill the end. */
const GUESSED_MS: Record<TestKind, number> = {
  unit: 100,
  postgres: 3_000,
  browser: 12_000,
  fault: 20_000,
  long: 60_000,
}
/** The simulations are unit tests that compute for long: begun last, they would keep one core busy while the other waits. */
const GUESSED_SIMULATION_MS = 60_000
/** Half an hour each in the long run, whatever a shorter run took: they begin first, side by side. */
const LONGEST: readonly string[] = ['test/sim/sim.test.ts', 'test/sim/nodes/nodes.test.ts']
const LONGEST_MS = 30 * 60_000

/** Writes the file for `--timings` by which the slowest test files begin first. @returns its path */
export function writeTimings(files: readonly string[]): string {
  const known = readKnown()
  const timings = Object.fromEntries(files.map((file) => [file, msOf(file, known)]))
  return write({ ...known, ...timings })
}

/** Keeps what a run took. */
export function keepTimings({ files }: Pick<Counts, 'files'>): void {
  write({ ...readKnown(), ...Object.fromEntries(files) })
}

function msOf(file: string, known: Record<string, number>): number {
  return LONGEST.includes(file) ? LONGEST_MS : (known[file] ?? guessedMs(file))
}

function guessedMs(file: string): number {
  return file.startsWith('test/sim/') ? GUESSED_SIMULATION_MS : GUESSED_MS[kindOf(file)]
}

function write(files: Record<string, number>): string {
  mkdirSync(dirname(PATH), { recursive: true })
  writeFileSync(PATH, JSON.stringify({ version: 1, files }))
  return PATH
}

function readKnown(): Record<string, number> {
  try {
    return (JSON.parse(readFileSync(PATH, 'utf8')) as { files: Record<string, number> }).files
  } catch {
    return {}
  }
}

/** Seconds and files of each kind, and the ten slowest files: what to look at when a budget is missed (CONTRIBUTING.md, Budgets). */
export function timingReport({ files }: Pick<Counts, 'files'>, wallMs: number): string {
  const all = [...files].sort(([, a], [, b]) => b - a)
  const kinds = TEST_KINDS.flatMap((kind) => {
    const own = all.filter(([file]) => kindOf(file) === kind)
    const ms = own.reduce((sum, [, ms]) => sum + ms, 0)
    return own.length === 0 ? [] : `${seconds(ms)} ${kind}, ${own.length} ${own.length === 1 ? 'file' : 'files'}`
  })
  const slowest = all.slice(0, 10).map(([file, ms]) => `${seconds(ms)} ${file}`)
  return [
    'Time per kind, files side by side:',
    ...kinds,
    'The slowest files:',
    ...slowest,
    `${seconds(wallMs)} in all`,
  ].join('\n')
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1).padStart(7)} s`
}
