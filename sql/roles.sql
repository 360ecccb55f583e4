-- What the roles may do, table by table. `migrate` applies it at its end, as the owner of the tables. It changes only what differs:
-- a GRANT makes every session plan its statements again, and a process may be serving.
--
-- The setting nightledger.schema_version says which schema this is for. The setting nightledger.service_role names the role that serves,
-- the user of DATABASE_URL. The owner needs no rights, nor does a member of
-- its role. nightledger_read is for reports: it reads no secrets, nothing personal of guests and people of the agencies, and no notes,
-- references or reasons of bookings. It cannot log in; grant it to those who may read (`grant nightledger_read to …`).
--
-- The partitions of months have no rights of their own, because they are read and written through their tables.

do $roles$ begin
  if to_regrole('nightledger_read') is null then
    create role nightledger_read nologin;
  end if;
exception
  -- By another process, in another database of the server.
  when duplicate_object or unique_violation then null;
  -- migrate() says which statement a superuser has to run.
  when insufficient_privilege then null;
end $roles$;

do $roles$
declare
  owner   regrole := (select c.relowner from pg_class c where c.oid = 'public.journal'::regclass);
  service regrole := to_regrole(quote_ident(current_setting('nightledger.service_role')));
  reader  regrole := to_regrole('nightledger_read');
  change  text;
begin
  -- An older program may be started on a newer schema: it must not take away what the newer one was granted.
  if (select max(version) from public.schema_migration) > current_setting('nightledger.schema_version')::integer then
    return;
  end if;
  if pg_has_role(service, owner, 'member') then
    service := null;
  end if;

  for change in
    -- `serves`: what the role that serves may do. `locks`: a column that it may update, because a lock on a row needs the right to update
    -- one. No other value fits into these: the shards are 256 of 256 numbers, and the check of the key has one row. `reports`: the columns
    -- that nightledger_read reads; *: all.
    with rights (relation, serves, locks, reports) as (values
      ('schema_migration', 'select',                         '',        '*'),
      ('ledger',           'select',                         '',        '*'),
      ('shard',            'select',                         'shard',   ''),
      ('shard_chain',      'select, insert',                 '',        ''),
      ('secret_key_check', 'select, insert',                 'is_only', ''),

      ('agency',           'select, insert, update',         '',        '*'),
      ('agency_retention', 'select, insert, update',         '',        '*'),
      ('api_key',          'select, insert, update',         '',        'agency_id, key_id, scopes, created_at, expires_at, revoked_at, last_used_at'),
      ('access_token',     'select, insert, update, delete', '',        'agency_id, token_id, role, created_at, expires_at, revoked_at'),
      ('person',           'select, insert, update',         '',        'agency_id, person_id, role, created_at, removed_at'),
      ('passkey',          'select, insert, update, delete', '',        ''),
      ('person_link',      'select, insert, update, delete', '',        ''),
      ('portal_session',   'select, insert, update, delete', '',        ''),
      ('unit',             'select, insert, update',         '',        '*'),
      ('fee_type',         'select, insert, update',         '',        '*'),
      ('calendar_feed',    'select, insert, update, delete', '',        ''),

      ('journal',          'select, insert',                 '',        'seq, at, checksum, epoch, agency_id, unit_id, other_unit_id, booking_id, entry_id, actor_id, month, shard, is_announced, kind, actor_kind, link, route, payload'),
      ('snapshot',         'select, insert, update, delete', '',        ''),
      ('archived_unit',    'select',                         '',        '*'),
      ('checkpoint',       'select, insert',                 '',        'first_leaf, size, last_seq, agency_id, last_month'),
      ('checkpoint_key',   'select, insert',                 '',        '*'),

      ('guest',            'select, insert, update, delete, maintain', '', 'agency_id, guest_id, created_at'),
      ('guest_erasure',    'select, insert, update',         '',        '*'),
      ('booking',          'select, insert, update, delete, maintain', '',             'total_amount, seq, created_at, updated_at, hold_expires_at, cancelled_at, agency_id, booking_id, unit_id, guest_id, group_id, arrival, departure, expected_until, adults, children, version, extra_bed, type, status, source'),
      ('audit_line',       'select, insert',                 '',        'at, count, agency_id, line_id, actor_id, month, actor_kind, route, outcome'),
      ('idempotency',      'select, insert, update, delete, maintain', '', ''),

      ('usage_month',      'select, insert, update',         '',        '*'),
      ('usage_day',        'select, insert, update, delete', '',        '*'),
      ('rate_slot',        'select, insert, update, delete', '',        ''),
      ('node_term',        'usage',                          '',        ''),

      ('webhook_endpoint', 'select, insert, update',         '',        'agency_id, endpoint_id, status, consecutive_failures, created_at, updated_at, revision, made_seq, made_month, from_seq, events'),
      ('webhook_delivery', 'select, insert, update',         '',        '*'),
      ('webhook_attempt',  'select, insert',                 '',        'at, agency_id, delivery_id, month, attempt, duration_ms, http_status, reason'),
      ('webhook_sender',   'select, update',                 '',        ''),
      ('sending_node',     'select, insert, update, delete', '',        ''),
      ('sending',          'select, insert, update, delete', '',        ''),
      ('writer',           'select, insert, update, delete', '',        '')
    ), wanted as (
      select r.relation, p.privilege, null as "column", service as grantee from rights r, string_to_table(r.serves, ', ') p (privilege)
      -- What an erased guest leaves behind is vacuumed. Before PostgreSQL 17 only the owner may do that.
      where p.privilege <> 'maintain' or current_setting('server_version_num')::integer >= 170000
      union all
      select r.relation, 'update', r.locks, service from rights r where r.locks <> ''
      union all
      select r.relation, 'select', nullif(c."column", '*'), reader from rights r, string_to_table(r.reports, ', ') c ("column")
    ), held as (
      select c.relname::text as relation, lower(a.privilege_type) as privilege, null::text as "column", a.grantee::regrole as grantee
      from pg_class c, aclexplode(c.relacl) a
      where c.relnamespace = 'public'::regnamespace and c.relowner = owner
      union all
      select c.relname, lower(a.privilege_type), t.attname, a.grantee
      from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
      where c.relnamespace = 'public'::regnamespace and c.relowner = owner and not t.attisdropped
    ), definer as (
      select p.oid::regprocedure as signature, p.proname in (
               'ensure_months', 'forget_deliveries', 'keep_refusals', 'take_over', 'take_shards', 'give_up_shards', 'renew_epochs') as is_wanted
      from pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.proowner = owner and p.prosecdef
    )
    -- What was granted before, by hand or by another version, is taken away.
    select format('revoke %s%s on public.%I from %s', h.privilege, '(' || quote_ident(h."column") || ')', h.relation, h.grantee)
    from (select * from held where grantee in (service, reader) except select * from wanted) h
    union all
    select distinct format('alter default privileges for role %s %s revoke all on %s from %s', owner,
                           'in schema ' || nullif(d.defaclnamespace, 0)::regnamespace,
                           case d.defaclobjtype when 'r' then 'tables' else 'sequences' end, a.grantee::regrole)
    from pg_default_acl d, aclexplode(d.defaclacl) a
    where d.defaclrole = owner and d.defaclobjtype in ('r', 'S') and a.grantee in (service, reader)
    union all
    select format('revoke execute on function %s from public', f.signature) from definer f
    where has_function_privilege('public', f.signature, 'execute')
    union all
    select 'revoke create on schema public from public' where has_schema_privilege('public', 'public', 'create')
    union all
    select format('revoke create on schema public from %s', service) where has_schema_privilege(service, 'public', 'create')
    union all
    select format('grant %s%s on public.%I to %s', w.privilege, '(' || quote_ident(w."column") || ')', w.relation, w.grantee)
    from (select * from wanted where grantee is not null except select * from held) w
    union all
    select format('grant execute on function %s to %s', f.signature, service) from definer f
    where f.is_wanted and not has_function_privilege(service, f.signature, 'execute')
  loop
    execute change;
  end loop;
end $roles$;
