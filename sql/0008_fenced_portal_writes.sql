-- What the portal writes is one statement under the fence, with its line of the audit trail.

-- Raises NL001 unless `writer_epoch` holds the ledger; until the statement's end nobody can take the ledger over.
-- `alone`: waits until no batch and no other fenced statement is under way, and keeps them waiting. A statement that begins
-- afterwards, in a function too, sees everything that they have written.
create function check_fence(writer_epoch bigint, alone boolean default false) returns boolean
language plpgsql as $$
declare
  current_epoch bigint;
begin
  if alone then
    select epoch into current_epoch from writer_fence for update;
  else
    select epoch into current_epoch from writer_fence for share;
  end if;
  if current_epoch <> writer_epoch then
    raise exception 'Cannot write: epoch % is fenced by epoch %', writer_epoch, current_epoch using errcode = 'NL001';
  end if;
  return true;
end $$;

-- Deletes an endpoint, forgets its secrets, and drops what is pending for it, `dropped_max` deliveries at most. A batch that
-- still took the endpoint for active is waited for, so that it leaves nothing pending behind.
-- Answers how many were dropped; null when there is no such endpoint. Errors: NL001 the writer is fenced.
create function delete_webhook_endpoint(
  writer_epoch bigint, agency text, endpoint text, deleted_at timestamptz, dropped_max integer) returns integer
language plpgsql as $$
declare
  dropped      integer;
  is_flood     boolean;
  last_dropped record;
begin
  perform check_fence(writer_epoch, true);
  update webhook_endpoint e set
    status = 'deleted', secret_sealed = '', previous_secret_sealed = null, previous_secret_until = null,
    revision = e.revision + 1, updated_at = deleted_at
  where e.agency_id = agency and e.endpoint_id = endpoint and e.status <> 'deleted';
  if not found then
    return null;
  end if;
  -- By the index of what is pending, and without a join: see src/db/pending-deliveries.ts.
  select d.next_attempt_at, d.delivery_id into last_dropped from webhook_delivery d
  where d.agency_id = agency and d.endpoint_id = endpoint and d.status = 'pending'
  order by d.next_attempt_at, d.delivery_id offset dropped_max - 1 limit 1;
  is_flood := found;
  update webhook_delivery d set status = 'dropped', next_attempt_at = null, finished_at = deleted_at, claimed_by = null
  where d.agency_id = agency and d.endpoint_id = endpoint and d.status = 'pending'
    and (not is_flood or (d.next_attempt_at, d.delivery_id) <= (last_dropped.next_attempt_at, last_dropped.delivery_id));
  get diagnostics dropped = row_count;
  return dropped;
end $$;

-- As before, but for its locks: the endpoints first, then their deliveries, as everything that the portal writes.
-- Writes what became of attempts: all of it or nothing, and safe to send twice. An outcome is taken only for the very
-- claim and attempt it belongs to. A delivery that the agency dropped meanwhile is not brought back by a failure.
create or replace function record_attempts(claiming bigint, content jsonb) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform from webhook_endpoint e
  join jsonb_to_recordset(content -> 'endpoints') as r (agency_id text, endpoint_id text)
    on e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id
  order by e.agency_id, e.endpoint_id for no key update of e;

  with settled as (
    update webhook_delivery d set
      status = case when d.status = 'dropped' and r.status = 'pending' then 'dropped' else r.status end,
      attempts = r.attempts, tries = r.tries, next_attempt_at = r.next_attempt_at, finished_at = r.finished_at,
      claimed_by = null
    from jsonb_to_recordset(content -> 'deliveries') as r (
      agency_id text, delivery_id text, attempts_before integer, attempts integer, tries integer, status text,
      next_attempt_at timestamptz, finished_at timestamptz)
    where d.agency_id = r.agency_id and d.delivery_id = r.delivery_id and d.claimed_by = claiming
      and d.attempts = r.attempts_before
    returning d.agency_id, d.delivery_id, d.attempts
  )
  insert into webhook_attempt (agency_id, delivery_id, attempt, at, duration_ms, http_status, reason, detail)
  select a.agency_id, a.delivery_id, a.attempt, a.at, a.duration_ms, a.http_status, a.reason, a.detail
  from jsonb_to_recordset(content -> 'attempts') as a (
    agency_id text, delivery_id text, attempt integer, at timestamptz, duration_ms integer, http_status integer,
    reason text, detail text)
  join settled s on s.agency_id = a.agency_id and s.delivery_id = a.delivery_id and s.attempts = a.attempt
  on conflict do nothing;

  perform from webhook_sender s where s.tenure = claiming for share;
  if found then
    update webhook_endpoint e set
      consecutive_failures = r.consecutive_failures, status = r.status, disabled_reason = r.disabled_reason,
      updated_at = case when e.status = r.status then e.updated_at else r.at end
    from jsonb_to_recordset(content -> 'endpoints') as r (
      agency_id text, endpoint_id text, revision integer, consecutive_failures integer, status text,
      disabled_reason text, at timestamptz)
    where e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id and e.revision = r.revision
      and e.status <> 'deleted';
  end if;
end $$;

-- Deliveries that were left pending for an endpoint deleted while a booking was on its way.
update webhook_delivery d set status = 'dropped', next_attempt_at = null, finished_at = now(), claimed_by = null
from webhook_endpoint e
where d.status = 'pending' and e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id and e.status = 'deleted';
