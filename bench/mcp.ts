/*
 * `bun bench/mcp.ts`: what a tools/call costs beside the same read over REST. Both ask one service, with key, limits,
 * metering and validation on, for the blocked nights of 31 days of the same unit; they alternate A B A B, each as often
 * as RUNS, and the medians are compared. The service, its Postgres and the load generator are processes of their own.
 * About 40 s.
 */
import { mkdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { bookNights, startMcpService } from '../test/support/mcp-service.ts'
import { SERVER_URL_VARIABLE } from '../test/support/postgres.ts'
import { startTestServer } from '../test/support/test-server.ts'

const RUNS = 5
const RUN_S = 3
const CONNECTIONS = 32
/** Issue 6: at least a third of REST's throughput. */
const RATIO_MIN = 1 / 3
const RESULT = 'bench/results/mcp.json'

const DATES = { unit: 'sea-view', from: '2027-03-01', to: '2027-04-01' }

if (process.argv[2] === '--serve') await serve()
else await measure()

/** The service, until it is told to stop: by the end of its standard input. */
async function serve(): Promise<void> {
  const server = await startTestServer(() => {})
  process.env[SERVER_URL_VARIABLE] = server.url
  const service = await startMcpService()
  const agency = await service.agency()
  const unit = await service.unit(agency, { slug: DATES.unit })
  for (const [arrival, departure] of [
    ['2027-02-26', '2027-03-04'],
    ['2027-03-06', '2027-03-13'],
    ['2027-03-19', '2027-03-21'],
    ['2027-03-25', '2027-04-02'],
  ] as const)
    await bookNights(service, agency, unit, arrival, departure)
  const { secret } = await service.key(agency)
  console.log(JSON.stringify({ url: service.url, secret }))
  for await (const _ of Bun.stdin.stream()) {
  }
  await service.close()
  await server.stop()
}

interface Run {
  readonly requestsPerS: number
  readonly p50Ms: number
  readonly p99Ms: number
}

async function measure(): Promise<void> {
  const service = Bun.spawn([process.execPath, import.meta.path, '--serve'], { stdin: 'pipe', stdout: 'pipe' })
  const { value } = await service.stdout.getReader().read()
  const { url, secret } = JSON.parse(new TextDecoder().decode(value)) as { url: string; secret: string }
  const key = ['-H', `authorization=Bearer ${secret}`]
  const rest = [...key, `${url}/partner/v1/availability?${new URLSearchParams(DATES)}`]
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_availability', arguments: DATES } }
  const mcp = [
    ...key,
    ...['-H', 'content-type=application/json', '-H', 'accept=application/json, text/event-stream'],
    ...['-H', 'mcp-protocol-version=2025-11-25', '-m', 'POST', '-b', JSON.stringify(call), `${url}/mcp`],
  ]
  const runs = { rest: [] as Run[], mcp: [] as Run[] }
  try {
    // Once each without looking, so that both are compiled.
    await load(rest, 1)
    await load(mcp, 1)
    for (let i = 1; i <= RUNS; i++) {
      runs.rest.push(await load(rest, RUN_S))
      runs.mcp.push(await load(mcp, RUN_S))
      console.log(`run ${i} of ${RUNS}: REST ${told(runs.rest.at(-1))}, MCP ${told(runs.mcp.at(-1))}`)
    }
  } finally {
    service.stdin.end()
    await service.exited
  }
  const medians = { rest: medianOf(runs.rest), mcp: medianOf(runs.mcp) }
  const ratio = medians.mcp.requestsPerS / medians.rest.requestsPerS
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, bun: Bun.version }
  const result = { at: new Date().toISOString(), machine, connections: CONNECTIONS, runS: RUN_S, runs, medians, ratio }
  mkdirSync('bench/results', { recursive: true })
  await Bun.write(RESULT, `${JSON.stringify({ ...result, ratioMin: RATIO_MIN }, null, 2)}\n`)
  console.log(
    `MCP has ${(ratio * 100).toFixed(0)} % of REST's throughput (at least ${(RATIO_MIN * 100).toFixed(0)} % is wanted)`,
  )
  console.log(`medians: REST ${told(medians.rest)}, MCP ${told(medians.mcp)}; written to ${RESULT}`)
}

/** One run of the load generator. @throws Error when an answer was not 2xx */
async function load(target: readonly string[], seconds: number): Promise<Run> {
  const generator = Bun.spawn(
    ['node_modules/.bin/autocannon', '-j', '-d', String(seconds), '-c', String(CONNECTIONS), ...target],
    { stdout: 'pipe', stderr: 'ignore' },
  )
  const { requests, latency, ...counts } = JSON.parse(await new Response(generator.stdout).text())
  if (counts.non2xx > 0 || counts.errors > 0 || counts['2xx'] === 0)
    throw new Error(`Cannot measure: ${counts.non2xx} answers were refusals, ${counts.errors} failed`)
  return { requestsPerS: Math.round(requests.average), p50Ms: latency.p50, p99Ms: latency.p99 }
}

function medianOf(runs: readonly Run[]): Run {
  const of = (figure: (run: Run) => number) => runs.map(figure).toSorted((a, b) => a - b)[runs.length >> 1] ?? 0
  return {
    requestsPerS: of(({ requestsPerS }) => requestsPerS),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
  }
}

function told(run: Run | undefined): string {
  return run === undefined ? 'nothing' : `${run.requestsPerS} requests/s (p50 ${run.p50Ms} ms, p99 ${run.p99Ms} ms)`
}
