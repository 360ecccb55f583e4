/** What a verification finds out about deliveries and the cursors of endpoints: set by set, in the database. */
import { idOf } from '../../lib/ids.ts'
import type { CursorDifference } from '../../verify/verify-store.ts'
import type { Sql } from '../client/connect.ts'

/**
 * `VerifyStore.strayDeliveries`. Deliveries of archived entries are skipped: there is nothing to compare them with. A reset passes the
 * endpoints of a sandbox to its successor, and leaves what they were sent before: the endpoint of such a delivery is not here.
 */
export async function strayDeliveries(sql: Sql, limit: number): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    select d.delivery_id as "id" from webhook_delivery d
    join shard s on s.shard = shard_of(d.agency_id)
    left join agency a on a.agency_id = d.agency_id
    left join webhook_endpoint w on w.agency_id = d.agency_id and w.endpoint_id = d.endpoint_id
    left join journal j on j.shard = s.shard and j.seq = d.seq and j.month = d.entry_month
      and j.agency_id = d.agency_id and j.entry_id = d.event_id and j.is_announced
    where (w.endpoint_id is null and a.status is distinct from 'deleted') or (d.seq > s.base and j.seq is null)
    order by 1 limit ${limit}`
  return rows.map(({ id }) => idOf('dlv', id))
}

/** `VerifyStore.orphanedDeliveries`. */
export async function orphanedDeliveries(sql: Sql, limit: number): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    select d.delivery_id as "id" from webhook_delivery d
    join webhook_endpoint w on w.agency_id = d.agency_id and w.endpoint_id = d.endpoint_id
    where d.status = 'pending' and w.status = 'deleted' order by 1 limit ${limit}`
  return rows.map(({ id }) => idOf('dlv', id))
}

/** `VerifyStore.missingDeliveries`. A delivery is never stored under an earlier month than its entry. One endpoint after the other: a join of all of them took 46 s with 400,000 deliveries. */
export async function missingDeliveries(sql: Sql, limit: number): Promise<readonly CursorDifference[]> {
  const rows = await sql<CursorDifference[]>`
    select w.endpoint_id as "endpointId", shard_of(w.agency_id) as "shard", missing.seq::float8 as "seq"
    from webhook_endpoint w cross join lateral (
      select j.seq from journal j
      where j.agency_id = w.agency_id and j.seq > w.from_seq and j.seq <= w.made_seq and j.is_announced
        and j.month >= (select deliveries_since from ledger)
        and event_of(j.kind) = any (w.events)
      except
      select d.seq from webhook_delivery d where d.agency_id = w.agency_id and d.endpoint_id = w.endpoint_id
    ) missing
    where w.status <> 'deleted' order by w.endpoint_id, missing.seq limit ${limit}`
  return rows.map((row) => ({ ...row, endpointId: idOf('whe', row.endpointId) }))
}

/** `VerifyStore.cursorsBeyondEnd`. */
export async function cursorsBeyondEnd(sql: Sql, limit: number): Promise<readonly CursorDifference[]> {
  const rows = await sql<CursorDifference[]>`
    select w.endpoint_id as "endpointId", s.shard, w.made_seq::float8 as "seq"
    from webhook_endpoint w join shard s on s.shard = shard_of(w.agency_id)
    where w.status <> 'deleted' and w.made_seq > greatest(s.mark, (
      select max(j.seq) from journal j where j.shard = s.shard))
    order by w.endpoint_id limit ${limit}`
  return rows.map((row) => ({ ...row, endpointId: idOf('whe', row.endpointId) }))
}
