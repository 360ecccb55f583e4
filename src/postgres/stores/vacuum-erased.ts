import { connect } from '../client/connect.ts'

/**
 * Removes the dead rows of erased guests from the data files, so that later page images and base backups do not copy them. Nothing that
 * reads or writes waits for it. A transaction that is older than an erasure, such as a dump, keeps its dead rows: that erasure and those
 * after it are not marked as vacuumed.
 * @throws Error when the role may not vacuum; else what the database rejects with
 */
export async function vacuumErased(databaseUrl: string): Promise<void> {
  // A connection of its own: it takes longer than a statement may.
  const sql = connect(databaseUrl, { purpose: 'admin' })
  try {
    const [row] = await sql<{ before: string; mayVacuum: boolean }[]>`
      select least(clock_timestamp(), (
               -- xmin is of the statement that completed the erasure, and so younger than all that deleted something.
               select min(e.erased_at) from guest_erasure e
               where e.vacuumed_at is null and e.erased_at is not null and age(e.xmin) <= (select oldest_snapshot_age())
             ))::text as "before", bool_and(
        -- Servers before 17 do not know the privilege, and refuse its name.
        case when pg_has_role(c.relowner, 'usage') then true
             when current_setting('server_version_num')::int >= 170000 then has_table_privilege(c.oid, 'maintain')
             else false end) as "mayVacuum"
      from pg_class c where c.oid in ('guest'::regclass, 'booking'::regclass, 'idempotency'::regclass)`
    // The server would only warn.
    if (row?.mayVacuum !== true)
      throw new Error('Cannot vacuum guest, booking and idempotency: the role needs the privilege MAINTAIN on them')
    // Of a guest's texts the trigram index has parts, so its entries must go however few they are.
    await sql.unsafe(`
      set vacuum_cost_delay = 2;
      set vacuum_cost_limit = 2000`)
    await sql.unsafe('vacuum (index_cleanup on, truncate off) guest')
    await sql.unsafe('vacuum (truncate off) booking, idempotency')
    await sql`
      update guest_erasure set vacuumed_at = clock_timestamp()
      where vacuumed_at is null and erased_at < ${row.before}::text::timestamptz`
  } finally {
    await sql.end({ timeout: 1 })
  }
}
