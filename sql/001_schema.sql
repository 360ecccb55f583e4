-- The schema of a ledger, in reading order: ledger and shards; agencies and who may act for them; units and fees; journal, snapshots,
-- months, checkpoints; bookings and guests; audit trail; idempotency; a batch; counters; the feed of changes; webhooks; writers and nodes;
-- what the operator does; the first months. J2, C1 and so on are the invariants of docs/invariants.md.
--
-- Everything that is asked by agency has the agency's id first in its key. Columns of large tables are in the order of their width, so
-- that rows have no padding.
--
-- SQLSTATEs of our own:
-- NL001 fenced by another writer; the detail lists the shards, `17,203`
-- NL002 the entries do not continue the logs of the shards in the detail
-- NL003 a bug of the writer
-- NL004 another sender has taken over
-- NL010 the database is used with another SECRET_KEY
-- NL011 secrets changed while they were being re-encrypted
-- NL020 the month cannot be archived
-- NL030 the request has been answered
--
-- The role that serves owns nothing (roles.sql). What it may do only in a certain way is a function that runs with the rights of the owner,
-- with a search path that no other role can put anything into.

create extension if not exists btree_gist;
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

------------------------------------------------------------------------------------------------------------------------------------
-- Ledger and shards

-- What holds for the whole database. `history_id` identifies this history of events, so that a reader with a cursor notices that it
-- reads another one. There are partitions from oldest_month to newest_month, and no others. Deliveries of months before
-- `deliveries_since` were removed (forget_deliveries). `version_mark`: the last `after_restore` raised the versions of bookings to this
-- at least; 0: there was none.
create table ledger (
  is_only      boolean primary key default true check (is_only),
  shards       smallint not null default 256 check (shards = 256),
  history_id   uuid not null default gen_random_uuid(),
  oldest_month date not null,
  newest_month date not null,
  deliveries_since date not null default '2000-01-01',
  version_mark integer not null default 0
);
insert into ledger (oldest_month, newest_month)
values (date_trunc('month', now() at time zone 'UTC'), date_trunc('month', now() at time zone 'UTC') - interval '1 month');

-- Everything of an agency belongs to its shard: the first byte of the SHA-256 of its id (C1).
create function shard_of(agency uuid) returns smallint language sql immutable strict parallel safe as
  $$ select get_byte(sha256(uuid_send(agency)), 0)::smallint $$;

-- The fence of a shard, and where its log begins. `base`: the last archived entry; the journal holds what comes after it. `mark`: the
-- numbers continue after it, and have no gaps from there on; it is the last archived number, or where a restore has moved the numbers
-- to. Each comes with the link of the last entry up to it. `renewal` identifies the call that last raised the epoch. `writer_id`: the
-- writer whose heartbeat counts; null: no writer has to be waited for.
create table shard (
  shard     smallint primary key check (shard between 0 and 255),
  epoch     bigint not null default 0,
  mark      bigint not null default 0 check (mark >= 0),
  taken_at  timestamptz not null default now(),
  renewal   uuid,
  mark_link bytea not null default '\x' check (length(mark_link) in (0, 32)),
  base      bigint not null default 0 check (base >= 0),
  base_link bytea not null default '\x' check (length(base_link) in (0, 32)),
  holder    text not null default '',
  writer_id uuid
);
insert into shard (shard) select generate_series(0, 255);

-- The keys of the chains, encrypted with SECRET_KEY. Not in `shard`, whose rows every batch reads and locks.
create table shard_chain (
  shard      smallint primary key references shard,
  key_sealed text not null
);

-- Locks the fences and compares them (J5). Comes before everything that a writer reads. Several fences are always locked in the order
-- of their shards.
create function check_fences(shards smallint[], epochs bigint[]) returns boolean language plpgsql as $$
declare
  fenced text;
begin
  -- Shards come in order. Then the epochs are the same array, unless a fence has risen.
  if array(select s.epoch from shard s where s.shard = any (shards) order by s.shard for share) is distinct from epochs then
    -- A filter of the aggregate, not a condition: a condition could be applied before the rows are locked.
    select string_agg(held.shard::text, ',' order by held.shard) filter (where held.current is distinct from held.claimed) into fenced
    from (select s.shard, s.epoch as current, w.epoch as claimed
          from unnest(shards, epochs) w (shard, epoch) join shard s on s.shard = w.shard
          order by s.shard for share of s) held;
    if fenced is not null then
      raise exception 'Cannot write: fenced by another writer' using errcode = 'NL001', detail = fenced;
    end if;
  end if;
  return true;
end $$;

-- The same for one shard. `alone`: waits until no batch of the shard is in progress, and keeps new ones waiting.
create function check_fence(of_shard smallint, writer_epoch bigint, alone boolean default false) returns boolean
language plpgsql as $$
declare
  current_epoch bigint;
begin
  if alone then
    select s.epoch into current_epoch from shard s where s.shard = of_shard for update;
  else
    select s.epoch into current_epoch from shard s where s.shard = of_shard for share;
  end if;
  if current_epoch is distinct from writer_epoch then
    raise exception 'Cannot write: epoch % is fenced by epoch %', writer_epoch, current_epoch
      using errcode = 'NL001', detail = of_shard;
  end if;
  return true;
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Agencies and who may act for them

-- 'deleted': a former sandbox, of which only the journal is kept.
create table agency (
  agency_id           uuid primary key,
  slug                text not null unique,
  name                text not null,
  currency            text not null,
  timezone            text not null,
  status              text not null check (status in ('active', 'suspended', 'deleted')),
  api_access          boolean not null,
  requests_per_minute integer not null check (requests_per_minute > 0),
  requests_per_month  bigint not null check (requests_per_month > 0),
  default_hold_hours  integer not null check (default_hold_hours between 1 and 2160),
  created_at          timestamptz not null,
  -- Of a sandbox: the live agency that it belongs to. Both have the same shard.
  sandbox_of          uuid unique references agency check (shard_of(sandbox_of) = shard_of(agency_id)),
  -- Of a sandbox: what its clock shows, and where it is going. It stands while they are equal.
  clock_now           timestamptz,
  clock_target        timestamptz,
  check ((clock_now is null) = (clock_target is null) and clock_now <= clock_target),
  check (sandbox_of is null or clock_now is not null)
);
-- Sandboxes, whose holds the hold timer leaves alone.
create index agency_with_clock on agency (agency_id) where clock_now is not null;
-- What is loaded when shards are acquired.
create index agency_of_shard on agency (shard_of(agency_id));

-- How long an agency keeps what is not kept forever. Null, or without a row: as long as the operator's defaults say (RETAIN_*).
create table agency_retention (
  agency_id     uuid primary key references agency,
  booking_years integer check (booking_years > 0),
  guest_months  integer check (guest_months > 0),
  log_years     integer check (log_years > 0),
  delivery_days integer check (delivery_days > 0)
);

-- Keys of partners. Of secrets only the hash is stored.
create table api_key (
  agency_id     uuid not null references agency,
  key_id        uuid not null,
  name          text,
  prefix        text not null,
  secret_sha256 text not null unique check (length(secret_sha256) = 64),
  scopes        text[] not null,
  created_at    timestamptz not null,
  expires_at    timestamptz,
  revoked_at    timestamptz,
  last_used_at  timestamptz, -- to the minute
  primary key (agency_id, key_id)
);

-- Access tokens: how programs, and the command line, use the portal for an agency, each with a role.
create table access_token (
  agency_id     uuid not null references agency,
  token_id      uuid not null,
  name          text not null,
  role          text not null check (role in ('viewer', 'desk', 'manager', 'owner')),
  prefix        text not null,
  secret_sha256 text not null unique check (length(secret_sha256) = 64),
  created_at    timestamptz not null,
  expires_at    timestamptz,
  revoked_at    timestamptz,
  primary key (agency_id, token_id)
);

-- The people of an agency, each with a role. A person who is removed keeps the row, because the audit trail names them. `revision` counts
-- the changes of the row, so that an older state never replaces a newer one in the memory of a process.
create table person (
  agency_id  uuid not null references agency,
  person_id  uuid not null,
  name       text not null,
  email      text,
  role       text not null check (role in ('viewer', 'desk', 'manager', 'owner')),
  created_at timestamptz not null,
  removed_at timestamptz,
  revision   integer not null,
  primary key (agency_id, person_id)
);
-- An address belongs to one person of an agency. By address first: a sign-in with OIDC looks for it in all agencies.
create unique index person_email on person (lower(email), agency_id) where removed_at is null;

-- How a person signs in (WebAuthn). `sign_count`: the authenticator's counter; 0 where it has none. `challenged_at`: when the challenge of
-- the last sign-in was made: one that is not newer has been used. `transports`: what the browser may ask for, such as internal or usb.
create table passkey (
  agency_id     uuid not null,
  passkey_id    uuid not null,
  person_id     uuid not null,
  credential_id text not null, -- base64url
  name          text not null,
  public_key    text not null, -- COSE, base64url
  sign_count    bigint not null check (sign_count >= 0),
  transports    text[] not null,
  created_at    timestamptz not null,
  last_used_at  timestamptz,
  challenged_at timestamptz not null,
  primary key (agency_id, passkey_id),
  unique (agency_id, credential_id),
  foreign key (agency_id, person_id) references person
);
create index passkey_of_person on passkey (agency_id, person_id);

-- Links that a person opens: an invitation to make a passkey, of which a person has one at most, or one that signs in. Used once: using
-- one deletes it. Of secrets only the hash is stored.
create table person_link (
  secret_sha256 text primary key check (length(secret_sha256) = 64),
  agency_id     uuid not null,
  person_id     uuid not null,
  kind          text not null check (kind in ('invitation', 'sign_in')),
  created_at    timestamptz not null,
  expires_at    timestamptz not null,
  foreign key (agency_id, person_id) references person
);
create unique index person_link_invitation on person_link (agency_id, person_id) where kind = 'invitation';
create index person_link_of_person on person_link (agency_id, person_id);

-- The sessions of the portal's page. Each stands for a person, or for the token that it was opened with: an access token, or one of the
-- operator's. `operator_hmac` is the HMAC of that token with the session's secret as the key. Only the hash of the secret is stored, so
-- neither reveals anything about the token. `device`: the User-Agent that opened it, `address` where from, and `way` with what.
create table portal_session (
  secret_sha256 text primary key check (length(secret_sha256) = 64),
  session_id    uuid not null unique,
  agency_id     uuid,
  token_id      uuid,
  person_id     uuid,
  operator_hmac text check (length(operator_hmac) = 64),
  device        text not null,
  address       text not null,
  way           text not null check (way in ('token', 'passkey', 'link')),
  created_at    timestamptz not null,
  seen_at       timestamptz not null, -- to some minutes
  foreign key (agency_id, token_id) references access_token,
  foreign key (agency_id, person_id) references person,
  check ((agency_id is null) = (operator_hmac is not null)),
  check (num_nonnulls(token_id, person_id, operator_hmac) = 1)
);
-- What is loaded when shards are acquired.
create index portal_session_of_shard on portal_session (shard_of(agency_id)) where agency_id is not null;
-- What ends with a new role, or with the person.
create index portal_session_of_person on portal_session (agency_id, person_id) where person_id is not null;

-- `seen`: [{"sha256", "seenAt"}] of sessions that were used. `ended`: hashes of sessions to delete. Those last used before `idle_since`
-- are deleted as well. Calling it twice, or late, does no harm: an ended session does not come back. Errors: NL001.
create function keep_sessions(writer_epoch bigint, seen jsonb, ended jsonb, idle_since timestamptz) returns void
language plpgsql as $$
begin
  perform check_fence(0::smallint, writer_epoch);
  update portal_session p set seen_at = greatest(p.seen_at, s."seenAt")
  from jsonb_to_recordset(seen) as s ("sha256" text, "seenAt" timestamptz)
  where p.secret_sha256 = s."sha256";
  delete from portal_session where secret_sha256 in (select jsonb_array_elements_text(ended)) or seen_at < idle_since;
end $$;

-- The same for one node of several: deletes only the sessions of its shards' agencies, and the operator's.
create function keep_node_sessions(shards smallint[], seen jsonb, ended jsonb, idle_since timestamptz) returns void
language plpgsql as $$
begin
  update portal_session p set seen_at = greatest(p.seen_at, s."seenAt")
  from jsonb_to_recordset(seen) as s ("sha256" text, "seenAt" timestamptz)
  where p.secret_sha256 = s."sha256";
  delete from portal_session p
  where p.secret_sha256 in (select jsonb_array_elements_text(ended))
    or (p.seen_at < idle_since and (p.agency_id is null or shard_of(p.agency_id) = any (shards)));
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Units and fees

create table unit (
  agency_id           uuid not null references agency,
  unit_id             uuid not null,
  slug                text not null,
  name                text not null,
  status              text not null check (status in ('active', 'draft', 'archived')),
  city                text,
  area                text,
  building            text,
  bedrooms            double precision not null,
  beds                double precision not null,
  bathrooms           double precision not null,
  max_guests          integer not null,
  size_sqm            double precision,
  checkin_time        text not null,
  checkout_time       text not null,
  instant_book        boolean not null,
  registration_number text,
  base_price          bigint not null check (base_price >= 0),
  cleaning_fee        bigint not null check (cleaning_fee >= 0),
  extra_bed_fee       bigint not null check (extra_bed_fee >= 0),
  min_stay            integer not null check (min_stay >= 1),
  turnover_nights     integer not null check (turnover_nights >= 0),
  rates               jsonb not null,
  restrictions        jsonb,
  primary key (agency_id, unit_id),
  unique (agency_id, slug),
  -- A unit whose rates cannot be read would keep the whole inventory of its agency from being read (D1).
  constraint unit_rates_have_their_form check (
    jsonb_typeof(rates -> 'seasons') is not distinct from 'array'
    and jsonb_typeof(rates -> 'weekdayAdjustments') is not distinct from 'array'
    and jsonb_typeof(rates -> 'lengthOfStayDiscounts') is not distinct from 'array'
    and jsonb_array_length(rates -> 'seasons') = jsonb_array_length(jsonb_path_query_array(rates,
      '$.seasons[*] ? (@.from like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" && @.to like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")'))),
  constraint unit_restrictions_have_their_form check (
    restrictions is null
    or jsonb_typeof(restrictions -> 'rows') is not distinct from 'array'
    and jsonb_array_length(restrictions -> 'rows') = jsonb_array_length(jsonb_path_query_array(restrictions,
      '$.rows[*] ? ((@.from == null || @.from like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$") && (@.to == null || @.to like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))')))
);

create table fee_type (
  agency_id                uuid not null references agency,
  fee_type_id              uuid not null,
  label                    text not null,
  kind                     text not null check (kind in ('fixed', 'percent')),
  amount                   bigint,
  basis_points             integer,
  includes_weekly_cleaning boolean not null,
  application              text not null check (application in ('every_stay', 'on_request')),
  active                   boolean not null,
  position                 bigint generated by default as identity not null,
  primary key (agency_id, fee_type_id),
  check ((kind = 'fixed' and amount is not null) or (kind = 'percent' and basis_points is not null))
);

-- The address of a unit's calendar is derived from SECRET_KEY and this version; a higher version ends the former address.
create table calendar_feed (
  agency_id uuid not null references agency,
  unit_id   uuid not null,
  version   integer not null check (version > 0),
  primary key (agency_id, unit_id)
);

-- The time of an agency: of a sandbox what its clock shows, otherwise `real`.
create function agency_now(agency uuid, "real" timestamptz) returns timestamptz language sql stable parallel safe as
  $$ select coalesce((select a.clock_now from agency a where a.agency_id = agency_now.agency), agency_now."real") $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Journal and snapshots

-- Numbers are gapless within a shard. `month` is the month of the entry, never lower than that of the entry before it. `checksum`
-- covers what a unit is recovered from; `link` covers everything, and the link before it.
create table journal (
  seq           bigint not null check (seq > 0),
  at            timestamptz not null,
  checksum      bigint not null,
  epoch         bigint not null,
  agency_id     uuid not null,
  -- Null for what belongs to no unit: an erased guest.
  unit_id       uuid,
  other_unit_id uuid,
  booking_id    uuid,
  entry_id      uuid not null,
  actor_id      uuid,
  month         date not null check (extract(day from month) = 1),
  shard         smallint not null,
  is_announced  boolean not null,
  kind          text not null,
  actor_kind    text not null check (actor_kind in ('key', 'access_token', 'person', 'portal', 'system')),
  link          bytea not null check (length(link) = 32),
  route         text not null,
  request_id    text,
  -- Of a request that belongs to a trace (W3C Trace Context).
  traceparent   text,
  payload       text not null,
  primary key (shard, seq, month)
) partition by range (month);
-- Deliveries, and GET /changes.
create index journal_of_agency on journal (agency_id, seq);
-- GET {agency}/audit.
create index journal_newest on journal (agency_id, at desc, entry_id desc);
-- Recovery of a unit, and GET {agency}/audit?booking=.
create index journal_of_unit on journal (unit_id, seq);
create index journal_of_other_unit on journal (other_unit_id, seq) where other_unit_id is not null;

-- `is_base`: the unit's entries up to it are archived, or about to be, so it is never pruned (S2).
create table snapshot (
  agency_id uuid not null,
  unit_id   uuid not null,
  seq       bigint not null,
  format    integer not null,
  hash      text not null,
  state     text not null,
  taken_at  timestamptz not null,
  is_base   boolean not null default false,
  primary key (unit_id, seq)
);
-- cut_back_snapshots.
create index snapshot_of_shard on snapshot (shard_of(agency_id), seq);

-- Units whose oldest entries were archived, each with its last archived entry: they are recovered from a snapshot that includes it, or
-- not at all (S2). What is left of the journal does not show which they are: an entry that changes a unit looks like the one that
-- created it.
create table archived_unit (
  agency_id uuid not null,
  unit_id   uuid not null,
  seq       bigint not null,
  primary key (agency_id, unit_id)
);

-- The webhook event that an announced entry fires. One of a unit has no booking.
create function event_of(kind text) returns text language sql immutable parallel safe as $$
  select case kind when 'booking_created' then 'booking.created' when 'booking_cancelled' then 'booking.cancelled'
                   when 'rates_set' then 'rates.updated' when 'unit_set' then 'unit.updated' else 'booking.updated' end
$$;

-- Functions that read the journal have one plan for all calls, because planning for all partitions takes longer than the reading. It
-- must not be the plan for a table that was still small, so they switch scans and joins off.

-- What a unit is recovered from: its snapshots, and the entries after the newest of them. A snapshot has a format, an entry a kind.
create function load_unit(of_unit uuid)
returns table (seq bigint, format integer, checksum text, payload text, kind text, unit_id uuid, other_unit_id uuid, booking_id uuid)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  after_seq bigint := coalesce((select max(s.seq) from snapshot s where s.unit_id = of_unit), 0);
begin
  return query
  (select s.seq, s.format, s.hash, s.state, null::text, s.unit_id, null::uuid, null::uuid
   from snapshot s where s.unit_id = of_unit)
  union all
  select j.seq, null, j.checksum::text, j.payload, j.kind, j.unit_id, j.other_unit_id, j.booking_id
  from journal j where j.unit_id = of_unit and j.seq > after_seq
  union all
  select j.seq, null, j.checksum::text, j.payload, j.kind, j.unit_id, j.other_unit_id, j.booking_id
  from journal j where j.other_unit_id = of_unit and j.seq > after_seq
  order by seq;
end $$;

-- What many units are recovered from: for each the rows of load_unit, with `of_unit`, in the order of their numbers. An entry that
-- moved a booking from one of the units to another comes twice. One statement for all units opens the partitions of the journal once.
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

-- Where a unit stood at a moment. The first row: in `seq` its last entry up to then, null if it has none that is kept; `set_seq`, the last of
-- those that sets the unit; `archived_seq`, its last archived entry, 0 if there is none. Then its snapshots up to that entry, newest first.
-- Entries are compared by their numbers: of those that a clock set back has given earlier times, all up to the last that fits count. What
-- was archived is looked up after the entries: a month may be archived in between.
create function unit_as_of(agency uuid, of_unit uuid, moment timestamptz)
returns table (seq bigint, set_seq bigint, archived_seq bigint, format integer, hash text, state text)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  until_seq  bigint;
  last_set   bigint;
  last_gone  bigint;
begin
  until_seq := greatest(
    (select j.seq from journal j where j.unit_id = of_unit and j.at <= moment order by j.seq desc limit 1),
    (select j.seq from journal j where j.other_unit_id = of_unit and j.at <= moment order by j.seq desc limit 1));
  last_set := (
    select j.seq from journal j where j.unit_id = of_unit and j.kind in ('unit_set', 'rates_set') and j.seq <= until_seq order by j.seq desc limit 1);
  last_gone := coalesce((select a.seq from archived_unit a where a.agency_id = agency and a.unit_id = of_unit), 0);
  -- Whatever was archived is older than the months that are kept, which are real ones: not so in a sandbox.
  if until_seq is null and last_gone > 0 and moment >= (select l.oldest_month from ledger l) at time zone 'UTC'
    and not exists (select from agency a where a.agency_id = agency and a.clock_now is not null)
  then
    until_seq := last_gone;
  end if;
  return query select until_seq, last_set, last_gone, null::integer, null::text, null::text;
  return query
  select s.seq, null::bigint, null::bigint, s.format, s.hash, s.state from snapshot s
  where s.unit_id = of_unit and s.seq <= until_seq order by s.seq desc;
end $$;

-- The next entries of a unit that it is recovered from, up to a number, in order; of those that set the unit only `set_seq`: each has the
-- whole unit, and those before it are void. Errors: serialization_failure when a month with some of them was archived.
create function entries_of_unit(agency uuid, of_unit uuid, after_seq bigint, until_seq bigint, set_seq bigint, entries_max integer)
returns table (seq bigint, unit_id uuid, other_unit_id uuid, booking_id uuid, kind text, payload text, checksum text)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
begin
  return query
  (select j.seq, j.unit_id, j.other_unit_id, j.booking_id, j.kind, j.payload, j.checksum::text from journal j
   where j.unit_id = of_unit and j.seq > after_seq and j.seq <= until_seq
     and (j.kind not in ('unit_set', 'rates_set') or j.seq = entries_of_unit.set_seq)
   order by j.seq limit entries_max)
  union all
  (select j.seq, j.unit_id, j.other_unit_id, j.booking_id, j.kind, j.payload, j.checksum::text from journal j
   where j.other_unit_id = of_unit and j.seq > after_seq and j.seq <= until_seq
   order by j.seq limit entries_max)
  order by seq limit entries_max;
  if exists (select from archived_unit a where a.agency_id = agency and a.unit_id = of_unit and a.seq > after_seq) then
    raise exception 'Cannot read entries of a unit: a month was archived meanwhile' using errcode = 'serialization_failure';
  end if;
end $$;

-- Deletes the snapshots of these shards that include entries which the log does not have (S3): a fail-over or a restore may have cut
-- its end off. The caller has locked the fences, so nothing is appended, and the numbers of such entries are not given again before
-- their snapshots are gone.
create function cut_back_snapshots(shards smallint[]) returns void language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  delete from snapshot s using (
    select h.shard, greatest(h.base, (select max(j.seq) from journal j where j.shard = h.shard)) as seq
    from shard h where h.shard = any (shards)) last
  where shard_of(s.agency_id) = last.shard and s.seq > last.seq;
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Months: journal, audit_line, webhook_delivery and webhook_attempt are partitioned by month.

-- The month that a row of this time is stored in. Always one that has a partition: a write must not fail because a month has ended.
create function storage_month(at timestamptz) returns date language sql stable strict as $$
  select greatest(oldest_month, least(newest_month, date_trunc('month', at at time zone 'UTC')::date)) from ledger
$$;

-- Creates the partitions of all months up to `until`, and returns the newest month. A partition is created first and then attached,
-- because `create table … partition of` would block every read and write of the parent.
create function ensure_months(until date) returns date language plpgsql
security definer set search_path = public, pg_temp as $$
declare
  month  date;
  parent text;
  part   text;
begin
  perform pg_advisory_xact_lock(7310577216190002);
  select newest_month into month from ledger;
  while month < date_trunc('month', until)::date loop
    month := (month + interval '1 month')::date;
    foreach parent in array array['journal', 'audit_line', 'webhook_delivery', 'webhook_attempt'] loop
      part := parent || '_' || to_char(month, 'YYYY_MM');
      execute format('create table %I (like %I including all)', part, parent);
      if parent = 'webhook_delivery' then
        execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500)', part);
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, part, month,
                     (month + interval '1 month')::date);
    end loop;
    update ledger set newest_month = month;
  end loop;
  return month;
end $$;

-- Whether deliveries of this month, or of its entries, are pending. Those of sandboxes do not count: they wait until someone moves a clock,
-- which may be never.
create function has_pending_deliveries(of_month date) returns boolean language plpgsql stable as $$
begin
  return exists (
    select from webhook_delivery d
    where d.status = 'pending' and (d.month = of_month or d.entry_month = of_month)
      and d.agency_id not in (select a.agency_id from agency a where a.clock_now is not null));
end $$;

-- Empties the deliveries and attempts of all months before this one, and returns the first month that has some. Whole months at once,
-- because deleting rows would leave their indexes as large as they were. Stops at a month with a delivery that is still due; what
-- waits for an endpoint that is switched off, or for a sandbox, is removed with the rest. Gives up rather than make the service wait.
create function forget_deliveries(before date) returns date language plpgsql
security definer set search_path = public, pg_temp set lock_timeout = '500ms'
as $$
declare
  month    date;
  first    date;
  is_empty boolean;
  is_due   boolean;
  part     text;
begin
  perform pg_advisory_xact_lock(7310577216190002);
  select l.oldest_month, l.deliveries_since into month, first from ledger l;
  while month < before loop
    part := to_char(month, 'YYYY_MM');
    execute format('select not exists (select from %I) and not exists (select from %I)', 'webhook_delivery_' || part, 'webhook_attempt_' || part)
    into is_empty;
    if not is_empty then
      -- Nothing that is requeued from here on is lost.
      execute format('lock table %I in access exclusive mode', 'webhook_delivery_' || part);
      execute format($q$
        select exists (
          select from %I d join webhook_endpoint e on e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id
          where d.status = 'pending' and e.status = 'active'
            and d.agency_id not in (select a.agency_id from agency a where a.clock_now is not null))$q$, 'webhook_delivery_' || part)
      into is_due;
      exit when is_due;
      execute format('truncate %I, %I', 'webhook_delivery_' || part, 'webhook_attempt_' || part);
    end if;
    month := (month + interval '1 month')::date;
    if month > first then
      first := month;
      update ledger set deliveries_since = month;
    end if;
  end loop;
  return first;
end $$;

-- Archives the oldest month, all or nothing: detaches its partitions and returns their names. What replaces them: for each shard the
-- link from which its chain continues, and for each unit a snapshot, without which the unit is not recovered. Reads before it locks, and
-- gives up rather than make the service wait. Errors: NL020.
create function retire_month(retired date) returns setof text language plpgsql
security definer set search_path = public, pg_temp set lock_timeout = '500ms'
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
  if has_pending_deliveries(retired) then
    raise exception 'Cannot archive %: webhook deliveries of this month are pending', retired
      using errcode = 'NL020', hint = 'Wait until they are sent, or switch their endpoint off and on again with "drop".';
  end if;
  select string_agg('whe_' || replace(e.endpoint_id::text, '-', ''), ', ') into examples from webhook_endpoint e
  where e.status <> 'deleted' and e.agency_id not in (select a.agency_id from agency a where a.clock_now is not null) and exists (
    select from journal j
    where j.month = retired and j.agency_id = e.agency_id and j.seq > e.made_seq and j.is_announced
      and event_of(j.kind) = any (e.events));
  if examples is not null then
    raise exception 'Cannot archive %: webhook events of this month wait for endpoints: %', retired, examples
      using errcode = 'NL020', hint = 'Switch the endpoints on, with "resend" or "drop", or delete them.';
  end if;
  -- What remains of the entries for partners who check the history (M1).
  select count(*) into lacking from (
    select j.agency_id, max(j.seq) as seq from journal j where j.month = retired group by j.agency_id) l
  where l.seq > coalesce((
    select c.last_seq from checkpoint c where c.agency_id = l.agency_id order by c.first_leaf desc limit 1), 0);
  if lacking > 0 then
    raise exception 'Cannot archive %: entries of % agencies have no checkpoint', retired, lacking
      using errcode = 'NL020', hint = 'The service makes checkpoints within a minute.';
  end if;
  select array_agg(j.seq order by s.shard) into ends
  from shard s left join lateral (
    select seq from journal where shard = s.shard and month = retired order by seq desc limit 1) j on true;

  -- Each unit keeps the snapshot of exactly its last entry of this month (L3), and none before it.
  with last_entry as materialized (
    select unit_id, max(seq) as seq
    from (select unit_id, seq from journal where month = retired and unit_id is not null
          union all
          select other_unit_id, seq from journal where month = retired and other_unit_id is not null) e
    group by unit_id
  ), base as materialized (
    select s.agency_id, s.unit_id, s.seq from last_entry l join snapshot s on s.unit_id = l.unit_id and s.seq = l.seq
    where s.is_base
      and s.hash = encode(sha256(convert_to('unt_' || replace(s.unit_id::text, '-', '') || E'\n' || s.state, 'UTF8')), 'hex')
  ), noted as (
    insert into archived_unit (agency_id, unit_id, seq) select b.agency_id, b.unit_id, b.seq from base b
    on conflict (agency_id, unit_id) do update set seq = excluded.seq
  ), deleted as (
    delete from snapshot s using last_entry l where s.unit_id = l.unit_id and s.seq < l.seq
  )
  select count(*), string_agg('unt_' || replace(l.unit_id::text, '-', ''), ', ') filter (where l.place <= 10) into lacking, examples
  from (select l.unit_id, row_number() over (order by l.unit_id) as place from last_entry l
        where not exists (select from base b where b.unit_id = l.unit_id)) l;
  if lacking > 0 then
    raise exception 'Cannot archive %: % units have no snapshot of what they were at its end: %', retired, lacking, examples
      using errcode = 'NL020', hint = 'nightledger journal archive writes them: run it again.';
  end if;

  -- From here on nothing is appended.
  perform from shard s order by s.shard for update;
  if ends is distinct from (
    select array_agg(j.seq order by s.shard)
    from shard s left join lateral (
      select seq from journal where shard = s.shard and month = retired order by seq desc limit 1) j on true) then
    raise exception 'Cannot archive %: entries were added to it', retired using errcode = 'NL020';
  end if;
  -- And none of its deliveries is sent again.
  execute format('lock table %I in share row exclusive mode', 'webhook_delivery_' || to_char(retired, 'YYYY_MM'));
  if has_pending_deliveries(retired) then
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

------------------------------------------------------------------------------------------------------------------------------------
-- Checkpoints: for each agency a Merkle tree (RFC 6962) with a leaf for each of its entries, in the order of their numbers (M1). It is
-- built behind the write path: by the process that wrote the entries from the hashes that it has in memory, by any other from the journal.

-- Entries as leaves. `entry`: their canonical bytes, as text: what their link covers (`coveredText` in src/core/journal/shard.ts). A test
-- compares the two. Kinds and routes are texts of the program, which need no escapes. Planned as a part of the statement that calls it.
create function leaves() returns table (agency_id uuid, seq bigint, month date, entry_id uuid, entry text)
language sql stable parallel safe as $$
select j.agency_id, j.seq, j.month, j.entry_id, concat(
  '[', j.shard, ',', j.seq, ',"', to_char(j.month, 'YYYY-MM-DD'), '",', (date_part('epoch', j.at) * 1000)::bigint,
  ',"agc_', encode(uuid_send(j.agency_id), 'hex'), '",',
  coalesce('"unt_' || encode(uuid_send(j.unit_id), 'hex') || '",', 'null,'),
  coalesce('"unt_' || encode(uuid_send(j.other_unit_id), 'hex') || '",', 'null,'),
  coalesce('"bkg_' || encode(uuid_send(j.booking_id), 'hex') || '",', 'null,'),
  '"evt_', encode(uuid_send(j.entry_id), 'hex'), '","', j.kind, case when j.is_announced then '",true,"' else '",false,"' end, j.actor_kind,
  coalesce(case j.actor_kind when 'access_token' then '","tok_' when 'person' then '","per_' else '","key_' end
             || encode(uuid_send(j.actor_id), 'hex') || '","',
           '",null,"'),
  j.route, '",', coalesce(to_json(j.request_id)::text, 'null'), ',', '"' || j.traceparent || '",', j.payload, ']') as entry
from journal j
$$;

-- How many hashes are kept of a tree of this size: one for each leaf, and for each inner node of its complete subtrees.
create function hashes_of(size bigint) returns bigint language sql immutable strict parallel safe as
  $$ select 2 * size - bit_count(size::bit(64)) $$;

-- A tree as it grows, never changed: the hashes of the leaves from `first_leaf` to `size`, exclusive, 32 bytes each, and after each leaf
-- those of the subtrees that it completes. `last_seq` and `last_month`: of the entry of the last leaf. Hashes stay when the entries are
-- archived. Two processes that build at once write the same rows, so the second has no effect.
create table checkpoint (
  first_leaf bigint not null,
  size       bigint not null,
  last_seq   bigint not null,
  agency_id  uuid not null,
  last_month date not null,
  hashes     bytea not null,
  primary key (agency_id, first_leaf),
  check (first_leaf >= 0 and size > first_leaf and length(hashes) = 32 * (hashes_of(size) - hashes_of(first_leaf)))
);
-- Hashes cannot be compressed, and parts of them are read.
alter table checkpoint alter column hashes set storage external;
-- The leaf of an entry.
create unique index checkpoint_last on checkpoint (agency_id, last_seq);

-- The public keys that have signed checkpoints, the newest last.
create table checkpoint_key (
  vkey text primary key,
  at   timestamptz not null default clock_timestamp()
);

-- Agencies of these shards whose newest entry has no leaf yet, among the next `agencies_max` by id after `after_id`. `last_id`: the last one
-- that was looked at.
create function agencies_behind(shards smallint[], after_id uuid, agencies_max integer, out agencies uuid[], out last_id uuid)
language sql stable as $$
  select array_agg(a.agency_id) filter (where j.seq > coalesce(c.last_seq, 0)), (array_agg(a.agency_id order by a.agency_id desc))[1]
  from (select agency_id from agency
        where (after_id is null or agency_id > after_id) and shard_of(agency_id) = any (shards)
        order by agency_id limit agencies_max) a
  left join lateral (select j.seq from journal j where j.agency_id = a.agency_id order by j.seq desc limit 1) j on true
  left join lateral (
    select c.last_seq from checkpoint c where c.agency_id = a.agency_id order by c.first_leaf desc limit 1) c on true
$$;

-- The next leaves of several agencies, at most `leaves_max` of each: their hashes one after the other, and the entry of the last one. An
-- agency without any has no row. A shard's entries become visible in the order of their numbers (F2), so none can come in between later.
create function next_leaves(agencies uuid[], after_seqs bigint[], after_months date[], leaves_max integer)
returns table (agency_id uuid, hashes bytea, last_seq bigint, last_month date, last_id uuid)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
  select a.agency_id, l.hashes, l.last_seq, l.last_month, l.last_id
  from unnest(agencies, after_seqs, after_months) as a (agency_id, after_seq, after_month)
  cross join lateral (
    select string_agg(sha256('\x00'::bytea || convert_to(n.entry, 'UTF8')), ''::bytea order by n.seq) as hashes,
           max(n.seq) as last_seq, max(n.month) as last_month, (array_agg(n.entry_id order by n.seq desc))[1] as last_id
    from (select f.seq, f.month, f.entry_id, f.entry from leaves() f
          where f.agency_id = a.agency_id and f.seq > a.after_seq and f.month >= a.after_month
          order by f.seq limit leaves_max) n) l
  where l.last_seq is not null;
end $$;

-- Adds to trees, and returns the agencies whose tree has grown. An agency whose tree has another size by now, or whose last entry is not in
-- the log, is left out: a fail-over may have cut the end of the log off between reading and writing. `ends`: where the hashes of each end,
-- in bytes.
create function keep_checkpoints(agencies uuid[], first_leaves bigint[], sizes bigint[], last_seqs bigint[], last_months date[],
                                 last_ids uuid[], ends integer[], all_hashes bytea) returns setof uuid
language sql as $$
  insert into checkpoint (first_leaf, size, last_seq, agency_id, last_month, hashes)
  select n.first_leaf, n.size, n.last_seq, n.agency_id, n.last_month, substring(all_hashes from n.start + 1 for n.until - n.start)
  from (select *, coalesce(lag(until) over (order by place), 0) as start
        from unnest(agencies, first_leaves, sizes, last_seqs, last_months, last_ids, ends) with ordinality
          as u (agency_id, first_leaf, size, last_seq, last_month, last_id, until, place)) n
  where exists (
    select from journal j
    where j.agency_id = n.agency_id and j.seq = n.last_seq and j.month = n.last_month and j.entry_id = n.last_id)
    and n.first_leaf = coalesce(
      (select c.size from checkpoint c where c.agency_id = n.agency_id order by c.first_leaf desc limit 1), 0)
  order by n.agency_id
  on conflict do nothing
  returning agency_id
$$;

-- Hashes of an agency's tree, one after the other: for each the leaf that completes its subtree, and its place among all that are kept.
create function tree_hashes(agency uuid, leaves bigint[], places bigint[]) returns bytea
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
begin
  return (
    select string_agg(substring(c.hashes from (32 * (n.place - hashes_of(c.first_leaf)))::integer + 1 for 32), ''::bytea order by n.number)
    from unnest(leaves, places) with ordinality as n (leaf, place, number)
    cross join lateral (
      select c.first_leaf, c.hashes from checkpoint c where c.agency_id = agency and c.first_leaf <= n.leaf
      order by c.first_leaf desc limit 1) c);
end $$;

-- The index of the leaf of an entry; null while it has none.
create function leaf_of(agency uuid, of_seq bigint) returns bigint
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  part checkpoint;
begin
  select * into part from checkpoint c where c.agency_id = agency and c.last_seq >= of_seq order by c.last_seq limit 1;
  return part.size - 1 - (
    select count(*) from journal j where j.agency_id = agency and j.seq > of_seq and j.seq <= part.last_seq);
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Bookings and guests

-- No foreign key to the agency: agencies are not deleted, and the check would be a query and a row lock for each guest of a batch.
create table guest (
  agency_id   uuid not null,
  guest_id    uuid not null,
  created_at  timestamptz not null,
  first_name  text not null,
  last_name   text not null,
  email       text,
  phone       text,
  nationality text,
  -- Kept however long ago the last stay was.
  keep        boolean not null default false,
  primary key (agency_id, guest_id)
);
-- A guest is reused by e-mail. Of the address the index has a hash: inner pages keep copies of keys that were deleted.
create function email_key(email text) returns bytea language sql immutable strict parallel safe as
  $$ select sha256(replace(lower(email), '\', '\\')::bytea) $$;
create unique index guest_email on guest (agency_id, email_key(email));
-- GET /guests. Ties are sorted when they are read: without the id, equal times share an index entry.
create index guest_newest on guest (agency_id, created_at desc);
-- What GET /guests?search= looks into: four columns, one per line, in lower case. A search without a line break cannot match across
-- two of them.
create function guest_text(first_name text, last_name text, email text, phone text) returns text
  language sql immutable parallel safe as
  $$ select lower(first_name || E'\n' || last_name || E'\n' || coalesce(email, '') || E'\n' || coalesce(phone, '')) $$;
-- The agency comes last, so that it is looked up only for guests that have the trigrams, and as an expression, so that the planner
-- does not use this index for a search without trigrams.
create index guest_search on guest using gin (guest_text(first_name, last_name, email, phone) gin_trgm_ops, (agency_id::text))
  with (gin_pending_list_limit = 512);
-- The planner's statistics are samples of the values, which an erasure would not reach.
alter table guest
  alter first_name set statistics 0, alter last_name set statistics 0, alter email set statistics 0, alter phone set statistics 0;
alter index guest_search alter column 1 set statistics 0;

-- Guests that were erased, so that none comes back from a backup. `seq`: the entry of the log; null: it is still to be written, after
-- retention or a restore. `erased_at`: when nothing was left of the guest but dead rows; until then texts of bookings
-- and kept answers may be. `vacuumed_at`: when the dead rows went too.
create table guest_erasure (
  at          timestamptz not null,
  erased_at   timestamptz,
  vacuumed_at timestamptz check (vacuumed_at >= erased_at),
  seq         bigint,
  agency_id   uuid not null,
  guest_id    uuid not null,
  primary key (agency_id, guest_id)
);
-- Those that are to be completed.
create index guest_erasure_open on guest_erasure (at) where vacuumed_at is null;

-- The current state of each booking. The journal has its history, but no free text: source_ref, notes and cancel_reason may contain
-- personal data, and must be erasable.
create table booking (
  total_amount    bigint not null,
  seq             bigint not null,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  hold_expires_at timestamptz,
  cancelled_at    timestamptz,
  agency_id       uuid not null,
  booking_id      uuid not null,
  unit_id         uuid not null,
  guest_id        uuid,
  group_id        uuid,
  arrival         date not null,
  departure       date not null,
  expected_until  date,
  adults          integer not null,
  children        integer not null,
  version         integer not null,
  extra_bed       boolean not null,
  type            text not null check (type in ('guest', 'owner_stay', 'maintenance', 'block')),
  status          text not null check (status in ('draft', 'option', 'confirmed', 'checked_in', 'checked_out', 'cancelled')),
  source          text not null,
  source_ref      text,
  notes           text,
  cancel_reason   text,
  primary key (agency_id, booking_id),
  check (departure > arrival),
  -- A hash instead of the two ids: half the size.
  constraint booking_night_sold_once exclude using gist (
    (uuid_hash_extended(agency_id, 0) # uuid_hash_extended(unit_id, 1)) with =, daterange(arrival, departure) with &&)
    where (status <> 'cancelled')
);
-- GET /bookings, and the same with ?unit=. Ties are sorted when they are read: without the id, equal arrivals share an index entry.
create index booking_newest_arrival on booking (agency_id, arrival desc);
create index booking_of_unit on booking (unit_id, arrival desc);
-- The stays in GET /guests/{id}.
create index booking_of_guest on booking (guest_id, arrival desc) where guest_id is not null;
-- GET /bookings?group=, and what is done with a whole group. Few bookings have one.
create index booking_of_group on booking (agency_id, group_id) where group_id is not null;
-- The hold timer.
create index booking_next_expiry on booking (hold_expires_at, booking_id)
  where status in ('draft', 'option') and hold_expires_at is not null;
-- GET {agency}/tape: an expected extension reaches into the window from any earlier stay, not only from the latest one of its unit.
-- Few bookings have one, so the index stays small.
create index booking_expected_until on booking (agency_id, expected_until) where expected_until is not null;
-- As those of guests.
alter table booking
  alter source_ref set statistics 0, alter notes set statistics 0, alter cancel_reason set statistics 0;

------------------------------------------------------------------------------------------------------------------------------------
-- Audit trail and idempotency

-- The lines of the audit trail that have no journal entry: refusals, repeated writes, and changes of the agency's own data.
create table audit_line (
  at         timestamptz not null,
  count      bigint not null,
  agency_id  uuid not null,
  line_id    uuid not null,
  actor_id   uuid,
  month      date not null check (extract(day from month) = 1),
  actor_kind text not null check (actor_kind in ('key', 'access_token', 'person', 'portal', 'system')),
  route      text not null,
  outcome    text not null,
  -- As the caller gave it: a refusal may name a booking that does not exist.
  booking_id text,
  request_id text,
  traceparent text,
  primary key (agency_id, line_id, month)
) partition by range (month);
-- GET {agency}/audit.
create index audit_line_newest on audit_line (agency_id, at desc, line_id desc);

-- The answers to writes with an Idempotency-Key.
create table idempotency (
  created_at      timestamptz not null,
  agency_id       uuid not null,
  key_id          uuid not null,
  status          integer not null,
  route           text not null,
  idempotency_key text not null,
  request_hash    text not null,
  body            text not null,
  primary key (agency_id, key_id, route, idempotency_key)
);
-- The deletion of answers that are a day old.
create index idempotency_oldest on idempotency (created_at);
-- As those of guests.
alter table idempotency alter body set statistics 0;

create type idempotency_row as (
  agency_id       uuid,
  key_id          uuid,
  route           text,
  idempotency_key text,
  request_hash    text,
  status          integer,
  created_at      timestamptz
);

-- Stores the answer to a write outside the journal, in the write's own statement (I1). If there is an answer already, from an attempt
-- whose outcome its caller does not know, the statement fails: the write was made. The same answer sent again is no second write.
-- Errors: NL030.
create function keep_answer(answer idempotency_row, answer_body text) returns boolean language plpgsql as $$
begin
  -- A sandbox keeps its answers by its own clock.
  answer.created_at := greatest(answer.created_at, agency_now(answer.agency_id, answer.created_at));
  insert into idempotency (agency_id, key_id, route, idempotency_key, request_hash, status, body, created_at)
  values (answer.agency_id, answer.key_id, answer.route, answer.idempotency_key, answer.request_hash, answer.status, answer_body,
          answer.created_at)
  on conflict (agency_id, key_id, route, idempotency_key) do update set
    request_hash = excluded.request_hash, status = excluded.status, body = excluded.body, created_at = excluded.created_at
  where idempotency.created_at <= excluded.created_at - interval '24 hours';
  if not found and not exists (
    select from idempotency i
    where i.agency_id = answer.agency_id and i.key_id = answer.key_id and i.route = answer.route
      and i.idempotency_key = answer.idempotency_key and i.request_hash = answer.request_hash
      and i.created_at = answer.created_at) then
    raise exception 'Cannot keep an answer: the request has been answered' using errcode = 'NL030';
  end if;
  return true;
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- A batch. Rows come as arrays of these types, ids as UUIDs without prefix (src/postgres/stores/tables.ts).

create type journal_row as (
  shard         smallint,
  seq           bigint,
  month         date,
  at            timestamptz,
  agency_id     uuid,
  unit_id       uuid,
  other_unit_id uuid,
  booking_id    uuid,
  entry_id      uuid,
  kind          text,
  is_announced  boolean,
  actor_kind    text,
  actor_id      uuid,
  route         text,
  request_id    text,
  traceparent   text,
  checksum      bigint
);

create type booking_row as (
  agency_id       uuid,
  booking_id      uuid,
  unit_id         uuid,
  type            text,
  status          text,
  source          text,
  arrival         date,
  departure       date,
  adults          integer,
  children        integer,
  extra_bed       boolean,
  total_amount    bigint,
  hold_expires_at timestamptz,
  expected_until  date,
  cancelled_at    timestamptz,
  created_at      timestamptz,
  updated_at      timestamptz,
  version         integer,
  group_id        uuid,
  source_ref      text,
  cancel_reason   text,
  notes           text,
  seq             bigint
);

create type guest_row as (
  agency_id   uuid,
  guest_id    uuid,
  booking_id  uuid,
  first_name  text,
  last_name   text,
  email       text,
  phone       text,
  nationality text,
  created_at  timestamptz
);

create type audit_row as (
  agency_id  uuid,
  line_id    uuid,
  at         timestamptz,
  actor_kind text,
  actor_id   uuid,
  route      text,
  outcome    text,
  booking_id text,
  request_id text,
  traceparent text,
  count      bigint
);

-- Stores lines that count many attempts; of lines with the same id the highest count is kept. The only way in which a line may change.
create function keep_refusals(lines audit_row[]) returns void language sql
security definer set search_path = public, pg_temp as $$
  insert into audit_line (agency_id, line_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, traceparent, count, month)
  select l.agency_id, l.line_id, l.at, l.actor_kind, l.actor_id, l.route, l.outcome, l.booking_id, l.request_id, l.traceparent, l.count,
         storage_month(l.at)
  from unnest(lines) l
  on conflict (agency_id, line_id, month) do update set count = greatest(audit_line.count, excluded.count)
$$;

-- Whether exactly these entries are stored, not only others with their numbers.
create function are_written(entries journal_row[]) returns boolean language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return not exists (
    select from unnest(entries) e
    left join journal j on j.shard = e.shard and j.seq = e.seq and j.month = e.month
    where j.entry_id is distinct from e.entry_id);
end $$;

-- Whether entries and audit lines are there: all of a batch, or none (J2). Null unless all its fences are above `epochs`: only then
-- nothing of those epochs can commit any more. The locks wait for what still commits.
create function was_written(shards smallint[], epochs bigint[], entries journal_row[], audit_lines audit_row[]) returns boolean
language plpgsql as $$
declare
  is_final boolean;
begin
  perform from shard s where s.shard = any (shards) order by s.shard for update;
  select bool_and(s.epoch > w.epoch) into is_final
  from unnest(shards, epochs) w (shard, epoch) join shard s on s.shard = w.shard;
  if not is_final then
    return null;
  end if;
  return are_written(entries) and not exists (
    select from unnest(audit_lines) a
    where not exists (
      select from audit_line l
      where l.agency_id = a.agency_id and l.line_id = a.line_id and l.month = storage_month(a.at) and l.count >= a.count));
end $$;

-- Refuses entries that do not continue the logs of their shards (J3): the number before the first of each shard is there, in the same
-- month or an earlier one, or is the shard's mark; the number itself is in no other month; and the others follow without a gap.
-- Called once the entries are written. Errors: NL002.
create function check_numbers(entries journal_row[]) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  newest   date;
  later    date;
  firsts   journal_row[];
  doubtful journal_row[];
  wrong    text;
begin
  select max(e.month), string_agg(e.shard::text, ',') filter (where e.seq_before <> e.seq - 1 or e.month_before > e.month),
         array_agg(e.entry) filter (where e.seq_before is null)
  into newest, wrong, firsts
  from (select e as entry, e.shard, e.seq, e.month, lag(e.seq) over log as seq_before, lag(e.month) over log as month_before
        from unnest(entries) e window log as (partition by e.shard order by e.seq)) e;

  -- Nearly always they continue a log that has an entry in the same month, and nothing is in a later one.
  if wrong is null then
    later := newest + interval '1 month';
    if exists (select from journal j where j.month >= later) then
      doubtful := firsts;
    else
      select array_agg(f::journal_row) into doubtful from unnest(firsts) f
      left join journal j on j.shard = f.shard and j.seq = f.seq - 1 and j.month = newest
      where f.month <> newest or j.seq is null;
    end if;
  end if;
  if doubtful is not null then
    select string_agg(f.shard::text, ',') into wrong from unnest(doubtful) f join shard s on s.shard = f.shard
    where s.mark <> f.seq - 1
        and not exists (select from journal j where j.shard = f.shard and j.seq = f.seq - 1 and j.month <= f.month)
      or exists (select from journal j where j.shard = f.shard and j.seq = f.seq and j.month <> f.month);
  end if;
  if wrong is not null then
    raise exception 'Cannot append: the entries do not continue the logs of their shards' using errcode = 'NL002', detail = wrong;
  end if;
end $$;

-- Deletes guests: their bookings have none from here on, whatever else is still to be erased. `erased`: [{"agency_id", "guest_id", "at",
-- "seq"}], as in `guest_erasure`. A guest that was erased before stays so, and gets the number of the entry if it has none.
create function begin_erasure(erased jsonb) returns void language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  insert into guest_erasure (agency_id, guest_id, at, seq)
  select e.agency_id, e.guest_id, e.at, e.seq
  from jsonb_to_recordset(erased) as e (agency_id uuid, guest_id uuid, at timestamptz, seq bigint)
  on conflict (agency_id, guest_id) do update set seq = coalesce(guest_erasure.seq, excluded.seq);
  delete from guest g using jsonb_to_recordset(erased) as e (agency_id uuid, guest_id uuid)
  where g.agency_id = e.agency_id and g.guest_id = e.guest_id;
end $$;

-- Begins the erasure of a guest whom retention no longer keeps: not to be kept, and without a stay that ended on `before` or later. Its entry
-- is still to be written. Returns whether they were due.
create function begin_erasure_if_due(agency uuid, guest uuid, before date) returns boolean language plpgsql as $$
begin
  -- Locked before the stays are read: a booking of the same moment has locked the guest too, and is seen, or makes a new guest.
  perform from guest g where g.agency_id = agency and g.guest_id = guest and not g.keep for update;
  if not found or exists (
    select from booking b
    where b.guest_id = guest and b.agency_id = agency and b.status <> 'cancelled' and b.departure >= before
  ) then
    return false;
  end if;
  perform begin_erasure(jsonb_build_array(jsonb_build_object('agency_id', agency, 'guest_id', guest, 'at', clock_timestamp())));
  return true;
end $$;

-- The age of the oldest transaction that dead rows of this database are kept for, in transaction ids; -1: there is none. A vacuum removes
-- what older transactions have deleted. Every role may read what it is computed from.
create function oldest_snapshot_age() returns integer language sql stable as $$
  select coalesce(max(age(s.xid)), -1)
  from (select unnest(array[a.backend_xid, a.backend_xmin]) as xid from pg_stat_activity a
        where a.pid <> pg_backend_pid() and (a.datname = current_database() or a.datid is null)
        union all
        select r.xmin from pg_replication_slots r
        union all
        select p.transaction from pg_prepared_xacts p where p.database = current_database()) s
$$;

-- Takes guest and texts from bookings of an erased guest, at most `bookings_max`: those of a unit, or of all when `of_unit` is null.
-- Returns how many. What the texts were is in no other row but kept answers (scrub_answers).
create function erase_bookings(agency uuid, guest uuid, of_unit uuid, bookings_max integer) returns integer language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  erased integer;
begin
  update booking b set guest_id = null, notes = null, source_ref = null,
         cancel_reason = case when b.cancel_reason = 'hold_expired' then b.cancel_reason end
  from (select o.booking_id from booking o
        where o.guest_id = guest and o.agency_id = agency and (of_unit is null or o.unit_id = of_unit) limit bookings_max) o
  where b.agency_id = agency and b.booking_id = o.booking_id;
  get diagnostics erased = row_count;
  return erased;
end $$;

-- Takes from kept answers what their bookings do not say any more, and deletes those that show a guest who is gone: of one page of an
-- agency's answers, those after the given one. Returns the last one of the page; null: there are no more.
create function scrub_answers(
  agency uuid, after_key uuid, after_route text, after_idempotency_key text, rows_max integer,
  out key_id uuid, out route text, out idempotency_key text) language plpgsql as $$
#variable_conflict use_column
begin
  with page as materialized (
    select i.key_id, i.route, i.idempotency_key, i.body from idempotency i
    where i.agency_id = agency and (i.key_id, i.route, i.idempotency_key) > (after_key, after_route, after_idempotency_key)
    order by i.key_id, i.route, i.idempotency_key limit rows_max
  ), scrubbed as (
    update idempotency i set body = regexp_replace(
      p.body, '"(sourceRef|cancelReason)":"(?!hold_expired")([^"\\]|\\.)*"', '"\1":null', 'g')
    from page p
    where i.agency_id = agency and i.key_id = p.key_id and i.route = p.route and i.idempotency_key = p.idempotency_key
      and p.body ~ '"(sourceRef|cancelReason)":"' and exists (
        select from regexp_matches(p.body, '"bkg_([0-9a-f]{32})"', 'g') m (id)
        join booking b on b.agency_id = agency and b.booking_id = m.id[1]::uuid
        where (b.source_ref is null and p.body ~ '"sourceRef":"')
          or (b.cancel_reason is null and p.body ~ '"cancelReason":"'))
  ), deleted as (
    delete from idempotency i using page p
    where i.agency_id = agency and i.key_id = p.key_id and i.route = p.route and i.idempotency_key = p.idempotency_key
      and p.body ~ '^\{"guest":\{"id":"gst_[0-9a-f]{32}"' and not exists (
        select from guest g where g.agency_id = agency and g.guest_id = substr(p.body, 21, 32)::uuid)
  )
  select p.key_id, p.route, p.idempotency_key into key_id, route, idempotency_key
  from page p order by p.key_id desc, p.route desc, p.idempotency_key desc limit 1;
end $$;

-- One batch, all or nothing (J2). `shards`: of all its records, in order. `payloads`: of the entries, with E'\x1e' between them;
-- `links`: one after the other, 32 bytes each.
-- Returns 'duplicate' when its entries are there already; what belongs to them is then not written again.
-- One plan for all calls: planning takes longer than a batch. Errors: NL001, NL002, NL003.
create function append_batch(
  shards smallint[], epochs bigint[], entries journal_row[], payloads text, links bytea,
  created booking_row[], changed booking_row[], guests guest_row[],
  audit_lines audit_row[], idempotencies idempotency_row[], answers text, others jsonb
) returns text language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  -- Before everything that is read. An expression costs less than PERFORM, which is a statement.
  fences_hold      constant boolean := check_fences(shards, epochs);
  guest_of_booking jsonb := '{}';
  is_duplicate     boolean := false;
  newest_month     date;
  next_month       date;
  changed_rows     integer;
begin
  if entries is not null then
    -- Rather than `on conflict do nothing`, which looks every number up before it is written. An entry that is not of a shard of the
    -- batch gets no epoch.
    begin
      insert into journal (seq, at, checksum, epoch, agency_id, unit_id, other_unit_id, booking_id, entry_id, actor_id, month, shard,
                           is_announced, kind, actor_kind, link, route, request_id, traceparent, payload)
      select e.seq, e.at, e.checksum, case when e.shard = shard_of(e.agency_id) then epochs[array_position(shards, e.shard)] end,
             e.agency_id, e.unit_id, e.other_unit_id, e.booking_id, e.entry_id, e.actor_id, e.month, e.shard,
             e.is_announced, e.kind, e.actor_kind, substring(links from (32 * e.place - 31)::integer for 32), e.route,
             e.request_id, e.traceparent, e.payload
      from rows from (unnest(entries), string_to_table(payloads, E'\x1e')) with ordinality as e (
        shard, seq, month, at, agency_id, unit_id, other_unit_id, booking_id, entry_id, kind, is_announced, actor_kind, actor_id,
        route, request_id, traceparent, checksum, payload, place);
    exception
      when unique_violation then
        is_duplicate := are_written(entries);
        if not is_duplicate then
          raise exception 'Cannot append: some of % numbers are taken', cardinality(entries) using errcode = 'NL002', detail = (
            select string_agg(distinct e.shard::text, ',') from unnest(entries) e
            join journal j on j.shard = e.shard and j.seq = e.seq and j.month = e.month);
        end if;
      -- An entry without an epoch.
      when not_null_violation then
        if exists (select from unnest(entries) e where e.shard <> all (shards) or e.shard <> shard_of(e.agency_id)) then
          raise exception 'Cannot append: an entry is not of a shard of the batch' using errcode = 'NL003';
        end if;
        raise;
    end;

    -- Nearly always the number before each is there now, in the same month, and nothing is in a later one: then the logs are
    -- continued without a gap (J3). Because of its limit, the planner can only look the number up in the index.
    newest_month := entries[1].month;
    next_month := newest_month + interval '1 month';
    if not is_duplicate and (
      exists (
        select from unnest(entries) e
        left join lateral (
          select j.seq from journal j where j.shard = e.shard and j.seq = e.seq - 1 and j.month = newest_month limit 1) j on true
        where j.seq is null or e.month <> newest_month)
      or exists (select from journal j where j.month >= next_month)
    ) then
      perform check_numbers(entries);
    end if;
  end if;

  if others ? 'units' and not is_duplicate then
    insert into unit (agency_id, unit_id, slug, name, status, city, area, building, bedrooms, beds, bathrooms,
                      max_guests, size_sqm, checkin_time, checkout_time, instant_book, registration_number, base_price,
                      cleaning_fee, extra_bed_fee, min_stay, turnover_nights, rates, restrictions)
    select u.agency_id, u.unit_id, u.slug, u.name, u.status, u.city, u.area, u.building, u.bedrooms, u.beds,
           u.bathrooms, u.max_guests, u.size_sqm, u.checkin_time, u.checkout_time, u.instant_book,
           u.registration_number, u.base_price, u.cleaning_fee, u.extra_bed_fee, u.min_stay, u.turnover_nights, u.rates,
           u.restrictions
    from jsonb_to_recordset(others -> 'units') as u (
      agency_id uuid, unit_id uuid, slug text, name text, status text, city text, area text, building text,
      bedrooms double precision, beds double precision, bathrooms double precision, max_guests integer,
      size_sqm double precision, checkin_time text, checkout_time text, instant_book boolean, registration_number text,
      base_price bigint, cleaning_fee bigint, extra_bed_fee bigint, min_stay integer, turnover_nights integer, rates jsonb,
      restrictions jsonb)
    on conflict (agency_id, unit_id) do update set
      slug = excluded.slug, name = excluded.name, status = excluded.status, city = excluded.city,
      area = excluded.area, building = excluded.building, bedrooms = excluded.bedrooms, beds = excluded.beds,
      bathrooms = excluded.bathrooms, max_guests = excluded.max_guests, size_sqm = excluded.size_sqm,
      checkin_time = excluded.checkin_time, checkout_time = excluded.checkout_time,
      instant_book = excluded.instant_book, registration_number = excluded.registration_number,
      base_price = excluded.base_price, cleaning_fee = excluded.cleaning_fee,
      extra_bed_fee = excluded.extra_bed_fee, min_stay = excluded.min_stay,
      turnover_nights = excluded.turnover_nights, rates = excluded.rates, restrictions = excluded.restrictions;
  end if;

  -- Guests with an e-mail are resolved and locked in one step, so that a concurrent change of the guest cannot
  -- come between the look-up and the booking. Guests without one are always new.
  if guests is not null and not is_duplicate then
    with wanted_guest as (
      select g.*, coalesce(lower(g.email), g.guest_id::text) as same_guest from unnest(guests) g
    ), new_guest as (
      select distinct on (agency_id, same_guest) * from wanted_guest order by agency_id, same_guest, guest_id
    ), resolved as (
      insert into guest (agency_id, guest_id, first_name, last_name, email, phone, nationality, created_at)
      select agency_id, guest_id, first_name, last_name, email, phone, nationality, created_at from new_guest
      on conflict (agency_id, email_key(email)) do update set email = guest.email
      returning agency_id, guest_id, coalesce(lower(email), guest_id::text) as same_guest
    )
    select jsonb_object_agg(w.booking_id, r.guest_id) into guest_of_booking
    from wanted_guest w join resolved r on r.agency_id = w.agency_id and r.same_guest = w.same_guest;
  end if;

  if created is not null and not is_duplicate then
    insert into booking (agency_id, booking_id, unit_id, type, status, source, source_ref, arrival, departure,
                         adults, children, extra_bed, total_amount, guest_id, group_id, notes, hold_expires_at,
                         expected_until, cancelled_at, cancel_reason, created_at, updated_at, version, seq)
    select b.agency_id, b.booking_id, b.unit_id, b.type, b.status, b.source, b.source_ref, b.arrival, b.departure,
           b.adults, b.children, b.extra_bed, b.total_amount, (guest_of_booking ->> b.booking_id::text)::uuid, b.group_id, b.notes,
           b.hold_expires_at, b.expected_until, b.cancelled_at, b.cancel_reason, b.created_at, b.updated_at,
           b.version, b.seq
    from unnest(created) b;
  end if;

  -- A change says which version it was decided on; a row that does not match is a bug of the writer, and the
  -- whole change is refused rather than half applied.
  if changed is not null and not is_duplicate then
    update booking b set
      unit_id = c.unit_id, status = c.status, arrival = c.arrival, departure = c.departure,
      hold_expires_at = c.hold_expires_at, expected_until = c.expected_until, cancelled_at = c.cancelled_at,
      cancel_reason = c.cancel_reason, total_amount = c.total_amount, updated_at = c.updated_at,
      version = c.version, seq = c.seq
    from unnest(changed) c
    where b.agency_id = c.agency_id and b.booking_id = c.booking_id and b.version = c.version - 1;
    get diagnostics changed_rows = row_count;
    if changed_rows <> cardinality(changed) then
      raise exception 'Cannot change bookings: % of % rows have the version decided on',
        changed_rows, cardinality(changed) using errcode = 'NL003';
    end if;
  end if;

  -- Last: a guest that a booking of the same batch has found is erased with it.
  if others ? 'erased' and not is_duplicate then
    perform begin_erasure(others -> 'erased');
  end if;

  -- The rows below may come without an entry, so each is safe to send twice by itself.
  if audit_lines is not null then
    insert into audit_line (agency_id, line_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, traceparent, count, month)
    select a.agency_id, a.line_id, a.at, a.actor_kind, a.actor_id, a.route, a.outcome, a.booking_id, a.request_id, a.traceparent, a.count,
           storage_month(a.at)
    from unnest(audit_lines) a
    on conflict (agency_id, line_id, month) do nothing;
  end if;

  if idempotencies is not null then
    insert into idempotency (agency_id, key_id, route, idempotency_key, request_hash, status, body, created_at)
    select i.agency_id, i.key_id, i.route, i.idempotency_key, i.request_hash, i.status, i.body, i.created_at
    from rows from (unnest(idempotencies), string_to_table(answers, E'\x1e')) as i (
      agency_id, key_id, route, idempotency_key, request_hash, status, created_at, body)
    on conflict (agency_id, key_id, route, idempotency_key) do update set
      request_hash = excluded.request_hash, status = excluded.status, body = excluded.body,
      created_at = excluded.created_at
    where idempotency.created_at <= excluded.created_at - interval '24 hours';
  end if;

  return case when is_duplicate then 'duplicate' else 'written' end;
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Counters of the limits, written beside the journal, so that a journal which is full, or waits for an outcome, holds up neither the
-- counters nor a stop.

create table usage_month (
  agency_id uuid not null,
  month     text not null,
  used      bigint not null,
  primary key (agency_id, month)
);

-- A day in UTC on which requests were counted: the month's total before the first of them and after the last. Totals are stored, not
-- their difference, because a total may be sent twice, or late, without harm. The requests of a day are those beyond the highest
-- `total_after` of the month's earlier days, and beyond its lowest `total_before`: what the month had before days were counted. The
-- other `total_before` are not needed: a clock that is set back lets an earlier day end above the start of a later one.
create table usage_day (
  agency_id    uuid   not null,
  day          date   not null,
  total_before bigint not null,
  total_after  bigint not null,
  primary key (agency_id, day)
);

-- `totals`: [{"agencyId", "month", "used", "day"}]; `shards`: those of the agencies. An agency may have several, of different days: the
-- earlier days come first, in this call or in an earlier one. The highest total is kept, so sending one twice, or late, does no harm.
-- A total without a day, as the demo has them of past months, is of today if it is of this month, and otherwise of no day.
-- An agency's days of 13 months ago are deleted when a day begins for it: `xmax` of a row is 0 when it was inserted. Errors: NL001.
create function keep_usage(shards smallint[], epochs bigint[], totals jsonb) returns void
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

-- When API keys were last used. `uses`: [{"agencyId", "keyId", "usedAt"}]. The latest is kept, so sending one twice, or late, does no
-- harm. Called in the statement of keep_usage, which checks the fences.
create function keep_key_uses(uses jsonb) returns void
language plpgsql as $$
begin
  update api_key k set last_used_at = u."usedAt"
  from jsonb_to_recordset(uses) as u ("agencyId" uuid, "keyId" uuid, "usedAt" timestamptz)
  where k.agency_id = u."agencyId" and k.key_id = u."keyId"
    and (k.last_used_at is null or k.last_used_at < u."usedAt");
end $$;

-- The requests of the last minute, by half seconds (R3). `shard`: so that a node that takes shards reads those of no others; -1: of a
-- writer that does not divide them, because it has all shards.
create table rate_slot (
  term     bigint not null,
  slot     bigint not null,
  ended_at timestamptz not null,
  wall_ms  double precision not null,
  boot_id  text,
  boot_ms  double precision,
  total    bigint not null,
  counts   text not null,
  shard    smallint not null default -1,
  primary key (term, slot, shard)
);
create index rate_slot_of_shard on rate_slot (shard, ended_at);

-- The terms of nodes count downwards: a process that takes over all shards drops the terms below its own.
create sequence node_term;

-- `slots`: [{"slot", "ageMs", "wallMs", "bootId", "bootMs", "total", "counts"}]. Counts of a slot only grow, so of two sends of a slot
-- the larger one is kept. Rows of this writer before `keep_from` are a minute old; `drop_earlier` says when those of earlier writers
-- are. A slot has keys of many agencies and belongs to none of them, so its fence is that of shard 0. Errors: NL001.
create function keep_rate(writer_epoch bigint, writer_term bigint, slots jsonb, keep_from bigint, drop_earlier boolean) returns void
language plpgsql as $$
begin
  perform check_fence(0::smallint, writer_epoch);
  insert into rate_slot (term, slot, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select writer_term, s.slot, clock_timestamp() - s."ageMs" * interval '1 millisecond', s."wallMs", s."bootId",
         s."bootMs", s.total, s.counts
  from jsonb_to_recordset(slots) as s (
    slot bigint, "ageMs" double precision, "wallMs" double precision, "bootId" text, "bootMs" double precision,
    total bigint, counts text)
  on conflict (term, slot, shard) do update set
    ended_at = excluded.ended_at, wall_ms = excluded.wall_ms, boot_id = excluded.boot_id, boot_ms = excluded.boot_ms,
    total = excluded.total, counts = excluded.counts
  where rate_slot.total < excluded.total;
  delete from rate_slot where term = writer_term and slot < keep_from;
  if drop_earlier then
    delete from rate_slot where term < writer_term;
  end if;
end $$;

-- The same for one node of several; a slot also has its "shard". The terms of other nodes are not older, so only time says what is a
-- minute old.
create function keep_node_rate(writer_term bigint, slots jsonb, keep_from bigint) returns void language plpgsql as $$
begin
  insert into rate_slot (term, slot, shard, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select writer_term, s.slot, s.shard, clock_timestamp() - s."ageMs" * interval '1 millisecond', s."wallMs",
         s."bootId", s."bootMs", s.total, s.counts
  from jsonb_to_recordset(slots) as s (
    slot bigint, shard smallint, "ageMs" double precision, "wallMs" double precision, "bootId" text,
    "bootMs" double precision, total bigint, counts text)
  on conflict (term, slot, shard) do update set
    ended_at = excluded.ended_at, wall_ms = excluded.wall_ms, boot_id = excluded.boot_id, boot_ms = excluded.boot_ms,
    total = excluded.total, counts = excluded.counts
  where rate_slot.total < excluded.total;
  delete from rate_slot where term = writer_term and slot < keep_from;
  -- Of the shards that it has now, and of processes that had all.
  delete from rate_slot
  where shard in (select -1 union all select s.shard from jsonb_to_recordset(slots) as s (shard smallint))
    and term <> writer_term and ended_at < clock_timestamp() - interval '10 minutes';
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- The feed of changes: GET /changes, and the page of the agency

create function fingerprint_of(link bytea) returns text language sql immutable parallel safe as
  $$ select rpad(encode(substring(link for 8), 'hex'), 16, '0') $$;

-- The entries of an agency after a place in the log of its shard: the announced ones of bookings, and those of units whose kinds are in
-- `unit_kinds`; null: all entries.
--
-- The place is `after_seq` with the fingerprint of the log up to there: the first 8 bytes of the link of the last entry up to that
-- number. An entry's link covers everything before it, so the fingerprint differs if the log was replaced by that of a backup. Null:
-- from the oldest entry that is kept. Returns no row if the place is not in this log, or entries after it were archived. Otherwise
-- returns a row without kind for the end of the log, and then the entries, at most `entries_max`. The page needs the route of an entry:
-- it tells new rates from other changes of a unit.
--
-- A shard's entries become visible in the order of their numbers, because its appends are one after the other (F2): the entries up to
-- the end are all there. Not `stable`: each statement must see what the one before it saw, or later. A month that is archived meanwhile
-- is noticed by the shard's base, which is read first and last.
create function changes_after(agency uuid, after_seq bigint, after_fingerprint text, entries_max integer, unit_kinds text[])
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
        and (unit_kinds is null or j.is_announced and (j.booking_id is not null or j.kind = any (unit_kinds)))
      order by j.seq limit entries_max) j
    left join booking b on b.agency_id = agency and b.booking_id = j.booking_id
    order by j.seq;
  end if;
  select * into base_after from shard s where s.shard = its_shard;
  if base_after.base <> base_before.base then
    raise exception 'Cannot read changes: a month was archived meanwhile' using errcode = 'serialization_failure';
  end if;
end $$;

-- The announced entries of a booking, from the newest on: of all, or of those before `before_seq`, when it was on the unit `on_unit`;
-- `with_silent`: also those that are not announced. They
-- are filed under the unit that the booking was on: its row says where it is, and each move where it was before. So the entries of these
-- units are read backwards until the booking was created. An index by booking would make every entry larger, for a list that few ask for.
create function changes_of_booking(agency uuid, booking uuid, on_unit uuid, before_seq bigint, entries_max integer,
                                   with_silent boolean default false)
returns table (seq bigint, at timestamptz, actor_kind text, actor_id uuid, unit_id uuid, other_unit_id uuid, booking_id uuid, kind text,
               payload text, checksum text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  read_unit  uuid := coalesce(on_unit, (select b.unit_id from booking b where b.agency_id = agency and b.booking_id = booking));
  read_seq   bigint := coalesce(before_seq, 9223372036854775807);
  moved_from uuid;
  found_rows integer := 0;
  entry      record;
begin
  while read_unit is not null and found_rows < entries_max loop
    moved_from := null;
    for entry in
      select j.seq, j.at, j.actor_kind, j.actor_id, j.unit_id, j.other_unit_id, j.booking_id, j.kind, j.payload, j.checksum, j.is_announced
      from journal j where j.unit_id = read_unit and j.booking_id = booking and j.seq < read_seq order by j.seq desc
    loop
      read_seq := entry.seq;
      if entry.is_announced or with_silent then
        seq := entry.seq;
        at := entry.at;
        actor_kind := entry.actor_kind;
        actor_id := entry.actor_id;
        unit_id := entry.unit_id;
        other_unit_id := entry.other_unit_id;
        booking_id := entry.booking_id;
        kind := entry.kind;
        payload := entry.payload;
        checksum := entry.checksum::text;
        return next;
        found_rows := found_rows + 1;
      end if;
      if entry.kind = 'booking_created' then
        return;
      end if;
      moved_from := entry.other_unit_id;
      exit when moved_from is not null or found_rows = entries_max;
    end loop;
    read_unit := moved_from;
  end loop;
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Webhooks: deliveries are made from the journal entries after an endpoint's cursor; the sender claims them and records its attempts.
-- Locks are taken in one order, so that no two senders wait for each other: the fence, webhook_sender, sending_node, sending by shard,
-- webhook_endpoint by agency and endpoint, webhook_delivery.

-- `made_seq`, `made_month`: the endpoint's cursor, the last entry of the agency that was considered for it (W7). Later entries have no
-- delivery yet; while the endpoint is switched off, they wait. `from_seq`: where the cursor began, or was moved to when the agency
-- dropped what waited, or chose other events. `events`: those that it gets. Every announced entry between from_seq and made_seq that
-- fires one of them has a delivery.
create table webhook_endpoint (
  agency_id              uuid not null references agency,
  endpoint_id            uuid not null,
  url                    text not null,
  description            text,
  status                 text not null check (status in ('active', 'disabled', 'deleted')),
  disabled_reason        text,
  secret_sealed          text not null,
  previous_secret_sealed text,
  previous_secret_until  timestamptz,
  consecutive_failures   integer not null default 0 constraint webhook_endpoint_failures check (consecutive_failures >= 0),
  created_at             timestamptz not null,
  updated_at             timestamptz not null,
  revision               integer not null default 0,
  made_seq               bigint not null default 0,
  made_month             date not null default '2000-01-01',
  from_seq               bigint not null default 0,
  events                 text[] not null default '{booking.created,booking.updated,booking.cancelled}'
    constraint webhook_endpoint_events check (
      cardinality(events) > 0
      and events <@ '{booking.created,booking.updated,booking.cancelled,rates.updated,unit.updated}'),
  primary key (agency_id, endpoint_id)
)
-- The cursor moves with nearly every event: room for the new version of a row on the same page, so that no index changes.
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- A delivery of an entry, or of a ping, which belongs to no entry: then `seq` and `entry_month` are null.
create table webhook_delivery (
  seq             bigint,
  created_at      timestamptz not null,
  next_attempt_at timestamptz,
  finished_at     timestamptz,
  claimed_by      bigint,
  agency_id       uuid not null,
  endpoint_id     uuid not null,
  delivery_id     uuid not null,
  event_id        uuid not null,
  month           date not null check (extract(day from month) = 1),
  entry_month     date,
  attempts        integer not null default 0,
  tries           integer not null default 0,
  kind            text not null,
  status          text not null check (status in ('pending', 'delivered', 'dead', 'dropped')),
  primary key (agency_id, delivery_id, month),
  constraint webhook_delivery_due_known check (status <> 'pending' or next_attempt_at is not null),
  constraint webhook_delivery_of_an_entry check ((kind = 'ping') = (seq is null) and (seq is null) = (entry_month is null))
) partition by range (month);
-- GET {agency}/webhook-endpoints/{id}/deliveries.
create index webhook_delivery_of_endpoint on webhook_delivery (agency_id, endpoint_id, created_at desc, delivery_id);
-- What the sender claims.
create index webhook_delivery_pending on webhook_delivery (agency_id, endpoint_id, next_attempt_at, delivery_id)
  where status = 'pending';

-- `month` is that of its delivery.
create table webhook_attempt (
  at          timestamptz not null,
  agency_id   uuid not null,
  delivery_id uuid not null,
  month       date not null check (extract(day from month) = 1),
  attempt     integer not null check (attempt > 0),
  duration_ms integer not null,
  http_status integer,
  reason      text,
  detail      text,
  primary key (agency_id, delivery_id, attempt, month)
) partition by range (month);

-- Ends a sandbox. Its journal stays, nothing personal does. `successor`: the sandbox that takes its place, with its slug, its keys, its
-- endpoints (`secrets`: sealed for it, by endpoint) and the time `ended_at`; null: there is none. Errors: NL001.
create function end_sandbox(sandbox uuid, writer_epoch bigint, successor uuid, secrets jsonb, ended_at timestamptz)
returns boolean language plpgsql as $$
declare
  ended agency;
begin
  perform check_fence(shard_of(sandbox), writer_epoch, true);
  select * into ended from agency a where a.agency_id = sandbox and a.sandbox_of is not null for update;
  if not found then
    return false;
  end if;
  update agency a set slug = sandbox::text, name = '', status = 'deleted', sandbox_of = null, clock_now = null,
         clock_target = null
  where a.agency_id = sandbox;
  update webhook_delivery d set status = 'dropped', next_attempt_at = null, finished_at = ended_at, claimed_by = null
  where d.agency_id = sandbox and d.status = 'pending';
  if successor is null then
    update api_key k set revoked_at = coalesce(k.revoked_at, ended_at) where k.agency_id = sandbox;
    update webhook_endpoint e set status = 'deleted', description = null, secret_sealed = '', previous_secret_sealed = null,
           previous_secret_until = null, revision = e.revision + 1, updated_at = ended_at
    where e.agency_id = sandbox and e.status <> 'deleted';
  else
    ended.agency_id := successor;
    ended.created_at := ended_at;
    ended.clock_now := ended_at;
    ended.clock_target := ended_at;
    insert into agency select ended.*;
    update api_key k set agency_id = successor where k.agency_id = sandbox;
    update webhook_endpoint e set agency_id = successor, revision = e.revision + 1,
           secret_sealed = s.secret_sealed, previous_secret_sealed = s.previous_secret_sealed
    from jsonb_to_recordset(secrets) as s (endpoint_id uuid, secret_sealed text, previous_secret_sealed text)
    where e.agency_id = sandbox and e.endpoint_id = s.endpoint_id and e.status <> 'deleted';
  end if;
  delete from access_token t where t.agency_id = sandbox;
  delete from calendar_feed f where f.agency_id = sandbox;
  delete from idempotency i where i.agency_id = sandbox;
  update guest g set first_name = '', last_name = '', email = null, phone = null, nationality = null where g.agency_id = sandbox;
  update booking b set notes = null, source_ref = null,
         cancel_reason = case when b.cancel_reason = 'hold_expired' then b.cancel_reason end
  where b.agency_id = sandbox;
  return true;
end $$;

-- The sender of a process that has all shards (W2). Each sender has a tenure.
create table webhook_sender (
  is_only  boolean primary key default true check (is_only),
  tenure   bigint not null,
  epoch    bigint not null,
  taken_at timestamptz not null
);
insert into webhook_sender (tenure, epoch, taken_at) values (0, 0, now());

-- The senders of nodes: each sends for the shards that it has in `sending`. The tenure of a node's sender is one that `webhook_sender`
-- never shows.
create table sending_node (
  tenure   bigint primary key,
  taken_at timestamptz not null default clock_timestamp()
);
create table sending (
  shard  smallint primary key references shard,
  tenure bigint not null
);
create index sending_of on sending (tenure);

-- Makes the caller the only sender; those of nodes are replaced too. It serves all agencies, so its fence is that of shard 0.
-- Errors: NL001.
create function take_over_sending(writer_epoch bigint) returns bigint language plpgsql as $$
declare
  taken bigint;
begin
  perform check_fence(0::smallint, writer_epoch);
  update webhook_sender set tenure = webhook_sender.tenure + 1, epoch = writer_epoch, taken_at = clock_timestamp()
    returning tenure into taken;
  -- Those of nodes are replaced too.
  delete from sending_node;
  perform from sending s order by s.shard for update;
  delete from sending;
  return taken;
end $$;

-- Makes the caller the sender of a node, beside those of other nodes; that of a process which had all shards is replaced.
create function join_sending() returns bigint language plpgsql as $$
declare
  taken bigint;
begin
  update webhook_sender set tenure = webhook_sender.tenure + 2, taken_at = clock_timestamp() returning tenure - 1 into taken;
  insert into sending_node (tenure) values (taken);
  delete from sending_node n where n.taken_at < clock_timestamp() - interval '1 day' and n.tenure <> taken
    and not exists (select from sending s where s.tenure = n.tenure);
  return taken;
end $$;

-- The sender sends for these shards and no others, as far as they are its node's. Returns those. Errors: NL004.
create function send_for(claiming bigint, wanted smallint[], epochs bigint[]) returns smallint[] language plpgsql as $$
declare
  -- Not under the fences, which batches wait for: a node that lost a shard just now sends for it until its next owner asks again.
  its_own constant smallint[] := array(
    select s.shard from unnest(wanted, epochs) w (shard, epoch) join shard s on s.shard = w.shard and s.epoch = w.epoch);
begin
  -- Held, so that a process that takes over all shards meanwhile leaves nothing of it behind.
  perform from sending_node n where n.tenure = claiming for share;
  if not found then
    raise exception 'Cannot send webhooks: tenure % is over', claiming using errcode = 'NL004';
  end if;
  -- Only rows that change: claims in progress hold theirs.
  perform from sending s
  where case when s.tenure = claiming then s.shard <> all (wanted) else s.shard = any (its_own) end
  order by s.shard for update;
  delete from sending s where s.tenure = claiming and s.shard <> all (wanted);
  insert into sending (shard, tenure)
  select o.shard, claiming from unnest(its_own) o (shard)
  -- A row that conflicts is locked even if it stays as it is.
  where not exists (select from sending s where s.shard = o.shard and s.tenure = claiming)
  order by o.shard
  on conflict (shard) do update set tenure = excluded.tenure where sending.tenure <> excluded.tenure;
  return array(select s.shard from sending s where s.tenure = claiming order by s.shard);
end $$;

-- The shards that a sender sends for, held until the end of the transaction; null: all. Errors: NL004.
create function sent_shards(claiming bigint) returns smallint[] language plpgsql as $$
declare
  held smallint[];
begin
  perform from webhook_sender s where s.tenure = claiming for share;
  if found then
    return null;
  end if;
  select coalesce(array_agg(s.shard), '{}') into held
  from (select s.shard from sending s where s.tenure = claiming order by s.shard for share) s;
  if cardinality(held) = 0 and not exists (select from sending_node n where n.tenure = claiming) then
    raise exception 'Cannot send webhooks: tenure % is over', claiming using errcode = 'NL004';
  end if;
  return held;
end $$;

-- The last entry of the agency's shard. The lock on the fence lasts until the end of the transaction: every entry appended later has a
-- higher number, and the read after the lock sees every earlier one. Errors: NL001.
create function end_of_log(agency uuid, writer_epoch bigint, out seq bigint, out month date)
language plpgsql as $$
begin
  perform check_fence(shard_of(agency), writer_epoch, true);
  select j.seq, j.month into seq, month from journal j where j.shard = shard_of(agency) order by j.seq desc limit 1;
  if not found then
    select s.mark, l.oldest_month into seq, month from shard s, ledger l where s.shard = shard_of(agency);
  end if;
end $$;

-- Registers an endpoint. Its first event is the first that commits afterwards. Returns false if the agency already has `endpoints_max`
-- endpoints. Errors: NL001.
create function register_endpoint(
  writer_epoch bigint, agency uuid, endpoint uuid, its_url text, its_description text, its_events text[], its_secret_sealed text,
  registered_at timestamptz, endpoints_max integer) returns boolean
language plpgsql as $$
declare
  cursor_seq   bigint;
  cursor_month date;
begin
  select seq, month into cursor_seq, cursor_month from end_of_log(agency, writer_epoch);
  insert into webhook_endpoint (agency_id, endpoint_id, url, description, events, status, secret_sealed, created_at, updated_at,
                                made_seq, made_month, from_seq)
  select agency, endpoint, its_url, its_description, its_events, 'active', its_secret_sealed, registered_at, registered_at,
         cursor_seq, cursor_month, cursor_seq
  where (select count(*) from webhook_endpoint e where e.agency_id = agency and e.status <> 'deleted') < endpoints_max;
  return found;
end $$;

-- Deletes an endpoint, erases its secrets, and drops at most `dropped_max` of its pending deliveries. The sender makes deliveries with
-- the endpoint locked, so it made them before the deletion or makes none. Returns how many were dropped; null if there is no such
-- endpoint. Errors: NL001.
create function delete_webhook_endpoint(
  writer_epoch bigint, agency uuid, endpoint uuid, deleted_at timestamptz, dropped_max integer) returns integer
language plpgsql as $$
declare
  dropped      integer;
  is_flood     boolean;
  last_dropped record;
begin
  perform check_fence(shard_of(agency), writer_epoch);
  update webhook_endpoint e set
    status = 'deleted', secret_sealed = '', previous_secret_sealed = null, previous_secret_until = null,
    revision = e.revision + 1, updated_at = deleted_at
  where e.agency_id = agency and e.endpoint_id = endpoint and e.status <> 'deleted';
  if not found then
    return null;
  end if;
  -- By the index of what is pending, and without a join: see src/postgres/stores/pending-deliveries.ts.
  select d.next_attempt_at, d.delivery_id into last_dropped from webhook_delivery d
  where d.agency_id = agency and d.endpoint_id = endpoint and d.status = 'pending'
  order by d.next_attempt_at, d.delivery_id offset dropped_max - 1 limit 1;
  is_flood := found;
  update webhook_delivery d set status = 'dropped', next_attempt_at = null, finished_at = deleted_at, claimed_by = null
  where d.agency_id = agency and d.endpoint_id = endpoint and d.status = 'pending'
    and (not is_flood or (d.next_attempt_at, d.delivery_id) <= (last_dropped.next_attempt_at, last_dropped.delivery_id));
  get diagnostics dropped = row_count;
  return dropped;
end $$;

-- Makes deliveries of the entries after the cursors of active endpoints, and moves the cursors: of at most `room` entries, of the listed
-- agencies, or of all when `agencies` is null; only for the shards of the sender. Agencies share the room; if it is too small for one
-- entry of each endpoint, those that have waited longest come first. A delivery is due when its event happened or its endpoint was last
-- changed, whichever is later, but never after `made_at`, or of a sandbox after what its clock shows. Every step is by index, as in claim_deliveries. Errors: NL004.
create function make_deliveries(
  claiming bigint, agencies jsonb, made_at timestamptz, room integer, out made integer, out may_have_more boolean)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_incremental_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  held         constant smallint[] := sent_shards(claiming);
  agency_ids   uuid[];
  endpoint_ids uuid[];
  rooms        integer[];
begin
  if agencies is null then
    select array_agg(distinct e.agency_id) into agency_ids from webhook_endpoint e
    where e.status = 'active' and (held is null or shard_of(e.agency_id) = any (held));
  else
    select array_agg(distinct a.id::uuid) into agency_ids from jsonb_array_elements_text(agencies) as a (id)
    where held is null or shard_of(a.id::uuid) = any (held);
  end if;

  -- The endpoints that have anything new: one index probe each.
  with waiting as (
    select e.agency_id, e.endpoint_id, first.at, count(*) over (partition by e.agency_id) as of_agency
    from unnest(agency_ids) as a (agency_id)
    cross join lateral (
      select * from webhook_endpoint e where e.agency_id = a.agency_id and e.status = 'active' offset 0) e
    cross join lateral (
      select j.at from journal j
      where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month
      order by j.seq limit 1) first
  ), shared as (
    select w.*, greatest(1, room / (select count(distinct agency_id) from waiting) / w.of_agency)::integer as its_room,
           row_number() over (order by w.at, w.endpoint_id) as place
    from waiting w
  )
  select array_agg(s.agency_id order by s.agency_id, s.endpoint_id) filter (where s.place <= room),
         array_agg(s.endpoint_id order by s.agency_id, s.endpoint_id) filter (where s.place <= room),
         array_agg(s.its_room order by s.agency_id, s.endpoint_id) filter (where s.place <= room),
         coalesce(bool_or(s.place > room), false)
  into agency_ids, endpoint_ids, rooms, may_have_more
  from shared s;
  made := 0;
  if rooms is null then
    return;
  end if;

  -- What another statement does to these endpoints, such as an earlier call whose answer was lost, has ended when they are locked.
  perform from unnest(agency_ids, endpoint_ids) as c (agency_id, endpoint_id)
  cross join lateral (
    select from webhook_endpoint e
    where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id for no key update) e;

  with entry as materialized (
    select e.agency_id, e.endpoint_id, c.its_room, j.seq, j.month, j.entry_id, event_of(j.kind) as event,
           j.is_announced and event_of(j.kind) = any (e.events) as is_delivered,
           case when its.clock_now is null then least(j.at, made_at) else j.at end as created_at,
           -- What has waited for the endpoint is due within a second of its last change, in the order of the log. In a sandbox, whose clock
           -- stands, many entries have the same time: they are due within its millisecond. During a move an entry may be ahead of the stored
           -- clock, and is due when that gets there.
           case when its.clock_now is not null
                then greatest(j.at, least(e.updated_at, its.clock_now)) + (j.seq % 1000) * interval '1 microsecond'
                when e.updated_at <= j.at then least(j.at, made_at)
                else least(e.updated_at, made_at) + (j.seq % 1000000) * interval '1 microsecond' end as due_at
    from unnest(agency_ids, endpoint_ids, rooms) as c (agency_id, endpoint_id, its_room)
    cross join lateral (
      select * from webhook_endpoint e
      where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id and e.status = 'active' limit 1) e
    cross join lateral (select a.clock_now from agency a where a.agency_id = c.agency_id limit 1) its
    cross join lateral (
      select j.seq, j.month, j.at, j.entry_id, j.kind, j.is_announced from journal j
      where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month
      order by j.seq limit c.its_room) j
  ), delivery as (
    insert into webhook_delivery (agency_id, endpoint_id, delivery_id, event_id, seq, entry_month, month, kind, status,
                                  created_at, next_attempt_at)
    select e.agency_id, e.endpoint_id, md5(e.entry_id::text || e.endpoint_id::text)::uuid, e.entry_id, e.seq, e.month,
           greatest(storage_month(least(e.created_at, made_at)), e.month),
           e.event, 'pending', e.created_at, e.due_at
    from entry e where e.is_delivered
    on conflict do nothing
    returning true
  ), passed as (
    select agency_id, endpoint_id, max(seq) as seq, max(month) as month, count(*) >= max(its_room) as is_full
    from entry group by agency_id, endpoint_id
  ), moved as (
    update webhook_endpoint e set made_seq = p.seq, made_month = p.month
    from passed p where e.agency_id = p.agency_id and e.endpoint_id = p.endpoint_id
  )
  select (select count(*) from delivery), may_have_more or coalesce((select bool_or(is_full) from passed), false)
  into made, may_have_more;
end $$;

-- The oldest and the newest month that have a pending delivery; null when there is none. One index probe per month. Without it, every
-- step of every claim would look into all months.
create function pending_months(out since date, out until date) language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
  select min(m.month), max(m.month)
  from ledger l
  cross join lateral (
    select n::date as month from generate_series(l.oldest_month, l.newest_month, interval '1 month') n) m
  cross join lateral (
    select from webhook_delivery d where d.status = 'pending' and d.month = m.month
    order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit 1) d
$$;

-- The endpoints that have anything pending in these months: one index probe for each endpoint and month, however many deliveries wait.
-- The order names all columns of the index, and callers switch sorts off, so that no other index is used.
create function webhook_endpoints_waiting(since date, until date) returns table (agency_id uuid, endpoint_id uuid)
language sql stable as $$
  with recursive waiting as (
    (select d.agency_id, d.endpoint_id from webhook_delivery d
     where d.status = 'pending' and d.month between since and until
     order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit 1)
    union all
    select n.agency_id, n.endpoint_id
    from waiting w
    cross join lateral (
      select d.agency_id, d.endpoint_id from webhook_delivery d
      where d.status = 'pending' and d.month between since and until and (d.agency_id, d.endpoint_id) > (w.agency_id, w.endpoint_id)
      order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit 1) n
  )
  select w.agency_id, w.endpoint_id from waiting w
$$;

-- Claims due deliveries for a sender and its shards, those of a sandbox by its own clock, at most `room`: first one of every agency, then the second of every agency, so that
-- a flood of one takes no place of another. `windows` says how many more an endpoint may have, by its id without dashes;
-- `window_fresh` holds for one that it does not name. Each comes with its entry, from which its body is rendered; without one when
-- the entry is not there any more. Every step is by index, and the planner is told so: before the tables are analysed it would
-- compare every endpoint with every other, and later read a whole flood for the few rows of a claim (both were measured). One plan for
-- all calls, because planning for every partition takes longer than the claim. Errors: NL004.
create function claim_deliveries(
  claiming bigint, due_until timestamptz, room integer, window_fresh integer, windows jsonb)
returns table (
  agency_id uuid, delivery_id uuid, month date, endpoint_id uuid, event_id uuid, kind text, attempts integer, tries integer,
  next_attempt_at timestamptz, is_sandbox boolean, url text, secret_sealed text, previous_secret_sealed text, previous_secret_until timestamptz,
  consecutive_failures integer, revision integer,
  seq bigint, at timestamptz, unit_id uuid, other_unit_id uuid, booking_id uuid, entry_kind text, payload text,
  checksum bigint, source_ref text, traceparent text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set enable_incremental_sort = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  held  constant smallint[] := sent_shards(claiming);
  since date;
  until date;
begin
  select p.since, p.until into since, until from pending_months() p;
  if since is null then
    return;
  end if;
  return query
  with candidate as (
    select due.agency_id, due.delivery_id, due.month,
           row_number() over (partition by due.agency_id order by due.place, due.next_attempt_at) as turn
    from webhook_endpoints_waiting(since, until) w
    cross join lateral (
      select from webhook_endpoint e
      where e.agency_id = w.agency_id and e.endpoint_id = w.endpoint_id and e.status = 'active' limit 1) e
    cross join lateral (select a.clock_now from agency a where a.agency_id = w.agency_id limit 1) its
    cross join lateral (
      select d.agency_id, d.delivery_id, d.month, d.next_attempt_at,
             row_number() over (order by d.next_attempt_at, d.delivery_id) as place
      from webhook_delivery d
      where d.status = 'pending' and d.agency_id = w.agency_id and d.endpoint_id = w.endpoint_id
        and d.month between since and until
        and d.next_attempt_at <= coalesce(its.clock_now + interval '999 microseconds', due_until) and d.claimed_by is distinct from claiming
      order by d.next_attempt_at, d.delivery_id
      limit coalesce((windows ->> replace(w.endpoint_id::text, '-', ''))::integer, window_fresh)) due
    where held is null or shard_of(w.agency_id) = any (held)
    order by turn, due.next_attempt_at
    limit room
  ), claimed as (
    update webhook_delivery d set claimed_by = claiming
    from candidate c
    where d.agency_id = c.agency_id and d.delivery_id = c.delivery_id and d.month = c.month and d.status = 'pending'
    returning d.*
  )
  select c.agency_id, c.delivery_id, c.month, c.endpoint_id, c.event_id, c.kind, c.attempts, c.tries, c.next_attempt_at,
         exists (select from agency a where a.agency_id = c.agency_id and a.clock_now is not null),
         e.url, e.secret_sealed, e.previous_secret_sealed, e.previous_secret_until, e.consecutive_failures, e.revision,
         t.seq, t.at, t.unit_id, t.other_unit_id, t.booking_id, t.kind, t.payload, t.checksum, t.source_ref, t.traceparent
  from claimed c
  join webhook_endpoint e on e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id
  left join lateral (
    select j.seq, j.at, j.unit_id, j.other_unit_id, j.booking_id, j.kind, j.payload, j.checksum, b.source_ref, j.traceparent
    from journal j
    left join booking b on b.agency_id = c.agency_id and b.booking_id = j.booking_id
    where j.shard = shard_of(c.agency_id) and j.seq = c.seq and j.month = c.entry_month and j.entry_id = c.event_id
      and j.agency_id = c.agency_id
    limit 1) t on true
  order by c.next_attempt_at, c.delivery_id;
end $$;

-- When the next delivery after `due_after` falls due; null when none waits. Those of sandboxes wait until their clocks are moved.
create function next_delivery_due(due_after timestamptz) returns timestamptz
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
declare
  since date;
  until date;
begin
  select p.since, p.until into since, until from pending_months() p;
  return (
    select min(due.next_attempt_at)
    from webhook_endpoints_waiting(since, until) w
    cross join lateral (
      select from webhook_endpoint e
      where e.agency_id = w.agency_id and e.endpoint_id = w.endpoint_id and e.status = 'active' limit 1) e
    cross join lateral (
      select d.next_attempt_at from webhook_delivery d
      where d.status = 'pending' and d.agency_id = w.agency_id and d.endpoint_id = w.endpoint_id
        and d.month between since and until and d.next_attempt_at > due_after
      order by d.next_attempt_at limit 1) due
    where since is not null
      and not exists (select from agency a where a.agency_id = w.agency_id and a.clock_now is not null));
end $$;

-- Records the outcomes of attempts: all or nothing, and safe to send twice. An outcome is taken only for the very
-- claim and attempt it belongs to (W1). A failed attempt does not revive a delivery that the agency has dropped in the meantime.
create function record_attempts(claiming bigint, content jsonb) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  held smallint[];
begin
  -- A sender that was replaced leaves the endpoints alone; what it has sent was sent.
  perform from webhook_sender s where s.tenure = claiming for share;
  if not found then
    select coalesce(array_agg(s.shard), '{}') into held
    from (select s.shard from sending s where s.tenure = claiming order by s.shard for share) s;
  end if;

  perform from webhook_endpoint e
  join jsonb_to_recordset(content -> 'endpoints') as r (agency_id uuid, endpoint_id uuid)
    on e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id
  order by e.agency_id, e.endpoint_id for no key update of e;

  with settled as (
    update webhook_delivery d set
      status = case when d.status = 'dropped' and r.status = 'pending' then 'dropped' else r.status end,
      attempts = r.attempts, tries = r.tries, next_attempt_at = r.next_attempt_at, finished_at = r.finished_at,
      claimed_by = null
    from jsonb_to_recordset(content -> 'deliveries') as r (
      agency_id uuid, delivery_id uuid, month date, attempts_before integer, attempts integer, tries integer, status text,
      next_attempt_at timestamptz, finished_at timestamptz)
    where d.agency_id = r.agency_id and d.delivery_id = r.delivery_id and d.month = r.month and d.claimed_by = claiming
      and d.attempts = r.attempts_before
    returning d.agency_id, d.delivery_id, d.month, d.attempts
  )
  insert into webhook_attempt (agency_id, delivery_id, month, attempt, at, duration_ms, http_status, reason, detail)
  select s.agency_id, s.delivery_id, s.month, a.attempt, a.at, a.duration_ms, a.http_status, a.reason, a.detail
  from jsonb_to_recordset(content -> 'attempts') as a (
    agency_id uuid, delivery_id uuid, attempt integer, at timestamptz, duration_ms integer, http_status integer,
    reason text, detail text)
  join settled s on s.agency_id = a.agency_id and s.delivery_id = a.delivery_id and s.attempts = a.attempt
  on conflict do nothing;

  if held is null or cardinality(held) > 0 then
    update webhook_endpoint e set
      consecutive_failures = r.consecutive_failures, status = r.status, disabled_reason = r.disabled_reason,
      updated_at = case when e.status = r.status then e.updated_at else r.at end
    from jsonb_to_recordset(content -> 'endpoints') as r (
      agency_id uuid, endpoint_id uuid, revision integer, consecutive_failures integer, status text,
      disabled_reason text, at timestamptz)
    where e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id and e.revision = r.revision
      and e.status <> 'deleted' and (held is null or shard_of(e.agency_id) = any (held));
  end if;
end $$;

-- What waits: pending deliveries, and announced entries that have no delivery yet for an active endpoint, together counted up to
-- `counted_max`; and when the oldest of them that may be sent fell due. One index probe per active endpoint, one for each that
-- has pending deliveries, and an index entry for each that is counted.
create function webhook_backlog(counted_max integer, out waiting bigint, out oldest_due timestamptz) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
set plan_cache_mode = force_generic_plan
as $$
declare
  agency_ids   uuid[];
  endpoint_ids uuid[];
  counted      bigint;
begin
  select count(*) into waiting from (
    select from webhook_delivery d where d.status = 'pending'
    order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit counted_max) d;

  -- A sandbox's clock says nothing about how long its events have waited.
  select array_agg(e.agency_id), array_agg(e.endpoint_id), min(greatest(j.at, e.updated_at)) filter (
           where not exists (select from agency a where a.agency_id = e.agency_id and a.clock_now is not null))
  into agency_ids, endpoint_ids, oldest_due
  from webhook_endpoint e
  cross join lateral (
    select j.at from journal j
    where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month and j.is_announced
      and event_of(j.kind) = any (e.events)
    order by j.seq limit 1) j
  where e.status = 'active';

  select count(*) into counted from (
    select from unnest(agency_ids, endpoint_ids) as c (agency_id, endpoint_id)
    cross join lateral (
      select * from webhook_endpoint e where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id limit 1) e
    cross join lateral (
      select from journal j
      where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month and j.is_announced
        and event_of(j.kind) = any (e.events)
      order by j.seq limit counted_max) j
    limit counted_max - waiting) j;
  waiting := waiting + counted;
  oldest_due := least(oldest_due, next_delivery_due('-infinity'));
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Writers and nodes

-- The heartbeat of a process that writes, by the clock of Postgres: a row of its own, because every batch reads and locks those of
-- `shard`. A shard's heartbeat is that of its writer. `run` identifies the process on its machine, so that another process there can
-- tell whether it is dead. A process that is stopped says so twice: `draining_at` before its last requests, `released_at` after its
-- last write. `node`: its NODE_ID; null for a process that takes over all shards. A process with workers has a row that it beats, and so has
-- each worker: their `node` is the writer_id of the former, a slash and the number of the worker, 0 for itself.
create table writer (
  writer_id   uuid primary key,
  name        text not null,
  run         text,
  beat_at     timestamptz not null default clock_timestamp(),
  draining_at timestamptz,
  released_at timestamptz,
  node        text,
  -- When a process last waited for its turn behind this one: the writer reads it with its heartbeat (P3).
  awaited_at  timestamptz
);

-- Makes the caller the only writer of all shards, and returns the ends of their logs. `gone`: the writers that the caller has seen to be
-- gone; null: it takes over from any that serves. Errors: NL005, another process has taken over meanwhile, and serves.
create function take_over(new_holder text, new_writer uuid default null, new_run text default null, gone uuid[] default null,
                          new_node text default null)
returns table (shard smallint, epoch bigint, last_seq bigint, last_month date, last_link bytea, newest_month date)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
  perform from shard s order by s.shard for update;
  if exists (select from shard s join writer w on w.writer_id = s.writer_id
             where w.writer_id <> all (gone) and w.writer_id is distinct from new_writer and w.released_at is null) then
    raise exception 'Cannot take over: another process has taken over' using errcode = 'NL005';
  end if;
  update shard s set epoch = s.epoch + 1, holder = new_holder, writer_id = new_writer, taken_at = clock_timestamp(), renewal = null;
  delete from writer;
  if new_writer is not null then
    insert into writer (writer_id, name, run, node) values (new_writer, new_holder, new_run, new_node);
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

-- Makes the caller the only writer of these shards, and returns the ends of their logs. Waits for batches in flight there. `parent`: the
-- caller is one of its workers. Errors: NL005, another process has taken over from the parent.
create function take_shards(wanted smallint[], new_holder text, new_writer uuid, new_run text, new_node text, parent uuid default null)
returns table (shard smallint, epoch bigint, last_seq bigint, last_month date, last_link bytea, newest_month date)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
  perform from shard s where s.shard = any (wanted) order by s.shard for update;
  -- Whoever takes over all shards has deleted its row.
  if parent is not null and not exists (select from writer w where w.writer_id = parent) then
    raise exception 'Cannot take shards: another process has taken over' using errcode = 'NL005';
  end if;
  update shard s set epoch = s.epoch + 1, holder = new_holder, writer_id = new_writer, taken_at = clock_timestamp(), renewal = null
  where s.shard = any (wanted);
  insert into writer (writer_id, name, run, node) values (new_writer, new_holder, new_run, new_node)
  on conflict (writer_id) do update set beat_at = clock_timestamp(), released_at = null;
  -- A process that had all shards is fenced by the loss of any: without its row it learns of it even if it writes nothing.
  delete from writer w
  where w.node is null
    or ((w.released_at is not null or w.beat_at < clock_timestamp() - interval '1 hour') and w.writer_id is distinct from parent
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

-- The writer gives these shards up, so that nobody has to wait for it. Those that another writer has taken, or is just taking, stay as
-- they are.
create function give_up_shards(shards smallint[], of_writer uuid) returns void language plpgsql
security definer set search_path = public, pg_temp as $$
begin
  update shard s set writer_id = null
  from (select g.shard from shard g where g.shard = any (shards) and g.writer_id = of_writer for update skip locked) given
  where s.shard = given.shard;
end $$;

-- Which of these shards another writer has taken. It writes, so that a primary that was replaced and is cut off from its standby does
-- not answer.
create function lost_shards(shards smallint[], epochs bigint[], of_writer uuid) returns setof smallint language plpgsql as $$
begin
  update writer w set beat_at = clock_timestamp() where w.writer_id = of_writer;
  return query
  select s.shard from unnest(shards, epochs) c (shard, epoch) join shard s on s.shard = c.shard where s.epoch <> c.epoch;
end $$;

-- Raises the writer's own epochs by one: all of them, or none. `wanted_renewal` identifies the call and its repetitions. A shard that
-- this call has raised already stays as it is. Errors: NL001.
create function renew_epochs(shards smallint[], epochs bigint[], wanted_renewal uuid) returns void language plpgsql
security definer set search_path = public, pg_temp as $$
declare
  fenced text;
begin
  perform from shard s where s.shard = any (shards) order by s.shard for update;
  select string_agg(s.shard::text, ',' order by s.shard) into fenced
  from unnest(shards, epochs) w (shard, epoch) join shard s on s.shard = w.shard
  where s.epoch <> w.epoch and not (s.epoch = w.epoch + 1 and s.renewal is not distinct from wanted_renewal);
  if fenced is not null then
    raise exception 'Cannot renew: fenced by another writer' using errcode = 'NL001', detail = fenced;
  end if;
  update shard s set epoch = w.epoch + 1, renewal = wanted_renewal, taken_at = clock_timestamp()
  from unnest(shards, epochs) w (shard, epoch)
  where s.shard = w.shard and s.epoch = w.epoch;
end $$;

-- The writers that have shards, with how many. A shard without a writer is not counted.
create function shard_writers()
returns table (writer_id uuid, name text, run text, node text, shards bigint, beat_at timestamptz, silent_ms float8,
               is_draining boolean, is_released boolean)
language sql stable as $$
  select w.writer_id, w.name, w.run, w.node, count(*), w.beat_at,
         extract(epoch from clock_timestamp() - w.beat_at) * 1000, w.draining_at is not null, w.released_at is not null
  from shard s join writer w on w.writer_id = s.writer_id
  group by w.writer_id
$$;

-- Returns when a writer that has shards, and is neither draining nor released, becomes so, or after this time: a caller that waits for
-- its turn asks without pause, and learns of it within 20 ms. `known_draining`: it knows already that the writer is draining. What a
-- node that was killed has said concerns nobody once others have its shards.
create function await_writers(wait_ms integer, known_draining boolean) returns void language plpgsql volatile as $$
declare
  give_up_at constant timestamptz := clock_timestamp() + wait_ms * interval '1 millisecond';
begin
  while clock_timestamp() < give_up_at
    and exists (select from writer w where exists (select from shard s where s.writer_id = w.writer_id))
    and not exists (
      select from writer w
      where (w.released_at is not null or (w.draining_at is not null and not known_draining))
        and exists (select from shard s where s.writer_id = w.writer_id))
  loop
    perform pg_sleep(0.02);
  end loop;
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- What the operator does: a new SECRET_KEY, a restore

-- The check value of the database's SECRET_KEY (K1).
create table secret_key_check (
  is_only boolean primary key default true check (is_only),
  hmac    text not null
);

-- Replaces everything that is encrypted with SECRET_KEY, and fences out the writer. `changes`: [{"agency_id", "endpoint_id",
-- "secret_before", "secret_after", "previous_before", "previous_after"}]; `chain_changes`: [{"shard", "key_before", "key_after"}] of
-- all rows of shard_chain. `known`: the check values of the keys that the database may have; null: any. Errors: NL010, NL011.
create function rotate_secret_key(known jsonb, new_hmac text, endpoints_read integer, changes jsonb, chain_changes jsonb) returns void
language plpgsql as $$
declare
  stored  text;
  changed integer;
begin
  perform from shard s order by s.shard for update;
  update shard s set epoch = s.epoch + 1, holder = 'rotate-secret-key', renewal = null, taken_at = clock_timestamp();
  -- From here on no endpoint and no chain appears or changes.
  lock table webhook_endpoint, shard_chain in share row exclusive mode;
  select hmac into stored from secret_key_check for update;
  if stored is not null and known is not null and not known ? stored then
    raise exception 'Cannot change the key: the database is used with another one' using errcode = 'NL010';
  end if;

  update webhook_endpoint e set
    secret_sealed = c.secret_after, previous_secret_sealed = c.previous_after,
    previous_secret_until = case when c.previous_after is null then null else e.previous_secret_until end
  from jsonb_to_recordset(changes) as c(
    agency_id uuid, endpoint_id uuid, secret_before text, secret_after text, previous_before text, previous_after text)
  where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id and e.status <> 'deleted'
    and e.secret_sealed = c.secret_before and e.previous_secret_sealed is not distinct from c.previous_before;
  get diagnostics changed = row_count;
  if changed <> jsonb_array_length(changes)
    or endpoints_read <> (select count(*) from webhook_endpoint where status <> 'deleted') then
    raise exception 'Cannot change the key: endpoints were changed meanwhile' using errcode = 'NL011';
  end if;

  update shard_chain k set key_sealed = c.key_after
  from jsonb_to_recordset(chain_changes) as c(shard smallint, key_before text, key_after text)
  where k.shard = c.shard and k.key_sealed = c.key_before;
  get diagnostics changed = row_count;
  if changed <> jsonb_array_length(chain_changes) or changed <> (select count(*) from shard_chain) then
    raise exception 'Cannot change the key: keys of the chains were changed meanwhile' using errcode = 'NL011';
  end if;

  insert into secret_key_check (hmac) values (new_hmac) on conflict (is_only) do update set hmac = excluded.hmac;
end $$;

-- For a ledger that was restored to an earlier moment, before it serves. What came after that moment was seen by partners and is gone:
-- its numbers are not used again, cursors and the history that they belong to end, and webhooks wait until the agency has looked.
-- Fences out every writer. `endpoints`: how many were switched off.
-- No number and no version is given twice (S3), even if the same moment is restored again: both continue from the time of the restore,
-- in microseconds and in seconds since 2026, which no ledger has reached by counting. Partners compare the versions of bookings, and
-- ignore one that is not above the last they have seen.
create function after_restore(out history_id uuid, out endpoints bigint) language plpgsql as $$
declare
  restored_at constant timestamptz := clock_timestamp();
begin
  perform from shard s order by s.shard for update;
  -- The mark comes with the link of the last entry up to it, so the chain continues from there.
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
      updated_at = agency_now(w.agency_id, clock_timestamp()), revision = w.revision + 1
  where w.status = 'active';
  get diagnostics endpoints = row_count;
end $$;

-- Erases guests of a ledger that was restored to a moment before their erasures, while nothing serves it. `erased`: [{"at", "agency_id",
-- "guest_id"}]. Returns how many of them were there. The service completes each when it starts: the entry of the log, the list outside
-- the database, the vacuum.
create function repeat_erasures(erased jsonb) returns integer language plpgsql as $$
declare
  found_guests integer;
begin
  perform from shard s order by s.shard for update;
  with listed as (
    select e.agency_id, e.guest_id, min(e.at) as at
    from jsonb_to_recordset(erased) as e (at timestamptz, agency_id uuid, guest_id uuid)
    where exists (select from agency a where a.agency_id = e.agency_id)
    group by e.agency_id, e.guest_id
  ), inserted as (
    insert into guest_erasure (at, erased_at, vacuumed_at, agency_id, guest_id)
    select l.at, gone.at, gone.at, l.agency_id, l.guest_id
    from listed l cross join lateral (
      -- A guest who is not there needs no entry; the row is for the next backup's list.
      select case when not exists (select from guest g where g.agency_id = l.agency_id and g.guest_id = l.guest_id)
                  then clock_timestamp() end as at) gone
    on conflict (agency_id, guest_id) do nothing
    returning guest_id, erased_at
  )
  select count(*) filter (where i.erased_at is null) into found_guests from inserted i;
  delete from guest g using guest_erasure e where g.agency_id = e.agency_id and g.guest_id = e.guest_id;
  perform erase_bookings(e.agency_id, e.guest_id, null, null) from guest_erasure e where e.erased_at is null;
  perform scrub_answers(a.agency_id, '00000000-0000-0000-0000-000000000000', '', '', null)
  from (select distinct e.agency_id from guest_erasure e where e.erased_at is null) a;
  return found_guests;
end $$;

------------------------------------------------------------------------------------------------------------------------------------
-- Functions that run with the rights of the owner are executed by the roles that roles.sql names, and by no others.

revoke execute on function keep_refusals, ensure_months, forget_deliveries, retire_month, take_over, take_shards, give_up_shards, renew_epochs from public;

------------------------------------------------------------------------------------------------------------------------------------
-- The first months. Comes last, because a partition copies the indexes and checks of its table.

select ensure_months((now() at time zone 'UTC' + interval '3 months')::date);
