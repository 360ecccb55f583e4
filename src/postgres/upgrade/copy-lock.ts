import type { Sql } from '../client/connect.ts'

/** Any constant, as long as every version of this program uses the same one. */
const COPY_LOCK = 7_310_577_216_190_003n

/**
 * Tries to become the only process that copies, switches or takes back a ledger. The lock ends with the connection, whatever becomes
 * of the process.
 * @param sql a client of one connection
 */
export async function tryCopyLock(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ isLocked: boolean }[]>`
    select pg_try_advisory_lock(${String(COPY_LOCK)}::text::bigint) as "isLocked"`
  return row?.isLocked === true
}
