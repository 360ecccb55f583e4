/**
 * What reads cost that are made in slices: requests to the service, the slices themselves, and the first read after a start. CPU time is that
 * of a process or thread: on a busy machine, the time that passed says how long others ran.
 */
import { nextTurn, Slices } from '../../src/lib/slices.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { cpuMsSince, longestHold } from '../../test/support/event-loop.ts'
import { openTestDatabaseLedger } from '../../test/support/open-ledger.ts'
import { type BenchPostgres, cpuSecondsOf, cpuSecondsOfFamily, type ServiceHandle } from './processes.ts'
import { medianOf } from './statistics.ts'

const ROUNDS = 5
const RUN_MS = 500
const CONNECTIONS = 4
const SLICE_ROUNDS = 20
/** Of the slices: they are run until their code is compiled. */
const WARM_ROUNDS = 5

type Ledger = Awaited<ReturnType<typeof openTestDatabaseLedger>>

export interface SlicedRequest {
  readonly name: string
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Any other status ends the benchmark. */
  readonly status: number
}

/** CPU time of the service per request, microseconds: by request, one figure a round. All requests take turns. */
export async function requestCosts(service: ServiceHandle, requests: readonly SlicedRequest[]): Promise<number[][]> {
  const costs: number[][] = requests.map(() => [])
  for (let round = -1; round < ROUNDS; round++)
    for (const [i, { path, headers, status }] of requests.entries()) {
      let answered = 0
      const before = cpuSecondsOf(service.pid)
      const until = performance.now() + RUN_MS
      const client = async () => {
        for (; performance.now() < until; answered++) {
          const answer = await fetch(service.baseUrl + path, { headers })
          await answer.bytes()
          if (answer.status !== status) throw new Error(`Cannot measure: ${answer.status} instead of ${status}`)
        }
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, client))
      // The first round only warms up.
      if (round >= 0) costs[i]?.push(((cpuSecondsOf(service.pid) - before) * 1e6) / answered)
    }
  for (const [i, { name }] of requests.entries())
    console.log(`${name}: ${medianOf(costs[i] ?? []).toFixed(0)} us of CPU a request`)
  return costs
}

interface SliceCosts {
  readonly slices: number
  readonly totalMs: number
  readonly longestMs: number
}

/** CPU time of the slices of `read`, milliseconds: medians of 15 rounds. */
export async function sliceCosts(
  name: string,
  { stepsPerSlice, read }: { stepsPerSlice: number; read: (slices: Slices) => Promise<unknown> },
): Promise<SliceCosts> {
  const rounds: number[][] = []
  for (let round = 0; round < SLICE_ROUNDS; round++) {
    const costs: number[] = []
    let since = process.threadCpuUsage()
    const pause = async () => {
      costs.push(cpuMsSince(since))
      await nextTurn()
      since = process.threadCpuUsage()
    }
    await read(new Slices(stepsPerSlice, pause))
    costs.push(cpuMsSince(since))
    rounds.push(costs)
  }
  const warm = rounds.slice(WARM_ROUNDS)
  const longestMs = medianOf(warm.map((costs) => Math.max(...costs)))
  const totalMs = medianOf(warm.map((costs) => costs.reduce((sum, each) => sum + each, 0)))
  const slices = rounds[0]?.length ?? 0
  console.log(`${name}: ${slices} slices, ${totalMs.toFixed(2)} ms together, the longest ${longestMs.toFixed(2)} ms`)
  return { slices, totalMs, longestMs }
}

interface ColdCost {
  readonly ms: number
  readonly cpuMs: number
  readonly postgresCpuMs: number
  /** The longest that the event loop was held. */
  readonly heldMs: number
}

/**
 * The first read after a start, of units that have to be made from the journal or from their snapshots: medians of five rounds. The hold
 * of the event loop is measured in other rounds, because measuring it takes CPU time.
 * @param prepare returns the read, once what is not measured is done
 */
export async function coldCosts(
  { postgres, url, sql }: { postgres: BenchPostgres; url: string; sql: Sql },
  from: 'journal' | 'snapshots',
  prepare: (ledger: Ledger) => Promise<() => Promise<unknown>>,
): Promise<ColdCost> {
  const rounds: ColdCost[] = []
  const holds: number[] = []
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const ledger = await openTestDatabaseLedger(url)
    // Closing the ledger of the last round wrote them.
    if (from === 'journal') await sql`delete from snapshot`
    // Opens the pool's connections.
    await Promise.all(Array.from({ length: 10 }, () => ledger.sql`select 1`))
    const read = await prepare(ledger)
    const postgresCpu = cpuSecondsOfFamily(postgres.postmasterPid)
    const ownCpu = process.threadCpuUsage()
    const held = round % 2 === 1 ? longestHold() : null
    const since = performance.now()
    await read()
    const ms = performance.now() - since
    const cpuMs = cpuMsSince(ownCpu)
    const postgresCpuMs = (cpuSecondsOfFamily(postgres.postmasterPid) - postgresCpu) * 1_000
    if (held === null) rounds.push({ ms, cpuMs, postgresCpuMs, heldMs: 0 })
    else holds.push(held())
    await ledger.close()
  }
  const of = (figure: keyof ColdCost) => medianOf(rounds.map((round) => round[figure]))
  const cost = { ms: of('ms'), cpuMs: of('cpuMs'), postgresCpuMs: of('postgresCpuMs'), heldMs: medianOf(holds) }
  console.log(
    `cold, from the ${from}: ${cost.ms.toFixed(0)} ms, CPU ${cost.cpuMs.toFixed(0)} ms here and ` +
      `${cost.postgresCpuMs.toFixed(0)} ms in Postgres, event loop held for at most ${cost.heldMs.toFixed(1)} ms`,
  )
  return cost
}
