-- S3: nothing that is derived from the log is ahead of it, whatever a fail-over or a restore has taken from its end.

create index snapshot_of_shard on snapshot (shard_of(agency_id), seq);

-- Deletes the snapshots of these shards that include entries which the log does not have. Their fences are locked: nothing is being
-- appended, so that the numbers of such entries are not given again before their snapshots are gone.
create function cut_back_snapshots(shards smallint[]) returns void language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  delete from snapshot s using (
    select h.shard, greatest(h.base, (select max(j.seq) from journal j where j.shard = h.shard)) as seq
    from shard h where h.shard = any (shards)) last
  where shard_of(s.agency_id) = last.shard and s.seq > last.seq;
end $$;

create or replace function take_over(new_holder text, new_writer uuid default null, new_run text default null)
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
  -- Statements of their own: their snapshots are taken after everything that the locks waited for has ended.
  perform cut_back_snapshots(array(select s.shard from shard s));
  return query
  select s.shard, s.epoch, greatest(j.seq, s.mark), coalesce(j.month, l.oldest_month), coalesce(j.link, s.mark_link), l.newest_month
  from ledger l cross join shard s
  left join lateral (
    select j.seq, j.month, j.link from journal j where j.shard = s.shard order by j.seq desc limit 1) j on true
  order by s.shard;
end $$;

create or replace function take_shards(wanted smallint[], new_holder text, new_writer uuid, new_run text, new_node text)
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
  -- Statements of their own: their snapshots are taken after everything that the locks waited for has ended.
  perform cut_back_snapshots(wanted);
  return query
  select s.shard, s.epoch, greatest(j.seq, s.mark), coalesce(j.month, l.oldest_month), coalesce(j.link, s.mark_link), l.newest_month
  from ledger l cross join shard s
  left join lateral (
    select j.seq, j.month, j.link from journal j where j.shard = s.shard order by j.seq desc limit 1) j on true
  where s.shard = any (wanted)
  order by s.shard;
end $$;

-- What the versions of bookings were raised to by the last `after_restore`, at least. 0: never.
alter table ledger add column version_mark integer not null default 0;

-- As before, but no number and no version is given twice, also if the same moment is restored again: both go on from the time of the
-- restore, in microseconds and in seconds since 2026, which no ledger has reached by counting. Partners compare the versions of bookings
-- and take what is not above the last one they have seen for old.
create or replace function after_restore(out history_id uuid, out endpoints bigint) language plpgsql as $$
declare
  restored_at constant timestamptz := clock_timestamp();
begin
  perform from shard s order by s.shard for update;
  -- The mark comes with the link of the last entry up to it, so the chain goes on from there.
  update shard s
  set epoch = s.epoch + 1, holder = 'after-restore', writer_id = null, renewal = null, taken_at = restored_at,
      mark = greatest(greatest(s.mark, coalesce(e.seq, 0)) + 1000000, floor(extract(epoch from restored_at) * 1000000)::bigint),
      mark_link = case when coalesce(e.seq, 0) > s.mark then e.link else s.mark_link end
  from shard o left join lateral (
    select j.seq, j.link from journal j where j.shard = o.shard order by j.seq desc limit 1) e on true
  where o.shard = s.shard;
  perform cut_back_snapshots(array(select s.shard from shard s));
  delete from writer;
  update ledger l
  set history_id = gen_random_uuid(),
      version_mark = greatest(l.version_mark + 1, floor(extract(epoch from restored_at - timestamptz '2026-01-01 00:00Z'))::integer)
  returning l.history_id into after_restore.history_id;
  update booking b set version = greatest(b.version + 1, l.version_mark) from ledger l;
  update webhook_endpoint w
  set status = 'disabled', disabled_reason = 'the service was restored from a backup: events may be missing, or be sent again',
      updated_at = clock_timestamp(), revision = w.revision + 1
  where w.status = 'active';
  get diagnostics endpoints = row_count;
end $$;
