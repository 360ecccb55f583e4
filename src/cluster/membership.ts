/** The process among others: one that serves alone (`Alone`), one of several workers (`WorkerMember`), or a node (`ClusterMember`). */
import type { AnyElysia } from 'elysia'
import type { PortalAccess } from '../accounts/portal-access.ts'
import type { PortalSessions } from '../accounts/portal-sessions.ts'
import type { PortalLedger } from '../api/portal/portal-dependencies.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { CountedRouteOptions } from '../http/route.ts'
import type { Listener, Wrap } from '../http/server/listener.ts'
import type { Answering } from '../http/server/served-routes.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Tracer } from '../lib/tracer.ts'
import type { MetricReading } from '../observability/metric.ts'
import type { Sql } from '../postgres/client/connect.ts'
import type { ListReads } from '../postgres/stores/list-reads.ts'
import type { Turn, TurnWatch } from './await-turn.ts'
import type { ListenerName } from './forward/hop.ts'
import type { Ownership } from './ownership.ts'
import type { OwnedStores } from './take-over.ts'

/** What an ownership is made of. */
export interface OwnershipParts {
  readonly databaseUrl: string
  /** 32 bytes. */
  readonly secretKey: Uint8Array
  /** The name of this writer in `shard`: host and process. */
  readonly holder: string
  readonly stores: OwnedStores & { readonly writer: { readonly writerId: string; readonly run: string | null } }
  readonly clock: Clock
  /** Something that makes the next owner slower, or its counts lower, has failed. */
  onFailure(error: unknown): void
  /** The database has another secret key by now: this process must end. */
  onKeyChanged(cause: unknown): void
}

/** What a membership needs to know of the ledger. */
export interface EnteredLedger {
  readonly sql: Sql
  readonly lists: ListReads
  readonly clock: Clock
  readonly newId: IdSource
  readonly tracer: Tracer | null
  readonly catalogue: Pick<Catalogue, 'agencies'>
  readonly sessions: PortalSessions
  /** P3 */
  readonly isConfirmed: boolean
  /** Of this writer, for what belongs to no agency. */
  readonly epoch: number
}

export interface Membership {
  openOwnership(parts: OwnershipParts): Ownership
  /** After the ownership was opened. @param leaving aborted when the process stops */
  enter(ledger: EnteredLedger, leaving: AbortSignal): Promise<Entrance>
  /**
   * Waits until this process may take over.
   * @param options.takesOver does not wait (`--take-over`). Nodes always wait
   * @returns the writers that are gone; null: it takes over from any that serves
   * @throws TakeOverError when `takesOver` would be of no use
   */
  turn(turn: Turn, options: TurnOptions): Promise<readonly string[] | null>
  /** Whether its first request comes only after `join`, so that there is time before it. */
  readonly joinsLater: boolean
  /** From now on others may send requests. */
  join(): Promise<void>
  /** While the process still takes requests: gives others what it owns. */
  leave(): Promise<void>
  /** Everything that arrived here is answered: waits until others need no more answers of this process. */
  drained(): Promise<void>
  /** When nothing is written any more. */
  close(): Promise<void>
}

export interface TurnOptions {
  readonly takesOver: boolean
  readonly isCancelled: () => boolean
  readonly watch: TurnWatch
}

/** How requests come into the process. */
export interface Entrance {
  /** What a listener answers with goes through what this returns. */
  wrap(name: ListenerName, listener: Listener, options: WrapOptions): Wrap
  /** The other end of the client's connection, wherever it is connected. Null when it is closed. */
  peerOf(listener: Listener, request: Request): string | null
  readonly agencies: Pick<PortalLedger, 'allAgencies' | 'newAgencyId'>
  /** Why the process should get no requests. @param fence of the database; null when it does not answer */
  faults(fence: { readonly epoch: number } | null): readonly string[]
  /** For the operator. */
  routes(options: OperatorRouteOptions): readonly AnyElysia[]
  /** Of the metrics page: about others. */
  metrics(): readonly MetricReading[]
}

interface WrapOptions {
  readonly operatorTokens: readonly string[]
  /** Whether `/healthz`, `/readyz` and `/metrics` are served at this listener. */
  readonly hasProbes: boolean
  /** Answers what no route was found for. */
  readonly any: Answering
}

export interface OperatorRouteOptions extends CountedRouteOptions {
  readonly access: PortalAccess
  /** Counts a wrong token. @returns null: answer 401; otherwise 429, with the whole seconds to wait */
  throttled(request: Request): number | null
}

/** `--take-over` would be of no use. */
export class TakeOverError extends Error {
  override readonly name = 'TakeOverError'
}
