-- Switches to the new ledger: the old tables move to schema ledger_previous, those of ledger_next take their place. One statement,
-- all or nothing. `main_schema` stands for the schema of both. All locks are taken before anything is changed, and it gives up
-- (55P03) when that takes too long.
-- Errors: NL021 the old ledger was written to since it was fenced with `fence_epoch`, or its entries up to `last` are not all copied;
-- NL022 (rehearsal) it can be done.
create or replace function ledger_upgrade.switch_over(fence_epoch bigint, last bigint, is_rehearsal boolean) returns void
language plpgsql set search_path = ledger_next, main_schema set lock_timeout = '300ms' as $$
declare
  began         timestamptz := clock_timestamp();
  current_epoch bigint;
  mirrored      record;
  old_tables    text[] := array[
    'writer_fence', 'journal', 'unit', 'guest', 'booking', 'webhook_event', 'webhook_delivery', 'webhook_attempt', 'webhook_endpoint',
    'webhook_sender', 'audit', 'idempotency', 'usage_month', 'rate_slot', 'snapshot', 'api_key', 'fee_type', 'calendar_feed',
    'secret_key_check', 'agency', 'schema_migration'];
  old_functions text[] := array[
    'append_batch', 'check_fence', 'claim_deliveries', 'delete_webhook_endpoint', 'keep_rate', 'keep_usage', 'next_delivery_due',
    'record_attempts', 'renew_epoch', 'rotate_secret_key', 'take_over', 'take_over_sending', 'webhook_endpoints_waiting'];
begin
  select epoch into current_epoch from main_schema.writer_fence for update;
  for i in 1 .. cardinality(old_tables) loop
    execute format('lock table main_schema.%I in access exclusive mode', old_tables[i]);
    if clock_timestamp() > began + interval '600 milliseconds' then
      raise exception 'Cannot switch: the old tables are in use' using errcode = '55P03';
    end if;
  end loop;
  if not is_rehearsal and (
    current_epoch <> fence_epoch or coalesce((select max(seq) from main_schema.journal), 0) <> last
    or (select copied_seq from ledger_upgrade.progress where state = 'copying') is distinct from last
    or exists (select from ledger_upgrade.missed) or exists (select from ledger_upgrade.audit_ok)
    or exists (select from ledger_upgrade.mirror where not is_copied)) then
    raise exception 'Cannot switch: the old ledger was written to' using errcode = 'NL021';
  end if;

  for mirrored in
    select t.tgname, t.tgrelid::regclass as of_table from pg_trigger t
    where t.tgname like 'upgrade\_%' and t.tgfoid in (select oid from pg_proc where pronamespace = 'ledger_upgrade'::regnamespace)
  loop
    execute format('drop trigger %I on %s', mirrored.tgname, mirrored.of_table);
  end loop;

  -- Numbers continue after the last one, in every shard. Every event up to here has its deliveries.
  update shard s set
    epoch = greatest(s.epoch, current_epoch), mark = last, taken_at = clock_timestamp(),
    mark_link = coalesce((select j.link from journal j where j.shard = s.shard order by j.seq desc limit 1), '\x');
  update webhook_endpoint e set
    made_seq = last, from_seq = last,
    made_month = coalesce(
      (select j.month from journal j where j.shard = shard_of(e.agency_id) order by j.seq desc limit 1),
      (select oldest_month from ledger));
  update webhook_delivery d set entry_month = l.month from ledger_upgrade.late_entry l
  where d.agency_id = l.agency_id and d.seq = l.seq and d.entry_month <> l.month;

  perform setval(pg_get_serial_sequence('ledger_next.fee_type', 'position'), coalesce((select max(position) from fee_type), 0) + 1, false);
  insert into secret_key_check select * from main_schema.secret_key_check on conflict (is_only) do update set hmac = excluded.hmac;
  insert into rate_slot (term, slot, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select term, slot, ended_at, wall_ms, boot_id, boot_ms, total, counts from main_schema.rate_slot;
  update webhook_sender n set tenure = o.tenure, epoch = o.epoch, taken_at = o.taken_at from main_schema.webhook_sender o;

  create schema ledger_previous;
  for i in 1 .. cardinality(old_tables) loop
    execute format('alter table main_schema.%I set schema ledger_previous', old_tables[i]);
  end loop;
  perform ledger_upgrade.move_routines('main_schema', 'ledger_previous', old_functions);
  delete from ledger_upgrade.present;
  insert into ledger_upgrade.present
  select c.oid, true from pg_class c where c.relnamespace = 'ledger_next'::regnamespace and not c.relispartition and (
    c.relkind in ('r', 'p', 'c')
    -- That of a column moves with its table.
    or c.relkind = 'S' and not exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')))
  union all
  select oid, false from pg_proc where pronamespace = 'ledger_next'::regnamespace;
  perform ledger_upgrade.move_present('main_schema');
  drop schema ledger_next;
  update ledger_upgrade.progress p set state = 'switched', switched_at = clock_timestamp(), oldest_month = l.oldest_month from ledger l;
  if is_rehearsal then
    raise exception 'The switch can be done' using errcode = 'NL022';
  end if;
end $$;

-- Moves functions of these names, and the row types that they take.
create or replace function ledger_upgrade.move_routines(from_schema text, to_schema text, names text[]) returns void
language plpgsql set search_path = '' as $$
declare
  statements text[];
begin
  select array_agg(format('alter function %s set schema %s', p.oid::regprocedure, to_schema)) into statements from pg_proc p
  where p.pronamespace = from_schema::regnamespace and p.proname = any (names)
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e');
  select statements || array_agg(format('alter type %s set schema %s', t.oid::regtype, to_schema)) into statements
  from pg_type t join pg_class c on c.oid = t.typrelid
  where t.typnamespace = from_schema::regnamespace and c.relkind = 'c'
    and t.typname in ('audit_row', 'booking_row', 'event_row', 'guest_row', 'idempotency_row', 'journal_row');
  for i in 1 .. cardinality(statements) loop
    execute statements[i];
  end loop;
end $$;

-- Moves the tables, types, sequences and functions of the new ledger.
create or replace function ledger_upgrade.move_present(to_schema text) returns void
language plpgsql set search_path = '' as $$
declare
  statements text[];
begin
  select array_agg(m.statement order by m.place) into statements from (
    select 1 as place, format('alter routine %s set schema %s', p.oid::regprocedure, to_schema) as statement
    from pg_proc p join ledger_upgrade.present o on o.oid = p.oid and not o.is_relation
    union all
    select case c.relkind when 'c' then 2 else 3 end,
           format('alter %s %s set schema %s', case c.relkind when 'c' then 'type' when 'S' then 'sequence' else 'table' end, c.oid::regclass, to_schema)
    from pg_class c join ledger_upgrade.present o on o.oid = c.oid and o.is_relation
    union all
    select 4, format('alter table %s set schema %s', i.inhrelid::regclass, to_schema)
    from pg_inherits i join ledger_upgrade.present o on o.oid = i.inhparent and o.is_relation
    join pg_class c on c.oid = i.inhrelid and c.relkind = 'r') m;
  for i in 1 .. cardinality(statements) loop
    execute statements[i];
  end loop;
end $$;
