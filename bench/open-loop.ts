/*
 * `bun run bench --open`, or `bun bench/open-loop.ts [--only availability-31] [--run-ms 4000]`: latencies at fixed rates.
 *
 * Reads, bookings and the flow hold, confirm, cancel. A closed loop measures the capacity; then the requests come as from independent clients
 * (Poisson), at 50 and 80 % of it, and bisection looks for the highest rate with a p99 below 5 ms. Latencies begin when a request was due, not
 * when it was sent. The load generator is a process of its own; a run in which it was late itself counts as not measured. Three minutes.
 */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { Harness, type OpenSample } from './harness.ts'
import type { Kind } from './load/requests.ts'
import { writeResult } from './report.ts'
import type { Arm } from './scenarios.ts'
import { highestRate } from './support/rate-search.ts'
import { medianOf, rounded } from './support/statistics.ts'
import { QUICK_WORLD } from './world/world.ts'

/** `requests`: of each time that one is due. */
const LOADS = [
  { title: 'availability, 31 nights', kind: 'availability-31', requests: 1 },
  { title: 'create a booking', kind: 'create', requests: 1 },
  { title: 'hold, confirm, cancel', kind: 'hold-confirm-cancel', requests: 3 },
] as const satisfies readonly { title: string; kind: Kind; requests: number }[]

const SHARES = [0.5, 0.8] as const
const CLOSED = { connections: 64, rounds: 3, warmMs: 200, runMs: 1_000, compileMs: 4_000 }
/** So many that a request which is due seldom waits for a connection, unless the server stalls. */
const CONNECTIONS = 256
const WARM_MS = 500
const P99_MS_MAX = 5
const SEARCH = { steps: 6, runMs: 2_500 }
/** A generator that is later than this, for one request in a hundred, measures itself. */
const LATE_P99_MS_MAX = 1
const ATTEMPTS = 3

const { values } = parseArgs({ options: { only: { type: 'string' }, 'run-ms': { type: 'string' } } })
const runMs = Number(values['run-ms'] ?? 6_000)
const loads = LOADS.filter(({ kind }) => values.only === undefined || values.only === kind)
if (loads.length === 0 || !(runMs > 0)) {
  console.error(`Usage: bun bench/open-loop.ts [--only ${LOADS.map(({ kind }) => kind).join(' | ')}] [--run-ms 6000]`)
  process.exit(2)
}

const began = performance.now()
const say = (text: string) => console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${text}`)
const loadBefore = loadavg()[0]
const harness = await Harness.open(QUICK_WORLD, say, { hasPeer: false })
let seed = 1

/** @returns null when the generator was late in each of several attempts */
async function measured(arm: Arm, perSecond: number, timing: { warmMs: number; runMs: number }) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const sample = await harness.runOpen(arm, { ...timing, perSecond, connections: CONNECTIONS, seed: seed++ })
    if (sample.lateP99Ms <= LATE_P99_MS_MAX) return sample
    say(`  not measured at ${perSecond.toFixed(0)}/s: the generator was ${sample.lateP99Ms.toFixed(1)} ms late (p99)`)
  }
  return null
}

function textOf(sample: OpenSample | null, requests: number): string {
  if (sample === null) return 'not measured: the generator was late'
  const [p50, p99, p999] = [sample.p50Ms, sample.p99Ms, sample.p999Ms].map((ms) => ms.toFixed(2))
  const [service, postgres] = [sample.serverCpuMs, sample.postgresCpuMs].map((ms) => ((ms * 1e3) / requests).toFixed(0))
  const unanswered = sample.unanswered === 0 ? '' : `; ${sample.unanswered} UNANSWERED`
  return (
    `p50 ${p50}, p99 ${p99}, p99.9 ${p999} ms of ${sample.requests}${unanswered}; CPU of a request: service ${service}, ` +
    `Postgres ${postgres} us; generator late by ${sample.lateP99Ms.toFixed(2)} (p99), ${sample.lateMaxMs.toFixed(2)} ms (max)`
  )
}

async function measure({ title, kind, requests }: (typeof LOADS)[number]): Promise<object> {
  const arm: Arm = { name: 'nightledger', server: 'nightledger', kind }
  await harness.settle()
  const { connections, rounds, compileMs, ...closed } = CLOSED
  await harness.run(arm, connections, { warmMs: 0, runMs: compileMs })
  const samples = []
  for (let round = 0; round < rounds; round++) samples.push(await harness.run(arm, connections, closed))
  const capacity = medianOf(samples.map(({ perSecond }) => perSecond))
  const closedP99Ms = medianOf(samples.map(({ p99Ms }) => p99Ms))
  say(
    `${title}: ${capacity.toFixed(0)}/s in a closed loop with ${connections} connections, p99 ${closedP99Ms.toFixed(2)} ms`,
  )

  const atShares: object[] = []
  for (const share of SHARES) {
    const sample = await measured(arm, share * capacity, { warmMs: WARM_MS, runMs })
    say(`  at ${share * 100} % (${(share * capacity).toFixed(0)}/s): ${textOf(sample, requests)}`)
    atShares.push({ share, perSecond: rounded(share * capacity, 0), ...sample })
  }

  let best: OpenSample | null = null
  const rate = await highestRate({ low: 0, high: capacity, steps: SEARCH.steps }, async (perSecond) => {
    const sample = await measured(arm, perSecond, { warmMs: WARM_MS, runMs: SEARCH.runMs })
    if (sample === null) return null
    const isGood = sample.p99Ms < P99_MS_MAX && sample.unanswered === 0
    if (isGood) best = sample
    return isGood
  })
  // The service is one process and uses one core at most; what else it needs is in the CPU time of a request.
  if (rate === null) say(`  highest rate with p99 < ${P99_MS_MAX} ms: not measured`)
  else if (rate === 0) say(`  p99 is not below ${P99_MS_MAX} ms at any rate that was tried`)
  else
    say(
      `  ${(rate * requests).toFixed(0)} requests per second and core at p99 < ${P99_MS_MAX} ms: ${textOf(best, requests)}`,
    )
  return {
    kind,
    requestsEach: requests,
    capacity,
    closedP99Ms,
    atShares,
    underP99: { ms: P99_MS_MAX, rate, sample: best },
  }
}

const results: object[] = []
try {
  for (const load of loads) results.push(await measure(load))
} finally {
  await harness.stop()
}
await writeResult('open-loop', { world: QUICK_WORLD, loadBefore, loadAfter: loadavg()[0], runMs, results })
process.exit()
