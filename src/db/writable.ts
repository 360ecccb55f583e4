import type { Sql } from './connect.ts'

/** The server answers, but takes no writes: a standby, or a session that may only read. */
export class ReadOnlyError extends Error {
  override readonly name = 'ReadOnlyError'
}

/** What a session says of itself. */
export interface SessionState {
  /** `transaction_read_only`. */
  readonly isReadOnly: boolean
  readonly isInRecovery: boolean
}

/**
 * Shows that this session reaches a primary and may write.
 * @throws ReadOnlyError when it may not, saying why; whatever the statement throws when the server does not answer
 */
export async function assertWritable(sql: Sql): Promise<void> {
  const [state] = await sql<SessionState[]>`
    select current_setting('transaction_read_only')::boolean as "isReadOnly", pg_is_in_recovery() as "isInRecovery"`
  const fault = state === undefined ? 'it did not say whether it takes writes' : readOnlyFault(state)
  if (fault !== null) throw new ReadOnlyError(`Cannot write to the database: ${fault}`)
}

/** Why the session takes no writes; null when it does. */
export function readOnlyFault({ isReadOnly, isInRecovery }: SessionState): string | null {
  if (isInRecovery) return 'the server is a standby (pg_is_in_recovery)'
  if (isReadOnly) return 'the session is read-only (transaction_read_only is on)'
  return null
}
