import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { BINARY_VARIABLE, bundleProgram, compileProgram, PROGRAM_VARIABLE } from './support/bundled-program.ts'
import { addCounts, type Counts, closingLine, countsOf, noCounts } from './support/junit.ts'
import { SERVER_URL_VARIABLE } from './support/postgres.ts'
import { kindOf, TEST_KINDS, type TestKind, testFiles } from './support/test-files.ts'
import { SERVER_FOLDER_VARIABLE, startTestServer, type TestServer } from './support/test-server.ts'
import { keepTimings, timingReport, writeTimings } from './support/timings.ts'

/*
 * `bun run test [--unit | --push | --long] [file filters] [options of bun test]`: runs the tests, with a Postgres of their own if any of the
 * chosen files needs one. Without a flag those of `npm test`, with filters those of a push. Ends with the time per kind and the slowest files;
 * the last line is `N passed, N failed`; exit code 0 only if at least one passed and none failed.
 */

const PUSH_KINDS: readonly TestKind[] = ['unit', 'postgres', 'browser', 'fault']
const KINDS: Record<string, readonly TestKind[] | undefined> = {
  '--unit': ['unit'],
  '--push': PUSH_KINDS,
  '--long': TEST_KINDS,
}
/** Generous: machines are shared, and fault tests wait for real servers. */
const TEST_MS_MAX = 180_000
/** Files side by side: those that wait for processes and browsers leave room for those that compute. */
const WORKERS = availableParallelism() + 2
const LONG_WORKERS = 2
/** Saturates a core with one partner's searches, which other work would take it from. */
const ALONE: readonly string[] = ['test/docs/monitoring.long.test.ts']
/** Fewer files do without the bundle, unless they start the program again and again: it takes longer than a few starts from source. */
const FILES_TO_BUNDLE_FOR = 10
const startsProcesses = (file: string) => !['unit', 'postgres'].includes(kindOf(file))
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

const args = process.argv.slice(2)
const kinds = KINDS[args[0] ?? '']
const own = kinds === undefined ? args : args.slice(1)
const isLong = args[0] === '--long'
const firstOption = own.findIndex((arg) => arg.startsWith('-'))
const filters = firstOption === -1 ? own : own.slice(0, firstOption)
const options = firstOption === -1 ? [] : own.slice(firstOption)

let server: TestServer | undefined
let program: Awaited<ReturnType<typeof bundleProgram>> | undefined
let runner: Bun.Subprocess | undefined
let reportFolder: string | undefined
let ending: Promise<void> | undefined

for (const [signal, exitCode] of Object.entries(SIGNALS)) {
  process.on(signal, () => {
    runner?.kill('SIGKILL')
    void cleanUp().then(() => process.exit(exitCode))
  })
}

process.exit(await main())

async function main(): Promise<number> {
  const begin = performance.now()
  const files = testFiles({ filters, kinds: kinds ?? (filters.length > 0 ? PUSH_KINDS : ['unit', 'postgres']) })
  let counts = noCounts()
  try {
    if (files.length === 0)
      console.error(`Cannot run tests: no test file matches ${filters.join(' ') || 'test/**/*.test.ts'}`)
    else counts = await run(files)
  } catch (error) {
    console.error(error)
    counts.failed++
  } finally {
    await cleanUp()
  }
  if (counts.files.size > 1) console.log(`\n${timingReport(counts, performance.now() - begin)}`)
  console.log(closingLine(counts))
  return counts.passed > 0 && counts.failed === 0 ? 0 : 1
}

async function run(files: readonly string[]): Promise<Counts> {
  const env: Record<string, string | undefined> = {
    ...process.env,
    NODE_ENV: 'test',
    NIGHTLEDGER_TEST_RUN: isLong ? 'long' : args[0] === '--push' ? 'push' : 'quick',
  }
  const bundling = files.length >= FILES_TO_BUNDLE_FOR || files.some(startsProcesses) ? bundleProgram() : undefined
  const starting = files.filter(startsProcesses).length
  const compiling = starting >= FILES_TO_BUNDLE_FOR ? bundling?.then(({ folder }) => compileProgram(folder)) : undefined
  // Awaited below; they may fail before.
  for (const making of [bundling, compiling]) making?.catch(() => undefined)
  if (files.some((file) => kindOf(file) !== 'unit')) {
    server = await startTestServer((step) => console.log(step), { fills: isLong })
    if (server.templateFailure) console.error(`No migrated database to test on. ${server.templateFailure.message}`)
    env[SERVER_URL_VARIABLE] = server.url
    env[SERVER_FOLDER_VARIABLE] = server.folder
  }
  program = await bundling
  if (program !== undefined) env[PROGRAM_VARIABLE] = program.folder
  env[BINARY_VARIABLE] = await compiling
  reportFolder = mkdtempSync(join(tmpdir(), 'nightledger-report-'))
  const counts = noCounts()
  let exitCode = 0
  // The long ones load the machine by themselves.
  for (const [name, workers] of Object.entries({ short: WORKERS, long: LONG_WORKERS, alone: 1 })) {
    const part = files.filter((file) => partOf(file) === name)
    if (part.length === 0) continue
    const report = join(reportFolder, `junit-${name}.xml`)
    // The next part runs although one failed: one run shows everything to fix.
    const code = await bunTest(part, { env, report, workers })
    exitCode ||= code
    addCounts(counts, countsOf(readReport(report)))
  }
  keepTimings(counts)
  // Once more at the end, where it is found: what they said is thousands of lines above.
  for (const failure of counts.failures) console.log(`\nFailed: ${failure}`)
  if (server?.templateFailure) {
    console.log(`Counting one failure: ${server.templateFailure.message}`)
    counts.failed++
  }
  // By name, some files may rightly have no test to run.
  const chosenByName = options.some((option) => option.startsWith('-t') || option.startsWith('--test-name-pattern'))
  for (const file of chosenByName ? [] : files.filter((file) => !counts.files.has(file))) {
    console.log(`Counting ${file} as failed: it did not load, or has no test`)
    counts.failed++
  }
  if (exitCode !== 0 && counts.failed === 0) {
    console.log(`Counting one failure: the test runner ended with exit code ${exitCode}, and reported none`)
    counts.failed++
  }
  return counts
}

function partOf(file: string): 'short' | 'long' | 'alone' {
  if (ALONE.includes(file)) return 'alone'
  return kindOf(file) === 'long' ? 'long' : 'short'
}

/** @returns the exit code of `bun test` */
async function bunTest(
  files: readonly string[],
  { env, report, workers }: { env: Record<string, string | undefined>; report: string; workers: number },
): Promise<number> {
  const sideBySide = [`--parallel=${workers}`, '--no-isolate', `--timings=${writeTimings(files)}`]
  const reporter = ['--reporter=junit', `--reporter-outfile=${report}`]
  runner = Bun.spawn(
    [
      process.execPath,
      'test',
      `--timeout=${TEST_MS_MAX}`,
      ...(files.length > 1 ? sideBySide : []),
      ...reporter,
      ...options,
      ...files.map((file) => `./${file}`),
    ],
    { env, stdio: ['ignore', 'inherit', 'inherit'] },
  )
  return await runner.exited
}

function readReport(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function cleanUp(): Promise<void> {
  ending ??= (async () => {
    await server?.stop()
    program?.remove()
    if (reportFolder !== undefined) rmSync(reportFolder, { recursive: true, force: true })
  })()
  return ending
}
