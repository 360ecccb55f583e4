/**
 * What a writer does now and then: old answers are deleted, partitions made ahead, trees extended, erasures are completed, and what agencies
 * no longer keep is removed.
 */

import type { GuestErasures } from '../accounts/guest-erasures.ts'
import type { RetentionJob } from '../accounts/retention-job.ts'
import type { Ownership } from '../cluster/ownership.ts'
import type { Journal } from '../core/journal/journal.ts'
import { SHARDS } from '../core/journal/shard.ts'
import { CheckpointBuilder } from '../events/checkpoints/checkpoint-builder.ts'
import { RecentLeaves } from '../events/checkpoints/recent-leaves.ts'
import { expiredAnswers } from '../http/expired-answers.ts'
import type { Clock } from '../lib/clock.ts'
import { PostgresCheckpointRows } from '../postgres/stores/postgres-checkpoint-rows.ts'
import { ensureMonths } from '../postgres/stores/postgres-months.ts'
import { vacuumErased } from '../postgres/stores/vacuum-erased.ts'
import { ErasureRounds } from './erasure-rounds.ts'
import type { LedgerWatch } from './ledger.ts'
import type { LedgerStores } from './ledger-stores.ts'
import { monthRounds } from './months-ahead.ts'

/** Some 13 MB at most. Ten seconds of bookings, the time between two rounds, are far fewer. */
const RECENT_LEAVES = { leavesMax: 65_536, agencyLeavesMax: 8_192 } as const

/** Not to be started before the ledger is taken over. */
export function openHousekeeping(options: {
  readonly databaseUrl: string
  readonly stores: LedgerStores
  readonly clock: Clock
  readonly watch: LedgerWatch
  readonly ownership: Pick<Ownership, 'termOf' | 'owned'>
  readonly guestErasures: Pick<GuestErasures, 'completeBegun'>
  readonly retention: RetentionJob
  writing(): { readonly journal: Journal }
}): { readonly checkpoints: CheckpointBuilder; start(): void; stop(): Promise<void> } {
  const { stores, clock, watch, ownership, writing, guestErasures, retention } = options
  const onFailure = watch.onHousekeepingFailure
  const checkpoints = new CheckpointBuilder({
    rows: new PostgresCheckpointRows(stores.sql),
    clock,
    owned: () => {
      const { journal } = writing()
      const owned = ownership.owned()
      const shards = owned === 'all' ? Array.from({ length: SHARDS }, (_, shard) => shard) : [...owned]
      return shards.map((shard) => ({ shard, epoch: journal.epochOfShard(shard) }))
    },
    recent: new RecentLeaves({ ...RECENT_LEAVES, epochOf: (shard) => writing().journal.epochOfShard(shard) }),
    onFailure,
  })
  const erasureRounds = new ErasureRounds({
    clock,
    begun: () => stores.erasureRows.begun(),
    complete: (erasure) => guestErasures.completeBegun({ id: erasure.agencyId }, erasure.guestId),
    // Of several nodes one vacuums, for all.
    isVacuumDue: async () => hasShard0(ownership) && (await stores.erasureRows.isVacuumDue()),
    vacuum: () => vacuumErased(options.databaseUrl),
    onFailure,
  })
  const parts = [
    expiredAnswers({ clock, deleteExpired: (params) => stores.idempotencyRows.deleteExpired(params), onFailure }),
    monthRounds({
      clock,
      ensure: () => ensureMonths(stores.sql),
      onNewest: (month) => writing().journal.setNewestMonth(month),
      onFailure,
    }),
    checkpoints,
    erasureRounds,
    retention,
  ]
  return {
    checkpoints,
    start: () => {
      for (const part of parts) part.start()
    },
    stop: async () => {
      await Promise.all(parts.map((part) => part.stop()))
    },
  }
}

function hasShard0(ownership: Pick<Ownership, 'owned'>): boolean {
  const shards = ownership.owned()
  return shards === 'all' || [...shards].includes(0)
}
