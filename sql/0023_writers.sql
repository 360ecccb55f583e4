-- The heartbeat of a process that writes, by the clock of Postgres: a row of its own, because every batch reads and locks those of
-- `shard`. A shard's heartbeat is that of its writer. `run` identifies the process on its machine, so that one there can tell whether it
-- is dead. A process that is stopped says so twice: `draining_at` before its last requests, `released_at` after its last write.
create table writer (
  writer_id   uuid primary key,
  name        text not null,
  run         text,
  beat_at     timestamptz not null default clock_timestamp(),
  draining_at timestamptz,
  released_at timestamptz
);

-- Null: nobody has to be waited for. The program before this version writes no heartbeat.
alter table shard add column writer_id uuid;

drop function take_over(text);

-- Makes the caller the only writer of all shards, and returns the ends of their logs.
create function take_over(new_holder text, new_writer uuid default null, new_run text default null)
returns table (shard smallint, epoch bigint, last_seq bigint, last_month date, last_link bytea, newest_month date)
language plpgsql as $$
#variable_conflict use_column
begin
  perform from shard s order by s.shard for update;
  update shard s set epoch = s.epoch + 1, holder = new_holder, writer_id = new_writer, taken_at = clock_timestamp(), renewal = null;
  delete from writer;
  if new_writer is not null then
    insert into writer (writer_id, name, run) values (new_writer, new_holder, new_run);
  end if;
  -- A statement of its own: its snapshot is taken after everything that the locks waited for has ended.
  return query
  select s.shard, s.epoch, greatest(j.seq, s.mark), coalesce(j.month, l.oldest_month), coalesce(j.link, s.mark_link), l.newest_month
  from ledger l cross join shard s
  left join lateral (
    select j.seq, j.month, j.link from journal j where j.shard = s.shard order by j.seq desc limit 1) j on true
  order by s.shard;
end $$;

-- The writers that shards have, with how many. What a shard without one has is not listed.
create function shard_writers()
returns table (writer_id uuid, name text, run text, shards bigint, beat_at timestamptz, silent_ms float8, is_draining boolean,
               is_released boolean)
language sql stable as $$
  select w.writer_id, w.name, w.run, count(*), w.beat_at,
         extract(epoch from clock_timestamp() - w.beat_at) * 1000, w.draining_at is not null, w.released_at is not null
  from shard s join writer w on w.writer_id = s.writer_id
  group by w.writer_id
$$;

-- Returns when a writer that is neither draining nor released becomes so, or after this time: a caller that waits for its turn asks
-- without pause, and learns of it within 20 ms. What it has been told already is `known_draining`.
create function await_writers(wait_ms integer, known_draining boolean) returns void language plpgsql volatile as $$
declare
  give_up_at constant timestamptz := clock_timestamp() + wait_ms * interval '1 millisecond';
begin
  while clock_timestamp() < give_up_at
    and exists (select from writer)
    and not exists (select from writer where released_at is not null or (draining_at is not null and not known_draining))
  loop
    perform pg_sleep(0.02);
  end loop;
end $$;
