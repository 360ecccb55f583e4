/** One row of the table in docs/reliability.md: a fault under load, how long requests waited, and whether anything that was said is not so. */
import { expect } from 'bun:test'
import type { Cluster } from './cluster.ts'
import { ClusterLoad, type LoadOptions } from './load.ts'
import { describedVerdict, judge, NO_LIES } from './oracle.ts'
import { described, type Window } from './waits.ts'

/** `long`: several rounds of everything, and waits are asserted. Otherwise one round, and only what was lost: the machine is not ours alone. */
export const IS_LONG = process.env['CLUSTER_RUN'] === 'long'
/** C6: how old a read from a node that has lost a shard may be, milliseconds. */
export const STALE_MS_MAX = 1_200

const WARM_UP_MS = 3_000
const AFTER_MS = 3_000

export interface Row {
  readonly fault: string
  /** Of any request. */
  readonly longestMsMax: number
  /** No attempt at any request fails. */
  readonly failsNothing?: boolean
  readonly load?: LoadOptions
  readonly rounds?: number
}

/** Runs `fault` under load, and what follows from it: it returns when the cluster is as before. */
export async function underLoad(
  cluster: Cluster,
  row: Row,
  fault: (load: ClusterLoad, round: number) => Promise<void>,
): Promise<void> {
  await cluster.restore()
  const load = new ClusterLoad(
    cluster.url,
    cluster.hosts.map((host) => cluster.nodeUrl(host)),
    row.load,
  )
  load.start()
  const windows: Window[] = []
  const calm: Window[] = []
  const faults: unknown[] = []
  const rounds = IS_LONG ? (row.rounds ?? 3) : 1
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
  const verdict = await cluster.withSql((sql) => judge(sql, load))
  const longestMs = Math.max(...windows.map((window) => window.longestMs))
  const calmMs = Math.max(...calm.map((window) => window.longestMs))
  console.log(
    [
      `${row.fault}: longest wait ${longestMs.toFixed(0)} ms (before ${calmMs.toFixed(0)} ms, own pauses ${load.lagMs.toFixed(0)} ms)`,
      `  ${describedVerdict(verdict)}`,
      ...windows.map((window, i) => `  ${i % 2 === 0 ? 'writes' : 'reads'}: ${described(window)}`),
      `  asked of nodes themselves: ${load.direct.answered} answered, ${load.direct.failed} not; ${load.staleReads} older than what was acknowledged`,
    ].join('\n'),
  )
  // First what matters most.
  expect(verdict).toMatchObject(NO_LIES)
  expect(verdict.stalestMs).toBeLessThanOrEqual(STALE_MS_MAX)
  if (faults.length > 0)
    throw new AggregateError(faults, `Cannot do it: ${faults.map(String).join('; ')}\n${cluster.logs()}`)
  expect(verdict.acknowledged).toBeGreaterThan(100)
  if (row.failsNothing === true) expect(windows.map(({ failed }) => failed)).toEqual(windows.map(() => ({})))
  if (IS_LONG) expect(longestMs).toBeLessThan(row.longestMsMax)
}
