import { FENCED_SQLSTATE, isErrorResponse } from './database-error.ts'

/** What a failure says of a statement that was sent once, by itself, and not again. */
export type FailedWrite = 'fenced' | 'not_written' | 'unknown'

/**
 * The statement never left this process, or the server let nobody in: the pool had no room, there was no connection to be
 * had, too_many_connections, cannot_connect_now.
 */
const NEVER_SENT: ReadonlySet<unknown> = new Set([
  'CONNECTION_QUEUE_FULL',
  'CONNECTION_WAIT_TIMEOUT',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  '53300',
  '57P03',
])

/**
 * Sorts whatever a write rejected with. An ERROR of the server takes the statement back; FATAL and PANIC end the session,
 * and may come after the commit. A lost connection and a missed deadline say nothing.
 */
export function failedWrite(error: unknown): FailedWrite {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error ? error.code : null
  if (code === FENCED_SQLSTATE) return 'fenced'
  if (NEVER_SENT.has(code)) return 'not_written'
  return isErrorResponse(error) ? 'not_written' : 'unknown'
}
