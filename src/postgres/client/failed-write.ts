import { FENCED_SQLSTATE, isErrorResponse } from './database-error.ts'

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
