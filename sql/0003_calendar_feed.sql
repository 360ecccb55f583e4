-- How often a unit's secret calendar address was changed. The address itself is derived from it (src/desk/calendar-feeds.ts).
create table calendar_feed (
  agency_id  text    not null references agency,
  unit_id    text    not null,
  version    integer not null check (version > 0),
  primary key (agency_id, unit_id)
);
