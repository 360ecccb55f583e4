-- What the copy of an old ledger needs beside the two ledgers. `main_schema` stands for the schema of the old one.

create schema ledger_upgrade;

-- The tables whose rows are copied as they are (mirrors.ts). `estimate`: of their rows. `last_key`: the last row that is copied.
create table ledger_upgrade.mirror (
  name      text primary key,
  estimate  bigint not null,
  copied    bigint not null default 0,
  last_key  jsonb not null,
  is_copied boolean not null default false
);

-- Rows that a trigger could not copy: the old version must not notice. They are copied again.
create table ledger_upgrade.missed (
  name text not null,
  key  jsonb not null
);

-- Lines `OK` of the old audit trail that are not assigned to an entry yet. An entry that is copied takes its line from here; a line that is
-- left when all entries of its time are copied goes to audit_line.
create table ledger_upgrade.audit_ok (
  agency_id  uuid not null,
  line_id    uuid not null,
  at         timestamptz not null,
  actor_kind text not null,
  actor_id   uuid,
  route      text not null,
  outcome    text not null,
  booking_id text,
  request_id text,
  count      bigint not null,
  added_by   xid8 not null default pg_current_xact_id(),
  primary key (agency_id, line_id)
);
create index audit_ok_by_time on ledger_upgrade.audit_ok (agency_id, at);

-- Entries that are stored under another month than their time says, because the clock had jumped.
create table ledger_upgrade.late_entry (
  agency_id uuid not null,
  seq       bigint not null,
  month     date not null,
  primary key (agency_id, seq)
);

-- What the new ledger consists of, but for its partitions: the objects that the switch moves, and the way back.
create table ledger_upgrade.present (
  oid         oid not null,
  is_relation boolean not null
);

-- Every id is a prefix and 32 hexadecimal digits: foreign-ids.ts has made sure.
create function ledger_upgrade.uuid_of(id text) returns uuid language sql immutable strict parallel safe as
  $$ select substr(id, 5)::uuid $$;

-- Makes partitions for the months before the first one that the new ledger has, down to that of the oldest old row.
create function ledger_upgrade.make_past_months(oldest date) returns void language plpgsql
set search_path = ledger_next, main_schema as $$
declare
  first  date;
  newest date;
begin
  select oldest_month, newest_month into first, newest from ledger for update;
  if oldest < first then
    update ledger set oldest_month = oldest, newest_month = oldest - interval '1 month';
    perform ensure_months((first - interval '1 month')::date);
    update ledger set newest_month = newest;
  end if;
end $$;

-- Stores the next entries of the journal, up to the old number `upto`, and takes their lines from audit_ok. False when another
-- process has copied them meanwhile.
create function ledger_upgrade.copy_entries(
  expected bigint, upto bigint, entries ledger_next.journal_row[], payloads text, links bytea, epochs bigint[],
  author_lines jsonb, late jsonb, unknown integer, different integer
) returns boolean language plpgsql set search_path = ledger_next, main_schema as $$
begin
  update ledger_upgrade.progress set
    copied_seq = upto, unknown_callers = unknown_callers + unknown, different_bodies = different_bodies + different
  where copied_seq = expected and state = 'copying';
  if not found then
    return false;
  end if;
  insert into journal (seq, at, checksum, epoch, agency_id, unit_id, other_unit_id, booking_id, entry_id, actor_id, month, shard,
                       is_announced, kind, actor_kind, link, route, request_id, payload)
  select e.seq, e.at, e.checksum, e.epoch, e.agency_id, e.unit_id, e.other_unit_id, e.booking_id, e.entry_id, e.actor_id, e.month,
         e.shard, e.is_announced, e.kind, e.actor_kind, substring(links from (32 * e.place - 31)::integer for 32), e.route,
         e.request_id, e.payload
  from rows from (unnest(entries), string_to_table(payloads, E'\x1e'), unnest(epochs)) with ordinality as e (
    shard, seq, month, at, agency_id, unit_id, other_unit_id, booking_id, entry_id, kind, is_announced, actor_kind, actor_id,
    route, request_id, checksum, payload, epoch, place);
  delete from ledger_upgrade.audit_ok a using jsonb_to_recordset(author_lines) as t (agency_id uuid, line_id uuid)
  where a.agency_id = t.agency_id and a.line_id = t.line_id;
  insert into ledger_upgrade.late_entry select * from jsonb_to_recordset(late) as l (agency_id uuid, seq bigint, month date);
  return true;
end $$;

-- Moves lines that belong to no entry to audit_line: those added before `before`, when all entries of that time are copied. Returns
-- how many it moved.
create function ledger_upgrade.keep_lines(before xid8, page integer) returns integer language plpgsql
set search_path = ledger_next, main_schema as $$
declare
  moved integer;
begin
  with line as (
    delete from ledger_upgrade.audit_ok a
    where (agency_id, line_id) in (
      select agency_id, line_id from ledger_upgrade.audit_ok where added_by < before limit page)
    returning a.*
  ), kept as (
    insert into audit_line (agency_id, line_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count, month)
    select agency_id, line_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count, storage_month(at) from line
    on conflict do nothing
  )
  select count(*) into moved from line;
  return moved;
end $$;
