-- Several processes at a time, each the writer of some shards. What belongs to a shard is written under its fence, as before; what
-- belonged to the only writer (the counts of the last minute, the sessions of the page) is written by each for its own shards.

-- NODE_ID; null for a process that takes over all shards.
alter table writer add column node text;

drop function shard_writers();

-- The writers that shards have, with how many. What a shard without one has is not listed.
create function shard_writers()
returns table (writer_id uuid, name text, run text, node text, shards bigint, beat_at timestamptz, silent_ms float8,
               is_draining boolean, is_released boolean)
language sql stable as $$
  select w.writer_id, w.name, w.run, w.node, count(*), w.beat_at,
         extract(epoch from clock_timestamp() - w.beat_at) * 1000, w.draining_at is not null, w.released_at is not null
  from shard s join writer w on w.writer_id = s.writer_id
  group by w.writer_id
$$;

-- Makes the caller the only writer of these shards, and returns the ends of their logs. Waits for batches in flight there.
create function take_shards(wanted smallint[], new_holder text, new_writer uuid, new_run text, new_node text)
returns table (shard smallint, epoch bigint, last_seq bigint, last_month date, last_link bytea, newest_month date)
language plpgsql as $$
#variable_conflict use_column
begin
  perform from shard s where s.shard = any (wanted) order by s.shard for update;
  update shard s set epoch = s.epoch + 1, holder = new_holder, writer_id = new_writer, taken_at = clock_timestamp(), renewal = null
  where s.shard = any (wanted);
  insert into writer (writer_id, name, run, node) values (new_writer, new_holder, new_run, new_node)
  on conflict (writer_id) do update set beat_at = clock_timestamp(), released_at = null;
  -- A process that had all shards is fenced by the loss of any: without its row it learns of it even if it writes nothing.
  delete from writer w
  where w.node is null
    or ((w.released_at is not null or w.beat_at < clock_timestamp() - interval '1 hour')
        and not exists (select from shard s where s.writer_id = w.writer_id));
  -- A statement of its own: its snapshot is taken after everything that the locks waited for has ended.
  return query
  select s.shard, s.epoch, greatest(j.seq, s.mark), coalesce(j.month, l.oldest_month), coalesce(j.link, s.mark_link), l.newest_month
  from ledger l cross join shard s
  left join lateral (
    select j.seq, j.month, j.link from journal j where j.shard = s.shard order by j.seq desc limit 1) j on true
  where s.shard = any (wanted)
  order by s.shard;
end $$;

-- Nobody has to be waited for: the writer has given these shards up. Those that another one has taken, or is just taking, stay as they
-- are.
create function give_up_shards(shards smallint[], of_writer uuid) returns void language plpgsql as $$
begin
  update shard s set writer_id = null
  from (select g.shard from shard g where g.shard = any (shards) and g.writer_id = of_writer for update skip locked) given
  where s.shard = given.shard;
end $$;

-- Which of these shards another writer has taken. It writes, so that a primary that was replaced and is cut off from its standby does
-- not answer.
create function lost_shards(shards smallint[], epochs bigint[], of_writer uuid) returns setof smallint language plpgsql as $$
begin
  update writer w set beat_at = clock_timestamp() where w.writer_id = of_writer;
  return query
  select s.shard from unnest(shards, epochs) c (shard, epoch) join shard s on s.shard = c.shard where s.epoch <> c.epoch;
end $$;

-- What is loaded when shards are acquired.
create index agency_of_shard on agency (shard_of(agency_id));

-- The terms of nodes count downwards: a process that takes over all shards drops the terms below its own.
create sequence node_term;

-- As keep_rate, for one node of several. The terms of other nodes are not older, so only time says what is a minute old.
create function keep_node_rate(writer_term bigint, slots jsonb, keep_from bigint) returns void language plpgsql as $$
begin
  insert into rate_slot (term, slot, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select writer_term, s.slot, clock_timestamp() - s."ageMs" * interval '1 millisecond', s."wallMs", s."bootId",
         s."bootMs", s.total, s.counts
  from jsonb_to_recordset(slots) as s (
    slot bigint, "ageMs" double precision, "wallMs" double precision, "bootId" text, "bootMs" double precision,
    total bigint, counts text)
  on conflict (term, slot) do update set
    ended_at = excluded.ended_at, wall_ms = excluded.wall_ms, boot_id = excluded.boot_id, boot_ms = excluded.boot_ms,
    total = excluded.total, counts = excluded.counts
  where rate_slot.total < excluded.total;
  delete from rate_slot where term = writer_term and slot < keep_from;
  delete from rate_slot where term <> writer_term and ended_at < clock_timestamp() - interval '10 minutes';
end $$;

-- As keep_sessions, for one node of several: it deletes only what belongs to the agencies of its shards, or to the operator.
create function keep_node_sessions(shards smallint[], seen jsonb, ended jsonb, idle_since timestamptz) returns void
language plpgsql as $$
begin
  update portal_session p set seen_at = greatest(p.seen_at, s."seenAt")
  from jsonb_to_recordset(seen) as s ("sha256" text, "seenAt" timestamptz)
  where p.secret_sha256 = s."sha256";
  delete from portal_session p
  where p.secret_sha256 in (select jsonb_array_elements_text(ended))
    or (p.seen_at < idle_since and (p.agency_id is null or shard_of(p.agency_id) = any (shards)));
end $$;

-- Webhooks of several nodes: each has a sender, which sends for the shards that it has here. The tenure of a node's sender is one that
-- `webhook_sender` never shows.
create table sending_node (
  tenure   bigint primary key,
  taken_at timestamptz not null default clock_timestamp()
);
create table sending (
  shard  smallint primary key references shard,
  tenure bigint not null
);
create index sending_of on sending (tenure);

-- Makes the caller the sender of a node, beside those of other nodes; that of a process which had all shards is replaced.
create function join_sending() returns bigint language plpgsql as $$
declare
  taken bigint;
begin
  update webhook_sender set tenure = webhook_sender.tenure + 2, taken_at = clock_timestamp() returning tenure - 1 into taken;
  insert into sending_node (tenure) values (taken);
  delete from sending_node n where n.taken_at < clock_timestamp() - interval '1 day' and n.tenure <> taken
    and not exists (select from sending s where s.tenure = n.tenure);
  return taken;
end $$;

-- The sender sends for these shards and no others, as far as they are its node's. Returns those.
create function send_for(claiming bigint, wanted smallint[], epochs bigint[]) returns smallint[] language plpgsql as $$
begin
  if not exists (select from sending_node n where n.tenure = claiming) then
    raise exception 'Cannot send webhooks: tenure % is over', claiming using errcode = 'NL004';
  end if;
  -- Not under the fences, which batches wait for: a node that lost a shard just now sends for it until its next owner asks again.
  insert into sending (shard, tenure)
  select s.shard, claiming from unnest(wanted, epochs) w (shard, epoch) join shard s on s.shard = w.shard and s.epoch = w.epoch
  -- A row that conflicts is locked even if it stays as it is, and claims in progress hold theirs.
  where not exists (select from sending o where o.shard = s.shard and o.tenure = claiming)
  order by s.shard
  on conflict (shard) do update set tenure = excluded.tenure where sending.tenure <> excluded.tenure;
  delete from sending s where s.tenure = claiming and s.shard <> all (wanted);
  return array(select s.shard from sending s where s.tenure = claiming order by s.shard);
end $$;

-- The shards that a sender sends for, held until the end of the transaction; null: all.
create function sent_shards(claiming bigint) returns smallint[] language plpgsql as $$
declare
  held smallint[];
begin
  perform from webhook_sender s where s.tenure = claiming for share;
  if found then
    return null;
  end if;
  select coalesce(array_agg(s.shard), '{}') into held
  from (select s.shard from sending s where s.tenure = claiming order by s.shard for share) s;
  if cardinality(held) = 0 and not exists (select from sending_node n where n.tenure = claiming) then
    raise exception 'Cannot send webhooks: tenure % is over', claiming using errcode = 'NL004';
  end if;
  return held;
end $$;

create or replace function take_over_sending(writer_epoch bigint) returns bigint language plpgsql as $$
declare
  taken bigint;
begin
  perform check_fence(0::smallint, writer_epoch);
  update webhook_sender set tenure = webhook_sender.tenure + 1, epoch = writer_epoch, taken_at = clock_timestamp()
    returning tenure into taken;
  -- Those of nodes are replaced too.
  delete from sending;
  delete from sending_node;
  return taken;
end $$;

-- As before, for the shards of the sender alone.
create or replace function claim_deliveries(claiming bigint, due_until timestamptz, room integer, window_fresh integer, windows jsonb)
returns table (agency_id uuid, delivery_id uuid, month date, endpoint_id uuid, event_id uuid, kind text, attempts integer, tries integer, next_attempt_at timestamptz, url text, secret_sealed text, previous_secret_sealed text, previous_secret_until timestamptz, consecutive_failures integer, revision integer, seq bigint, at timestamptz, unit_id uuid, other_unit_id uuid, booking_id uuid, entry_kind text, payload text, checksum bigint, source_ref text)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  held  constant smallint[] := sent_shards(claiming);
  since date;
  until date;
begin
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
    where held is null or shard_of(w.agency_id) = any (held)
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

create or replace function make_deliveries(claiming bigint, agencies jsonb, made_at timestamptz, room integer, OUT made integer, OUT may_have_more boolean)
returns record
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  held         constant smallint[] := sent_shards(claiming);
  agency_ids   uuid[];
  endpoint_ids uuid[];
  rooms        integer[];
begin
  if agencies is null then
    select array_agg(distinct e.agency_id) into agency_ids from webhook_endpoint e
    where e.status = 'active' and (held is null or shard_of(e.agency_id) = any (held));
  else
    select array_agg(distinct a.id::uuid) into agency_ids from jsonb_array_elements_text(agencies) as a (id)
    where held is null or shard_of(a.id::uuid) = any (held);
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

create or replace function record_attempts(claiming bigint, content jsonb)
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  held smallint[];
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

  -- A sender that was replaced leaves the endpoints alone; what it has sent was sent.
  perform from webhook_sender s where s.tenure = claiming for share;
  if not found then
    select coalesce(array_agg(s.shard), '{}') into held
    from (select s.shard from sending s where s.tenure = claiming order by s.shard for share) s;
  end if;
  if held is null or cardinality(held) > 0 then
    update webhook_endpoint e set
      consecutive_failures = r.consecutive_failures, status = r.status, disabled_reason = r.disabled_reason,
      updated_at = case when e.status = r.status then e.updated_at else r.at end
    from jsonb_to_recordset(content -> 'endpoints') as r (
      agency_id uuid, endpoint_id uuid, revision integer, consecutive_failures integer, status text,
      disabled_reason text, at timestamptz)
    where e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id and e.revision = r.revision
      and e.status <> 'deleted' and (held is null or shard_of(e.agency_id) = any (held));
  end if;
end $$;
