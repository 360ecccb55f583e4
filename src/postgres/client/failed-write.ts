import { type Clock, sleep } from '../../lib/clock.ts'
import type { Sql } from './connect.ts'
import { FENCED_SQLSTATE, isErrorResponse, isTransient } from './database-error.ts'

/** What a failure means for a statement that was sent on its own, and only once. */
export type FailedWrite = 'fenced' | 'not_written' | 'unknown'

/**
 * The statement never left this process, or the server accepted no connection: the pool was full, no connection could be
 * opened, no host is the primary, too_many_connections, cannot_connect_now.
 */
const NEVER_SENT: ReadonlySet<unknown> = new Set([
  'CONNECTION_QUEUE_FULL',
  'CONNECTION_WAIT_TIMEOUT',
  'CONNECTION_NO_PRIMARY',
  'CONNECTION_NOT_ENCRYPTED',
  'CONNECTION_NOT_OPENED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  '53300',
  '57P03',
])

/**
 * Classifies the error of a write. After an ERROR the server has rolled the statement back. FATAL and PANIC end the session,
 * and may come after the commit. A lost connection or a missed deadline leaves the outcome unknown.
 */
export function failedWrite(error: unknown): FailedWrite {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error ? error.code : null
  if (code === FENCED_SQLSTATE) return 'fenced'
  if (NEVER_SENT.has(code)) return 'not_written'
  return isErrorResponse(error) ? 'not_written' : 'unknown'
}

export interface RetryOptions {
  readonly clock: Clock
  /** No new attempt starts after this time, ms. */
  readonly withinMs: number
  /** Pause between two attempts, ms. */
  readonly pauseMs: number
  /** True: no new attempt. */
  isOver(): boolean
  /** An attempt failed, and another one follows. */
  onFailure(error: unknown): void
}

/**
 * Retries while the database is away or busy: for work whose failure would leave no process that serves. `ask` has its own
 * deadline and may be repeated.
 * @throws what the last attempt threw; at once if retrying would not help
 */
export async function retryUntilAnswered<T>(ask: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, withinMs, pauseMs } = options
  const since = clock.monotonicMs()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isTransient(error) || options.isOver() || clock.monotonicMs() - since >= withinMs) throw error
      options.onFailure(error)
      await sleep(clock, pauseMs)
    }
  }
}

/** The server answers but does not accept writes: it is a standby, or the session is read-only. */
export class ReadOnlyError extends Error {
  override readonly name = 'ReadOnlyError'
}

/** What a session reports about itself. */
export interface SessionState {
  /** `transaction_read_only`. */
  readonly isReadOnly: boolean
  readonly isInRecovery: boolean
}

/**
 * Checks that this session is connected to a primary and may write.
 * @throws ReadOnlyError, with the reason, when it may not; otherwise whatever the statement throws
 */
export async function assertWritable(sql: Sql): Promise<void> {
  const [state] = await sql<SessionState[]>`
    select current_setting('transaction_read_only')::boolean as "isReadOnly", pg_is_in_recovery() as "isInRecovery"`
  const fault = state === undefined ? 'it did not report whether it accepts writes' : readOnlyFault(state)
  if (fault !== null) throw new ReadOnlyError(`Cannot write to the database: ${fault}`)
}

/** Why the session does not accept writes; null when it does. */
export function readOnlyFault({ isReadOnly, isInRecovery }: SessionState): string | null {
  if (isInRecovery) return 'the server is a standby (pg_is_in_recovery)'
  if (isReadOnly) return 'the session is read-only (transaction_read_only is on)'
  return null
}
