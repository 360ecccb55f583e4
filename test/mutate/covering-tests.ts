import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { kindOf } from '../support/test-files.ts'

/** What one test file does: how long it takes alone, and which lines of which files of `src/` it executes. `hash`: of its text then. */
type Covered = {
  readonly hash: string
  readonly ms: number
  readonly lines: Readonly<Record<string, readonly number[]>>
}

/** What each test file covers, by its path. A file that fails unmutated is not in it. */
export type Coverage = Record<string, Covered>

/**
 * Runs each file alone, `workers` at a time, with coverage.
 * What a test makes child processes do is not seen: their lines count as covered only if another test executes them in its own process.
 */
export async function measureCoverage(
  files: readonly string[],
  { root, env, workers }: { root: string; env: Record<string, string | undefined>; workers: number },
): Promise<Coverage> {
  const coverage: Coverage = {}
  const left = [...files]
  const work = async () => {
    for (let file = left.shift(); file !== undefined; file = left.shift()) {
      const covered = await coverageOf(file, { root, env })
      if (covered === null) console.log(`Left out, because it fails unmutated: ${file}`)
      else coverage[file] = covered
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return coverage
}

async function coverageOf(
  file: string,
  { root, env }: { root: string; env: Record<string, string | undefined> },
): Promise<Covered | null> {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-coverage-'))
  try {
    const options = ['--timeout=180000', '--coverage', '--coverage-reporter=lcov', `--coverage-dir=${folder}`]
    const begin = performance.now()
    const child = Bun.spawn([process.execPath, 'test', ...options, `./${file}`], {
      cwd: root,
      env,
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    if ((await child.exited) !== 0) return null
    const ms = Math.round(performance.now() - begin)
    const report = join(folder, 'lcov.info')
    // There is none for a test that imports nothing of ours.
    return {
      hash: hashOf(join(root, file)),
      ms,
      lines: existsSync(report) ? linesOf(readFileSync(report, 'utf8')) : {},
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Of a test file's text: what it covers is measured again when that has changed. */
export function hashOf(path: string): string {
  return Bun.hash(readFileSync(path)).toString(36)
}

/** The executed lines of an lcov report, by file; only those of `src/`. */
export function linesOf(report: string): Record<string, number[]> {
  const lines: Record<string, number[]> = {}
  let current: number[] | undefined
  for (const row of report.split('\n')) {
    if (row.startsWith('SF:')) {
      const file = row.slice(3)
      current = file.startsWith('src/') ? [] : undefined
      if (current !== undefined) lines[file] = current
    } else if (current !== undefined && row.startsWith('DA:')) {
      const [line, count] = row.slice(3).split(',')
      if (Number(count) > 0) current.push(Number(line))
    }
  }
  return lines
}

/** How far back the beginning of a statement is looked for: the report has no line inside a long template or expression. */
const STATEMENT_LINES_MAX = 60
/** Words in the names of many files, which say nothing of their subject. */
const COMMON_WORDS = new Set([
  'postgres',
  'store',
  'rows',
  'test',
  'text',
  'json',
  'list',
  'keep',
  'make',
  'check',
  'record',
])

/**
 * The test files that execute a line, those first that find out soonest: without Postgres, then of the same folder or subject, then the
 * quickest.
 * @param places lines that lead to the mutation; a test that executes one of them could notice it
 * @param subject words of its own that the path of a test may have, such as the name of an SQL function
 */
export function coveringTests(
  coverage: Coverage,
  places: readonly { file: string; line: number }[],
  subject = '',
): string[] {
  const tests = new Set(places.flatMap((place) => testsOf(coverage, place)))
  const folders = new Set(places.map(({ file }) => file.replace(/^src\//, 'test/').replace(/\/[^/]*$/, '/')))
  const words = [subject, ...places.slice(0, 3).map(({ file }) => basename(file, '.ts'))]
    .flatMap((name) => name.split(/[-_.]/))
    .filter((word) => word.length > 3 && !COMMON_WORDS.has(word))
  const cost = (test: string) => {
    const isNear = [...folders].some((folder) => test.startsWith(folder)) || words.some((word) => test.includes(word))
    return (coverage[test]?.ms ?? 0) * (isNear ? 0.1 : 1)
  }
  return [...tests].sort((a, b) => Number(kindOf(a) !== 'unit') - Number(kindOf(b) !== 'unit') || cost(a) - cost(b))
}

function testsOf(coverage: Coverage, { file, line }: { file: string; line: number }): string[] {
  for (let at = line; at > line - STATEMENT_LINES_MAX; at--) {
    const tests = Object.keys(coverage).filter((test) => coverage[test]?.lines[file]?.includes(at) === true)
    if (tests.length > 0) return tests
  }
  return []
}
