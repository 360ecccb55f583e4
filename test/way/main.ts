/**
 * `bun run way [route]`: which files of `src` one warm request of a route executes, and how many lines of each. The service runs with
 * coverage twice, with few and with many identical requests: a line belongs to the request if it ran once more for nearly each of them.
 * Without a route: the number of files of every route it knows.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SERVER_URL_VARIABLE } from '../support/postgres.ts'
import { startTestServer } from '../support/test-server.ts'
import { REQUESTS } from './warm-requests.ts'

const FEW = 2
const MANY = 42
/** Of the 40 requests more. What timers run meanwhile is less. */
const EXECUTED_MIN = 30

type Counts = ReadonlyMap<string, ReadonlyMap<number, number>>

const pending = process.argv[2]
const routes = REQUESTS.filter((route) => pending === undefined || route.includes(pending))
if (routes.length === 0) throw new Error(`Cannot measure ${pending}: name one of\n${REQUESTS.join('\n')}`)
const server = await startTestServer(() => {})
try {
  for (const route of routes) {
    const [few, many] = [await countsOf(route, FEW), await countsOf(route, MANY)]
    const files = [...many].flatMap(([file, lines]) => {
      const executed = [...lines].filter(([line, count]) => count - (few.get(file)?.get(line) ?? 0) >= EXECUTED_MIN)
      return executed.length === 0 ? [] : [{ file, executed: executed.length }]
    })
    const sum = files.reduce((lines, { executed }) => lines + executed, 0)
    console.log(`${route}: ${files.length} files, ${sum} lines executed`)
    if (pending === undefined) continue
    for (const { file, executed } of files.toSorted((a, b) => (a.file < b.file ? -1 : 1)))
      console.log(`${String(executed).padStart(5)}  ${file}`)
  }
} finally {
  await server.stop()
}

/** How often each line of `src` was executed, by file. */
async function countsOf(route: string, requests: number): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-way-'))
  try {
    const coverage = ['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${folder}`]
    const child = Bun.spawn([process.execPath, 'test', ...coverage, './test/way/warm-requests.ts'], {
      env: { ...process.env, [SERVER_URL_VARIABLE]: server.url, WAY_ROUTE: route, WAY_REQUESTS: String(requests) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const log = await new Response(child.stderr).text()
    if ((await child.exited) !== 0) throw new Error(`Cannot measure ${route}:\n${log}`)
    return countsIn(readFileSync(join(folder, 'lcov.info'), 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function countsIn(report: string): Counts {
  const files = new Map<string, Map<number, number>>()
  let lines: Map<number, number> | null = null
  for (const row of report.split('\n')) {
    const [kind, value = ''] = row.split(/:(.*)/)
    if (kind === 'SF') {
      lines = value.startsWith('src/') ? new Map() : null
      if (lines !== null) files.set(value, lines)
    } else if (kind === 'DA') {
      const [line, count] = value.split(',').map(Number)
      lines?.set(line ?? 0, count ?? 0)
    }
  }
  return files
}
