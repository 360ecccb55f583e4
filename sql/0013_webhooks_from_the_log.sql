-- Webhooks: deliveries are made from the journal entries after an endpoint's cursor; the sender claims them and records its attempts.
-- Locks are taken in one order: the fence, endpoints by key, deliveries.

-- Its cursor moves with nearly every event: room for the new version of a row on the same page, so that no index changes.
alter table webhook_endpoint set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- The last entry of the agency's shard. The lock on the fence lasts until the end of the transaction: every entry appended later has a
-- higher number, and the read after the lock sees every earlier one. Errors: NL001 the writer is fenced.
create function end_of_log(agency uuid, writer_epoch bigint, out seq bigint, out month date)
language plpgsql as $$
begin
  perform check_fence(shard_of(agency), writer_epoch, true);
  select j.seq, j.month into seq, month from journal j where j.shard = shard_of(agency) order by j.seq desc limit 1;
  if not found then
    select s.mark, l.oldest_month into seq, month from shard s, ledger l where s.shard = shard_of(agency);
  end if;
end $$;

-- Registers an endpoint. Its first event is the first that commits afterwards. Returns false if the agency already has `endpoints_max`
-- endpoints. Errors: NL001 the writer is fenced.
create function register_endpoint(
  writer_epoch bigint, agency uuid, endpoint uuid, its_url text, its_description text, its_secret_sealed text,
  registered_at timestamptz, endpoints_max integer) returns boolean
language plpgsql as $$
declare
  cursor_seq   bigint;
  cursor_month date;
begin
  perform check_fence(shard_of(agency), writer_epoch, true);
  select seq, month into cursor_seq, cursor_month from end_of_log(agency, writer_epoch);
  insert into webhook_endpoint (agency_id, endpoint_id, url, description, status, secret_sealed, created_at, updated_at,
                                made_seq, made_month, from_seq)
  select agency, endpoint, its_url, its_description, 'active', its_secret_sealed, registered_at, registered_at,
         cursor_seq, cursor_month, cursor_seq
  where (select count(*) from webhook_endpoint e where e.agency_id = agency and e.status <> 'deleted') < endpoints_max;
  return found;
end $$;

-- Makes deliveries of the entries after the cursors of active endpoints, and moves the cursors: of at most `room` entries, of the listed
-- agencies, or of all when `agencies` is null. Agencies share the room; if it is too small for one entry of each endpoint, those that
-- have waited longest come first. A delivery is due when its event happened or its endpoint was last changed, whichever is later, but
-- never after `made_at`. Every step is by index, as in claim_deliveries. Errors: NL004 when another sender has taken over.
create function make_deliveries(
  claiming bigint, agencies jsonb, made_at timestamptz, room integer, out made integer, out may_have_more boolean)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_incremental_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  agency_ids   uuid[];
  endpoint_ids uuid[];
  rooms        integer[];
begin
  perform from webhook_sender s where s.tenure = claiming for share;
  if not found then
    raise exception 'Cannot make deliveries: tenure % is over', claiming using errcode = 'NL004';
  end if;
  if agencies is null then
    select array_agg(distinct e.agency_id) into agency_ids from webhook_endpoint e where e.status = 'active';
  else
    select array_agg(distinct a.id::uuid) into agency_ids from jsonb_array_elements_text(agencies) as a (id);
  end if;

  -- The endpoints that have anything new: one index probe each.
  with waiting as (
    select e.agency_id, e.endpoint_id, first.at, count(*) over (partition by e.agency_id) as of_agency
    from unnest(agency_ids) as a (agency_id)
    cross join lateral (
      select * from webhook_endpoint e where e.agency_id = a.agency_id and e.status = 'active' offset 0) e
    cross join lateral (
      select j.at from journal j
      where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month
      order by j.seq limit 1) first
  ), shared as (
    select w.*, greatest(1, room / (select count(distinct agency_id) from waiting) / w.of_agency)::integer as its_room,
           row_number() over (order by w.at, w.endpoint_id) as place
    from waiting w
  )
  select array_agg(s.agency_id order by s.agency_id, s.endpoint_id) filter (where s.place <= room),
         array_agg(s.endpoint_id order by s.agency_id, s.endpoint_id) filter (where s.place <= room),
         array_agg(s.its_room order by s.agency_id, s.endpoint_id) filter (where s.place <= room),
         coalesce(bool_or(s.place > room), false)
  into agency_ids, endpoint_ids, rooms, may_have_more
  from shared s;
  made := 0;
  if rooms is null then
    return;
  end if;

  -- What another statement does to these endpoints, such as an earlier call whose answer was lost, has ended when they are locked.
  perform from unnest(agency_ids, endpoint_ids) as c (agency_id, endpoint_id)
  cross join lateral (
    select from webhook_endpoint e
    where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id for no key update) e;

  with entry as materialized (
    select e.agency_id, e.endpoint_id, c.its_room, j.seq, j.month, j.entry_id, j.kind, j.is_announced,
           least(j.at, made_at) as created_at,
           -- What has waited for the endpoint is due within a second of its last change, in the order of the log.
           case when e.updated_at <= j.at then least(j.at, made_at)
                else least(e.updated_at, made_at) + (j.seq % 1000000) * interval '1 microsecond' end as due_at
    from unnest(agency_ids, endpoint_ids, rooms) as c (agency_id, endpoint_id, its_room)
    cross join lateral (
      select * from webhook_endpoint e
      where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id and e.status = 'active' limit 1) e
    cross join lateral (
      select j.seq, j.month, j.at, j.entry_id, j.kind, j.is_announced from journal j
      where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month
      order by j.seq limit c.its_room) j
  ), delivery as (
    insert into webhook_delivery (agency_id, endpoint_id, delivery_id, event_id, seq, entry_month, month, kind, status,
                                  created_at, next_attempt_at)
    select e.agency_id, e.endpoint_id, md5(e.entry_id::text || e.endpoint_id::text)::uuid, e.entry_id, e.seq, e.month,
           greatest(storage_month(e.created_at), e.month),
           case e.kind when 'booking_created' then 'booking.created' when 'booking_cancelled' then 'booking.cancelled'
                       else 'booking.updated' end,
           'pending', e.created_at, e.due_at
    from entry e where e.is_announced
    on conflict do nothing
    returning true
  ), passed as (
    select agency_id, endpoint_id, max(seq) as seq, max(month) as month, count(*) >= max(its_room) as is_full
    from entry group by agency_id, endpoint_id
  ), moved as (
    update webhook_endpoint e set made_seq = p.seq, made_month = p.month
    from passed p where e.agency_id = p.agency_id and e.endpoint_id = p.endpoint_id
  )
  select (select count(*) from delivery), may_have_more or coalesce((select bool_or(is_full) from passed), false)
  into made, may_have_more;
end $$;

-- The oldest and the newest month that have a pending delivery; null when there is none. One index probe per month. Without it, every
-- step of every claim would look into all months.
create function pending_months(out since date, out until date) language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
  select min(m.month), max(m.month)
  from ledger l
  cross join lateral (
    select n::date as month from generate_series(l.oldest_month, l.newest_month, interval '1 month') n) m
  cross join lateral (
    select from webhook_delivery d where d.status = 'pending' and d.month = m.month
    order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit 1) d
$$;

-- The endpoints that have anything pending in these months: one index probe each and month, however many deliveries wait. The order
-- names all columns of the index, and callers switch sorts off, so that no other index is taken.
create function webhook_endpoints_waiting(since date, until date) returns table (agency_id uuid, endpoint_id uuid)
language sql stable as $$
  with recursive waiting as (
    (select d.agency_id, d.endpoint_id from webhook_delivery d
     where d.status = 'pending' and d.month between since and until
     order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit 1)
    union all
    select n.agency_id, n.endpoint_id
    from waiting w
    cross join lateral (
      select d.agency_id, d.endpoint_id from webhook_delivery d
      where d.status = 'pending' and d.month between since and until and (d.agency_id, d.endpoint_id) > (w.agency_id, w.endpoint_id)
      order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit 1) n
  )
  select w.agency_id, w.endpoint_id from waiting w
$$;

-- Claims due deliveries for a sender, at most `room`: first one of every agency, then the second of every agency, so that
-- a flood of one takes no place of another. `windows` says how many more an endpoint may have, by its id without dashes;
-- `window_fresh` holds for one that it does not name. Each comes with its entry, from which its body is rendered; without one when
-- the entry is not there any more. Every step is by index, and the planner is told so: before the tables are analysed it would
-- compare every endpoint with every other, and later read a whole flood for the few rows of a claim (both were measured). One plan for
-- all calls, because planning for every partition takes longer than the claim.
-- Errors: NL004 when another sender has taken over.
create function claim_deliveries(
  claiming bigint, due_until timestamptz, room integer, window_fresh integer, windows jsonb)
returns table (
  agency_id uuid, delivery_id uuid, month date, endpoint_id uuid, event_id uuid, kind text, attempts integer, tries integer,
  next_attempt_at timestamptz, url text, secret_sealed text, previous_secret_sealed text, previous_secret_until timestamptz,
  consecutive_failures integer, revision integer,
  seq bigint, at timestamptz, unit_id uuid, other_unit_id uuid, booking_id uuid, entry_kind text, payload text,
  checksum bigint, source_ref text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_incremental_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  since date;
  until date;
begin
  perform from webhook_sender s where s.tenure = claiming for share;
  if not found then
    raise exception 'Cannot claim deliveries: tenure % is over', claiming using errcode = 'NL004';
  end if;
  select p.since, p.until into since, until from pending_months() p;
  if since is null then
    return;
  end if;
  return query
  with candidate as (
    select due.agency_id, due.delivery_id, due.month,
           row_number() over (partition by due.agency_id order by due.place, due.next_attempt_at) as turn
    from webhook_endpoints_waiting(since, until) w
    cross join lateral (
      select from webhook_endpoint e
      where e.agency_id = w.agency_id and e.endpoint_id = w.endpoint_id and e.status = 'active' limit 1) e
    cross join lateral (
      select d.agency_id, d.delivery_id, d.month, d.next_attempt_at,
             row_number() over (order by d.next_attempt_at, d.delivery_id) as place
      from webhook_delivery d
      where d.status = 'pending' and d.agency_id = w.agency_id and d.endpoint_id = w.endpoint_id
        and d.month between since and until and d.next_attempt_at <= due_until and d.claimed_by is distinct from claiming
      order by d.next_attempt_at, d.delivery_id
      limit coalesce((windows ->> replace(w.endpoint_id::text, '-', ''))::integer, window_fresh)) due
    order by turn, due.next_attempt_at
    limit room
  ), claimed as (
    update webhook_delivery d set claimed_by = claiming
    from candidate c
    where d.agency_id = c.agency_id and d.delivery_id = c.delivery_id and d.month = c.month and d.status = 'pending'
    returning d.*
  )
  select c.agency_id, c.delivery_id, c.month, c.endpoint_id, c.event_id, c.kind, c.attempts, c.tries, c.next_attempt_at,
         e.url, e.secret_sealed, e.previous_secret_sealed, e.previous_secret_until, e.consecutive_failures, e.revision,
         t.seq, t.at, t.unit_id, t.other_unit_id, t.booking_id, t.kind, t.payload, t.checksum, t.source_ref
  from claimed c
  join webhook_endpoint e on e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id
  left join lateral (
    select j.seq, j.at, j.unit_id, j.other_unit_id, j.booking_id, j.kind, j.payload, j.checksum, b.source_ref
    from journal j
    join booking b on b.agency_id = c.agency_id and b.booking_id = j.booking_id
    where j.shard = shard_of(c.agency_id) and j.seq = c.seq and j.month = c.entry_month and j.entry_id = c.event_id
      and j.agency_id = c.agency_id
    limit 1) t on true
  order by c.next_attempt_at, c.delivery_id;
end $$;

-- When the next delivery after `due_after` falls due; null when none waits.
create function next_delivery_due(due_after timestamptz) returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
declare
  since date;
  until date;
begin
  select p.since, p.until into since, until from pending_months() p;
  return (
    select min(due.next_attempt_at)
    from webhook_endpoints_waiting(since, until) w
    cross join lateral (
      select from webhook_endpoint e
      where e.agency_id = w.agency_id and e.endpoint_id = w.endpoint_id and e.status = 'active' limit 1) e
    cross join lateral (
      select d.next_attempt_at from webhook_delivery d
      where d.status = 'pending' and d.agency_id = w.agency_id and d.endpoint_id = w.endpoint_id
        and d.month between since and until and d.next_attempt_at > due_after
      order by d.next_attempt_at limit 1) due
    where since is not null);
end $$;

-- Records the outcomes of attempts: all or nothing, and safe to send twice. An outcome is taken only for the very
-- claim and attempt it belongs to. A failed attempt does not revive a delivery that the agency has dropped in the meantime.
create function record_attempts(claiming bigint, content jsonb) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  perform from webhook_endpoint e
  join jsonb_to_recordset(content -> 'endpoints') as r (agency_id uuid, endpoint_id uuid)
    on e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id
  order by e.agency_id, e.endpoint_id for no key update of e;

  with settled as (
    update webhook_delivery d set
      status = case when d.status = 'dropped' and r.status = 'pending' then 'dropped' else r.status end,
      attempts = r.attempts, tries = r.tries, next_attempt_at = r.next_attempt_at, finished_at = r.finished_at,
      claimed_by = null
    from jsonb_to_recordset(content -> 'deliveries') as r (
      agency_id uuid, delivery_id uuid, month date, attempts_before integer, attempts integer, tries integer, status text,
      next_attempt_at timestamptz, finished_at timestamptz)
    where d.agency_id = r.agency_id and d.delivery_id = r.delivery_id and d.month = r.month and d.claimed_by = claiming
      and d.attempts = r.attempts_before
    returning d.agency_id, d.delivery_id, d.month, d.attempts
  )
  insert into webhook_attempt (agency_id, delivery_id, month, attempt, at, duration_ms, http_status, reason, detail)
  select s.agency_id, s.delivery_id, s.month, a.attempt, a.at, a.duration_ms, a.http_status, a.reason, a.detail
  from jsonb_to_recordset(content -> 'attempts') as a (
    agency_id uuid, delivery_id uuid, attempt integer, at timestamptz, duration_ms integer, http_status integer,
    reason text, detail text)
  join settled s on s.agency_id = a.agency_id and s.delivery_id = a.delivery_id and s.attempts = a.attempt
  on conflict do nothing;

  perform from webhook_sender s where s.tenure = claiming for share;
  if found then
    update webhook_endpoint e set
      consecutive_failures = r.consecutive_failures, status = r.status, disabled_reason = r.disabled_reason,
      updated_at = case when e.status = r.status then e.updated_at else r.at end
    from jsonb_to_recordset(content -> 'endpoints') as r (
      agency_id uuid, endpoint_id uuid, revision integer, consecutive_failures integer, status text,
      disabled_reason text, at timestamptz)
    where e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id and e.revision = r.revision
      and e.status <> 'deleted';
  end if;
end $$;

-- Deletes an endpoint, erases its secrets, and drops at most `dropped_max` of its pending deliveries. The sender makes deliveries with
-- the endpoint locked, so it made them before the deletion or makes none. Returns how many were dropped; null if there is no such
-- endpoint. Errors: NL001 the writer is fenced.
create function delete_webhook_endpoint(
  writer_epoch bigint, agency uuid, endpoint uuid, deleted_at timestamptz, dropped_max integer) returns integer
language plpgsql as $$
declare
  dropped      integer;
  is_flood     boolean;
  last_dropped record;
begin
  perform check_fence(shard_of(agency), writer_epoch);
  update webhook_endpoint e set
    status = 'deleted', secret_sealed = '', previous_secret_sealed = null, previous_secret_until = null,
    revision = e.revision + 1, updated_at = deleted_at
  where e.agency_id = agency and e.endpoint_id = endpoint and e.status <> 'deleted';
  if not found then
    return null;
  end if;
  -- By the index of what is pending, and without a join: see src/postgres/stores/pending-deliveries.ts.
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

-- What waits: pending deliveries, and announced entries that have no delivery yet for an active endpoint, together counted up to
-- `counted_max`; and when the oldest of them that may be sent fell due. One index probe per active endpoint, one for each that
-- has pending deliveries, and an index entry for each that is counted.
create function webhook_backlog(counted_max integer, out waiting bigint, out oldest_due timestamptz) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
declare
  agency_ids   uuid[];
  endpoint_ids uuid[];
  counted      bigint;
begin
  select count(*) into waiting from (
    select from webhook_delivery d where d.status = 'pending'
    order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit counted_max) d;

  select array_agg(e.agency_id), array_agg(e.endpoint_id), min(greatest(j.at, e.updated_at))
  into agency_ids, endpoint_ids, oldest_due
  from webhook_endpoint e
  cross join lateral (
    select j.at from journal j
    where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month and j.is_announced
    order by j.seq limit 1) j
  where e.status = 'active';

  select count(*) into counted from (
    select from unnest(agency_ids, endpoint_ids) as c (agency_id, endpoint_id)
    cross join lateral (
      select * from webhook_endpoint e where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id limit 1) e
    cross join lateral (
      select from journal j
      where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month and j.is_announced
      order by j.seq limit counted_max) j
    limit counted_max - waiting) j;
  waiting := waiting + counted;
  oldest_due := least(oldest_due, next_delivery_due('-infinity'));
end $$;
