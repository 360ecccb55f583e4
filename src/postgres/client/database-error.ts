/**
 * What a failed statement means for its sender.
 * - `connection`: outcome unknown. Discard the client object, wait 20 ms, re-send on a new one (J3).
 * - `retry`: this statement had no effect. Re-send it on the same client.
 * - `too_slow`: cancelled at a timeout, so this statement had no effect. Send less at a time.
 * - `poison`: the data broke a rule of the database (SQLSTATE class 22 or 23): our bug (J4). No effect.
 * - `fenced`: another process has taken over (J5). No effect.
 * - `unfit`: the server or the session cannot do it now: it is read-only, out of space or memory, or shutting down. No effect;
 *   discard the client object.
 * - `other`: none of these; an unforeseen error. On the write connection it is treated as `unfit`.
 */
export type DatabaseErrorClass = 'connection' | 'retry' | 'too_slow' | 'poison' | 'fenced' | 'unfit' | 'other'

/** Raised in sql/ when an epoch is not the fence's. Its detail lists the fenced shards. */
export const FENCED_SQLSTATE = 'NL001'
/** Raised by `append_batch` when a shard's log ends elsewhere than the writer believes: numbers are taken, or one before them is missing. */
const SEQUENCE_TAKEN_SQLSTATE = 'NL002'
/** Raised by `append_batch` when a change was decided against a different version of its booking. */
const VERSION_MISMATCH_SQLSTATE = 'NL003'

/** Raised by `take_over` when a process serves that was not seen to be gone. */
const TURN_OVER_SQLSTATE = 'NL005'

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
  // serialization_failure, deadlock_detected, lock_not_available
  '40001': 'retry',
  '40P01': 'retry',
  '55P03': 'retry',
  // query_canceled: statement_timeout
  '57014': 'too_slow',
  // read_only_sql_transaction: a standby, or a server whose storage is full
  '25006': 'unfit',
  [TURN_OVER_SQLSTATE]: 'retry',
  [FENCED_SQLSTATE]: 'fenced',
  [SEQUENCE_TAKEN_SQLSTATE]: 'fenced',
  [VERSION_MISMATCH_SQLSTATE]: 'poison',
} as const satisfies Record<string, DatabaseErrorClass>

/**
 * By prefix, where no exact code is listed. `08` connection exception, `22` data exception, `23` integrity, `53`
 * insufficient resources (disk full, out of memory), `57` operator intervention.
 */
export const CLASS_OF_PREFIX = [
  ['CONNECTION_', 'connection'],
  ['08', 'connection'],
  ['22', 'poison'],
  ['23', 'poison'],
  ['53', 'unfit'],
  ['57', 'unfit'],
] as const satisfies readonly (readonly [string, DatabaseErrorClass])[]

/** Classifies whatever a query rejected with. A missed deadline (`DeadlineError`) counts as `connection`: outcome unknown. */
export function classifyDatabaseError(error: unknown): DatabaseErrorClass {
  if (!(error instanceof Error)) return 'other'
  if (error.name === 'DeadlineError') return 'connection'
  // The error ended the session, perhaps in the middle of a commit. It is not the answer to a statement.
  if ('severity' in error && (error.severity === 'FATAL' || error.severity === 'PANIC')) return 'connection'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  // Own keys only: 'constructor' is not a code.
  if (Object.hasOwn(CLASS_OF_CODE, code)) return CLASS_OF_CODE[code as keyof typeof CLASS_OF_CODE]
  return CLASS_OF_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'other'
}

/**
 * Whether the server answered a statement with an error and kept the session: the statement then had no effect. False for errors
 * that ended the session, for a lost connection, and for errors made by the client.
 */
export function isErrorResponse(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR'
}

/**
 * Whether a writer whose epoch is current has been refused because its log ends elsewhere. Nobody else has written there, so the
 * database has lost entries, as a fail-over to an asynchronous standby loses them.
 */
export function hasLostEntries(error: unknown): boolean {
  return isErrorResponse(error) && (error as { code?: unknown }).code === SEQUENCE_TAKEN_SQLSTATE
}

/** Errors that may be temporary: the server is away, busy, failing over, or out of space. */
const TRANSIENT: ReadonlySet<DatabaseErrorClass> = new Set(['connection', 'retry', 'too_slow', 'unfit'])

/** Whether the same statement may succeed later although nothing that is stored has changed. */
export function isTransient(error: unknown): boolean {
  return TRANSIENT.has(classifyDatabaseError(error))
}
