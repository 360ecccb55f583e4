import type postgres from 'postgres'
import { type ConnectionEvents, pooled } from './client-pool.ts'
import { withRepairedResults } from './statement.ts'
import { targetOf } from './target.ts'

export type Sql = postgres.Sql

/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>

/**
 * `journal`: the connection of one lane of the writer. `queries`: the pool for look-ups, units read into memory and portal writes.
 * `lists`: the pool for pages and searches (`ListReads`). `probes`: readiness, metrics and heartbeats. `admin`: migrations and
 * tools, without a statement timeout. `verification`: reads the whole ledger; its statement timeout ends what a dead process
 * left running. `doctor`: read-only.
 */
export type Purpose = 'queries' | 'lists' | 'probes' | 'journal' | 'admin' | 'verification' | 'doctor'

interface Profile {
  /** Maximum number of connections. */
  readonly size: number
  /** Statements on one of them when all are busy: many short ones cost the server a third of one at a time. */
  readonly pipelined: number
  /**
   * Above the server's own timeout for a statement, so that the server ends a slow one and its outcome is known. A
   * connection that stays silent longer has lost its server (a failover that left no trace on the wire). Milliseconds.
   */
  readonly runMsMax: number | null
  /** How long a caller waits for its answer, ms: not below the server's own timeout for a statement. */
  readonly deadlineMs: number | null
  /** Seconds. */
  readonly connectTimeout: number
  readonly session: Record<string, string | number>
}

/** How long a look-up, a list or a portal write may take; also the server's timeout for the statement. */
export const QUERY_DEADLINE_MS = 5_000

/** Of every connection, whatever the server, the database or the role has set. */
const SESSION = {
  // Our statements forbid plans that read whole tables by giving them an enormous cost, which PostgreSQL then takes for a reason to compile:
  // a refused booking took 100 ms instead of 5 on a server with `jit = on`, its default.
  jit: 'off',
  // How values are written as text: bytes in another form would be read as other bytes, and a chain would continue from a wrong link (J7).
  bytea_output: 'hex',
  DateStyle: 'ISO',
  extra_float_digits: 1,
  // How our statements are read, and what they see while they wait for locks.
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  // PostgreSQL reports a commit whose wait for its standby was cancelled only as a warning (P2).
  client_min_messages: 'warning',
} as const

const PROFILES: Record<Purpose, Profile> = {
  journal: {
    size: 1,
    pipelined: 1,
    runMsMax: 3_500,
    deadlineMs: 3_000,
    connectTimeout: 2,
    // A wait for a lock times out first, which distinguishes it from a batch that is too slow.
    session: { statement_timeout: 2_000, lock_timeout: 1_500, synchronous_commit: 'on' },
  },
  queries: {
    size: 8,
    pipelined: 4,
    runMsMax: 6_500,
    deadlineMs: QUERY_DEADLINE_MS,
    connectTimeout: 5,
    session: { statement_timeout: QUERY_DEADLINE_MS, lock_timeout: 2_000, synchronous_commit: 'on' },
  },
  // One statement on a connection at a time: a page of one agency must not wait behind a search of another.
  lists: {
    size: 4,
    pipelined: 1,
    runMsMax: 6_500,
    deadlineMs: QUERY_DEADLINE_MS,
    connectTimeout: 5,
    session: { statement_timeout: QUERY_DEADLINE_MS, lock_timeout: 2_000 },
  },
  // Two, so that readiness never waits for what the metrics count. Heartbeats, which are all that is written here, need not survive.
  probes: {
    size: 2,
    pipelined: 4,
    runMsMax: 2_500,
    deadlineMs: 1_000,
    connectTimeout: 2,
    session: { statement_timeout: 1_000, lock_timeout: 500, synchronous_commit: 'off' },
  },
  // Does not set synchronous_commit, so that checkServer sees the server's own setting.
  admin: {
    size: 1,
    pipelined: 1,
    runMsMax: null,
    deadlineMs: null,
    connectTimeout: 5,
    // A migration, or what is done after a restore, takes as long as it takes, even where others have a timeout. A text: postgres.js leaves
    // out a number that is zero.
    session: { statement_timeout: '0' },
  },
  verification: {
    size: 1,
    // As many as units are verified at once (verify.ts).
    pipelined: 8,
    runMsMax: null,
    deadlineMs: 120_000,
    connectTimeout: 5,
    session: { statement_timeout: 120_000, default_transaction_read_only: 'on' },
  },
  doctor: {
    size: 2,
    pipelined: 1,
    runMsMax: 6_500,
    deadlineMs: QUERY_DEADLINE_MS,
    connectTimeout: 5,
    session: { statement_timeout: QUERY_DEADLINE_MS, lock_timeout: 500, default_transaction_read_only: 'on' },
  },
}

/**
 * Connections to Postgres as a postgres.js client; they are opened on first use, and replaced when they are lost. Of several hosts, they
 * all lead to the primary, and are lost when another one becomes the primary (P1). bigint
 * columns come back as strings. Every statement has the deadline of its purpose, after which it rejects with DeadlineError.
 * Without `begin` and `reserve` (docs/decisions.md#postgresql-and-its-driver): one statement, one plpgsql function, or one multi-statement simple query.
 * @param max connections, instead of the purpose's own number
 * @param onLost called whenever a connection is lost
 * @throws DatabaseUrlError when `url` is not such a URL
 */
export function connect(
  url: string,
  { purpose, max, onLost }: { purpose: Purpose; max?: number; onLost?: () => void },
): Sql {
  const { size, connectTimeout, session, ...timeouts } = PROFILES[purpose]
  const { primary, client } = targetOf(url)
  const open = (events: ConnectionEvents): Sql =>
    withRepairedResults(
      client({
        connect_timeout: connectTimeout,
        connection: { ...SESSION, ...session, application_name: `nightledger ${purpose}` },
        onclose: events.onClose,
        // Other notices ("relation exists, skipping") would be printed to the console.
        onnotice: ({ ['routine']: routine }) => {
          if (routine === WAIT_FOR_STANDBY) events.onUnconfirmed()
        },
        onReplaced: events.onReplaced,
      }),
    )
  const options = { size: max ?? size, ...timeouts }
  if (primary === null) return pooled(open, onLost === undefined ? options : { ...options, onLost })
  return pooled(open, {
    ...options,
    onLost: ({ isReplaced }) => {
      if (!isReplaced) primary.doubt()
      onLost?.()
    },
    onSlow: () => primary.suspect(),
  })
}

/**
 * What raises the warning that someone has cancelled a commit's wait for its standby (pg_cancel_backend). The commit is then reported as
 * any other, although a fail-over would lose it.
 */
const WAIT_FOR_STANDBY = 'SyncRepWaitForLSN'
