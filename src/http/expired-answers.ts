import { type Clock, sleep, steadyNow } from '../lib/clock.ts'
import { Rounds } from '../lib/rounds.ts'
import { ANSWER_KEPT_MS } from './idempotent-writes.ts'

const EVERY_MS = 600_000
/** Rows in one statement: it holds its locks, and a connection of the pool, for some milliseconds. */
const DELETED_AT_ONCE = 1_000
const PAUSE_MS = 50

/**
 * Deletes answers that are no longer replayed (docs/design.md#additive-headers: 24 hours), every 10 minutes and at start.
 * Housekeeping only: an expired answer is not found even while it is stored. Deletes none that might be found (I5).
 */
export function expiredAnswers(options: {
  readonly clock: Clock
  /** Deletes the oldest first, and returns how many. */
  deleteExpired(params: { notAfter: number; limit: number }): Promise<number>
  onFailure(error: unknown): void
}): Rounds {
  const { clock, deleteExpired, onFailure } = options
  const now = steadyNow(clock)
  const run = async () => {
    const notAfter = now() - ANSWER_KEPT_MS
    while (!rounds.isStopped) {
      const deleted = await deleteExpired({ notAfter, limit: DELETED_AT_ONCE })
      if (deleted < DELETED_AT_ONCE) break
      await sleep(clock, PAUSE_MS)
    }
  }
  const rounds = new Rounds({ clock, firstMs: 0, everyMs: EVERY_MS, run, onFailure })
  return rounds
}
