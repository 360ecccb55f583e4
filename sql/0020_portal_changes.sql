-- The feed of the agency's own page shows every entry, and needs the route that an entry came by: it tells new rates from other
-- changes of a unit. As in 0018, with `announced_only` and `route`. A process of the version before calls it without `announced_only`.
drop function changes_after(uuid, bigint, text, integer);

create function changes_after(agency uuid, after_seq bigint, after_fingerprint text, entries_max integer,
                              announced_only boolean default true)
returns table (seq bigint, fingerprint text, at timestamptz, entry_id uuid, unit_id uuid, other_unit_id uuid, booking_id uuid,
               kind text, payload text, checksum text, source_ref text, route text)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  its_shard   smallint := shard_of(agency);
  base_before shard;
  base_after  shard;
  end_seq     bigint;
  end_link    bytea;
  after_link  bytea;
begin
  select * into base_before from shard s where s.shard = its_shard;
  select j.seq, j.link into end_seq, end_link from journal j where j.shard = its_shard order by j.seq desc limit 1;
  if end_seq is null or end_seq < base_before.mark then
    end_seq := base_before.mark;
  end if;
  if after_seq is not null then
    select j.link into after_link from journal j
    where j.shard = its_shard and j.seq <= after_seq order by j.seq desc limit 1;
    -- Up to an archived entry there is none, and the fingerprint is not that of the base.
    if after_seq > end_seq
      or after_fingerprint <> fingerprint_of(coalesce(after_link, base_before.base_link)) then
      return;
    end if;
  end if;

  return query
  select end_seq, fingerprint_of(coalesce(end_link, base_before.base_link)), null::timestamptz, null::uuid, null::uuid, null::uuid,
         null::uuid, null::text, null::text, null::text, null::text, null::text;
  if entries_max > 0 then
    return query
    select j.seq, fingerprint_of(j.link), j.at, j.entry_id, j.unit_id, j.other_unit_id, j.booking_id, j.kind, j.payload,
           j.checksum::text, b.source_ref, j.route
    from (
      select * from journal j
      where j.agency_id = agency and j.seq > coalesce(after_seq, 0) and j.seq <= end_seq
        and (j.is_announced or not announced_only)
      order by j.seq limit entries_max) j
    left join booking b on b.agency_id = agency and b.booking_id = j.booking_id
    order by j.seq;
  end if;
  select * into base_after from shard s where s.shard = its_shard;
  if base_after.base <> base_before.base then
    raise exception 'Cannot read changes: a month was archived meanwhile' using errcode = 'serialization_failure';
  end if;
end $$;
