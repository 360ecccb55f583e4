/*
 * `bun bench/worker-kill.ts [services]`: what the agencies of the other workers notice when one of three is killed.
 *
 * Reads and bookings of agencies that others own come at a fixed rate, each at its owner's own port, for a second without and a second with
 * a `kill -9` at its start. A latency begins when the request was due (bench/README.md#latency-at-a-fixed-rate).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { placementOf } from '../src/cluster/steps.ts'
import { Latencies } from '../src/lib/latencies.ts'
import { Arrivals } from '../src/lib/open-loop.ts'
import { loadAgencies, makeLoadAgencies, UNITS_EACH } from '../test/support/cluster/agencies.ts'
import { eventually } from '../test/support/eventually.ts'
import { freePort } from '../test/support/free-port.ts'
import { workersOf } from '../test/support/service-workers.ts'
import { type AgencyRequests, bookingsOf, readsOf } from './load/agency-load.ts'
import { HttpConnection } from './load/http-client.ts'
import { writeResult } from './report.ts'
import { startPostgres, startService } from './support/processes.ts'
import { medianOf, rounded } from './support/statistics.ts'

const WORKERS = 3
const KILLED = 1
/** The successor starts at once, after 100 ms, and after 500. */
const KILLS = 3
const AGENCIES = loadAgencies(96)
const LOADS = {
  reads: { requests: readsOf(AGENCIES, UNITS_EACH), perSecond: 1_000 },
  bookings: { requests: bookingsOf(AGENCIES, UNITS_EACH), perSecond: 200 },
} as const
const WINDOW_MS = 1_000
const PAUSE_MS = 0.1
/** Until the last shards have moved, and code is compiled. */
const SETTLE_MS = 1_500
/** Requests before the first window: until the code is compiled. */
const WARM_WINDOWS = 8

const services = Number(process.argv[2] ?? 4)
const loadBefore = loadavg()[0]
const names = Array.from({ length: WORKERS }, (_, i) => `worker-${i + 1}`)
const placement = placementOf(names)
const owners = AGENCIES.map(({ shard }, agency) => ({
  agency,
  worker: names.indexOf(placement[shard] as string) + 1,
}))
const others = owners.filter(({ worker }) => worker !== KILLED)
const ofKilled = AGENCIES[owners.find(({ worker }) => worker === KILLED)?.agency ?? 0]?.secret
const postgres = await startPostgres()
try {
  const { url } = await postgres.createDatabase('bench')
  await makeLoadAgencies(url, AGENCIES)
  const results: object[] = []
  for (const [name, load] of Object.entries(LOADS)) {
    const figures: Figures = {
      p99s: { undisturbed: [], killed: [] },
      longest: { undisturbed: [], killed: [] },
    }
    for (let i = 0; i < services; i++) await measureService(url, load, figures)
    const { undisturbed, killed } = figures.p99s
    const ratio = rounded(medianOf(killed.map((p99, i) => p99 / (undisturbed[i] as number))), 2)
    console.log(JSON.stringify({ name, ratio, ...figures }))
    results.push({ name, perSecond: load.perSecond, ratio, ...figures })
  }
  await writeResult('worker-kill', { loadBefore, loadAfter: loadavg()[0], services, results })
} finally {
  await postgres.stop()
}
process.exit()

type Kind = 'undisturbed' | 'killed'
type Figures = Record<'p99s' | 'longest', Record<Kind, number[]>>

/** A new service each time: one whose worker ends again and again waits before it starts it once more. */
async function measureService(
  url: string,
  { requests, perSecond }: { requests: AgencyRequests; perSecond: number },
  { p99s, longest }: Figures,
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'nlw-'))
  const port = freePort()
  const env = { DATA_DIR: dataDir, WORKERS: String(WORKERS), WORKER_PORTS: 'true', PORT: String(port) }
  const service = await startService(url, env)
  try {
    const partners = await Promise.all(others.map(({ agency, worker }) => Partner.at(port + worker, agency, requests)))
    for (let i = 0; i < WARM_WINDOWS; i++) await measure(partners, perSecond, i)
    for (let round = 0; round < KILLS; round++) {
      await ownsAgain(port + KILLED)
      for (const kind of ['undisturbed', 'killed'] as const) {
        if (kind === 'killed') process.kill(workersOf(service.pid).get(KILLED) as number, 'SIGKILL')
        const { p99Ms, maxMs } = await measure(partners, perSecond, round)
        p99s[kind].push(p99Ms)
        longest[kind].push(maxMs)
      }
    }
    for (const partner of partners) partner.close()
  } finally {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** One agency's program, with a connection of its own: what is due while an answer is outstanding waits for it. */
class Partner {
  readonly #due: number[] = []
  #connection: HttpConnection | null = null
  #latencies = new Latencies()
  #sentNs: number | null = null

  static async at(port: number, agency: number, requests: AgencyRequests): Promise<Partner> {
    const partner = new Partner()
    partner.#connection = await HttpConnection.open(port, {
      next: () => {
        partner.#sentNs = partner.#due.shift() ?? null
        return partner.#sentNs === null ? null : requests.next(agency)
      },
      answered: () => partner.#latencies.add(Bun.nanoseconds() - (partner.#sentNs as number)),
      failed: (why) => {
        throw new Error(`Cannot measure: ${why}`)
      },
    })
    return partner
  }

  get isIdle(): boolean {
    return this.#sentNs === null && this.#due.length === 0
  }

  /** @param dueNs as of Bun.nanoseconds() @param latencies counts it */
  ask(dueNs: number, latencies: Latencies): void {
    this.#latencies = latencies
    this.#due.push(dueNs)
    if (this.#sentNs === null) this.#connection?.send()
  }

  close(): void {
    this.#connection?.close()
  }
}

/** Requests at the times of independent clients, of one agency after the other, until all are answered. */
async function measure(
  partners: readonly Partner[],
  perSecond: number,
  seed: number,
): Promise<{ p99Ms: number; maxMs: number }> {
  const arrivals = new Arrivals({ perSecond, seed })
  const latencies = new Latencies()
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const startNs = Bun.nanoseconds()
  for (let sent = 0, dueNs = arrivals.next(); dueNs < WINDOW_MS * 1e6; ) {
    for (; dueNs <= Bun.nanoseconds() - startNs; dueNs = arrivals.next()) {
      partners[sent % partners.length]?.ask(startNs + dueNs, latencies)
      sent += 1
    }
    // Not a timer: those fire at whole milliseconds.
    Atomics.wait(cell, 0, 0, PAUSE_MS)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  await eventually('everything is answered', () => partners.every(({ isIdle }) => isIdle))
  const [p99Ms, maxMs] = latencies.percentiles([0.99, 1])
  return { p99Ms: rounded(p99Ms, 2), maxMs: rounded(maxMs, 1) }
}

/** The worker at this port has its agencies, back from the others. */
async function ownsAgain(port: number): Promise<void> {
  const headers = { authorization: `Bearer ${ofKilled}` }
  await eventually('the worker owns its agencies', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/partner/v1/units`, { headers }).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.headers.get('x-served-by') === names[KILLED - 1]
  })
  await Bun.sleep(SETTLE_MS)
}
