-- S2: a unit whose oldest entries were archived is not recovered without the snapshot that replaces them. Which units those are cannot be
-- seen from what is left: an entry that changes a unit looks like the one that created it.
create table archived_unit (
  agency_id uuid not null,
  unit_id   uuid not null,
  -- Of its last entry that was archived.
  seq       bigint not null,
  primary key (agency_id, unit_id)
);

-- Of months that were archived before: the units with a base, and those whose oldest entry does not create them. No snapshot is older
-- than the last entry that was archived.
insert into archived_unit (agency_id, unit_id, seq)
select u.agency_id, u.unit_id, least(h.base, (select min(s.seq) from snapshot s where s.unit_id = u.unit_id))
from unit u join shard h on h.shard = shard_of(u.agency_id)
where h.base > 0 and (
  exists (select from snapshot s where s.unit_id = u.unit_id and s.is_base)
  or (select j.kind from journal j where j.unit_id = u.unit_id order by j.seq limit 1) is distinct from 'unit_set');

-- Archives the oldest month, all or nothing: detaches its partitions and returns their names. What replaces them: for each shard the
-- link from which its chain continues, and for each unit a snapshot, without which it is not recovered. Reads before it locks, and gives up rather than make the service
-- wait. Errors: NL020 the month cannot be archived.
create or replace function retire_month(retired date) returns setof text language plpgsql
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  oldest   date;
  ends     bigint[];
  lacking  bigint;
  examples text;
  parent   text;
begin
  perform pg_advisory_xact_lock(7310577216190002);
  select oldest_month into oldest from ledger;
  if retired is distinct from oldest then
    raise exception 'Cannot archive %: the oldest month is %', retired, oldest using errcode = 'NL020';
  end if;
  if retired + interval '1 month 1 day' > now() at time zone 'UTC' then
    raise exception 'Cannot archive %: the month must have been over for a day', retired using errcode = 'NL020';
  end if;
  if exists (select from webhook_delivery d where d.status = 'pending' and (d.month = retired or d.entry_month = retired)) then
    raise exception 'Cannot archive %: webhook deliveries of this month are pending', retired
      using errcode = 'NL020', hint = 'Wait until they are sent, or switch their endpoint off and on again with "drop".';
  end if;
  select string_agg('whe_' || replace(e.endpoint_id::text, '-', ''), ', ') into examples from webhook_endpoint e
  where e.status <> 'deleted' and exists (
    select from journal j where j.month = retired and j.agency_id = e.agency_id and j.seq > e.made_seq and j.is_announced);
  if examples is not null then
    raise exception 'Cannot archive %: webhook events of this month wait for endpoints: %', retired, examples
      using errcode = 'NL020', hint = 'Switch the endpoints on, with "resend" or "drop", or delete them.';
  end if;
  select array_agg(j.seq order by s.shard) into ends
  from shard s left join lateral (
    select seq from journal where shard = s.shard and month = retired order by seq desc limit 1) j on true;

  -- Each unit keeps the oldest intact snapshot that includes all of its entries of this month, and none before it.
  with last_entry as materialized (
    select unit_id, max(seq) as seq
    from (select unit_id, seq from journal where month = retired
          union all
          select other_unit_id, seq from journal where month = retired and other_unit_id is not null) e
    group by unit_id
  ), base as materialized (
    select distinct on (l.unit_id) s.agency_id, l.unit_id, s.seq, l.seq as last_seq
    from last_entry l join snapshot s on s.unit_id = l.unit_id and s.seq >= l.seq
    where s.hash = encode(sha256(convert_to('unt_' || replace(s.unit_id::text, '-', '') || E'\n' || s.state, 'UTF8')), 'hex')
    order by l.unit_id, s.seq
  ), kept as (
    update snapshot s set is_base = (s.seq = b.seq) from base b
    where s.unit_id = b.unit_id and s.seq >= b.last_seq and (s.is_base or s.seq = b.seq)
    returning s.unit_id, s.is_base
  ), noted as (
    insert into archived_unit (agency_id, unit_id, seq) select b.agency_id, b.unit_id, b.last_seq from base b
    on conflict (agency_id, unit_id) do update set seq = excluded.seq
  ), deleted as (
    delete from snapshot s using last_entry l where s.unit_id = l.unit_id and s.seq < l.seq
  )
  select count(*), string_agg('unt_' || replace(l.unit_id::text, '-', ''), ', ') filter (where l.place <= 10) into lacking, examples
  from (select l.unit_id, row_number() over (order by l.unit_id) as place from last_entry l
        where not exists (select from kept k where k.unit_id = l.unit_id and k.is_base)) l;
  if lacking > 0 then
    raise exception 'Cannot archive %: % units have no snapshot of what they were at its end: %', retired, lacking, examples
      using errcode = 'NL020', hint = 'The service writes the snapshots once a day.';
  end if;

  -- From here on nothing is appended; then nothing is read.
  perform from shard s order by s.shard for update;
  if ends is distinct from (
    select array_agg(j.seq order by s.shard)
    from shard s left join lateral (
      select seq from journal where shard = s.shard and month = retired order by seq desc limit 1) j on true) then
    raise exception 'Cannot archive %: entries were added to it', retired using errcode = 'NL020';
  end if;
  -- Nor is one of its deliveries sent again, from here on.
  execute format('lock table %I in share row exclusive mode', 'webhook_delivery_' || to_char(retired, 'YYYY_MM'));
  if exists (select from webhook_delivery d where d.status = 'pending' and (d.month = retired or d.entry_month = retired)) then
    raise exception 'Cannot archive %: webhook deliveries of this month are pending', retired
      using errcode = 'NL020', hint = 'Wait until they are sent, or switch their endpoint off and on again with "drop".';
  end if;
  update shard s set
    base = j.seq, base_link = j.link, mark = greatest(s.mark, j.seq),
    mark_link = case when s.mark > j.seq then s.mark_link else j.link end
  from shard o cross join lateral (
    select seq, link from journal where shard = o.shard and month = retired order by seq desc limit 1) j
  where s.shard = o.shard;
  foreach parent in array array['journal', 'audit_line', 'webhook_delivery', 'webhook_attempt'] loop
    execute format('alter table %I detach partition %I', parent, parent || '_' || to_char(retired, 'YYYY_MM'));
    return next parent || '_' || to_char(retired, 'YYYY_MM');
  end loop;
  update ledger set oldest_month = (retired + interval '1 month')::date;
end $$;
