-- What several nodes read and lock of each other's.

-- The requests of the last minute by shard, so that a node that takes shards reads those of no others. -1: of a writer that does not
-- divide them, because it has all shards.
alter table rate_slot add column shard smallint not null default -1;
alter table rate_slot drop constraint rate_slot_pkey, add primary key (term, slot, shard);
create index rate_slot_of_shard on rate_slot (shard, ended_at);

create or replace function keep_rate(writer_epoch bigint, writer_term bigint, slots jsonb, keep_from bigint, drop_earlier boolean)
returns void language plpgsql as $$
begin
  perform check_fence(0::smallint, writer_epoch);
  insert into rate_slot (term, slot, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select writer_term, s.slot, clock_timestamp() - s."ageMs" * interval '1 millisecond', s."wallMs", s."bootId",
         s."bootMs", s.total, s.counts
  from jsonb_to_recordset(slots) as s (
    slot bigint, "ageMs" double precision, "wallMs" double precision, "bootId" text, "bootMs" double precision,
    total bigint, counts text)
  on conflict (term, slot, shard) do update set
    ended_at = excluded.ended_at, wall_ms = excluded.wall_ms, boot_id = excluded.boot_id, boot_ms = excluded.boot_ms,
    total = excluded.total, counts = excluded.counts
  where rate_slot.total < excluded.total;
  delete from rate_slot where term = writer_term and slot < keep_from;
  if drop_earlier then
    delete from rate_slot where term < writer_term;
  end if;
end $$;

-- As keep_rate, for one node of several. The terms of other nodes are not older, so only time says what is a minute old.
create or replace function keep_node_rate(writer_term bigint, slots jsonb, keep_from bigint) returns void language plpgsql as $$
begin
  insert into rate_slot (term, slot, shard, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select writer_term, s.slot, coalesce(s.shard, -1), clock_timestamp() - s."ageMs" * interval '1 millisecond', s."wallMs",
         s."bootId", s."bootMs", s.total, s.counts
  from jsonb_to_recordset(slots) as s (
    slot bigint, shard smallint, "ageMs" double precision, "wallMs" double precision, "bootId" text,
    "bootMs" double precision, total bigint, counts text)
  on conflict (term, slot, shard) do update set
    ended_at = excluded.ended_at, wall_ms = excluded.wall_ms, boot_id = excluded.boot_id, boot_ms = excluded.boot_ms,
    total = excluded.total, counts = excluded.counts
  where rate_slot.total < excluded.total;
  delete from rate_slot where term = writer_term and slot < keep_from;
  -- Of the shards that it has now, and of processes that had all.
  delete from rate_slot
  where shard in (select -1 union all select s.shard from jsonb_to_recordset(slots) as s (shard smallint))
    and term <> writer_term and ended_at < clock_timestamp() - interval '10 minutes';
end $$;

-- What is loaded when shards are acquired.
create index portal_session_of_shard on portal_session (shard_of(agency_id)) where agency_id is not null;

-- As before, of writers that have shards: what a node that was killed has said concerns nobody once others have its shards.
create or replace function await_writers(wait_ms integer, known_draining boolean) returns void language plpgsql volatile as $$
declare
  give_up_at constant timestamptz := clock_timestamp() + wait_ms * interval '1 millisecond';
begin
  while clock_timestamp() < give_up_at
    and exists (select from writer w where exists (select from shard s where s.writer_id = w.writer_id))
    and not exists (
      select from writer w
      where (w.released_at is not null or (w.draining_at is not null and not known_draining))
        and exists (select from shard s where s.writer_id = w.writer_id))
  loop
    perform pg_sleep(0.02);
  end loop;
end $$;

-- Senders lock in one order, so that none waits for another that waits for it: webhook_sender, sending_node, sending by shard,
-- webhook_endpoint by agency and endpoint, webhook_delivery.

-- The sender sends for these shards and no others, as far as they are its node's. Returns those.
create or replace function send_for(claiming bigint, wanted smallint[], epochs bigint[]) returns smallint[] language plpgsql as $$
declare
  -- Not under the fences, which batches wait for: a node that lost a shard just now sends for it until its next owner asks again.
  its_own constant smallint[] := array(
    select s.shard from unnest(wanted, epochs) w (shard, epoch) join shard s on s.shard = w.shard and s.epoch = w.epoch);
begin
  -- Held, so that a process that takes over all shards meanwhile leaves nothing of it behind.
  perform from sending_node n where n.tenure = claiming for share;
  if not found then
    raise exception 'Cannot send webhooks: tenure % is over', claiming using errcode = 'NL004';
  end if;
  -- Only rows that change: claims in progress hold theirs.
  perform from sending s
  where case when s.tenure = claiming then s.shard <> all (wanted) else s.shard = any (its_own) end
  order by s.shard for update;
  delete from sending s where s.tenure = claiming and s.shard <> all (wanted);
  insert into sending (shard, tenure)
  select o.shard, claiming from unnest(its_own) o (shard)
  -- A row that conflicts is locked even if it stays as it is.
  where not exists (select from sending s where s.shard = o.shard and s.tenure = claiming)
  order by o.shard
  on conflict (shard) do update set tenure = excluded.tenure where sending.tenure <> excluded.tenure;
  return array(select s.shard from sending s where s.tenure = claiming order by s.shard);
end $$;

create or replace function take_over_sending(writer_epoch bigint) returns bigint language plpgsql as $$
declare
  taken bigint;
begin
  perform check_fence(0::smallint, writer_epoch);
  update webhook_sender set tenure = webhook_sender.tenure + 1, epoch = writer_epoch, taken_at = clock_timestamp()
    returning tenure into taken;
  -- Those of nodes are replaced too.
  delete from sending_node;
  perform from sending s order by s.shard for update;
  delete from sending;
  return taken;
end $$;

-- As before, but it looks at its sender first.
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
  -- A sender that was replaced leaves the endpoints alone; what it has sent was sent.
  perform from webhook_sender s where s.tenure = claiming for share;
  if not found then
    select coalesce(array_agg(s.shard), '{}') into held
    from (select s.shard from sending s where s.tenure = claiming order by s.shard for share) s;
  end if;

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
