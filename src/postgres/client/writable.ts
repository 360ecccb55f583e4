import type { Sql } from './connect.ts'

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
