import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Glob } from 'bun'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { SERVER_URL_VARIABLE } from '../support/postgres.ts'
import { kindOf, testFiles } from '../support/test-files.ts'
import { startTestServer } from '../support/test-server.ts'
import { codeMutations } from './code-mutations.ts'
import { type Coverage, coveringTests, hashOf, measureCoverage } from './covering-tests.ts'
import { isEquivalent } from './equivalent.ts'
import { describeMutation, type Mutation, mutated } from './mutation.ts'
import { type FunctionBody, functionBodies, schemaMutations } from './sql-mutations.ts'

/*
 * `bun run test:mutate [--seed 7] [--count 400] [--areas core,access] [--only src/core/domain/night.ts:12]`: breaks one thing at a time,
 * in a copy of the project, and runs those tests of `npm test` that execute the line, the nearest first, until one fails. Prints the
 * survivors with file and line, and the share that was noticed. The same seed breaks the same things, as long as the code is the same.
 * `--again survivors.json` tries those that survived an earlier run, which `--survivors survivors.json` wrote.
 *
 * The share is a lower bound: the tests of a mutation stop after `--seconds`, and tests that only child processes fail are not tried.
 */

const AREAS: Record<string, string> = {
  core: 'src/core/**/*.ts',
  accounts: 'src/accounts/**/*.ts',
  api: 'src/{http,api}/**/*.ts',
  webhooks: 'src/events/webhooks/**/*.ts',
  changes: 'src/events/changes/**/*.ts',
  stores: 'src/postgres/stores/**/*.ts',
  sql: 'sql/*.sql',
}
const CACHE = 'node_modules/.cache/nightledger-coverage.json'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    count: { type: 'string', default: '400' },
    areas: { type: 'string', default: Object.keys(AREAS).join(',') },
    only: { type: 'string', multiple: true },
    workers: { type: 'string', default: String(availableParallelism()) },
    seconds: { type: 'string', default: '60' },
    survivors: { type: 'string' },
    again: { type: 'string' },
    fresh: { type: 'boolean', default: false },
  },
})
const workers = Number(values.workers)
const secondsMax = Number(values.seconds)
const root = process.cwd()
const texts = new Map<string, string>()
const textOf = (file: string) => {
  const known = texts.get(file) ?? readFileSync(join(root, file), 'utf8')
  texts.set(file, known)
  return known
}

type Result = { readonly mutation: Mutation; readonly outcome: 'noticed' | 'survived' | 'invalid'; readonly by: string }

/** How a mutation is found again after the lines around it have moved. */
type Survivor = { readonly file: string; readonly before: string; readonly after: string }

const chosen =
  values.again !== undefined ? survivorsOf(values.again) : values.only !== undefined ? inLines(values.only) : drawn()
console.log(`Seed ${values.seed}: ${chosen.length} mutations`)
const server = await startTestServer(console.log)
const scratch = mkdtempSync(join(tmpdir(), 'nightledger-mutate-'))
/** Fewer seeds and examples than a push proves: a mutation that these do not find is found by a test of its own, or not at all. */
const env = { ...process.env, NODE_ENV: 'test', SIM_SEEDS: '10', SIM_FIRST: '1', [SERVER_URL_VARIABLE]: server.url }
try {
  const coverage = await knownCoverage()
  const results: Result[] = []
  const left = [...chosen]
  await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      const copy = copyOfProject(join(scratch, String(worker)))
      for (let mutation = left.shift(); mutation !== undefined; mutation = left.shift()) {
        const result = await tried(mutation, { copy, coverage })
        results.push(result)
        report(result, results.length)
      }
    }),
  )
  console.log(summaryOf(results))
  if (values.survivors !== undefined) {
    const survivors = results
      .filter(({ outcome }) => outcome === 'survived')
      .map(({ mutation }) => survivorOf(mutation))
    writeFileSync(values.survivors, JSON.stringify(survivors, null, 2))
  }
} finally {
  await server.stop()
  rmSync(scratch, { recursive: true, force: true })
}

/** As many of each area, so that a small one is not judged by three. */
function drawn(): Mutation[] {
  const random = new SeededRandom(Number(values.seed))
  const areas = values.areas.split(',').map((area) => shuffled(mutationsOf(area), random))
  const count = Number(values.count)
  const taken: Mutation[] = []
  for (let round = 0; taken.length < count && areas.some((area) => round < area.length); round++)
    for (const area of areas) if (area[round] !== undefined && taken.length < count) taken.push(area[round] as Mutation)
  return taken
}

function inLines(places: readonly string[]): Mutation[] {
  const all = Object.keys(AREAS).flatMap(mutationsOf)
  return all.filter(({ file, line }) => places.some((place) => place === file || place === `${file}:${line}`))
}

function survivorsOf(path: string): Mutation[] {
  const wanted = JSON.parse(readFileSync(path, 'utf8')) as Survivor[]
  const all = Object.keys(AREAS)
    .flatMap(mutationsOf)
    .map((mutation) => ({ mutation, ...survivorOf(mutation) }))
  return wanted.flatMap(({ file, before, after }) => {
    const found = all.find((one) => one.file === file && one.before === before && one.after === after)
    if (found === undefined) console.log(`No longer there: ${file}\n  - ${before}`)
    return found?.mutation ?? []
  })
}

function survivorOf(mutation: Mutation): Survivor {
  return { file: mutation.file, ...describeMutation(textOf(mutation.file), mutation) }
}

function mutationsOf(area: string): Mutation[] {
  const pattern = AREAS[area]
  if (pattern === undefined) throw new Error(`Unknown area: ${area}. Areas: ${Object.keys(AREAS).join(', ')}`)
  const files = [...new Glob(pattern).scanSync(root)].filter((file) => !file.endsWith('.d.ts')).sort()
  if (area !== 'sql') return files.flatMap((file) => codeMutations(file, textOf(file)))
  return files.flatMap((file, index) => schemaMutations(file, textOf(file), files.slice(index + 1).map(textOf)))
}

function shuffled<T>(from: readonly T[], random: SeededRandom): T[] {
  const left = [...from]
  return from.map(() => left.splice(random.below(left.length), 1)[0] as T)
}

/** A copy that can be broken. What git ignores is not in it, but for the packages. */
function copyOfProject(folder: string): string {
  const files = Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const file of files.stdout
    .toString()
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file))
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Measures the test files that are new or have changed, all of them with `--fresh`. */
async function knownCoverage(): Promise<Coverage> {
  const cache = join(root, CACHE)
  const known = values.fresh || !existsSync(cache) ? {} : (JSON.parse(readFileSync(cache, 'utf8')) as Coverage)
  const files = testFiles({ filters: [], kinds: ['unit', 'postgres'] })
  const current = Object.entries(known).filter(
    ([file, { hash }]) => files.includes(file) && hash === hashOf(join(root, file)),
  )
  const coverage: Coverage = Object.fromEntries(current)
  const left = files.filter((file) => coverage[file] === undefined)
  if (left.length > 0) {
    console.log(`Measuring which lines ${left.length} test files execute`)
    Object.assign(coverage, await measureCoverage(left, { root, env, workers }))
    mkdirSync(dirname(cache), { recursive: true })
    writeFileSync(cache, JSON.stringify(coverage))
  }
  return coverage
}

async function tried(mutation: Mutation, { copy, coverage }: { copy: string; coverage: Coverage }): Promise<Result> {
  const isSql = mutation.file.endsWith('.sql')
  const tests = isSql ? testsOfSql(mutation, coverage) : coveringTests(coverage, [mutation])
  const path = join(copy, mutation.file)
  writeFileSync(path, mutated(textOf(mutation.file), mutation))
  try {
    for (const batch of batches(tests, { coverage, together: isSql })) {
      const expectedMs = batch.reduce((sum, test) => sum + (coverage[test]?.ms ?? 0), 0)
      const command = isSql
        ? ['test/run.ts', ...batch, '--bail']
        : ['test', '--timeout=180000', '--bail', ...batch.map((test) => `./${test}`)]
      const child = Bun.spawn([process.execPath, ...command], {
        cwd: copy,
        env: isSql ? { ...env, [SERVER_URL_VARIABLE]: undefined } : env,
        stdout: 'pipe',
        stderr: 'pipe',
        // An endless loop is noticed, too.
        timeout: 60_000 + expectedMs * 5,
        killSignal: isSql ? 'SIGTERM' : 'SIGKILL',
      })
      const [said, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
      if ((await child.exited) === 0) continue
      if (said.includes('No migrated database') || errors.includes('No migrated database'))
        return { mutation, outcome: 'invalid', by: '' }
      return { mutation, outcome: 'noticed', by: /^\(fail\) (.*)$/m.exec(errors + said)?.[1] ?? batch.join(' ') }
    }
    return { mutation, outcome: 'survived', by: `${tests.length} test files execute it` }
  } finally {
    writeFileSync(path, textOf(mutation.file))
  }
}

/** The test files that call its SQL function themselves, then those that execute a statement that does. */
function testsOfSql(mutation: Mutation, coverage: Coverage): string[] {
  const name = functionOf(mutation)?.name ?? ''
  const calling = Object.keys(coverage).filter((test) => new RegExp(`\\b${name}\\(`).test(textOf(test)))
  return [...new Set([...calling, ...coveringTests(coverage, callersOf(mutation), name)])]
}

/** The lines of `src/` that name the SQL function of a mutation, or one that calls it. */
function callersOf(mutation: Mutation): { file: string; line: number }[] {
  const bodies = [...new Glob('sql/*.sql').scanSync(root)].flatMap((path) =>
    functionBodies(textOf(path)).map((body) => ({ ...body, text: textOf(path).slice(body.start, body.end) })),
  )
  const names = new Set([functionOf(mutation)?.name ?? ''])
  for (const name of names)
    for (const body of bodies) if (new RegExp(`\\b${name}\\(`).test(body.text)) names.add(body.name)
  const called = new RegExp(`\\b(${[...names].join('|')})\\(`)
  return [...new Glob('src/**/*.ts').scanSync(root)].flatMap((path) =>
    textOf(path)
      .split('\n')
      .flatMap((text, index) => (called.test(text) ? [{ file: path, line: index + 1 }] : [])),
  )
}

function functionOf({ file, start }: Mutation): FunctionBody | undefined {
  return functionBodies(textOf(file)).find((body) => body.start <= start && start < body.end)
}

/**
 * First what is quick, together; then what needs Postgres, in growing groups, until `--seconds` are used up.
 * @param options.together all in one, where each group makes a server of its own
 */
function batches(
  tests: readonly string[],
  { coverage, together }: { coverage: Coverage; together: boolean },
): string[][] {
  const groups: string[][] = []
  let [usedMs, groupMs, groupMsMax] = [0, 0, together ? Number.POSITIVE_INFINITY : 2_000]
  let kind = ''
  for (const test of tests) {
    const ms = coverage[test]?.ms ?? 0
    if (usedMs + ms > secondsMax * 1_000) continue
    const last = groups.at(-1)
    if (last === undefined || groupMs + ms > groupMsMax || (kind !== kindOf(test) && !together)) {
      groups.push([test])
      groupMs = 0
      groupMsMax *= 2
    } else last.push(test)
    kind = kindOf(test)
    usedMs += ms
    groupMs += ms
  }
  return groups
}

function report({ mutation, outcome, by }: Result, done: number): void {
  if (outcome !== 'survived') {
    if (done % 25 === 0) console.log(`… ${done} of ${chosen.length}`)
    return
  }
  const { before, after } = describeMutation(textOf(mutation.file), mutation)
  const equivalent = isEquivalent(mutation.file, { before, after }) ? ', named as equivalent' : ''
  console.log(
    `Survived: ${mutation.file}:${mutation.line} (${mutation.kind}; ${by}${equivalent})\n  - ${before}\n  + ${after}`,
  )
}

function summaryOf(results: readonly Result[]): string {
  const areaOf = ({ mutation: { file } }: Result) =>
    Object.keys(AREAS).find((area) => new Glob(AREAS[area] ?? '').match(file)) ?? ''
  const rows = [...new Set(results.map(areaOf))].sort().map((area) => {
    const own = results.filter((result) => areaOf(result) === area && result.outcome !== 'invalid')
    const survivors = own.filter(({ outcome }) => outcome === 'survived')
    const equivalent = survivors.filter(({ mutation }) =>
      isEquivalent(mutation.file, describeMutation(textOf(mutation.file), mutation)),
    ).length
    return { area, tried: own.length - equivalent, noticed: own.length - survivors.length, equivalent }
  })
  const share = (noticed: number, of: number) => `${((100 * noticed) / Math.max(1, of)).toFixed(1)} %`
  const total = rows.reduce((sum, row) => ({ tried: sum.tried + row.tried, noticed: sum.noticed + row.noticed }), {
    tried: 0,
    noticed: 0,
  })
  return [
    ...rows.map(
      ({ area, tried, noticed, equivalent }) =>
        `${area}: ${noticed} of ${tried} noticed (${share(noticed, tried)}), ${equivalent} equivalent`,
    ),
    `${total.noticed} of ${total.tried} mutations noticed (${share(total.noticed, total.tried)}), seed ${values.seed}`,
  ].join('\n')
}
