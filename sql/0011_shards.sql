-- The layout of the ledger from here on. A new database gets nothing of what came before it; a database of an earlier version is
-- copied into it (src/postgres/upgrade/).

create extension if not exists btree_gist;
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- What holds for the whole database. `history_id` names this history of events: a restored copy gets another one, so that nobody
-- continues with a cursor of a future that did not happen. Months outside of oldest_month and newest_month have no partition.
create table ledger (
  is_only      boolean primary key default true check (is_only),
  shards       smallint not null default 256 check (shards = 256),
  history_id   uuid not null default gen_random_uuid(),
  oldest_month date not null,
  newest_month date not null
);
insert into ledger (oldest_month, newest_month)
values (date_trunc('month', now() at time zone 'UTC'), date_trunc('month', now() at time zone 'UTC') - interval '1 month');

-- Everything of an agency belongs to its shard: the first byte of the SHA-256 of its id (C1).
create function shard_of(agency uuid) returns smallint language sql immutable strict parallel safe as
  $$ select get_byte(sha256(uuid_send(agency)), 0)::smallint $$;

-- The fence, and where the log of a shard begins. `base`: the last entry that was archived; what the journal holds comes after it.
-- `mark`: the number from which on there are no gaps; entries before it have the numbers that an earlier version gave them. Each with
-- the link of the last entry up to it. `renewal` identifies the call that last raised the epoch.
create table shard (
  shard     smallint primary key check (shard between 0 and 255),
  epoch     bigint not null default 0,
  mark      bigint not null default 0 check (mark >= 0),
  taken_at  timestamptz not null default now(),
  renewal   uuid,
  mark_link bytea not null default '\x' check (length(mark_link) in (0, 32)),
  base      bigint not null default 0 check (base >= 0),
  base_link bytea not null default '\x' check (length(base_link) in (0, 32)),
  holder    text not null default ''
);
insert into shard (shard) select generate_series(0, 255);

-- The keys of the chains, sealed under SECRET_KEY. Apart from the fences: those are read and locked by every batch.
create table shard_chain (
  shard      smallint primary key references shard,
  key_sealed text not null
);

-- The journal. Numbers are gapless within a shard. `month` is the month of the entry, never lower than that of the entry before
-- it. `checksum` covers what a unit is recovered from, `link` everything, and the link before it.
create table journal (
  seq           bigint not null check (seq > 0),
  at            timestamptz not null,
  checksum      bigint not null,
  epoch         bigint not null,
  agency_id     uuid not null,
  unit_id       uuid not null,
  other_unit_id uuid,
  booking_id    uuid,
  entry_id      uuid not null,
  actor_id      uuid,
  month         date not null check (extract(day from month) = 1),
  shard         smallint not null,
  is_announced  boolean not null,
  kind          text not null,
  actor_kind    text not null check (actor_kind in ('key', 'portal', 'system')),
  link          bytea not null check (length(link) = 32),
  route         text not null,
  request_id    text,
  payload       text not null,
  primary key (shard, seq, month)
) partition by range (month);
-- Deliveries, and GET /changes.
create index journal_of_agency on journal (agency_id, seq);
-- GET {agency}/audit.
create index journal_newest on journal (agency_id, at desc);
-- Recovery of a unit, and GET {agency}/audit?booking=.
create index journal_of_unit on journal (unit_id, seq);
create index journal_of_other_unit on journal (other_unit_id, seq) where other_unit_id is not null;

-- The lines of the audit trail that no entry tells: refusals, repeated writes, and changes of the agency's own data.
create table audit_line (
  at         timestamptz not null,
  count      bigint not null,
  agency_id  uuid not null,
  line_id    uuid not null,
  actor_id   uuid,
  month      date not null check (extract(day from month) = 1),
  actor_kind text not null check (actor_kind in ('key', 'portal', 'system')),
  route      text not null,
  outcome    text not null,
  -- As the caller gave it: a refusal may name a booking that does not exist.
  booking_id text,
  request_id text,
  primary key (agency_id, line_id, month)
) partition by range (month);
-- GET {agency}/audit.
create index audit_line_newest on audit_line (agency_id, at desc, line_id desc);

-- `is_base`: what comes before it was archived. It is never pruned.
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

create table agency (
  agency_id           uuid primary key,
  slug                text not null unique,
  name                text not null,
  currency            text not null,
  timezone            text not null,
  status              text not null check (status in ('active', 'suspended')),
  api_access          boolean not null,
  requests_per_minute integer not null check (requests_per_minute > 0),
  requests_per_month  bigint not null check (requests_per_month > 0),
  default_hold_hours  integer not null check (default_hold_hours between 1 and 2160),
  created_at          timestamptz not null
);

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
  primary key (agency_id, key_id)
);

create table unit (
  agency_id       uuid not null references agency,
  unit_id         uuid not null,
  slug            text not null,
  name            text not null,
  status          text not null check (status in ('active', 'draft', 'archived')),
  city            text,
  area            text,
  building        text,
  bedrooms        double precision not null,
  beds            double precision not null,
  bathrooms       double precision not null,
  max_guests      integer not null,
  size_sqm        double precision,
  checkin_time    text not null,
  checkout_time   text not null,
  instant_book    boolean not null,
  base_price      bigint not null check (base_price >= 0),
  cleaning_fee    bigint not null check (cleaning_fee >= 0),
  extra_bed_fee   bigint not null check (extra_bed_fee >= 0),
  min_stay        integer not null check (min_stay >= 1),
  turnover_nights integer not null check (turnover_nights >= 0),
  rates           jsonb not null,
  primary key (agency_id, unit_id),
  unique (agency_id, slug)
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

create table calendar_feed (
  agency_id uuid not null references agency,
  unit_id   uuid not null,
  version   integer not null check (version > 0),
  primary key (agency_id, unit_id)
);

create table guest (
  agency_id   uuid not null references agency,
  guest_id    uuid not null,
  created_at  timestamptz not null,
  first_name  text not null,
  last_name   text not null,
  email       text,
  phone       text,
  nationality text,
  primary key (agency_id, guest_id)
);
-- A guest is reused by e-mail.
create unique index guest_email on guest (agency_id, lower(email));
-- GET /guests. Ties are sorted when they are read: without the id, equal times share an index entry.
create index guest_newest on guest (agency_id, created_at desc);
-- What GET /guests?search= looks into: four columns, one under the other, in lower case. A search without a line break cannot match
-- across two of them.
create function guest_text(first_name text, last_name text, email text, phone text) returns text
  language sql immutable parallel safe as
  $$ select lower(first_name || E'\n' || last_name || E'\n' || coalesce(email, '') || E'\n' || coalesce(phone, '')) $$;
-- The agency comes last, so that it is looked up only for guests that have the trigrams, and as an expression, so that the
-- planner does not take this index for what has no trigram.
create index guest_search on guest using gin (guest_text(first_name, last_name, email, phone) gin_trgm_ops, (agency_id::text))
  with (gin_pending_list_limit = 512);

-- The bookings as they are now. The journal has their history, and none of their free texts: source_ref, notes and
-- cancel_reason may hold personal data, and must be erasable.
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
-- The hold timer.
create index booking_next_expiry on booking (hold_expires_at, booking_id)
  where status in ('draft', 'option') and hold_expires_at is not null;

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

create table usage_month (
  agency_id uuid not null,
  month     text not null,
  used      bigint not null,
  primary key (agency_id, month)
);

create table rate_slot (
  term     bigint not null,
  slot     bigint not null,
  ended_at timestamptz not null,
  wall_ms  double precision not null,
  boot_id  text,
  boot_ms  double precision,
  total    bigint not null,
  counts   text not null,
  primary key (term, slot)
);

create table secret_key_check (
  is_only boolean primary key default true check (is_only),
  hmac    text not null
);

create table webhook_sender (
  is_only  boolean primary key default true check (is_only),
  tenure   bigint not null,
  epoch    bigint not null,
  taken_at timestamptz not null
);
insert into webhook_sender (tenure, epoch, taken_at) values (0, 0, now());

-- `made_seq`, `made_month`: the last entry of the agency that was considered for this endpoint. Entries after it have no delivery
-- yet; those of an endpoint that is switched off wait there. `from_seq`: where the cursor began, or to where the agency dropped what
-- waited; announced entries between the two have a delivery.
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
  primary key (agency_id, endpoint_id)
);

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

-- The month that a row of this time is stored in. Never one that has no partition: writing must not fail at the end of a month.
create function storage_month(at timestamptz) returns date language sql stable strict as $$
  select greatest(oldest_month, least(newest_month, date_trunc('month', at at time zone 'UTC')::date)) from ledger
$$;

-- Creates the partitions of all months up to `until`. Attached, not created in place, so that nothing waits for it.
create function ensure_months(until date) returns date language plpgsql as $$
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
select ensure_months((now() at time zone 'UTC' + interval '3 months')::date);
