/*
 * `bun bench/forward.ts [--nodes]`: what it costs that a request arrives at another worker than the one that owns its agency, or, with `--nodes`,
 * at another node (needs etcd).
 *
 * The same requests of the same agencies to their owner (`local`) and to the other process (`forwarded`), in turn, with 32 connections and with
 * one: CPU of the service, all of its processes together, and of PostgreSQL, per request. A forwarded write keeps its answer (C8), a local
 * one only if it has an `Idempotency-Key` (`keyed`). Takes about two minutes.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadAgencies, makeLoadAgencies, UNITS_EACH } from '../test/support/cluster/agencies.ts'
import { EtcdServers } from '../test/support/etcd.ts'
import { freePort } from '../test/support/free-port.ts'
import { NodeProcesses, settled } from '../test/support/node-processes.ts'
import { AgencyLoad, type AgencyRequests, bookingsOf, readsOf } from './load/agency-load.ts'
import { writeResult } from './report.ts'
import { cpuSecondsOfFamily, startPostgres, startService } from './support/processes.ts'
import { medianOf, rounded } from './support/statistics.ts'

/** Enough that either process owns some; several, because a connection with requests of a single one is closed until it is at the owner. */
const ALL = loadAgencies(64)
const CONNECTIONS = [32, 1]
const ROUNDS = 7
/** Before anything is measured, because every process compiles its code by itself. */
const COMPILE_MS = 4_000
const BEGIN_MS = 200
const RUN_MS = 1_500
const SETTLE_MS = 1_000

/** Two processes of one ledger. */
interface Pair {
  /** By the name that answers give in `X-Served-By`. */
  readonly urls: ReadonlyMap<string, string>
  readonly cpuSeconds: () => number
  stop(): Promise<void>
}

const isOfNodes = parseArgs({ options: { nodes: { type: 'boolean', default: false } } }).values.nodes
const loadBefore = loadavg()[0]
const postgres = await startPostgres()
const { url } = await postgres.createDatabase('bench')
await makeLoadAgencies(url, ALL)
const pair = isOfNodes ? await twoNodes(url) : await twoWorkers(url)
const results: object[] = []
try {
  const [first = '', second = ''] = pair.urls.keys()
  const owners = await Promise.all(ALL.map(async ({ secret }) => ownerSeenBy(pair.urls.get(first) ?? '', secret)))
  const owned = ALL.filter((_, i) => owners[i] === first)
  if (owned.length < 2) throw new Error(`Cannot measure: ${first} owns ${owned.length} of ${ALL.length} agencies`)
  const sides = { local: pair.urls.get(first) ?? '', forwarded: pair.urls.get(second) ?? '' }
  // One source for all bookings: each asks for other nights.
  const bookings = bookingsOf(owned, UNITS_EACH)
  const loads = { reads: readsOf(owned, UNITS_EACH), bookings, keyed: keyed(bookings) }
  for (const [what, requests] of Object.entries(loads)) {
    for (const side of Object.values(sides)) await run(side, requests, Math.min(32, owned.length), COMPILE_MS)
    for (const connections of CONNECTIONS) {
      const result = { what, connections, ...(await compare(sides, requests, Math.min(connections, owned.length))) }
      console.log(JSON.stringify(result))
      results.push(result)
    }
  }
} finally {
  await pair.stop()
  await postgres.stop()
}
await writeResult('forward', { of: isOfNodes ? 'nodes' : 'workers', loadBefore, loadAfter: loadavg()[0], results })
process.exit()

async function twoWorkers(databaseUrl: string): Promise<Pair> {
  const dataDir = mkdtempSync(join(tmpdir(), 'nlf-'))
  const port = freePort()
  const env = { DATA_DIR: dataDir, PORT: String(port), WORKERS: '2', WORKER_PORTS: 'true' }
  const service = await startService(databaseUrl, env)
  await Bun.sleep(SETTLE_MS)
  return {
    urls: new Map([1, 2].map((worker) => [`worker-${worker}`, `http://127.0.0.1:${port + worker}`])),
    cpuSeconds: () => cpuSecondsOfFamily(service.pid),
    stop: async () => {
      await service.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function twoNodes(databaseUrl: string): Promise<Pair> {
  const etcd = await EtcdServers.start()
  const processes = new NodeProcesses(databaseUrl, etcd)
  const nodes = [
    await processes.start('a', { NODE_ENV: 'production' }),
    await processes.start('b', { NODE_ENV: 'production' }),
  ]
  for (const node of nodes) await settled(node, nodes.length)
  return {
    urls: new Map(nodes.map(({ id, baseUrl }) => [id, baseUrl])),
    cpuSeconds: () => nodes.reduce((sum, { pid }) => sum + cpuSecondsOfFamily(pid), 0),
    stop: async () => {
      await processes.stop()
      await etcd.stop()
    },
  }
}

async function ownerSeenBy(baseUrl: string, secret: string): Promise<string | null> {
  const answer = await fetch(`${baseUrl}/partner/v1/units`, { headers: { authorization: `Bearer ${secret}` } })
  return answer.headers.get('x-served-by')
}

/** The same bookings with an `Idempotency-Key` each. */
function keyed(requests: AgencyRequests): AgencyRequests {
  let n = 0
  const key = () => `Idempotency-Key: bench-${n++}\r\nContent-Type:`
  return {
    ...requests,
    next: (agency) => {
      const planned = requests.next(agency)
      return { ...planned, bytes: Buffer.from(planned.bytes.toString().replace('Content-Type:', key)) }
    },
  }
}

async function run(baseUrl: string, requests: AgencyRequests, connections: number, ms: number) {
  const load = await AgencyLoad.start(baseUrl, requests, { shape: 'alike', connections })
  await Bun.sleep(BEGIN_MS)
  const use = () => ({
    answers: load.total,
    atMs: performance.now(),
    service: pair.cpuSeconds(),
    postgres: cpuSecondsOfFamily(postgres.postmasterPid),
  })
  const before = use()
  await Bun.sleep(ms)
  const after = use()
  await load.stop()
  const answers = after.answers - before.answers
  return {
    perSecond: (answers / (after.atMs - before.atMs)) * 1_000,
    serviceUs: ((after.service - before.service) * 1e6) / answers,
    postgresUs: ((after.postgres - before.postgres) * 1e6) / answers,
  }
}

/** Medians of alternating rounds; `ratio` is the median of the rounds' own: CPU of the service, and with PostgreSQL's. */
async function compare(
  { local, forwarded }: Readonly<Record<'local' | 'forwarded', string>>,
  requests: AgencyRequests,
  connections: number,
) {
  const rounds: Readonly<Record<'local' | 'forwarded', Awaited<ReturnType<typeof run>>>>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const here = await run(local, requests, connections, RUN_MS)
    rounds.push({ local: here, forwarded: await run(forwarded, requests, connections, RUN_MS) })
  }
  const figuresOf = (side: 'local' | 'forwarded') =>
    Object.fromEntries(
      (['perSecond', 'serviceUs', 'postgresUs'] as const).map((name) => [
        name,
        rounded(medianOf(rounds.map((round) => round[side][name])), 1),
      ]),
    )
  const ratioOf = (cpu: (of: Awaited<ReturnType<typeof run>>) => number) =>
    rounded(medianOf(rounds.map((round) => cpu(round.forwarded) / cpu(round.local))), 2)
  return {
    local: figuresOf('local'),
    forwarded: figuresOf('forwarded'),
    ratio: ratioOf(({ serviceUs }) => serviceUs),
    ratioWithPostgres: ratioOf(({ serviceUs, postgresUs }) => serviceUs + postgresUs),
  }
}
