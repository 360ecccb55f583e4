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

-- Deliveries that were left pending for an endpoint deleted while a booking was on its way.
update webhook_delivery d set status = 'dropped', next_attempt_at = null, finished_at = now(), claimed_by = null
from webhook_endpoint e
where d.status = 'pending' and e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id and e.status = 'deleted';
