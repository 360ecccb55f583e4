-- Requests by day, for the agency to see on which days its quota goes.

-- A day in UTC on which requests were counted: the month's total before the first of them and after the last. Totals are kept, and not
-- their difference, because a total may be sent twice, or late, without harm. The requests of a day are those beyond the highest
-- `total_after` of the month's earlier days, and beyond its lowest `total_before`: what the month had before days were counted. The other
-- `total_before` are not needed: a clock that is set back lets an earlier day end above the start of a later one.
create table usage_day (
  agency_id    uuid   not null,
  day          date   not null,
  total_before bigint not null,
  total_after  bigint not null,
  primary key (agency_id, day)
);

-- `totals`: [{"agencyId", "month", "used", "day"}]; `shards`: those of the agencies. An agency may have several, of different days: the
-- earlier days come first, in this call or in an earlier one. The highest total is kept, so sending one twice, or late, does no harm.
-- A total without a day, as the previous version sends it, is of today if it is of this month, and otherwise of no day.
-- An agency's days of 13 months ago are removed when a day begins for it: `xmax` of a row is 0 when it was inserted.
create or replace function keep_usage(shards smallint[], epochs bigint[], totals jsonb) returns void
language plpgsql as $$
declare
  today date := clock_timestamp() at time zone 'UTC';
begin
  perform check_fences(shards, epochs);
  with counted as (
    insert into usage_day as d (agency_id, day, total_before, total_after)
    select u.agency_id, u.day, coalesce(m.used, 0), max(u.used)
    from (
      select t."agencyId" as agency_id, t.month, t.used,
             coalesce(t.day, case when t.month = to_char(today, 'YYYY-MM') then today end) as day
      from jsonb_to_recordset(totals) as t ("agencyId" uuid, month text, used bigint, day date)) u
    left join usage_month m on m.agency_id = u.agency_id and m.month = u.month
    where u.day is not null
    group by u.agency_id, u.day, m.used
    order by u.agency_id, u.day
    on conflict (agency_id, day) do update set total_after = greatest(d.total_after, excluded.total_after)
    returning d.agency_id, d.day, d.xmax = 0 as begins
  )
  delete from usage_day old using counted c
  where c.begins and old.agency_id = c.agency_id and old.day < c.day - interval '13 months';

  insert into usage_month (agency_id, month, used)
  select t."agencyId", t.month, max(t.used)
  from jsonb_to_recordset(totals) as t ("agencyId" uuid, month text, used bigint)
  group by t."agencyId", t.month
  order by t."agencyId", t.month
  on conflict (agency_id, month) do update set used = greatest(usage_month.used, excluded.used);
end $$;
