/** What is counted of requests, and who has signed in: in memory, and written every half second under the fences of this writer. */
import { type Counters, finalFlush } from '../accounts/flush-timer.ts'
import { PartnerAccess } from '../accounts/partner-access.ts'
import { PortalSessions } from '../accounts/portal-sessions.ts'
import { RateLimiter } from '../accounts/rate-limit.ts'
import { RateSlots } from '../accounts/rate-slots.ts'
import { RefusalCounter } from '../accounts/refusal-counter.ts'
import { UsageMeter } from '../accounts/usage-meter.ts'
import type { Ownership } from '../cluster/ownership.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Journal } from '../core/journal/journal.ts'
import { shardOf } from '../core/journal/shard.ts'
import type { Clock } from '../lib/clock.ts'
import { bootTime } from '../lib/clock.ts'
import { systemIds } from '../lib/ids.ts'
import { classifyDatabaseError } from '../postgres/client/database-error.ts'
import type { LedgerWatch } from './ledger.ts'
import type { LedgerStores } from './ledger-stores.ts'

/** How long an exiting process tries to store its counters while the database is unavailable. */
const LAST_FLUSH_MS_MAX = 2_000

interface CounterOptions {
  readonly stores: LedgerStores
  readonly catalogue: Catalogue
  readonly clock: Clock
  readonly watch: LedgerWatch
  readonly ownership: Ownership
  /** Available once the ledger is taken over. */
  writing(): { readonly journal: Journal }
}

export function openCounters(options: CounterOptions) {
  const { stores, catalogue, clock, watch, ownership, writing } = options
  // When only counters are written, they are the first to meet the fence.
  const reportingFence = async (write: Promise<void>): Promise<void> => {
    try {
      await write
    } catch (error) {
      if (classifyDatabaseError(error) === 'fenced') {
        await ownership.findLost()
        // Also what a request has counted after its agency had left: as long as it waits to be written, nothing is (C9). Not of shards
        // that are being handed over: their last counts are still written.
        usage.forget((agencyId) => !writing().journal.isOwned(shardOf(agencyId)))
      }
      throw error
    }
  }
  const usage = new UsageMeter({
    clock,
    persist: (totals, uses) =>
      reportingFence(stores.usageRows.keep((agencyId) => writing().journal.epochOf(agencyId), totals, uses)),
    onFailure: watch.onCountersNotWritten,
  })
  const limiter = new RateLimiter(clock)
  const access = new PartnerAccess({ keys: catalogue.keys, clock, limiter, meter: usage })
  const refusals = new RefusalCounter({
    clock,
    persist: (lines) => stores.refusalRows.keep(lines),
    onFailure: watch.onCountersNotWritten,
  })

  const sessions = new PortalSessions({
    rows: {
      insert: (session) => reportingFence(ownership.sessions.insert(session)),
      keep: (what) => reportingFence(ownership.sessions.keep(what)),
    },
    catalogue,
    clock,
    newId: systemIds,
    onFailure: watch.onHousekeepingFailure,
  })
  /** Those of this writer: they must not count from an earlier moment. */
  const openRateSlots = async (journal: Journal): Promise<RateSlots> => {
    const { persist, ...rows } = await ownership.openRateRows(journal)
    const slots = new RateSlots({
      clock,
      bootTime,
      ...rows,
      persist: (keep) => reportingFence(persist(keep)),
      onFailure: watch.onCountersNotWritten,
    })
    limiter.keepIn(slots)
    return slots
  }
  return { usage, limiter, access, refusals, sessions, openRateSlots }
}

/** How an exiting process stores what it has counted. */
export class LastFlush {
  readonly #clock: Clock
  readonly #onFailure: (error: unknown) => void
  #isDatabaseAway = false

  constructor(clock: Clock, onFailure: (error: unknown) => void) {
    this.#clock = clock
    this.#onFailure = onFailure
  }

  get isDatabaseAway(): boolean {
    return this.#isDatabaseAway
  }

  /** Waits for an unavailable database only once: the process must end in time. */
  async stop(...counters: Counters[]): Promise<void> {
    for (const failure of await finalFlush(counters, this.#clock, this.#isDatabaseAway ? 0 : LAST_FLUSH_MS_MAX)) {
      this.#isDatabaseAway = true
      this.#onFailure(failure)
    }
  }
}
