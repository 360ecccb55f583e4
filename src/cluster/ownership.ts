/**
 * What a process owns of the ledger: all of it (`WholeLedger`), or some shards while it is a node (`NodeLedger`). Nothing outside this
 * folder and the composition root knows which.
 */
import type { SessionRows } from '../accounts/portal-sessions.ts'
import type { RateSlotsToKeep } from '../accounts/rate-slots.ts'
import type { Journal } from '../core/journal/journal.ts'
import type { SenderProcess } from '../events/webhooks/sender-process.ts'
import type { Engine } from './node-shards.ts'
import type { TakenOver, TakeOverSteps } from './take-over.ts'

export interface Ownership {
  /**
   * Of the agency's shard: another number each time that it comes to this process, because another process may have written in between.
   * Null: another process has it.
   */
  readonly termOf: (agencyId: string) => number | null
  /** The shards of this process; 'all': for good. */
  owned(): Iterable<number> | 'all'
  /** Of all shards together; null: each has its own. */
  epoch(): number | null
  /** Runs what a first booking and the take-over will need, so that connections, caches and plans are in place. */
  warmUp(): Promise<void>
  /**
   * Gets what this process serves from its first request on.
   * @throws Error when the database does not answer, or the process is shutting down meanwhile
   */
  acquire(steps: TakeOverSteps): Promise<TakenOver>
  /** What the shards are put into. Called once, after `acquire` and before the first request. */
  serveWith(engine: Engine & { readonly journal: Journal }): void
  /** Another writer has taken these shards. Absent: the loss of one is the end of this writer. */
  readonly lostTo?: (shards: readonly number[]) => void
  /** A statement was rejected by a fence: settles when the journal knows which shards it has lost. */
  findLost(): Promise<void>
  /** Tells others that this writer lives (Heartbeat). Null: another process has taken over. */
  beat(): Promise<{ readonly isAwaited: boolean } | null>
  /** Where sessions of the page are written. */
  readonly sessions: SessionRows
  /** Where the requests of the last minute are written, from now on. */
  openRateRows(journal: Pick<Journal, 'epoch'>): Promise<RateRows>
  /** Tells the sender of webhooks for which shards it sends, unless its epoch says it. */
  sendWith(sender: Pick<SenderProcess, 'sendFor'>): void
  /** Before connections are closed: gives the shards up, so that others need not wait for their fences. */
  release(): Promise<void>
  /** The journal is closed: this process writes no more. */
  end(): Promise<void>
  close(): Promise<void>
}

export interface RateRows {
  /** Slots are divided by it; absent: they are not. */
  readonly shardOf?: (agencyId: string) => number
  persist(keep: RateSlotsToKeep): Promise<void>
}
