/** One row of the table in docs/reliability.md: a fault under load, how long requests waited, and whether anything that was said is not so. */
import { expect } from 'bun:test'
import type { Cluster } from './cluster.ts'
import { ClusterLoad, type LoadOptions } from './load.ts'
import { describedVerdict, judge, liesOf, NO_LIES, STALE_MS_MAX, type Verdict } from './oracle.ts'
import { Trace } from './trace.ts'
import { described, type Window } from './waits.ts'

/** Of every row, at most. Three for the table in docs/reliability.md. */
const ROUNDS_MAX = Number(process.env['CLUSTER_ROUNDS'] ?? 1)
/** Says of the slowest requests of every row what happened to them, also of those that are fast enough. */
const IS_TRACED = process.env['CLUSTER_TRACE'] !== undefined

const WARM_UP_MS = 3_000
const AFTER_MS = 3_000

interface Row {
  readonly fault: string
  /** What a request should wait at most. Reported, not asserted: hosts and clients share one machine. */
  readonly longestMsMax: number
  /** No attempt at any request fails. */
  readonly failsNothing?: boolean
  readonly load?: LoadOptions
  readonly rounds?: number
}

type Fault = (load: ClusterLoad, round: number) => Promise<void>

interface Outcome {
  readonly verdict: Verdict
  /** Of writes and of reads, round by round. */
  readonly windows: readonly Window[]
  /** What could not be done. */
  readonly faults: readonly unknown[]
}

/** Runs `fault` under load, and what follows from it: it returns when the cluster is as before. */
export async function underLoad(cluster: Cluster, row: Row, fault: Fault): Promise<void> {
  const { verdict, windows, faults } = await outcomeOf(cluster, row, fault)
  // First what matters most.
  expect(verdict).toMatchObject(NO_LIES)
  expect(verdict.stalestMs).toBeLessThanOrEqual(STALE_MS_MAX)
  if (faults.length > 0)
    throw new AggregateError(faults, `Cannot do it: ${faults.map(String).join('; ')}\n${cluster.logs()}`)
  expect(verdict.acknowledged).toBeGreaterThan(100)
  if (row.failsNothing === true) expect(windows.map(({ failed }) => failed)).toEqual(windows.map(() => ({})))
}

/** The same of a build that lacks something. @returns which promises it breaks; the cluster is not as before */
export async function brokenUnderLoad(cluster: Cluster, row: Row, fault: Fault): Promise<readonly string[]> {
  const { verdict } = await outcomeOf(cluster, { ...row, rounds: 1 }, fault, 5_000)
  const lies = liesOf(verdict)
  console.log(`  noticed: ${lies.join(', ') || 'nothing'}`)
  return lies
}

async function outcomeOf(cluster: Cluster, row: Row, fault: Fault, catchUpMs?: number): Promise<Outcome> {
  await cluster.restore()
  const nodeUrls = cluster.hosts.map((host) => cluster.nodeUrl(host))
  const load = new ClusterLoad(cluster.url, nodeUrls, row.load)
  load.start()
  const trace = new Trace(cluster.hosts)
  const windows: Window[] = []
  const calm: Window[] = []
  const faults: unknown[] = []
  const rounds = Math.min(row.rounds ?? ROUNDS_MAX, ROUNDS_MAX)
  for (let round = 0; round < rounds && faults.length === 0; round++) {
    await Bun.sleep(WARM_UP_MS)
    calm.push(load.writes.take(), load.reads.take())
    try {
      await fault(load, round)
      await load.more(50)
      await Bun.sleep(AFTER_MS)
    } catch (error) {
      faults.push(error)
    }
    windows.push(load.writes.take(), load.reads.take())
    await cluster.restore().catch((error) => faults.push(error))
  }
  await load.stop()
  const verdict = await cluster.postgres.withSql((sql) => judge(sql, load, catchUpMs))
  trace.close()
  const { answered, failed } = load.direct
  console.log(
    [
      `${row.fault}: longest wait ${seconds(windows)} (wanted ${row.longestMsMax} ms; before ${longestOf(calm).toFixed(0)} ms, own pauses ${load.lagMs.toFixed(0)} ms)`,
      `  ${describedVerdict(verdict)}`,
      ...windows.map((window, i) => `  ${i % 2 === 0 ? 'writes' : 'reads'}: ${described(window)}`),
      ...windows
        .flatMap(({ slowest }) => slowest.slice(0, IS_TRACED ? 2 : 1))
        .filter(({ ms }) => IS_TRACED || ms >= row.longestMsMax)
        .map((slow) => trace.of(slow)),
      `  asked of nodes themselves: ${answered} answered, ${failed} not; ${load.staleReads} older than what was acknowledged`,
    ].join('\n'),
  )
  return { verdict, windows, faults }
}

function longestOf(windows: readonly Window[]): number {
  return Math.max(...windows.map(({ longestMs }) => longestMs))
}

/** Of each round. */
function seconds(windows: readonly Window[]): string {
  const rounds = windows.flatMap((_, i) => (i % 2 === 0 ? longestOf(windows.slice(i, i + 2)) : []))
  return `${rounds.map((ms) => ms.toFixed(0)).join(', ')} ms`
}
