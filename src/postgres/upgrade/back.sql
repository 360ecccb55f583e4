-- The way back to the layout before shards. `main_schema` stands for the schema that the ledger in use is in; the old tables are in
-- ledger_previous.

create or replace function ledger_upgrade.text_of(prefix text, id uuid) returns text language sql immutable strict parallel safe as
  $$ select prefix || '_' || replace(id::text, '-', '') $$;

-- Fences out the present writer, and returns the sum of all epochs: another writer raises it.
create or replace function ledger_upgrade.fence_shards() returns numeric language plpgsql set search_path = main_schema as $$
begin
  perform from shard s order by s.shard for update;
  update shard s set epoch = s.epoch + 1, holder = 'migrate --back', renewal = null, taken_at = clock_timestamp();
  return (select sum(epoch) from shard);
end $$;

-- The numbers that the entries since the switch get: after the last old one, without a gap, by time, and in the order of their shard.
-- Removes what an interrupted attempt has written.
create or replace function ledger_upgrade.renumber() returns bigint language plpgsql set search_path = main_schema as $$
declare
  last_old bigint;
begin
  select copied_seq into last_old from ledger_upgrade.progress;
  delete from ledger_previous.journal where seq > last_old;
  delete from ledger_previous.webhook_event where seq > last_old;
  drop table if exists ledger_upgrade.renumbered;
  create table ledger_upgrade.renumbered as
  select shard, seq, month, last_old + row_number() over (order by latest, shard, seq) as old_seq
  from (select j.shard, j.seq, j.month, max(j.at) over (partition by j.shard order by j.seq) as latest
        from journal j where j.seq > last_old) since;
  create unique index on ledger_upgrade.renumbered (old_seq);
  create unique index on ledger_upgrade.renumbered (shard, seq);
  analyze ledger_upgrade.renumbered;
  return last_old;
end $$;

-- Stores entries as the old layout has them, with their webhook events and their lines of the audit trail.
create or replace function ledger_upgrade.store_old_entries(entries jsonb) returns void language plpgsql
set search_path = ledger_previous as $$
declare
  batch uuid := gen_random_uuid();
begin
  insert into journal (agency_id, unit_id, seq, other_unit_id, batch_id, epoch, kind, booking_id, payload, checksum, request_id, at)
  select e."agencyId", e."unitId", e.seq, e."otherUnitId", batch, e.epoch, e.kind, e."bookingId", e.payload, e.checksum,
         e."requestId", e.at
  from jsonb_to_recordset(entries) as e (
    "agencyId" text, "unitId" text, seq bigint, "otherUnitId" text, epoch bigint, kind text, "bookingId" text, payload text,
    checksum text, "requestId" text, at timestamptz);
  insert into webhook_event (agency_id, event_id, seq, kind, booking_id, body, occurred_at)
  select e."agencyId", e.id, e.seq, e."webhookEvent", e."bookingId", e.body, e.at
  from jsonb_to_recordset(entries) as e (
    "agencyId" text, id text, seq bigint, "webhookEvent" text, "bookingId" text, body text, at timestamptz)
  where e.body is not null;
  insert into audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
  select e."agencyId", 'aud' || substr(e.id, 4), e.at, e."actorKind", e."actorId", e.route, 'OK', e."bookingId", e."requestId", 1
  from jsonb_to_recordset(entries) as e (
    "agencyId" text, id text, "bookingId" text, at timestamptz, "actorKind" text, "actorId" text, route text, "requestId" text)
  on conflict do nothing;
end $$;

-- What belongs to no table that is compared row by row: lines without an entry, pings, and deliveries that were still to be made.
create or replace function ledger_upgrade.store_old_rest() returns void language plpgsql set search_path = main_schema as $$
begin
  insert into ledger_previous.audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
  -- The previous version has no access tokens: to it, their people are the portal.
  select ledger_upgrade.text_of('agc', a.agency_id), ledger_upgrade.text_of('aud', a.line_id), a.at,
         case a.actor_kind when 'access_token' then 'portal' else a.actor_kind end,
         case a.actor_kind when 'access_token' then null else ledger_upgrade.text_of('key', a.actor_id) end,
         a.route, a.outcome, a.booking_id, a.request_id, a.count
  from audit_line a
  on conflict (agency_id, audit_id) do update set count = greatest(audit.count, excluded.count)
  where audit.count < excluded.count;

  insert into ledger_previous.webhook_event (agency_id, event_id, kind, body, occurred_at)
  select ledger_upgrade.text_of('agc', d.agency_id), ledger_upgrade.text_of('evt', d.event_id), 'ping',
         '{"id":"' || ledger_upgrade.text_of('evt', d.event_id) || '","event":"ping","occurredAt":"'
           || to_char(d.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","data":{}}',
         d.created_at
  from webhook_delivery d where d.kind = 'ping'
  on conflict do nothing;

  insert into ledger_previous.webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, next_attempt_at, created_at)
  select v.agency_id, 'dlv_' || md5(v.event_id || w.endpoint_id), w.endpoint_id, v.event_id, 'pending', v.occurred_at, v.occurred_at
  from webhook_endpoint e
  join ledger_previous.webhook_endpoint w
    on w.agency_id = ledger_upgrade.text_of('agc', e.agency_id) and w.endpoint_id = ledger_upgrade.text_of('whe', e.endpoint_id)
  join ledger_upgrade.renumbered r on r.shard = shard_of(e.agency_id) and r.seq > e.made_seq
  join ledger_previous.webhook_event v on v.seq = r.old_seq and v.agency_id = w.agency_id
  where e.status <> 'deleted'
  on conflict do nothing;

  delete from ledger_previous.rate_slot;
  insert into ledger_previous.rate_slot (term, slot, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select term, slot, ended_at, wall_ms, boot_id, boot_ms, total, counts from rate_slot;
  update ledger_previous.webhook_sender o set tenure = greatest(o.tenure, n.tenure) + 1 from webhook_sender n;
  update ledger_previous.writer_fence set epoch = greatest(epoch, (select max(epoch) from shard)) + 1, holder = 'migrate --back', renewal = null;
  perform setval(pg_get_serial_sequence('ledger_previous.fee_type', 'position'),
                 coalesce((select max(position) from ledger_previous.fee_type), 0) + 1, false);
end $$;

-- Puts the old tables back in place, all or nothing; the present ones stay in schema ledger_next, where nothing uses them.
-- Errors: NL021 the ledger was written to since it was fenced.
create or replace function ledger_upgrade.switch_back(fenced numeric) returns void
language plpgsql set search_path = main_schema set lock_timeout = '300ms' as $$
declare
  began     timestamptz := clock_timestamp();
  statement text;
begin
  perform from shard s order by s.shard for update;
  if (select sum(epoch) from shard) <> fenced then
    raise exception 'Cannot switch: the ledger was written to' using errcode = 'NL021';
  end if;
  for statement in
    select format('lock table %s in access exclusive mode', c.oid::regclass) from pg_class c
    join ledger_upgrade.present o on o.oid = c.oid and o.is_relation where c.relkind in ('r', 'p') order by c.relname
  loop
    execute statement;
    if clock_timestamp() > began + interval '600 milliseconds' then
      raise exception 'Cannot switch: the tables are in use' using errcode = '55P03';
    end if;
  end loop;
  drop index if exists ledger_previous.webhook_event_upgrade;
  create schema ledger_next;
  perform ledger_upgrade.move_present('ledger_next');
  perform ledger_upgrade.move_previous('main_schema');
  drop schema ledger_previous;
  drop table ledger_upgrade.progress;
end $$;

-- Moves everything that ledger_previous has.
create or replace function ledger_upgrade.move_previous(to_schema text) returns void
language plpgsql set search_path = '' as $$
declare
  statements text[];
begin
  select array_agg(m.statement order by m.place) into statements from (
    select 1 as place, format('alter function %s set schema %s', oid::regprocedure, to_schema) as statement from pg_proc
    where pronamespace = 'ledger_previous'::regnamespace
    union all
    select case relkind when 'c' then 2 else 3 end,
           format('alter %s %s set schema %s', case relkind when 'c' then 'type' else 'table' end, oid::regclass, to_schema)
    from pg_class where relnamespace = 'ledger_previous'::regnamespace and relkind in ('r', 'c')) m;
  for i in 1 .. cardinality(statements) loop
    execute statements[i];
  end loop;
end $$;
