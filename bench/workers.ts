/*
 * `bun run bench --workers`, or `bun bench/workers.ts [--workers 1,2,4] [--only reads | bookings] [--cpus 0.2] [--period-ms 50] [--rounds 3]`: how reads and
 * bookings grow with the workers of one service (WORKERS). Each worker gets the same share of a CPU, its sender of webhooks included, so that
 * the workers are the limit and not the machine, which the load generator and PostgreSQL share. `--cpus 0`: no limit, for a machine with
 * a core for each worker. The CPU time of a request is that of all processes of the service: parent, workers and senders. Needs root, and HAProxy.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { SERVE_AS_WORKER } from '../src/app/worker-processes.ts'
import { loadAgencies, makeLoadAgencies, UNITS_EACH } from '../test/support/cluster/agencies.ts'
import { CpuGroup } from '../test/support/cluster/cpu-group.ts'
import { freePort } from '../test/support/free-port.ts'
import { startWorkersProxy } from '../test/support/workers-proxy.ts'
import { AgencyLoad, bookingsOf, readsOf } from './load/agency-load.ts'
import { writeResult } from './report.ts'
import {
  commandOf,
  cpuSecondsOf,
  cpuSecondsOfFamily,
  familyOf,
  machineSeconds,
  startPostgres,
  startService,
} from './support/processes.ts'
import { medianOf, rounded } from './support/statistics.ts'

/** So many that each worker's share of them is about its share of the shards. */
const AGENCIES = loadAgencies(128)
/** `proxied`: as `alike`, through HAProxy, which knows the workers' own ports and learns whose each agency is. */
const SHAPES = ['alike', 'each', 'proxied'] as const
type WorkersShape = (typeof SHAPES)[number]
/** `answers`: for each agency and worker before anything is measured, because every process compiles its code by itself. */
const LOADS = {
  reads: { requests: readsOf(AGENCIES, UNITS_EACH), answers: 300 },
  bookings: { requests: bookingsOf(AGENCIES, UNITS_EACH), answers: 150 },
} as const
const LOAD_NAMES = ['reads', 'bookings'] as const
const SETTLE_MS = 1_000
/** Without a limit, until the connections of one agency each are at its worker: it takes hundreds of requests. */
const PLACE_MS = 4_000
const IDLE_MS = 3_000
const LOG_LINES = 20
const RUN_MS = 5_000

type Load = (typeof LOAD_NAMES)[number]

interface Measured {
  readonly round: number
  readonly workers: number
  readonly load: Load
  readonly shape: WorkersShape
  readonly perSecond: number
  /** Of the agency with the fewest, and with the most answers: of `each`, how unevenly connections and agencies are spread. */
  readonly fewestPerSecond: number
  readonly mostPerSecond: number
  /** Microseconds of CPU for each answer. */
  readonly serviceUs: number
  readonly postgresUs: number
  /** Of HAProxy, which is not the service's. */
  readonly proxyUs: number
  /** CPUs. */
  readonly client: number
  readonly machineIdle: number
  readonly stolen: number
  /** By worker: of the periods in which it had something to do, those in which it used up its share. */
  readonly throttled: readonly number[]
}

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '1,2,4' },
    only: { type: 'string' },
    cpus: { type: 'string', default: '0.2' },
    'period-ms': { type: 'string', default: '50' },
    rounds: { type: 'string', default: '3' },
  },
})
const counts = values.workers
  .split(',')
  .map(Number)
  .toSorted((a, b) => a - b)
const [cpus, rounds, periodMs] = [Number(values.cpus), Number(values.rounds), Number(values['period-ms'])]
const loads = LOAD_NAMES.filter((load) => values.only === undefined || values.only === load)
if (
  loads.length === 0 ||
  !(cpus >= 0 && rounds >= 1 && periodMs >= 1) ||
  !counts.every((count) => Number.isInteger(count) && count > 0)
) {
  console.error(
    'Usage: bun bench/workers.ts [--workers 1,2,4] [--only reads | bookings] [--cpus 0.2] [--period-ms 50] [--rounds 3]',
  )
  process.exit(2)
}

const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${text}`)

const loadBefore = loadavg()[0]
const postgres = await startPostgres()
const all: Measured[] = []
const idles: object[] = []
try {
  const { url } = await postgres.createDatabase('bench')
  await makeLoadAgencies(url, AGENCIES)
  for (let round = 0; round < rounds; round++)
    for (const count of round % 2 === 0 ? counts : counts.toReversed()) await measureWorkers(url, round, count)
} finally {
  await postgres.stop()
}
const curve = loads.flatMap((load) => SHAPES.flatMap((shape) => counts.map((count) => pointOf(load, shape, count))))
for (const { load, shape, workers, perSecond, toFirst, serviceUs, postgresUs } of curve)
  console.log(
    `${load.padEnd(8)}  ${shape.padEnd(7)}  ${String(workers).padStart(2)} workers  ${String(perSecond).padStart(7)}/s  ` +
      `${toFirst.toFixed(2)} x ${counts[0]}  CPU of a request: service ${serviceUs}, Postgres ${postgresUs} us`,
  )
await writeResult('workers', {
  loadBefore,
  loadAfter: loadavg()[0],
  cpus,
  periodMs,
  rounds,
  agencies: AGENCIES.length,
  curve,
  idles,
  all,
})
process.exit()

async function measureWorkers(databaseUrl: string, round: number, count: number): Promise<void> {
  // Short: it has sockets in it.
  const dataDir = mkdtempSync(join(tmpdir(), 'nlw-'))
  const port = freePort()
  const ports = { PORT: String(port), WORKER_PORTS: 'true' }
  const service = await startService(databaseUrl, { DATA_DIR: dataDir, WORKERS: String(count), ...ports })
  const proxy = await startWorkersProxy(port, count)
  const groups = workersOf(service.pid, count).map((worker, i) => {
    const group = new CpuGroup(`nightledger-bench-${process.pid}-${i + 1}`, periodMs * 1_000)
    for (const pid of familyOf(worker)) group.add(pid)
    return group
  })
  const limit = (share: number | null) => {
    for (const group of groups) group.limit(share)
  }
  try {
    await Bun.sleep(SETTLE_MS)
    const idle = await idleCpus(service.pid)
    say(`${count} workers without requests: service ${idle.service}, Postgres ${idle.postgres} CPUs`)
    idles.push({ round, workers: count, ...idle })
    for (const load of loads) {
      await warm(service.baseUrl, load, count)
      for (const shape of round % 2 === 0 ? SHAPES : SHAPES.toReversed()) {
        const slowDown = () => limit(cpus === 0 ? null : cpus)
        const asked = { load, shape, groups, slowDown, proxyPid: proxy.pid }
        const baseUrl = shape === 'proxied' ? proxy.baseUrl : service.baseUrl
        const figures = await measure({ baseUrl, pid: service.pid }, asked)
        limit(null)
        all.push({ round, workers: count, load, shape, ...figures })
        say(`${count} workers, ${load}, ${shape}: ${JSON.stringify(figures)}`)
      }
    }
  } catch (error) {
    console.error(service.log().split('\n').slice(-LOG_LINES).join('\n'))
    throw error
  } finally {
    limit(null)
    await proxy.stop()
    await service.stop()
    for (const group of groups) group.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** The processes that serve: the service itself, if it is the only one. @throws Error when there are not as many as there should be */
function workersOf(service: number, count: number): number[] {
  const workers = familyOf(service).filter((pid) => commandOf(pid).includes(SERVE_AS_WORKER))
  const serving = workers.length === 0 ? [service] : workers
  if (serving.length !== count) throw new Error(`Cannot measure ${count} workers: found ${serving.length}`)
  return serving
}

/** CPUs in use without requests: part of what a request costs, and more so the smaller the share of a worker is. */
async function idleCpus(service: number): Promise<{ service: number; postgres: number }> {
  const use = () => ({ service: cpuSecondsOfFamily(service), postgres: cpuSecondsOfFamily(postgres.postmasterPid) })
  const before = use()
  await Bun.sleep(IDLE_MS)
  const after = use()
  const cpusOf = (of: keyof typeof after) => rounded((after[of] - before[of]) / (IDLE_MS / 1_000), 3)
  return { service: cpusOf('service'), postgres: cpusOf('postgres') }
}

/** Without a limit, until everything is in memory and compiled. */
async function warm(url: string, load: Load, count: number): Promise<void> {
  const { requests, answers } = LOADS[load]
  // One after the other: each has a minute, which is enough on a slow machine.
  for (let worker = 0; worker < count; worker++) {
    const running = await AgencyLoad.start(url, requests, { shape: 'alike', connections: AGENCIES.length })
    await running.untilEachHas(answers)
    await running.stop()
  }
}

type Figures = Omit<Measured, 'round' | 'workers' | 'load' | 'shape'>

async function measure(
  { baseUrl, pid }: { baseUrl: string; pid: number },
  {
    load,
    shape,
    groups,
    slowDown,
    proxyPid,
  }: { load: Load; shape: WorkersShape; groups: readonly CpuGroup[]; slowDown: () => void; proxyPid: number },
): Promise<Figures> {
  const connections = { shape: shape === 'proxied' ? 'alike' : shape, connections: AGENCIES.length } as const
  const running = await AgencyLoad.start(baseUrl, LOADS[load].requests, connections)
  await Bun.sleep(PLACE_MS)
  slowDown()
  await Bun.sleep(SETTLE_MS)
  const use = () => ({
    answered: [...running.answered],
    atMs: performance.now(),
    service: cpuSecondsOfFamily(pid),
    postgres: cpuSecondsOfFamily(postgres.postmasterPid),
    client: cpuSecondsOf(process.pid),
    proxy: cpuSecondsOf(proxyPid),
    machine: machineSeconds(),
    periods: groups.map((group) => group.periods),
  })
  const before = use()
  await Bun.sleep(RUN_MS)
  const after = use()
  await running.stop()
  const seconds = (after.atMs - before.atMs) / 1_000
  const answers = after.answered.map((count, i) => count - (before.answered[i] ?? 0))
  const total = answers.reduce((sum, count) => sum + count, 0)
  const used = (of: (use: typeof after) => number) => of(after) - of(before)
  const usEach = (of: (use: typeof after) => number) => Math.round((used(of) * 1e6) / total)
  return {
    perSecond: Math.round(total / seconds),
    fewestPerSecond: rounded(Math.min(...answers) / seconds, 1),
    mostPerSecond: rounded(Math.max(...answers) / seconds, 1),
    serviceUs: usEach(({ service }) => service),
    postgresUs: usEach((use) => use.postgres),
    proxyUs: usEach(({ proxy }) => proxy),
    client: rounded(used(({ client }) => client) / seconds, 2),
    machineIdle: rounded(used(({ machine }) => machine.idleS) / seconds, 2),
    stolen: rounded(used(({ machine }) => machine.stolenS) / seconds, 2),
    throttled: after.periods.map(({ limited, throttled }, i) => {
      const periods = limited - (before.periods[i]?.limited ?? 0)
      return periods === 0 ? 0 : rounded((throttled - (before.periods[i]?.throttled ?? 0)) / periods, 2)
    }),
  }
}

/** Medians of the rounds; the ratio is the median of the rounds' own. */
function pointOf(load: Load, shape: WorkersShape, workers: number) {
  const of = (count: number) =>
    all.filter((each) => each.load === load && each.shape === shape && each.workers === count)
  const figures = of(workers)
  const first = of(counts[0] ?? 1)
  const toFirst = figures.map(
    ({ round, perSecond }) => perSecond / (first.find((each) => each.round === round)?.perSecond ?? Number.NaN),
  )
  return {
    load,
    shape,
    workers,
    perSecond: medianOf(figures.map(({ perSecond }) => perSecond)),
    toFirst: rounded(medianOf(toFirst), 2),
    serviceUs: medianOf(figures.map(({ serviceUs }) => serviceUs)),
    postgresUs: medianOf(figures.map(({ postgresUs }) => postgresUs)),
  }
}
