create extension btree_gin;

create extension btree_gist;

create extension pg_trgm;

create type audit_row as (
  agency_id uuid,
  line_id uuid,
  at timestamp with time zone,
  actor_kind text,
  actor_id uuid,
  route text,
  outcome text,
  booking_id text,
  request_id text,
  count bigint
);

create type booking_row as (
  agency_id uuid,
  booking_id uuid,
  unit_id uuid,
  type text,
  status text,
  source text,
  arrival date,
  departure date,
  adults integer,
  children integer,
  extra_bed boolean,
  total_amount bigint,
  hold_expires_at timestamp with time zone,
  expected_until date,
  cancelled_at timestamp with time zone,
  created_at timestamp with time zone,
  updated_at timestamp with time zone,
  version integer,
  source_ref text,
  cancel_reason text,
  notes text,
  seq bigint
);

create type guest_row as (
  agency_id uuid,
  guest_id uuid,
  booking_id uuid,
  first_name text,
  last_name text,
  email text,
  phone text,
  nationality text,
  created_at timestamp with time zone
);

create type idempotency_row as (
  agency_id uuid,
  key_id uuid,
  route text,
  idempotency_key text,
  request_hash text,
  status integer,
  created_at timestamp with time zone
);

create type journal_row as (
  shard smallint,
  seq bigint,
  month date,
  at timestamp with time zone,
  agency_id uuid,
  unit_id uuid,
  other_unit_id uuid,
  booking_id uuid,
  entry_id uuid,
  kind text,
  is_announced boolean,
  actor_kind text,
  actor_id uuid,
  route text,
  request_id text,
  checksum bigint
);

create sequence node_term as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1;

create table access_token (
  agency_id uuid not null,
  token_id uuid not null,
  name text not null,
  role text not null,
  prefix text not null,
  secret_sha256 text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint access_token_pkey PRIMARY KEY (agency_id, token_id),
  constraint access_token_secret_sha256_key UNIQUE (secret_sha256),
  constraint access_token_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint access_token_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'desk'::text, 'manager'::text, 'owner'::text]))),
  constraint access_token_secret_sha256_check CHECK ((length(secret_sha256) = 64))
);

create table agency (
  agency_id uuid not null,
  slug text not null,
  name text not null,
  currency text not null,
  timezone text not null,
  status text not null,
  api_access boolean not null,
  requests_per_minute integer not null,
  requests_per_month bigint not null,
  default_hold_hours integer not null,
  created_at timestamp with time zone not null,
  constraint agency_pkey PRIMARY KEY (agency_id),
  constraint agency_slug_key UNIQUE (slug),
  constraint agency_default_hold_hours_check CHECK (((default_hold_hours >= 1) AND (default_hold_hours <= 2160))),
  constraint agency_requests_per_minute_check CHECK ((requests_per_minute > 0)),
  constraint agency_requests_per_month_check CHECK ((requests_per_month > 0)),
  constraint agency_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text])))
);

create table api_key (
  agency_id uuid not null,
  key_id uuid not null,
  name text,
  prefix text not null,
  secret_sha256 text not null,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  constraint api_key_pkey PRIMARY KEY (agency_id, key_id),
  constraint api_key_secret_sha256_key UNIQUE (secret_sha256),
  constraint api_key_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint api_key_secret_sha256_check CHECK ((length(secret_sha256) = 64))
);

create table archived_unit (
  agency_id uuid not null,
  unit_id uuid not null,
  seq bigint not null,
  constraint archived_unit_pkey PRIMARY KEY (agency_id, unit_id)
);

create table audit_line (
  at timestamp with time zone not null,
  count bigint not null,
  agency_id uuid not null,
  line_id uuid not null,
  actor_id uuid,
  month date not null,
  actor_kind text not null,
  route text not null,
  outcome text not null,
  booking_id text,
  request_id text,
  constraint audit_line_pkey PRIMARY KEY (agency_id, line_id, month),
  constraint audit_line_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'access_token'::text, 'portal'::text, 'system'::text]))) NOT VALID,
  constraint audit_line_month_check CHECK ((EXTRACT(day FROM month) = (1)::numeric))
) partition by RANGE (month);

create table booking (
  total_amount bigint not null,
  seq bigint not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  hold_expires_at timestamp with time zone,
  cancelled_at timestamp with time zone,
  agency_id uuid not null,
  booking_id uuid not null,
  unit_id uuid not null,
  guest_id uuid,
  arrival date not null,
  departure date not null,
  expected_until date,
  adults integer not null,
  children integer not null,
  version integer not null,
  extra_bed boolean not null,
  type text not null,
  status text not null,
  source text not null,
  source_ref text,
  notes text,
  cancel_reason text,
  constraint booking_pkey PRIMARY KEY (agency_id, booking_id),
  constraint booking_night_sold_once EXCLUDE USING gist (((uuid_hash_extended(agency_id, (0)::bigint) # uuid_hash_extended(unit_id, (1)::bigint))) WITH =, daterange(arrival, departure) WITH &&) WHERE ((status <> 'cancelled'::text)),
  constraint booking_check CHECK ((departure > arrival)),
  constraint booking_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'option'::text, 'confirmed'::text, 'checked_in'::text, 'checked_out'::text, 'cancelled'::text]))),
  constraint booking_type_check CHECK ((type = ANY (ARRAY['guest'::text, 'owner_stay'::text, 'maintenance'::text, 'block'::text])))
);

create table calendar_feed (
  agency_id uuid not null,
  unit_id uuid not null,
  version integer not null,
  constraint calendar_feed_pkey PRIMARY KEY (agency_id, unit_id),
  constraint calendar_feed_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint calendar_feed_version_check CHECK ((version > 0))
);

create table fee_type (
  agency_id uuid not null,
  fee_type_id uuid not null,
  label text not null,
  kind text not null,
  amount bigint,
  basis_points integer,
  includes_weekly_cleaning boolean not null,
  application text not null,
  active boolean not null,
  "position" bigint generated by default as identity not null,
  constraint fee_type_pkey PRIMARY KEY (agency_id, fee_type_id),
  constraint fee_type_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint fee_type_application_check CHECK ((application = ANY (ARRAY['every_stay'::text, 'on_request'::text]))),
  constraint fee_type_check CHECK ((((kind = 'fixed'::text) AND (amount IS NOT NULL)) OR ((kind = 'percent'::text) AND (basis_points IS NOT NULL)))),
  constraint fee_type_kind_check CHECK ((kind = ANY (ARRAY['fixed'::text, 'percent'::text])))
);

create table guest (
  agency_id uuid not null,
  guest_id uuid not null,
  created_at timestamp with time zone not null,
  first_name text not null,
  last_name text not null,
  email text,
  phone text,
  nationality text,
  constraint guest_pkey PRIMARY KEY (agency_id, guest_id)
);

create table idempotency (
  created_at timestamp with time zone not null,
  agency_id uuid not null,
  key_id uuid not null,
  status integer not null,
  route text not null,
  idempotency_key text not null,
  request_hash text not null,
  body text not null,
  constraint idempotency_pkey PRIMARY KEY (agency_id, key_id, route, idempotency_key)
);

create table journal (
  seq bigint not null,
  at timestamp with time zone not null,
  checksum bigint not null,
  epoch bigint not null,
  agency_id uuid not null,
  unit_id uuid not null,
  other_unit_id uuid,
  booking_id uuid,
  entry_id uuid not null,
  actor_id uuid,
  month date not null,
  shard smallint not null,
  is_announced boolean not null,
  kind text not null,
  actor_kind text not null,
  link bytea not null,
  route text not null,
  request_id text,
  payload text not null,
  constraint journal_pkey PRIMARY KEY (shard, seq, month),
  constraint journal_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'access_token'::text, 'portal'::text, 'system'::text]))) NOT VALID,
  constraint journal_link_check CHECK ((length(link) = 32)),
  constraint journal_month_check CHECK ((EXTRACT(day FROM month) = (1)::numeric)),
  constraint journal_seq_check CHECK ((seq > 0))
) partition by RANGE (month);

create table ledger (
  is_only boolean default true not null,
  shards smallint default 256 not null,
  history_id uuid default gen_random_uuid() not null,
  oldest_month date not null,
  newest_month date not null,
  version_mark integer default 0 not null,
  constraint ledger_pkey PRIMARY KEY (is_only),
  constraint ledger_is_only_check CHECK (is_only),
  constraint ledger_shards_check CHECK ((shards = 256))
);

create table portal_session (
  secret_sha256 text not null,
  agency_id uuid,
  token_id uuid,
  operator_hmac text,
  created_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  constraint portal_session_pkey PRIMARY KEY (secret_sha256),
  constraint portal_session_agency_id_token_id_fkey FOREIGN KEY (agency_id, token_id) REFERENCES access_token(agency_id, token_id),
  constraint portal_session_check CHECK (((agency_id IS NULL) = (token_id IS NULL))),
  constraint portal_session_check1 CHECK (((token_id IS NULL) <> (operator_hmac IS NULL))),
  constraint portal_session_operator_hmac_check CHECK ((length(operator_hmac) = 64)),
  constraint portal_session_secret_sha256_check CHECK ((length(secret_sha256) = 64))
);

create table rate_slot (
  term bigint not null,
  slot bigint not null,
  ended_at timestamp with time zone not null,
  wall_ms double precision not null,
  boot_id text,
  boot_ms double precision,
  total bigint not null,
  counts text not null,
  shard smallint default '-1'::integer not null,
  constraint rate_slot_pkey PRIMARY KEY (term, slot, shard)
);

create table secret_key_check (
  is_only boolean default true not null,
  hmac text not null,
  constraint secret_key_check_pkey PRIMARY KEY (is_only),
  constraint secret_key_check_is_only_check CHECK (is_only)
);

create table sending (
  shard smallint not null,
  tenure bigint not null,
  constraint sending_pkey PRIMARY KEY (shard),
  constraint sending_shard_fkey FOREIGN KEY (shard) REFERENCES shard(shard)
);

create table sending_node (
  tenure bigint not null,
  taken_at timestamp with time zone default clock_timestamp() not null,
  constraint sending_node_pkey PRIMARY KEY (tenure)
);

create table shard (
  shard smallint not null,
  epoch bigint default 0 not null,
  mark bigint default 0 not null,
  taken_at timestamp with time zone default now() not null,
  renewal uuid,
  mark_link bytea default '\x'::bytea not null,
  base bigint default 0 not null,
  base_link bytea default '\x'::bytea not null,
  holder text default ''::text not null,
  writer_id uuid,
  constraint shard_pkey PRIMARY KEY (shard),
  constraint shard_base_check CHECK ((base >= 0)),
  constraint shard_base_link_check CHECK ((length(base_link) = ANY (ARRAY[0, 32]))),
  constraint shard_mark_check CHECK ((mark >= 0)),
  constraint shard_mark_link_check CHECK ((length(mark_link) = ANY (ARRAY[0, 32]))),
  constraint shard_shard_check CHECK (((shard >= 0) AND (shard <= 255)))
);

create table shard_chain (
  shard smallint not null,
  key_sealed text not null,
  constraint shard_chain_pkey PRIMARY KEY (shard),
  constraint shard_chain_shard_fkey FOREIGN KEY (shard) REFERENCES shard(shard)
);

create table snapshot (
  agency_id uuid not null,
  unit_id uuid not null,
  seq bigint not null,
  format integer not null,
  hash text not null,
  state text not null,
  taken_at timestamp with time zone not null,
  is_base boolean default false not null,
  constraint snapshot_pkey PRIMARY KEY (unit_id, seq)
);

create table unit (
  agency_id uuid not null,
  unit_id uuid not null,
  slug text not null,
  name text not null,
  status text not null,
  city text,
  area text,
  building text,
  bedrooms double precision not null,
  beds double precision not null,
  bathrooms double precision not null,
  max_guests integer not null,
  size_sqm double precision,
  checkin_time text not null,
  checkout_time text not null,
  instant_book boolean not null,
  base_price bigint not null,
  cleaning_fee bigint not null,
  extra_bed_fee bigint not null,
  min_stay integer not null,
  turnover_nights integer not null,
  rates jsonb not null,
  constraint unit_pkey PRIMARY KEY (agency_id, unit_id),
  constraint unit_agency_id_slug_key UNIQUE (agency_id, slug),
  constraint unit_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint unit_base_price_check CHECK ((base_price >= 0)),
  constraint unit_cleaning_fee_check CHECK ((cleaning_fee >= 0)),
  constraint unit_extra_bed_fee_check CHECK ((extra_bed_fee >= 0)),
  constraint unit_min_stay_check CHECK ((min_stay >= 1)),
  constraint unit_rates_have_their_form CHECK (((NOT (jsonb_typeof((rates -> 'seasons'::text)) IS DISTINCT FROM 'array'::text)) AND (NOT (jsonb_typeof((rates -> 'weekdayAdjustments'::text)) IS DISTINCT FROM 'array'::text)) AND (NOT (jsonb_typeof((rates -> 'lengthOfStayDiscounts'::text)) IS DISTINCT FROM 'array'::text)) AND (jsonb_array_length((rates -> 'seasons'::text)) = jsonb_array_length(jsonb_path_query_array(rates, '$."seasons"[*]?(@."from" like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" && @."to" like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")'::jsonpath))))),
  constraint unit_status_check CHECK ((status = ANY (ARRAY['active'::text, 'draft'::text, 'archived'::text]))),
  constraint unit_turnover_nights_check CHECK ((turnover_nights >= 0))
);

create table usage_day (
  agency_id uuid not null,
  day date not null,
  total_before bigint not null,
  total_after bigint not null,
  constraint usage_day_pkey PRIMARY KEY (agency_id, day)
);

create table usage_month (
  agency_id uuid not null,
  month text not null,
  used bigint not null,
  constraint usage_month_pkey PRIMARY KEY (agency_id, month)
);

create table webhook_attempt (
  at timestamp with time zone not null,
  agency_id uuid not null,
  delivery_id uuid not null,
  month date not null,
  attempt integer not null,
  duration_ms integer not null,
  http_status integer,
  reason text,
  detail text,
  constraint webhook_attempt_pkey PRIMARY KEY (agency_id, delivery_id, attempt, month),
  constraint webhook_attempt_attempt_check CHECK ((attempt > 0)),
  constraint webhook_attempt_month_check CHECK ((EXTRACT(day FROM month) = (1)::numeric))
) partition by RANGE (month);

create table webhook_delivery (
  seq bigint,
  created_at timestamp with time zone not null,
  next_attempt_at timestamp with time zone,
  finished_at timestamp with time zone,
  claimed_by bigint,
  agency_id uuid not null,
  endpoint_id uuid not null,
  delivery_id uuid not null,
  event_id uuid not null,
  month date not null,
  entry_month date,
  attempts integer default 0 not null,
  tries integer default 0 not null,
  kind text not null,
  status text not null,
  constraint webhook_delivery_pkey PRIMARY KEY (agency_id, delivery_id, month),
  constraint webhook_delivery_due_known CHECK (((status <> 'pending'::text) OR (next_attempt_at IS NOT NULL))),
  constraint webhook_delivery_month_check CHECK ((EXTRACT(day FROM month) = (1)::numeric)),
  constraint webhook_delivery_of_an_entry CHECK ((((kind = 'ping'::text) = (seq IS NULL)) AND ((seq IS NULL) = (entry_month IS NULL)))),
  constraint webhook_delivery_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text, 'dropped'::text])))
) partition by RANGE (month);

create table webhook_endpoint (
  agency_id uuid not null,
  endpoint_id uuid not null,
  url text not null,
  description text,
  status text not null,
  disabled_reason text,
  secret_sealed text not null,
  previous_secret_sealed text,
  previous_secret_until timestamp with time zone,
  consecutive_failures integer default 0 not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  revision integer default 0 not null,
  made_seq bigint default 0 not null,
  made_month date default '2000-01-01'::date not null,
  from_seq bigint default 0 not null,
  constraint webhook_endpoint_pkey PRIMARY KEY (agency_id, endpoint_id),
  constraint webhook_endpoint_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint webhook_endpoint_failures CHECK ((consecutive_failures >= 0)),
  constraint webhook_endpoint_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text, 'deleted'::text])))
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500);

create table webhook_sender (
  is_only boolean default true not null,
  tenure bigint not null,
  epoch bigint not null,
  taken_at timestamp with time zone not null,
  constraint webhook_sender_pkey PRIMARY KEY (is_only),
  constraint webhook_sender_is_only_check CHECK (is_only)
);

create table writer (
  writer_id uuid not null,
  name text not null,
  run text,
  beat_at timestamp with time zone default clock_timestamp() not null,
  draining_at timestamp with time zone,
  released_at timestamp with time zone,
  node text,
  constraint writer_pkey PRIMARY KEY (writer_id)
);

CREATE INDEX agency_of_shard ON public.agency USING btree (shard_of(agency_id));

CREATE INDEX audit_line_newest ON ONLY public.audit_line USING btree (agency_id, at DESC, line_id DESC);

CREATE INDEX booking_expected_until ON public.booking USING btree (agency_id, expected_until) WHERE (expected_until IS NOT NULL);

CREATE INDEX booking_newest_arrival ON public.booking USING btree (agency_id, arrival DESC);

CREATE INDEX booking_next_expiry ON public.booking USING btree (hold_expires_at, booking_id) WHERE ((status = ANY (ARRAY['draft'::text, 'option'::text])) AND (hold_expires_at IS NOT NULL));

CREATE INDEX booking_of_guest ON public.booking USING btree (guest_id, arrival DESC) WHERE (guest_id IS NOT NULL);

CREATE INDEX booking_of_unit ON public.booking USING btree (unit_id, arrival DESC);

CREATE UNIQUE INDEX guest_email ON public.guest USING btree (agency_id, lower(email));

CREATE INDEX guest_newest ON public.guest USING btree (agency_id, created_at DESC);

CREATE INDEX guest_search ON public.guest USING gin (guest_text(first_name, last_name, email, phone) gin_trgm_ops, ((agency_id)::text)) WITH (gin_pending_list_limit='512');

CREATE INDEX idempotency_oldest ON public.idempotency USING btree (created_at);

CREATE INDEX journal_newest ON ONLY public.journal USING btree (agency_id, at DESC);

CREATE INDEX journal_of_agency ON ONLY public.journal USING btree (agency_id, seq);

CREATE INDEX journal_of_other_unit ON ONLY public.journal USING btree (other_unit_id, seq) WHERE (other_unit_id IS NOT NULL);

CREATE INDEX journal_of_unit ON ONLY public.journal USING btree (unit_id, seq);

CREATE INDEX portal_session_of_shard ON public.portal_session USING btree (shard_of(agency_id)) WHERE (agency_id IS NOT NULL);

CREATE INDEX rate_slot_of_shard ON public.rate_slot USING btree (shard, ended_at);

CREATE INDEX sending_of ON public.sending USING btree (tenure);

CREATE INDEX snapshot_of_shard ON public.snapshot USING btree (shard_of(agency_id), seq);

CREATE INDEX webhook_delivery_of_endpoint ON ONLY public.webhook_delivery USING btree (agency_id, endpoint_id, created_at DESC, delivery_id);

CREATE INDEX webhook_delivery_pending ON ONLY public.webhook_delivery USING btree (agency_id, endpoint_id, next_attempt_at, delivery_id) WHERE (status = 'pending'::text);

CREATE OR REPLACE FUNCTION public.after_restore(OUT history_id uuid, OUT endpoints bigint)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  restored_at constant timestamptz := clock_timestamp();
begin
  perform from shard s order by s.shard for update;
  -- The mark comes with the link of the last entry up to it, so the chain goes on from there.
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
      updated_at = clock_timestamp(), revision = w.revision + 1
  where w.status = 'active';
  get diagnostics endpoints = row_count;
end $function$;

CREATE OR REPLACE FUNCTION public.append_batch(shards smallint[], epochs bigint[], entries journal_row[], payloads text, links bytea, created booking_row[], changed booking_row[], guests guest_row[], audit_lines audit_row[], idempotencies idempotency_row[], answers text, others jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
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
                           is_announced, kind, actor_kind, link, route, request_id, payload)
      select e.seq, e.at, e.checksum, case when e.shard = shard_of(e.agency_id) then epochs[array_position(shards, e.shard)] end,
             e.agency_id, e.unit_id, e.other_unit_id, e.booking_id, e.entry_id, e.actor_id, e.month, e.shard,
             e.is_announced, e.kind, e.actor_kind, substring(links from (32 * e.place - 31)::integer for 32), e.route,
             e.request_id, e.payload
      from rows from (unnest(entries), string_to_table(payloads, E'\x1e')) with ordinality as e (
        shard, seq, month, at, agency_id, unit_id, other_unit_id, booking_id, entry_id, kind, is_announced, actor_kind, actor_id,
        route, request_id, checksum, payload, place);
    exception
      when unique_violation then
        is_duplicate := are_written(entries);
        if not is_duplicate then
          raise exception 'Cannot append: some of % numbers are taken', cardinality(entries) using errcode = 'NL002', detail = (
            select string_agg(distinct e.shard::text, ',') from unnest(entries) e
            join journal j on j.shard = e.shard and j.seq = e.seq and j.month = e.month);
        end if;
      -- The epoch of such an entry.
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
                      max_guests, size_sqm, checkin_time, checkout_time, instant_book, base_price, cleaning_fee,
                      extra_bed_fee, min_stay, turnover_nights, rates)
    select u.agency_id, u.unit_id, u.slug, u.name, u.status, u.city, u.area, u.building, u.bedrooms, u.beds,
           u.bathrooms, u.max_guests, u.size_sqm, u.checkin_time, u.checkout_time, u.instant_book, u.base_price,
           u.cleaning_fee, u.extra_bed_fee, u.min_stay, u.turnover_nights, u.rates
    from jsonb_to_recordset(others -> 'units') as u (
      agency_id uuid, unit_id uuid, slug text, name text, status text, city text, area text, building text,
      bedrooms double precision, beds double precision, bathrooms double precision, max_guests integer,
      size_sqm double precision, checkin_time text, checkout_time text, instant_book boolean, base_price bigint,
      cleaning_fee bigint, extra_bed_fee bigint, min_stay integer, turnover_nights integer, rates jsonb)
    on conflict (agency_id, unit_id) do update set
      slug = excluded.slug, name = excluded.name, status = excluded.status, city = excluded.city,
      area = excluded.area, building = excluded.building, bedrooms = excluded.bedrooms, beds = excluded.beds,
      bathrooms = excluded.bathrooms, max_guests = excluded.max_guests, size_sqm = excluded.size_sqm,
      checkin_time = excluded.checkin_time, checkout_time = excluded.checkout_time,
      instant_book = excluded.instant_book, base_price = excluded.base_price,
      cleaning_fee = excluded.cleaning_fee, extra_bed_fee = excluded.extra_bed_fee, min_stay = excluded.min_stay,
      turnover_nights = excluded.turnover_nights, rates = excluded.rates;
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
      on conflict (agency_id, lower(email)) do update set email = guest.email
      returning agency_id, guest_id, coalesce(lower(email), guest_id::text) as same_guest
    )
    select jsonb_object_agg(w.booking_id, r.guest_id) into guest_of_booking
    from wanted_guest w join resolved r on r.agency_id = w.agency_id and r.same_guest = w.same_guest;
  end if;

  if created is not null and not is_duplicate then
    insert into booking (agency_id, booking_id, unit_id, type, status, source, source_ref, arrival, departure,
                         adults, children, extra_bed, total_amount, guest_id, notes, hold_expires_at,
                         expected_until, cancelled_at, cancel_reason, created_at, updated_at, version, seq)
    select b.agency_id, b.booking_id, b.unit_id, b.type, b.status, b.source, b.source_ref, b.arrival, b.departure,
           b.adults, b.children, b.extra_bed, b.total_amount, (guest_of_booking ->> b.booking_id::text)::uuid, b.notes,
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

  -- The rows below may come without an entry, so each is safe to send twice by itself.
  if audit_lines is not null then
    insert into audit_line (agency_id, line_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count, month)
    select a.agency_id, a.line_id, a.at, a.actor_kind, a.actor_id, a.route, a.outcome, a.booking_id, a.request_id, a.count,
           storage_month(a.at)
    from unnest(audit_lines) a
    on conflict (agency_id, line_id, month) do update set count = greatest(audit_line.count, excluded.count);
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
end $function$;

CREATE OR REPLACE FUNCTION public.are_written(entries journal_row[])
 RETURNS boolean
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  return not exists (
    select from unnest(entries) e
    left join journal j on j.shard = e.shard and j.seq = e.seq and j.month = e.month
    where j.entry_id is distinct from e.entry_id);
end $function$;

CREATE OR REPLACE FUNCTION public.await_writers(wait_ms integer, known_draining boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.changes_after(agency uuid, after_seq bigint, after_fingerprint text, entries_max integer, announced_only boolean DEFAULT true)
 RETURNS TABLE(seq bigint, fingerprint text, at timestamp with time zone, entry_id uuid, unit_id uuid, other_unit_id uuid, booking_id uuid, kind text, payload text, checksum text, source_ref text, route text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
AS $function$
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
        and (j.is_announced or not announced_only)
      order by j.seq limit entries_max) j
    left join booking b on b.agency_id = agency and b.booking_id = j.booking_id
    order by j.seq;
  end if;
  select * into base_after from shard s where s.shard = its_shard;
  if base_after.base <> base_before.base then
    raise exception 'Cannot read changes: a month was archived meanwhile' using errcode = 'serialization_failure';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.check_fence(of_shard smallint, writer_epoch bigint, alone boolean DEFAULT false)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.check_fences(shards smallint[], epochs bigint[])
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.check_numbers(entries journal_row[])
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.claim_deliveries(claiming bigint, due_until timestamp with time zone, room integer, window_fresh integer, windows jsonb)
 RETURNS TABLE(agency_id uuid, delivery_id uuid, month date, endpoint_id uuid, event_id uuid, kind text, attempts integer, tries integer, next_attempt_at timestamp with time zone, url text, secret_sealed text, previous_secret_sealed text, previous_secret_until timestamp with time zone, consecutive_failures integer, revision integer, seq bigint, at timestamp with time zone, unit_id uuid, other_unit_id uuid, booking_id uuid, entry_kind text, payload text, checksum bigint, source_ref text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
    cross join lateral (
      select d.agency_id, d.delivery_id, d.month, d.next_attempt_at,
             row_number() over (order by d.next_attempt_at, d.delivery_id) as place
      from webhook_delivery d
      where d.status = 'pending' and d.agency_id = w.agency_id and d.endpoint_id = w.endpoint_id
        and d.month between since and until and d.next_attempt_at <= due_until and d.claimed_by is distinct from claiming
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
         e.url, e.secret_sealed, e.previous_secret_sealed, e.previous_secret_until, e.consecutive_failures, e.revision,
         t.seq, t.at, t.unit_id, t.other_unit_id, t.booking_id, t.kind, t.payload, t.checksum, t.source_ref
  from claimed c
  join webhook_endpoint e on e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id
  left join lateral (
    select j.seq, j.at, j.unit_id, j.other_unit_id, j.booking_id, j.kind, j.payload, j.checksum, b.source_ref
    from journal j
    join booking b on b.agency_id = c.agency_id and b.booking_id = j.booking_id
    where j.shard = shard_of(c.agency_id) and j.seq = c.seq and j.month = c.entry_month and j.entry_id = c.event_id
      and j.agency_id = c.agency_id
    limit 1) t on true
  order by c.next_attempt_at, c.delivery_id;
end $function$;

CREATE OR REPLACE FUNCTION public.cut_back_snapshots(shards smallint[])
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  delete from snapshot s using (
    select h.shard, greatest(h.base, (select max(j.seq) from journal j where j.shard = h.shard)) as seq
    from shard h where h.shard = any (shards)) last
  where shard_of(s.agency_id) = last.shard and s.seq > last.seq;
end $function$;

CREATE OR REPLACE FUNCTION public.delete_webhook_endpoint(writer_epoch bigint, agency uuid, endpoint uuid, deleted_at timestamp with time zone, dropped_max integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.end_of_log(agency uuid, writer_epoch bigint, OUT seq bigint, OUT month date)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  perform check_fence(shard_of(agency), writer_epoch, true);
  select j.seq, j.month into seq, month from journal j where j.shard = shard_of(agency) order by j.seq desc limit 1;
  if not found then
    select s.mark, l.oldest_month into seq, month from shard s, ledger l where s.shard = shard_of(agency);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.ensure_months(until date)
 RETURNS date
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.fingerprint_of(link bytea)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ select rpad(encode(substring(link for 8), 'hex'), 16, '0') $function$;

CREATE OR REPLACE FUNCTION public.give_up_shards(shards smallint[], of_writer uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update shard s set writer_id = null
  from (select g.shard from shard g where g.shard = any (shards) and g.writer_id = of_writer for update skip locked) given
  where s.shard = given.shard;
end $function$;

CREATE OR REPLACE FUNCTION public.guest_text(first_name text, last_name text, email text, phone text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ select lower(first_name || E'\n' || last_name || E'\n' || coalesce(email, '') || E'\n' || coalesce(phone, '')) $function$;

CREATE OR REPLACE FUNCTION public.join_sending()
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  taken bigint;
begin
  update webhook_sender set tenure = webhook_sender.tenure + 2, taken_at = clock_timestamp() returning tenure - 1 into taken;
  insert into sending_node (tenure) values (taken);
  delete from sending_node n where n.taken_at < clock_timestamp() - interval '1 day' and n.tenure <> taken
    and not exists (select from sending s where s.tenure = n.tenure);
  return taken;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_answer(answer idempotency_row, answer_body text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
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
end $function$;

CREATE OR REPLACE FUNCTION public.keep_key_uses(uses jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update api_key k set last_used_at = u."usedAt"
  from jsonb_to_recordset(uses) as u ("agencyId" uuid, "keyId" uuid, "usedAt" timestamptz)
  where k.agency_id = u."agencyId" and k.key_id = u."keyId"
    and (k.last_used_at is null or k.last_used_at < u."usedAt");
end $function$;

CREATE OR REPLACE FUNCTION public.keep_node_rate(writer_term bigint, slots jsonb, keep_from bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into rate_slot (term, slot, shard, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select writer_term, s.slot, coalesce(s.shard, -1), clock_timestamp() - s."ageMs" * interval '1 millisecond', s."wallMs",
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
end $function$;

CREATE OR REPLACE FUNCTION public.keep_node_sessions(shards smallint[], seen jsonb, ended jsonb, idle_since timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update portal_session p set seen_at = greatest(p.seen_at, s."seenAt")
  from jsonb_to_recordset(seen) as s ("sha256" text, "seenAt" timestamptz)
  where p.secret_sha256 = s."sha256";
  delete from portal_session p
  where p.secret_sha256 in (select jsonb_array_elements_text(ended))
    or (p.seen_at < idle_since and (p.agency_id is null or shard_of(p.agency_id) = any (shards)));
end $function$;

CREATE OR REPLACE FUNCTION public.keep_rate(writer_epoch bigint, writer_term bigint, slots jsonb, keep_from bigint, drop_earlier boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.keep_sessions(writer_epoch bigint, seen jsonb, ended jsonb, idle_since timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform check_fence(0::smallint, writer_epoch);
  update portal_session p set seen_at = greatest(p.seen_at, s."seenAt")
  from jsonb_to_recordset(seen) as s ("sha256" text, "seenAt" timestamptz)
  where p.secret_sha256 = s."sha256";
  delete from portal_session where secret_sha256 in (select jsonb_array_elements_text(ended)) or seen_at < idle_since;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_usage(shards smallint[], epochs bigint[], totals jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.load_unit(of_unit uuid)
 RETURNS TABLE(seq bigint, format integer, checksum text, payload text, kind text, unit_id uuid, other_unit_id uuid, booking_id uuid)
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.load_units(of_units uuid[])
 RETURNS TABLE(of_unit uuid, seq bigint, format integer, checksum text, payload text, kind text, unit_id uuid, other_unit_id uuid, booking_id uuid)
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.lost_shards(shards smallint[], epochs bigint[], of_writer uuid)
 RETURNS SETOF smallint
 LANGUAGE plpgsql
AS $function$
begin
  update writer w set beat_at = clock_timestamp() where w.writer_id = of_writer;
  return query
  select s.shard from unnest(shards, epochs) c (shard, epoch) join shard s on s.shard = c.shard where s.epoch <> c.epoch;
end $function$;

CREATE OR REPLACE FUNCTION public.make_deliveries(claiming bigint, agencies jsonb, made_at timestamp with time zone, room integer, OUT made integer, OUT may_have_more boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
    select e.agency_id, e.endpoint_id, c.its_room, j.seq, j.month, j.entry_id, j.kind, j.is_announced,
           least(j.at, made_at) as created_at,
           -- What has waited for the endpoint is due within a second of its last change, in the order of the log.
           case when e.updated_at <= j.at then least(j.at, made_at)
                else least(e.updated_at, made_at) + (j.seq % 1000000) * interval '1 microsecond' end as due_at
    from unnest(agency_ids, endpoint_ids, rooms) as c (agency_id, endpoint_id, its_room)
    cross join lateral (
      select * from webhook_endpoint e
      where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id and e.status = 'active' limit 1) e
    cross join lateral (
      select j.seq, j.month, j.at, j.entry_id, j.kind, j.is_announced from journal j
      where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month
      order by j.seq limit c.its_room) j
  ), delivery as (
    insert into webhook_delivery (agency_id, endpoint_id, delivery_id, event_id, seq, entry_month, month, kind, status,
                                  created_at, next_attempt_at)
    select e.agency_id, e.endpoint_id, md5(e.entry_id::text || e.endpoint_id::text)::uuid, e.entry_id, e.seq, e.month,
           greatest(storage_month(e.created_at), e.month),
           case e.kind when 'booking_created' then 'booking.created' when 'booking_cancelled' then 'booking.cancelled'
                       else 'booking.updated' end,
           'pending', e.created_at, e.due_at
    from entry e where e.is_announced
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
end $function$;

CREATE OR REPLACE FUNCTION public.next_delivery_due(due_after timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
    where since is not null);
end $function$;

CREATE OR REPLACE FUNCTION public.pending_months(OUT since date, OUT until date)
 RETURNS record
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
AS $function$
  select min(m.month), max(m.month)
  from ledger l
  cross join lateral (
    select n::date as month from generate_series(l.oldest_month, l.newest_month, interval '1 month') n) m
  cross join lateral (
    select from webhook_delivery d where d.status = 'pending' and d.month = m.month
    order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit 1) d
$function$;

CREATE OR REPLACE FUNCTION public.record_attempts(claiming bigint, content jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.register_endpoint(writer_epoch bigint, agency uuid, endpoint uuid, its_url text, its_description text, its_secret_sealed text, registered_at timestamp with time zone, endpoints_max integer)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  cursor_seq   bigint;
  cursor_month date;
begin
  perform check_fence(shard_of(agency), writer_epoch, true);
  select seq, month into cursor_seq, cursor_month from end_of_log(agency, writer_epoch);
  insert into webhook_endpoint (agency_id, endpoint_id, url, description, status, secret_sealed, created_at, updated_at,
                                made_seq, made_month, from_seq)
  select agency, endpoint, its_url, its_description, 'active', its_secret_sealed, registered_at, registered_at,
         cursor_seq, cursor_month, cursor_seq
  where (select count(*) from webhook_endpoint e where e.agency_id = agency and e.status <> 'deleted') < endpoints_max;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION public.renew_epochs(shards smallint[], epochs bigint[], wanted_renewal uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.retire_month(retired date)
 RETURNS SETOF text
 LANGUAGE plpgsql
 SET lock_timeout TO '500ms'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.rotate_secret_key(known jsonb, new_hmac text, endpoints_read integer, changes jsonb, chain_changes jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.send_for(claiming bigint, wanted smallint[], epochs bigint[])
 RETURNS smallint[]
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.sent_shards(claiming bigint)
 RETURNS smallint[]
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.shard_of(agency uuid)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ select get_byte(sha256(uuid_send(agency)), 0)::smallint $function$;

CREATE OR REPLACE FUNCTION public.shard_writers()
 RETURNS TABLE(writer_id uuid, name text, run text, node text, shards bigint, beat_at timestamp with time zone, silent_ms double precision, is_draining boolean, is_released boolean)
 LANGUAGE sql
 STABLE
AS $function$
  select w.writer_id, w.name, w.run, w.node, count(*), w.beat_at,
         extract(epoch from clock_timestamp() - w.beat_at) * 1000, w.draining_at is not null, w.released_at is not null
  from shard s join writer w on w.writer_id = s.writer_id
  group by w.writer_id
$function$;

CREATE OR REPLACE FUNCTION public.storage_month(at timestamp with time zone)
 RETURNS date
 LANGUAGE sql
 STABLE STRICT
AS $function$
  select greatest(oldest_month, least(newest_month, date_trunc('month', at at time zone 'UTC')::date)) from ledger
$function$;

CREATE OR REPLACE FUNCTION public.take_over(new_holder text, new_writer uuid DEFAULT NULL::uuid, new_run text DEFAULT NULL::text)
 RETURNS TABLE(shard smallint, epoch bigint, last_seq bigint, last_month date, last_link bytea, newest_month date)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
begin
  perform from shard s order by s.shard for update;
  update shard s set epoch = s.epoch + 1, holder = new_holder, writer_id = new_writer, taken_at = clock_timestamp(), renewal = null;
  delete from writer;
  if new_writer is not null then
    insert into writer (writer_id, name, run) values (new_writer, new_holder, new_run);
  end if;
  -- Statements of their own: their snapshots are taken after everything that the locks waited for has ended.
  perform cut_back_snapshots(array(select s.shard from shard s));
  return query
  select s.shard, s.epoch, greatest(j.seq, s.mark), coalesce(j.month, l.oldest_month), coalesce(j.link, s.mark_link), l.newest_month
  from ledger l cross join shard s
  left join lateral (
    select j.seq, j.month, j.link from journal j where j.shard = s.shard order by j.seq desc limit 1) j on true
  order by s.shard;
end $function$;

CREATE OR REPLACE FUNCTION public.take_over_sending(writer_epoch bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.take_shards(wanted smallint[], new_holder text, new_writer uuid, new_run text, new_node text)
 RETURNS TABLE(shard smallint, epoch bigint, last_seq bigint, last_month date, last_link bytea, newest_month date)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
begin
  perform from shard s where s.shard = any (wanted) order by s.shard for update;
  update shard s set epoch = s.epoch + 1, holder = new_holder, writer_id = new_writer, taken_at = clock_timestamp(), renewal = null
  where s.shard = any (wanted);
  insert into writer (writer_id, name, run, node) values (new_writer, new_holder, new_run, new_node)
  on conflict (writer_id) do update set beat_at = clock_timestamp(), released_at = null;
  -- A process that had all shards is fenced by the loss of any: without its row it learns of it even if it writes nothing.
  delete from writer w
  where w.node is null
    or ((w.released_at is not null or w.beat_at < clock_timestamp() - interval '1 hour')
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
end $function$;

CREATE OR REPLACE FUNCTION public.was_written(shards smallint[], epochs bigint[], entries journal_row[], audit_lines audit_row[])
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION public.webhook_backlog(counted_max integer, OUT waiting bigint, OUT oldest_due timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  agency_ids   uuid[];
  endpoint_ids uuid[];
  counted      bigint;
begin
  select count(*) into waiting from (
    select from webhook_delivery d where d.status = 'pending'
    order by d.agency_id, d.endpoint_id, d.next_attempt_at, d.delivery_id limit counted_max) d;

  select array_agg(e.agency_id), array_agg(e.endpoint_id), min(greatest(j.at, e.updated_at))
  into agency_ids, endpoint_ids, oldest_due
  from webhook_endpoint e
  cross join lateral (
    select j.at from journal j
    where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month and j.is_announced
    order by j.seq limit 1) j
  where e.status = 'active';

  select count(*) into counted from (
    select from unnest(agency_ids, endpoint_ids) as c (agency_id, endpoint_id)
    cross join lateral (
      select * from webhook_endpoint e where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id limit 1) e
    cross join lateral (
      select from journal j
      where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month and j.is_announced
      order by j.seq limit counted_max) j
    limit counted_max - waiting) j;
  waiting := waiting + counted;
  oldest_due := least(oldest_due, next_delivery_due('-infinity'));
end $function$;

CREATE OR REPLACE FUNCTION public.webhook_endpoints_waiting(since date, until date)
 RETURNS TABLE(agency_id uuid, endpoint_id uuid)
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;
