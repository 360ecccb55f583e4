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
  delete from writer w
  where (w.released_at is not null or w.beat_at < clock_timestamp() - interval '1 hour')
    and not exists (select from shard s where s.writer_id = w.writer_id);
  -- A statement of its own: its snapshot is taken after everything that the locks waited for has ended.
  return query
  select s.shard, s.epoch, greatest(j.seq, s.mark), coalesce(j.month, l.oldest_month), coalesce(j.link, s.mark_link), l.newest_month
  from ledger l cross join shard s
  left join lateral (
    select j.seq, j.month, j.link from journal j where j.shard = s.shard order by j.seq desc limit 1) j on true
  where s.shard = any (wanted)
  order by s.shard;
end $$;

-- Nobody has to be waited for: the writer has given these shards up. Those that another one has taken meanwhile stay as they are.
create function give_up_shards(shards smallint[], of_writer uuid) returns void language plpgsql as $$
begin
  perform from shard s where s.shard = any (shards) order by s.shard for update;
  update shard s set writer_id = null where s.shard = any (shards) and s.writer_id = of_writer;
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
