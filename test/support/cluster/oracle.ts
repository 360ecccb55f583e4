/** Of what the partners of a cluster were told, what is not so. */
import { idOf, uuidOf } from '../../../src/lib/ids.ts'
import type { Sql } from '../../../src/postgres/client/connect.ts'
import { eventually } from '../eventually.ts'
import { verifyDatabase } from '../verify-database.ts'
import type { ClusterLoad } from './load.ts'

export interface Verdict {
  readonly acknowledged: number
  readonly lost: number
  readonly refused: number
  /** With what their attempts were answered. */
  readonly refusedAndPresent: readonly string[]
  readonly madeTwice: number
  readonly soldTwice: number
  readonly uncancelled: number
  /** Numbers that a shard's log lacks. */
  readonly gaps: number
  /** What `verify` finds: chains, rows, snapshots, units. */
  readonly differences: readonly string[]
  /** Followers of the feed that missed a change, or were shown one twice or out of order. */
  readonly wrongFeeds: number
  readonly stalestMs: number
}

/** C6: how old a read from a node that has lost a shard may be, milliseconds. */
export const STALE_MS_MAX = 1_200

/** What the checker needs to know of a load. */
export type Told = Pick<ClusterLoad, 'outcomes' | 'cancelled' | 'refusals' | 'followers' | 'stalestMs'>

/** What must be zero or empty. */
export const NO_LIES = {
  lost: 0,
  refusedAndPresent: [] as readonly string[],
  madeTwice: 0,
  soldTwice: 0,
  uncancelled: 0,
  gaps: 0,
  differences: [] as readonly string[],
  wrongFeeds: 0,
} as const satisfies Partial<Verdict>

/** Which promises are broken; empty: none. */
export function liesOf(verdict: Verdict): readonly string[] {
  const counted = Object.keys(NO_LIES) as (keyof typeof NO_LIES)[]
  const lies = counted.filter((name) => !Bun.deepEquals(verdict[name], NO_LIES[name]))
  return verdict.stalestMs > STALE_MS_MAX ? [...lies, 'stalestMs'] : lies
}

/** To be asked once the load has stopped; the followers are given time to catch up, and stopped. */
export async function judge(sql: Sql, load: Told, catchUpMs = 60_000): Promise<Verdict> {
  const rows = await sql<{ ref: string; id: string; status: string }[]>`
    select source_ref as ref, booking_id as id, status from booking where source_ref is not null`
  const present = new Set(rows.map(({ ref }) => ref))
  const cancelled = new Set(rows.filter(({ status }) => status === 'cancelled').map(({ id }) => idOf('bkg', id)))
  const reported = [...load.outcomes]
  const those = (outcome: string) => reported.filter(([, each]) => each === outcome).map(([ref]) => ref)
  const twice = await sql`
    select from booking a join booking b
      on a.unit_id = b.unit_id and a.booking_id < b.booking_id
     and daterange(a.arrival, a.departure) && daterange(b.arrival, b.departure)
    where a.status <> 'cancelled' and b.status <> 'cancelled'`
  const gaps = await sql<{ shard: number }[]>`
    select shard from journal group by shard having max(seq) - min(seq) + 1 <> count(*) or min(seq) <> 1`
  const { differences } = await verifyDatabase(sql)
  return {
    acknowledged: those('made').length,
    lost: those('made').filter((ref) => !present.has(ref)).length,
    refused: those('refused').length,
    refusedAndPresent: those('refused')
      .filter((ref) => present.has(ref))
      .map((ref) => `${ref}: ${load.refusals.get(ref)}`),
    madeTwice: rows.length - present.size,
    soldTwice: twice.length,
    uncancelled: [...load.cancelled].filter((id) => !cancelled.has(id)).length,
    gaps: gaps.length,
    differences: differences.map((difference) => JSON.stringify(difference)),
    wrongFeeds: await wrongFeeds(sql, load, catchUpMs),
    stalestMs: load.stalestMs,
  }
}

async function wrongFeeds(sql: Sql, load: Told, catchUpMs: number): Promise<number> {
  let wrong = 0
  for (const { agency, follower } of load.followers) {
    const announced = await sql<{ seq: number }[]>`
      select seq::float8 as seq from journal
      where agency_id = ${uuidOf(agency.id)} and is_announced and booking_id is not null order by seq`
    const last = announced.at(-1)?.seq ?? 0
    await eventually('a follower has caught up', () => (follower.shown.at(-1)?.seq ?? 0) >= last, catchUpMs).catch(
      () => {},
    )
    await follower.stop()
    const isRight = Bun.deepEquals(
      follower.shown.map(({ seq }) => seq),
      announced.map(({ seq }) => seq),
    )
    if (!isRight || follower.faults.length > 0) wrong += 1
  }
  return wrong
}

export function describedVerdict({ acknowledged, lost, soldTwice, gaps, stalestMs }: Verdict): string {
  return `${acknowledged} acknowledged, ${lost} lost, ${soldTwice} sold twice, ${gaps} gaps, oldest read ${stalestMs.toFixed(0)} ms`
}
