/** The running core as everything else sees it, and what it is made with. */

import type { BegunErasure, GuestErasures } from '../accounts/guest-erasures.ts'
import type { PortalSessions } from '../accounts/portal-sessions.ts'
import type { RetentionJob } from '../accounts/retention-job.ts'
import type { SandboxRows } from '../accounts/sandboxes.ts'
import type { PartnerLedger } from '../api/partner/partner-route.ts'
import type { AgencyChange } from '../api/portal/agency-change.ts'
import type { Turn } from '../cluster/await-turn.ts'
import type { Membership } from '../cluster/membership.ts'
import type { Ownership } from '../cluster/ownership.ts'
import type { Journal } from '../core/journal/journal.ts'
import type { HoldTimer } from '../core/units/hold-timer.ts'
import type { UnitDirectory } from '../core/units/unit-directory.ts'
import type { ChangeFeed } from '../events/changes/change-feed.ts'
import type { CheckpointBuilder } from '../events/checkpoints/checkpoint-builder.ts'
import type { Clock } from '../lib/clock.ts'
import type { Tracer } from '../lib/tracer.ts'
import type { Sql } from '../postgres/client/connect.ts'
import type { ListReads } from '../postgres/stores/list-reads.ts'

export interface LedgerLimits {
  readonly residentUnitsMax: number
  readonly unitIdleMs: number
  readonly mailboxMax: number
  readonly snapshotEvery: number
  readonly journalWaitingMax: number
  readonly journalBatchMax: number
  /** How long a write is queued while the database is unavailable. */
  readonly queuedMsMax: number
  readonly retainBookingYears: number
  readonly retainGuestMonths: number
  readonly retainLogYears: number
  readonly retainDeliveryDays: number
}

/** Events the ledger reports, one log line each. */
export interface LedgerWatch {
  /** Stop serving now; exit when `settled` resolves (Journal). */
  onFenced(cause: unknown, settled: Promise<void>): void
  /** The database has lost entries that were acknowledged (S3). Their shards are fenced. */
  onEntriesLost(cause: unknown): void
  onSnapshotDefect(fields: { defect: string; agencyId: string; unitId: string; seq: number }): void
  /** What is stored of a unit is damaged: it is refused, and nothing else is. Called once for each unit. */
  onDamagedUnit(fields: { agencyId: string; unitId: string; err: unknown }): void
  onSnapshotFailure(error: unknown): void
  onHoldTimerFailure(error: unknown): void
  /** A hold could not be released. Called for the first one of each unit. */
  onHoldFailure(fields: { agencyId: string; unitId: string; bookingId: string; err: unknown }): void
  /** An invariant was broken outside any request: the process must exit. */
  onBug(error: unknown): void
  /** P3: whether heartbeats are confirmed, after it has changed. While they are not, `ledger.isConfirmed` is false. */
  onConfirmed(isConfirmed: boolean): void
  onHousekeepingFailure(error: unknown): void
  /** The take-over, or a read after it, got no answer from the database. It is retried. */
  onTakeOverFailure(error: unknown): void
  /** Usage or refused writes could not be stored. Retried, unless the process is exiting. */
  onCountersNotWritten(error: unknown): void
}

/** The running core, which REST, MCP and the portal call. */
export interface Ledger extends PartnerLedger {
  /**
   * For look-ups, for loading units into memory, and for portal writes. Lists and probes have their own connections.
   */
  readonly sql: Sql
  readonly lists: ListReads
  /** For requests that must be answered under any load: readiness and metrics. */
  readonly probes: Sql
  /** For child processes. */
  readonly databaseUrl: string
  /** Null: tracing is off. */
  readonly tracer: Tracer | null
  readonly directory: UnitDirectory
  readonly holdTimer: Pick<HoldTimer, 'failing'>
  readonly retention: RetentionJob
  /** Gives entries their leaves. */
  readonly checkpointBuilder: Pick<CheckpointBuilder, 'behindMs'>
  readonly sandboxRows: SandboxRows
  readonly guestErasures: GuestErasures
  readonly journal: Journal
  readonly ownership: Ownership
  /** Of the portal's page. */
  readonly sessions: PortalSessions
  /** The changes of an agency as it sees them itself; partners see `changes`. */
  readonly agencyChanges: ChangeFeed<AgencyChange>
  /** The epoch of this writer for the agency. It rises when the journal has to resolve an unknown outcome. */
  epochOf(agencyId: string): number
  /** The same for what belongs to no agency. */
  readonly epoch: number
  /**
   * A statement outside the journal was rejected by the fence. The journal then detects the fence as well and ends the
   * process (J5).
   */
  reportFenced(): void
  /** P3: whether what is in memory may be shown as current. Nodes ask for each shard instead (C6). */
  readonly isConfirmed: boolean
  /** Tells the process that waits for its turn that it comes in a moment. */
  announceEnd(): Promise<void>
  /** Finishes writes in flight, gives the shards up, writes snapshots, and closes every connection. */
  close(): Promise<void>
}

export interface LedgerOptions {
  databaseUrl: string
  /** Instead of the number of their purpose. */
  readonly queryConnections?: number
  /** 32 bytes: opens the keys of the journal's chains. */
  secretKey: Uint8Array
  clock: Clock
  limits: LedgerLimits
  tracer?: Tracer | null
  watch: LedgerWatch
  /** The name of this writer in `shard`: host and process. */
  holder: string
  /** Called after each durable change of a booking, when its webhooks are due. */
  onBookingChange?: (agencyId: string) => void
  /** Likewise after a change of a unit that fires an event. */
  onUnitChange?: (agencyId: string) => void
  /** Writes an erasure down outside the database, before it is answered (ERASURES_FILE). */
  listErasure?: (erasure: BegunErasure) => Promise<void>
  /** True when the process is shutting down and no longer waits for the database. */
  isCancelled?: () => boolean
  openOwnership: Membership['openOwnership']
}

/** Everything but what begins with the term of this writer. Whatever serves a ledger can be built on it before the take-over. */
export interface PreparedLedger {
  /** Not to be used before `begin` has resolved. */
  readonly ledger: Ledger
  /**
   * Takes over the ledger.
   * @param untilTurn runs last before that: waits for the turn of this process (Membership.turn), and returns who is gone; null: it
   *   over from any that serves. Not given: at once
   * @throws Error when the database does not answer, or when `isCancelled` says that the take-over was cancelled
   */
  begin(untilTurn?: (turn: Turn) => Promise<readonly string[] | null>): Promise<void>
}
