/** What a node reads: when it begins, without a shard, and when it has taken some. */
import { calendarMonthAt } from '../access/calendar-periods.ts'
import { admittedRequests } from '../access/rate-slots.ts'
import type { Clock } from '../lib/clock.ts'
import { bootTime } from '../lib/clock.ts'
import type { PostgresCatalogueStore } from '../postgres/stores/postgres-catalogue-store.ts'
import type { PostgresRateRows } from '../postgres/stores/postgres-rate-rows.ts'
import type { PostgresSessionRows } from '../postgres/stores/postgres-session-rows.ts'
import type { PostgresUsageRows } from '../postgres/stores/postgres-usage-rows.ts'
import type { ShardContents } from './node-shards.ts'
import type { TakenOver, takeOver } from './take-over.ts'

/** A node begins: everything that every shard needs, and the sessions of the operator, which belong to none. */
export async function beginWithoutShards(options: Parameters<typeof takeOver>[0]): Promise<TakenOver> {
  const { chainKeys, sessionRows, prepare, turn, isCancelled } = options
  const [keys, sessions] = await Promise.all([chainKeys.open(), sessionRows.load('operator')])
  await prepare()
  await turn()
  if (isCancelled()) throw new Error('Cannot join the cluster: the process is shutting down')
  // What it has is confirmed shard by shard (C6), not by a heartbeat.
  const since = Number.POSITIVE_INFINITY
  return { since, term: { shards: [], newestMonth: '' }, chainKeys: keys, used: [], passed: [], sessions }
}

/** What is read of shards after they were taken (C3). @throws what the database rejects with */
export async function readShards(
  stores: {
    readonly clock: Clock
    readonly catalogueStore: PostgresCatalogueStore
    readonly usageRows: PostgresUsageRows
    readonly rateRows: PostgresRateRows
    readonly sessionRows: PostgresSessionRows
  },
  shards: readonly number[],
): Promise<ShardContents> {
  const { clock, catalogueStore, usageRows, rateRows, sessionRows } = stores
  const [part, used, slots, sessions] = await Promise.all([
    catalogueStore.readShards(shards),
    usageRows.loadFrom(calendarMonthAt(clock.now()).name, shards),
    rateRows.loadOf(shards),
    sessionRows.load(shards),
  ])
  // The age of a slot is that of the moment when it was read.
  const passed = admittedRequests(slots, { wallMs: clock.now(), boot: bootTime() })
  return { ...part, used, sessions, passed }
}
