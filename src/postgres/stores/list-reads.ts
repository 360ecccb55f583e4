/**
 * Reads pages of lists over separate connections, so that long lists never delay look-ups, writes and probes. Agencies share
 * these connections fairly, so that one agency's searches never delay another's lists.
 */
import { SlowListError } from '../../core/bookings/booking-lists.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { DeadlineError, withDeadline } from '../../lib/deadline.ts'
import { FairShares } from '../../lib/queues.ts'
import type { PoolStats } from '../../observability/service-stats.ts'
import { poolStats } from '../client/client-pool.ts'
import { QUERY_DEADLINE_MS, type Sql } from '../client/connect.ts'
import { classifyDatabaseError } from '../client/database-error.ts'

/** Lists read at once, all agencies together: as many as the pool has connections (`connect`, purpose `lists`). */
export const LISTS_RUNNING_MAX = 4
/** Lists of one agency read at once. */
export const LISTS_PER_AGENCY_MAX = 2
/** Lists of one agency that wait. */
export const LISTS_WAITING_PER_AGENCY_MAX = 32
/** Half of the time that a list may take in all. A list that starts later would usually not finish in time. */
const WAIT_MS_MAX = QUERY_DEADLINE_MS / 2

export class ListReads {
  /** Builds statements and their parts; only `read` runs them. */
  readonly sql: Sql
  readonly #clock: Clock
  readonly #shares: FairShares

  /** @param sql of purpose `lists`; `end` closes it */
  constructor(sql: Sql, { clock = systemClock }: { clock?: Clock } = {}) {
    this.sql = sql
    this.#clock = clock
    this.#shares = new FairShares({
      what: 'read a list',
      runningMax: LISTS_RUNNING_MAX,
      shareMax: LISTS_PER_AGENCY_MAX,
      waitingPerOwnerMax: LISTS_WAITING_PER_AGENCY_MAX,
      waitMsMax: WAIT_MS_MAX,
      clock,
    })
  }

  /**
   * @param statement built with `sql` and not awaited yet: it is sent when it is the agency's turn
   * @throws NoPlaceError when the agency's share is in use; SlowListError when the list takes longer than 5 s, waiting included; a
   *   database error otherwise
   */
  read<T>(agencyId: string, statement: PromiseLike<T>): Promise<T> {
    return this.run(agencyId, () => statement)
  }

  /**
   * The same for a read that sends several statements, one after the other: they take one place of the agency.
   * @param read sends them with `sql`, and nothing more once `signal` is aborted because its caller no longer waits
   */
  async run<T>(agencyId: string, read: (signal: AbortSignal) => PromiseLike<T>): Promise<T> {
    const waiting = new AbortController()
    try {
      return await withDeadline(
        this.#shares.run(agencyId, () => read(waiting.signal)),
        QUERY_DEADLINE_MS,
        this.#clock,
      )
    } catch (error) {
      waiting.abort()
      if (error instanceof DeadlineError || classifyDatabaseError(error) === 'too_slow')
        throw new SlowListError(`Cannot read a list: it takes longer than ${QUERY_DEADLINE_MS} ms`, { cause: error })
      throw error
    }
  }

  /** The pool's stats, including statements that wait for their agency's turn or were refused one. */
  get stats(): PoolStats {
    const pool = poolStats(this.sql)
    const { waiting, refused } = this.#shares.stats
    return { ...pool, waiting: pool.waiting + waiting, refused: pool.refused + refused }
  }

  async end(how: { timeout: number }): Promise<void> {
    await this.sql.end(how)
  }
}
