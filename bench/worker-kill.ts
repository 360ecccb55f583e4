/*
 * `bun bench/worker-kill.ts [rounds]`: what the agencies of the other workers notice when one of three is killed.
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
import { Scrape } from '../test/support/scrape.ts'
import { workersOf } from '../test/support/service-workers.ts'
import { type AgencyRequests, bookingsOf, readsOf } from './load/agency-load.ts'
import { HttpConnection } from './load/http-client.ts'
import { writeResult } from './report.ts'
import { startPostgres, startService } from './support/processes.ts'
import { medianOf, rounded } from './support/statistics.ts'

const WORKERS = 3
const KILLED = 1
const AGENCIES = loadAgencies(96)
const LOADS = {
  reads: { requests: readsOf(AGENCIES, UNITS_EACH), perSecond: 1_000 },
  bookings: { requests: bookingsOf(AGENCIES, UNITS_EACH), perSecond: 200 },
} as const
const WINDOW_MS = 1_000
const PAUSE_MS = 0.1
/** Until the successor has its agencies back, and has compiled its code. */
const SETTLE_MS = 1_500
/** Requests before the first window: until the code is compiled. */
const WARM_WINDOWS = 8

const rounds = Number(process.argv[2] ?? 10)
const loadBefore = loadavg()[0]
const names = Array.from({ length: WORKERS }, (_, i) => `worker-${i + 1}`)
const placement = placementOf(names)
const others = AGENCIES.flatMap(({ shard }, agency) => {
  const worker = names.indexOf(placement[shard] as string) + 1
  return worker === KILLED ? [] : [{ agency, worker }]
})
const dataDir = mkdtempSync(join(tmpdir(), 'nlw-'))
const postgres = await startPostgres()
try {
  const { url } = await postgres.createDatabase('bench')
  await makeLoadAgencies(url, AGENCIES)
  const port = freePort()
  const env = { DATA_DIR: dataDir, WORKERS: String(WORKERS), WORKER_PORTS: 'true', PORT: String(port) }
  const service = await startService(url, env)
  const results: object[] = []
  for (const [name, { requests, perSecond }] of Object.entries(LOADS)) {
    const p99s: Record<'undisturbed' | 'killed', number[]> = { undisturbed: [], killed: [] }
    const longest: typeof p99s = { undisturbed: [], killed: [] }
    const partners = await Promise.all(others.map(({ agency, worker }) => Partner.at(port + worker, agency, requests)))
    for (let i = 0; i < WARM_WINDOWS; i++) await measure(partners, perSecond, i)
    for (let round = 0; round < rounds; round++) {
      for (const kind of ['undisturbed', 'killed'] as const) {
        const victim = workersOf(service.pid).get(KILLED)
        if (kind === 'killed') process.kill(victim as number, 'SIGKILL')
        const { p99Ms, maxMs } = await measure(partners, perSecond, round)
        p99s[kind].push(p99Ms)
        longest[kind].push(maxMs)
        if (kind === 'killed') await allServe(service.baseUrl)
      }
    }
    for (const partner of partners) partner.close()
    const ratio = rounded(medianOf(p99s.killed.map((p99, i) => p99 / (p99s.undisturbed[i] as number))), 2)
    console.log(JSON.stringify({ name, ratio, p99s, longest }))
    results.push({ name, perSecond, ratio, p99s, longest })
  }
  await service.stop()
  await writeResult('worker-kill', { loadBefore, loadAfter: loadavg()[0], rounds, results })
} finally {
  await postgres.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
process.exit()

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

async function allServe(url: string): Promise<void> {
  await eventually('all workers serve', async () => {
    const page = await fetch(`${url}/metrics`).then((answer) => answer.text())
    return new Scrape(page).value('nightledger_workers') === WORKERS
  })
  await Bun.sleep(SETTLE_MS)
}
