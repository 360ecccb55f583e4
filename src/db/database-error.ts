/**
 * What a failed statement means for whoever sent it.
 * - `connection`: outcome unknown. Throw the client object away, wait 20 ms, re-send on a new one (J3).
 * - `retry`: known not to have happened. Re-send on the same client.
 * - `poison`: the data broke a rule of the database (SQLSTATE class 22 or 23): our bug (J4).
 * - `fenced`: another process has taken over the writing (J5).
 * - `other`: none of these; do not re-send.
 */
export type DatabaseErrorClass = 'connection' | 'retry' | 'poison' | 'fenced' | 'other'

/** Raised by `append_batch` in sql/ when the batch's epoch is not the fence's. */
export const FENCED_SQLSTATE = 'NL001'
/** Raised by `append_batch` when another batch has the sequence numbers: someone else has written. */
export const SEQUENCE_TAKEN_SQLSTATE = 'NL002'
/** Raised by `append_batch` when a change was decided on another version of its booking. */
export const VERSION_MISMATCH_SQLSTATE = 'NL003'

/** Exact codes: SQLSTATEs, and those that postgres.js and the socket use in their place. */
export const CLASS_OF_CODE = {
  CONNECTION_CLOSED: 'connection',
  CONNECTION_DESTROYED: 'connection',
  CONNECTION_ENDED: 'connection',
  CONNECTION_CONNECT_TIMEOUT: 'connection',
  CONNECT_TIMEOUT: 'connection',
  ECONNRESET: 'connection',
  ECONNREFUSED: 'connection',
  ECONNABORTED: 'connection',
  EPIPE: 'connection',
  ETIMEDOUT: 'connection',
  EHOSTUNREACH: 'connection',
  ENETUNREACH: 'connection',
  ENOTFOUND: 'connection',
  EAI_AGAIN: 'connection',
  // admin_shutdown, crash_shutdown, cannot_connect_now; too_many_connections
  '57P01': 'connection',
  '57P02': 'connection',
  '57P03': 'connection',
  '53300': 'connection',
  // serialization_failure, deadlock_detected, lock_not_available, query_canceled (timeouts), disk_full, out_of_memory
  '40001': 'retry',
  '40P01': 'retry',
  '55P03': 'retry',
  '57014': 'retry',
  '53100': 'retry',
  '53200': 'retry',
  [FENCED_SQLSTATE]: 'fenced',
  [SEQUENCE_TAKEN_SQLSTATE]: 'fenced',
  [VERSION_MISMATCH_SQLSTATE]: 'poison',
} as const satisfies Record<string, DatabaseErrorClass>

/** By beginning, where no exact code is listed. `08` connection exception, `22` data exception, `23` integrity. */
export const CLASS_OF_PREFIX = [
  ['CONNECTION_', 'connection'],
  ['08', 'connection'],
  ['22', 'poison'],
  ['23', 'poison'],
] as const satisfies readonly (readonly [string, DatabaseErrorClass])[]

/** Sorts whatever a query rejected with. A missed deadline (`DeadlineError`) counts as `connection`: outcome unknown. */
export function classifyDatabaseError(error: unknown): DatabaseErrorClass {
  if (!(error instanceof Error)) return 'other'
  if (error.name === 'DeadlineError') return 'connection'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  // Own keys only: 'constructor' is no code.
  if (Object.hasOwn(CLASS_OF_CODE, code)) return CLASS_OF_CODE[code as keyof typeof CLASS_OF_CODE]
  return CLASS_OF_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'other'
}
