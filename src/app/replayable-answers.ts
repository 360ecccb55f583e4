/**
 * - I6 Whoever gets a repeated answer is shown the change by whatever they read next.
 *
 * An answer that is seen in the database may be of a batch of which this process does not know yet that it is durable, or of another process
 * that has taken the shard over, and does not know either. So the batch that is in flight is waited for, and the answer is read again
 * under this process's epoch.
 */

import type { Journal } from '../core/journal/journal.ts'
import { shardOf } from '../core/journal/shard.ts'
import { type FindAnswer, type IdempotencyScope, type KeptAnswer, NO_AGENCY } from '../http/idempotent-writes.ts'
import type { Clock } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import { classifyDatabaseError } from '../postgres/client/database-error.ts'

/** Longer than a doubt lasts while the database answers. */
const SETTLED_MS_MAX = 5_000

interface Rows {
  seen(scope: IdempotencyScope, newerThan: number): Promise<KeptAnswer | null>
  /** @throws what is classified as `fenced` if the epoch is no longer that of the agency's shard */
  confirmed(scope: IdempotencyScope, newerThan: number, epoch: number | null): Promise<KeptAnswer | null>
}

/**
 * What `IdempotentWrites` finds answers with.
 * @param options.findLost what is done when the shard has another owner
 */
export function replayableAnswers({
  rows,
  journal,
  clock,
  findLost,
}: {
  rows: Rows
  journal: () => Pick<Journal, 'epochOf' | 'batchSettled'>
  clock: Clock
  findLost(): Promise<void>
}): FindAnswer {
  return async (scope, newerThan) => {
    const seen = await rows.seen(scope, newerThan)
    if (seen === null) return null
    if (scope.agencyId === NO_AGENCY) return rows.confirmed(scope, newerThan, null)
    await withDeadline(journal().batchSettled(shardOf(scope.agencyId)), SETTLED_MS_MAX, clock)
    try {
      return await rows.confirmed(scope, newerThan, journal().epochOf(scope.agencyId))
    } catch (error) {
      if (classifyDatabaseError(error) === 'fenced') await findLost()
      throw error
    }
  }
}
