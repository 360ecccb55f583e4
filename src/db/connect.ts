import postgres from 'postgres'
import { withMendedResults } from './mended-results.ts'

export type Sql = postgres.Sql

/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>

/**
 * `journal`: the writer's only connection. `queries`: the pool behind reads and portal writes. `admin`: migrations and
 * tools, without a statement timeout.
 */
export type Purpose = 'queries' | 'journal' | 'admin'

type Options = postgres.Options<Record<string, postgres.PostgresType>>

/**
 * What each purpose asks of postgres.js. The journal's were measured (docs/decisions.md): they recover within
 * milliseconds of a killed connection. `fetch_types: false` saves a round trip per connection and costs array
 * parameters and array results: the journal sends one JSON text parameter instead.
 */
const OPTIONS: Record<Purpose, Options> = {
  journal: {
    max: 1,
    connect_timeout: 2,
    backoff: () => 0.02,
    fetch_types: false,
    idle_timeout: 0,
    max_lifetime: null,
    connection: { statement_timeout: 2_000, lock_timeout: 2_000, synchronous_commit: 'on' },
  },
  queries: {
    max: 8,
    connect_timeout: 5,
    backoff: () => 0.05,
    idle_timeout: 0,
    max_lifetime: null,
    connection: { statement_timeout: 5_000, lock_timeout: 2_000, synchronous_commit: 'on' },
  },
  // Says nothing of synchronous_commit, so that checkServer sees what the server is set to.
  admin: {
    max: 1,
    connect_timeout: 5,
    backoff: () => 0.05,
    idle_timeout: 0,
    max_lifetime: null,
  },
}

/**
 * A postgres.js client; connects on first use. bigint columns come back as strings. There is no acquire timeout: put
 * `withDeadline` around what must not wait. Never use `begin` or `reserve` on it (docs/decisions.md): one statement, one
 * plpgsql function, or one multi-statement simple query.
 * @throws TypeError when `url` is not a URL
 */
export function connect(
  url: string,
  { purpose, max, onClose }: { purpose: Purpose; max?: number; onClose?: () => void },
): Sql {
  const options = OPTIONS[purpose]
  const sql = postgres(url, {
    ...options,
    ...(onClose === undefined ? {} : { onclose: onClose }),
    max: max ?? options.max ?? 1,
    connection: { ...options.connection, application_name: `nightledger ${purpose}` },
    // Notices ("relation exists, skipping") would otherwise be printed to the console.
    onnotice: () => {},
  })
  return withMendedResults(sql)
}
