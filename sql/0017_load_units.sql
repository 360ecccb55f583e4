-- What many units are recovered from: for each the rows of load_unit, with `of_unit`, all of them in the order of their numbers. An entry
-- that moved a booking from one of the units to another comes twice. One statement instead of one for each unit, so that the partitions of
-- the journal are opened once.
create function load_units(of_units uuid[])
returns table (of_unit uuid, seq bigint, format integer, checksum text, payload text, kind text, unit_id uuid, other_unit_id uuid,
               booking_id uuid)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off as $$
#variable_conflict use_column
begin
  return query
  with wanted as materialized (
    select u.id, coalesce((select max(s.seq) from snapshot s where s.unit_id = u.id), 0) as after_seq
    from unnest(of_units) as u (id)
  )
  select w.id, l.* from wanted w cross join lateral (
    select s.seq, s.format, s.hash, s.state, null::text, s.unit_id, null::uuid, null::uuid
    from snapshot s where s.unit_id = w.id
    union all
    select j.seq, null, j.checksum::text, j.payload, j.kind, j.unit_id, j.other_unit_id, j.booking_id
    from journal j where j.unit_id = w.id and j.seq > w.after_seq
    union all
    select j.seq, null, j.checksum::text, j.payload, j.kind, j.unit_id, j.other_unit_id, j.booking_id
    from journal j where j.other_unit_id = w.id and j.seq > w.after_seq
  ) l
  order by l.seq;
end $$;
