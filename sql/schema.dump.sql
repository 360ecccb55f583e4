create extension btree_gin;

create extension btree_gist;

create extension pg_trgm;

create type audit_row as (
  agency_id text,
  audit_id text,
  at timestamp with time zone,
  actor_kind text,
  actor_id text,
  route text,
  outcome text,
  booking_id text,
  request_id text,
  count bigint
);

create type booking_row as (
  agency_id text,
  booking_id text,
  unit_id text,
  type text,
  status text,
  source text,
  source_ref text,
  arrival date,
  departure date,
  adults integer,
  children integer,
  extra_bed boolean,
  total_amount bigint,
  notes text,
  hold_expires_at timestamp with time zone,
  expected_until date,
  cancelled_at timestamp with time zone,
  cancel_reason text,
  created_at timestamp with time zone,
  updated_at timestamp with time zone,
  version integer,
  seq bigint
);

create type event_row as (
  agency_id text,
  event_id text,
  seq bigint,
  kind text,
  booking_id text,
  occurred_at timestamp with time zone
);

create type guest_row as (
  agency_id text,
  guest_id text,
  booking_id text,
  first_name text,
  last_name text,
  email text,
  phone text,
  nationality text,
  created_at timestamp with time zone
);

create type idempotency_row as (
  agency_id text,
  key_id text,
  route text,
  idempotency_key text,
  request_hash text,
  status integer,
  created_at timestamp with time zone
);

create type journal_row as (
  agency_id text,
  unit_id text,
  seq bigint,
  other_unit_id text,
  kind text,
  booking_id text,
  checksum text,
  request_id text,
  at timestamp with time zone
);

create table agency (
  agency_id text not null,
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
  agency_id text not null,
  key_id text not null,
  name text,
  prefix text not null,
  secret_sha256 text not null,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_key_pkey PRIMARY KEY (agency_id, key_id),
  constraint api_key_secret_sha256_key UNIQUE (secret_sha256),
  constraint api_key_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint api_key_secret_sha256_check CHECK ((length(secret_sha256) = 64))
);

create table audit (
  agency_id text not null,
  audit_id text not null,
  at timestamp with time zone not null,
  actor_kind text not null,
  actor_id text,
  route text not null,
  outcome text not null,
  booking_id text,
  request_id text,
  count bigint not null,
  constraint audit_pkey PRIMARY KEY (agency_id, audit_id),
  constraint audit_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'portal'::text, 'system'::text])))
);

create table booking (
  agency_id text not null,
  booking_id text not null,
  unit_id text not null,
  type text not null,
  status text not null,
  source text not null,
  source_ref text,
  arrival date not null,
  departure date not null,
  adults integer not null,
  children integer not null,
  extra_bed boolean not null,
  total_amount bigint not null,
  guest_id text,
  notes text,
  hold_expires_at timestamp with time zone,
  expected_until date,
  cancelled_at timestamp with time zone,
  cancel_reason text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  version integer not null,
  seq bigint not null,
  constraint booking_pkey PRIMARY KEY (agency_id, booking_id),
  constraint booking_night_sold_once EXCLUDE USING gist (hashtextextended((agency_id || unit_id), (0)::bigint) WITH =, daterange(arrival, departure) WITH &&) WHERE ((status <> 'cancelled'::text)),
  constraint booking_check CHECK ((departure > arrival)),
  constraint booking_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'option'::text, 'confirmed'::text, 'checked_in'::text, 'checked_out'::text, 'cancelled'::text]))),
  constraint booking_type_check CHECK ((type = ANY (ARRAY['guest'::text, 'owner_stay'::text, 'maintenance'::text, 'block'::text])))
);

create table calendar_feed (
  agency_id text not null,
  unit_id text not null,
  version integer not null,
  constraint calendar_feed_pkey PRIMARY KEY (agency_id, unit_id),
  constraint calendar_feed_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint calendar_feed_version_check CHECK ((version > 0))
);

create table fee_type (
  agency_id text not null,
  fee_type_id text not null,
  label text not null,
  kind text not null,
  amount bigint,
  basis_points integer,
  includes_weekly_cleaning boolean not null,
  application text not null,
  active boolean not null,
  "position" bigint generated always as identity not null,
  constraint fee_type_pkey PRIMARY KEY (agency_id, fee_type_id),
  constraint fee_type_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint fee_type_application_check CHECK ((application = ANY (ARRAY['every_stay'::text, 'on_request'::text]))),
  constraint fee_type_check CHECK ((((kind = 'fixed'::text) AND (amount IS NOT NULL)) OR ((kind = 'percent'::text) AND (basis_points IS NOT NULL)))),
  constraint fee_type_kind_check CHECK ((kind = ANY (ARRAY['fixed'::text, 'percent'::text])))
);

create table guest (
  agency_id text not null,
  guest_id text not null,
  first_name text not null,
  last_name text not null,
  email text,
  email_key text generated always as (lower(email)) stored,
  phone text,
  nationality text,
  created_at timestamp with time zone not null,
  search_text text generated always as (lower(((((((first_name || '
'::text) || last_name) || '
'::text) || COALESCE(email, ''::text)) || '
'::text) || COALESCE(phone, ''::text)))) stored,
  constraint guest_pkey PRIMARY KEY (agency_id, guest_id),
  constraint guest_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id)
);

create table idempotency (
  agency_id text not null,
  key_id text not null,
  route text not null,
  idempotency_key text not null,
  request_hash text not null,
  status integer not null,
  body text not null,
  created_at timestamp with time zone not null,
  constraint idempotency_pkey PRIMARY KEY (agency_id, key_id, route, idempotency_key)
);

create table journal (
  agency_id text not null,
  unit_id text not null,
  seq bigint not null,
  other_unit_id text,
  batch_id uuid not null,
  epoch bigint not null,
  kind text not null,
  booking_id text,
  payload text not null,
  checksum text not null,
  request_id text,
  at timestamp with time zone not null,
  constraint journal_pkey PRIMARY KEY (agency_id, unit_id, seq)
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
  constraint rate_slot_pkey PRIMARY KEY (term, slot)
);

create table secret_key_check (
  is_only boolean default true not null,
  hmac text not null,
  constraint secret_key_check_pkey PRIMARY KEY (is_only),
  constraint secret_key_check_is_only_check CHECK (is_only)
);

create table snapshot (
  agency_id text not null,
  unit_id text not null,
  seq bigint not null,
  format integer not null,
  hash text not null,
  state text not null,
  taken_at timestamp with time zone not null,
  constraint snapshot_pkey PRIMARY KEY (agency_id, unit_id, seq)
);

create table unit (
  agency_id text not null,
  unit_id text not null,
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
  constraint unit_status_check CHECK ((status = ANY (ARRAY['active'::text, 'draft'::text, 'archived'::text]))),
  constraint unit_turnover_nights_check CHECK ((turnover_nights >= 0))
);

create table usage_month (
  agency_id text not null,
  month text not null,
  used bigint not null,
  constraint usage_month_pkey PRIMARY KEY (agency_id, month)
);

create table webhook_attempt (
  agency_id text not null,
  delivery_id text not null,
  attempt integer not null,
  at timestamp with time zone not null,
  duration_ms integer not null,
  http_status integer,
  reason text,
  detail text,
  constraint webhook_attempt_pkey PRIMARY KEY (agency_id, delivery_id, attempt),
  constraint webhook_attempt_attempt_check CHECK ((attempt > 0))
);

create table webhook_delivery (
  agency_id text not null,
  delivery_id text not null,
  endpoint_id text not null,
  event_id text not null,
  status text not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp with time zone,
  created_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  tries integer default 0 not null,
  claimed_by bigint,
  constraint webhook_delivery_pkey PRIMARY KEY (agency_id, delivery_id),
  constraint webhook_delivery_due_known CHECK (((status <> 'pending'::text) OR (next_attempt_at IS NOT NULL))),
  constraint webhook_delivery_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text, 'dropped'::text])))
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500);

create table webhook_endpoint (
  agency_id text not null,
  endpoint_id text not null,
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
  constraint webhook_endpoint_pkey PRIMARY KEY (agency_id, endpoint_id),
  constraint webhook_endpoint_agency_id_fkey FOREIGN KEY (agency_id) REFERENCES agency(agency_id),
  constraint webhook_endpoint_failures CHECK ((consecutive_failures >= 0)),
  constraint webhook_endpoint_status_check CHECK ((status = ANY (ARRAY['active'::text, 'disabled'::text, 'deleted'::text])))
);

create table webhook_event (
  agency_id text not null,
  event_id text not null,
  seq bigint,
  kind text not null,
  booking_id text,
  body text not null,
  occurred_at timestamp with time zone not null,
  constraint webhook_event_pkey PRIMARY KEY (agency_id, event_id)
);

create table webhook_sender (
  is_only boolean default true not null,
  tenure bigint not null,
  epoch bigint not null,
  taken_at timestamp with time zone not null,
  constraint webhook_sender_pkey PRIMARY KEY (is_only),
  constraint webhook_sender_is_only_check CHECK (is_only)
);

create table writer_fence (
  is_only boolean default true not null,
  epoch bigint not null,
  holder text not null,
  taken_at timestamp with time zone not null,
  renewal uuid,
  constraint writer_fence_pkey PRIMARY KEY (is_only),
  constraint writer_fence_is_only_check CHECK (is_only)
);

CREATE INDEX audit_newest ON public.audit USING btree (agency_id, at DESC, audit_id DESC);

CREATE INDEX booking_newest_arrival ON public.booking USING btree (agency_id, arrival DESC, booking_id);

CREATE INDEX booking_next_expiry ON public.booking USING btree (hold_expires_at) WHERE ((status = ANY (ARRAY['draft'::text, 'option'::text])) AND (hold_expires_at IS NOT NULL));

CREATE INDEX booking_of_guest ON public.booking USING btree (agency_id, guest_id, arrival DESC) WHERE (guest_id IS NOT NULL);

CREATE INDEX booking_of_unit ON public.booking USING btree (agency_id, unit_id, arrival DESC, booking_id);

CREATE UNIQUE INDEX guest_email ON public.guest USING btree (agency_id, email_key);

CREATE INDEX guest_newest ON public.guest USING btree (agency_id, created_at DESC, guest_id);

CREATE INDEX guest_search ON public.guest USING gin (search_text gin_trgm_ops, ((agency_id || ''::text))) WITH (gin_pending_list_limit='512');

CREATE INDEX idempotency_oldest ON public.idempotency USING btree (created_at);

CREATE INDEX journal_other_unit ON public.journal USING btree (agency_id, other_unit_id, seq) WHERE (other_unit_id IS NOT NULL);

CREATE UNIQUE INDEX journal_seq ON public.journal USING btree (seq);

CREATE INDEX webhook_delivery_of_endpoint ON public.webhook_delivery USING btree (agency_id, endpoint_id, created_at DESC, delivery_id);

CREATE INDEX webhook_delivery_pending ON public.webhook_delivery USING btree (agency_id, endpoint_id, next_attempt_at, delivery_id) WHERE (status = 'pending'::text);

CREATE OR REPLACE FUNCTION public.append_batch(writer_epoch bigint, batch uuid, content jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  current_epoch    bigint;
  wanted           integer := coalesce(jsonb_array_length(content -> 'journal'), 0);
  written          integer;
  guest_of_booking jsonb := '{}';
begin
  select epoch into current_epoch from writer_fence for share;
  if current_epoch <> writer_epoch then
    raise exception 'Cannot append: epoch % is fenced by epoch %', writer_epoch, current_epoch
      using errcode = 'NL001';
  end if;

  if wanted > 0 then
    insert into journal (agency_id, unit_id, seq, other_unit_id, batch_id, epoch, kind, booking_id, payload,
                         checksum, request_id, at)
    select e.agency_id, e.unit_id, e.seq, e.other_unit_id, batch, writer_epoch, e.kind, e.booking_id, e.payload,
           e.checksum, e.request_id, e.at
    from jsonb_to_recordset(content -> 'journal') as e (
      agency_id text, unit_id text, seq bigint, other_unit_id text, kind text, booking_id text, payload text,
      checksum text, request_id text, at timestamptz)
    on conflict (seq) do nothing;
    get diagnostics written = row_count;
    if written = 0 and batch = (select j.batch_id from journal j
                                where j.seq = (content -> 'journal' -> 0 ->> 'seq')::bigint) then
      return 'duplicate';
    elsif written <> wanted then
      raise exception 'Cannot append: sequence numbers of batch % are taken', batch using errcode = 'NL002';
    end if;
  end if;

  if content ? 'units' then
    insert into unit (agency_id, unit_id, slug, name, status, city, area, building, bedrooms, beds, bathrooms,
                      max_guests, size_sqm, checkin_time, checkout_time, instant_book, base_price, cleaning_fee,
                      extra_bed_fee, min_stay, turnover_nights, rates)
    select u.agency_id, u.unit_id, u.slug, u.name, u.status, u.city, u.area, u.building, u.bedrooms, u.beds,
           u.bathrooms, u.max_guests, u.size_sqm, u.checkin_time, u.checkout_time, u.instant_book, u.base_price,
           u.cleaning_fee, u.extra_bed_fee, u.min_stay, u.turnover_nights, u.rates
    from jsonb_to_recordset(content -> 'units') as u (
      agency_id text, unit_id text, slug text, name text, status text, city text, area text, building text,
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
  if content ? 'guests' then
    with wanted_guest as (
      select g.*, coalesce(lower(g.email), g.guest_id) as same_guest
      from jsonb_to_recordset(content -> 'guests') as g (
        agency_id text, guest_id text, booking_id text, first_name text, last_name text, email text, phone text,
        nationality text, created_at timestamptz)
    ), new_guest as (
      select distinct on (agency_id, same_guest) * from wanted_guest order by agency_id, same_guest, guest_id
    ), resolved as (
      insert into guest (agency_id, guest_id, first_name, last_name, email, phone, nationality, created_at)
      select agency_id, guest_id, first_name, last_name, email, phone, nationality, created_at from new_guest
      on conflict (agency_id, email_key) do update set email = guest.email
      returning agency_id, guest_id, coalesce(email_key, guest_id) as same_guest
    )
    select jsonb_object_agg(w.booking_id, r.guest_id) into guest_of_booking
    from wanted_guest w join resolved r on r.agency_id = w.agency_id and r.same_guest = w.same_guest;
  end if;

  if content ? 'created' then
    insert into booking (agency_id, booking_id, unit_id, type, status, source, source_ref, arrival, departure,
                         adults, children, extra_bed, total_amount, guest_id, notes, hold_expires_at,
                         expected_until, cancelled_at, cancel_reason, created_at, updated_at, version, seq)
    select b.agency_id, b.booking_id, b.unit_id, b.type, b.status, b.source, b.source_ref, b.arrival, b.departure,
           b.adults, b.children, b.extra_bed, b.total_amount, guest_of_booking ->> b.booking_id, b.notes,
           b.hold_expires_at, b.expected_until, b.cancelled_at, b.cancel_reason, b.created_at, b.updated_at,
           b.version, b.seq
    from jsonb_to_recordset(content -> 'created') as b (
      agency_id text, booking_id text, unit_id text, type text, status text, source text, source_ref text,
      arrival date, departure date, adults integer, children integer, extra_bed boolean, total_amount bigint,
      notes text, hold_expires_at timestamptz, expected_until date, cancelled_at timestamptz, cancel_reason text,
      created_at timestamptz, updated_at timestamptz, version integer, seq bigint);
  end if;

  -- A change says which version it was decided on; a row that does not match is a bug of the writer, and the
  -- whole change is refused rather than half applied.
  if content ? 'changed' then
    update booking b set
      unit_id = c.unit_id, status = c.status, arrival = c.arrival, departure = c.departure,
      hold_expires_at = c.hold_expires_at, expected_until = c.expected_until, cancelled_at = c.cancelled_at,
      cancel_reason = c.cancel_reason, total_amount = c.total_amount, updated_at = c.updated_at,
      version = c.version, seq = c.seq
    from jsonb_to_recordset(content -> 'changed') as c (
      agency_id text, booking_id text, unit_id text, status text, arrival date, departure date,
      hold_expires_at timestamptz, expected_until date, cancelled_at timestamptz, cancel_reason text,
      total_amount bigint, updated_at timestamptz, version integer, seq bigint)
    where b.agency_id = c.agency_id and b.booking_id = c.booking_id and b.version = c.version - 1;
    get diagnostics written = row_count;
    if written <> jsonb_array_length(content -> 'changed') then
      raise exception 'Cannot change bookings: % of % rows have the version decided on',
        written, jsonb_array_length(content -> 'changed') using errcode = 'NL003';
    end if;
  end if;

  if content ? 'events' then
    insert into webhook_event (agency_id, event_id, seq, kind, booking_id, body, occurred_at)
    select e.agency_id, e.event_id, e.seq, e.kind, e.booking_id, e.body, e.occurred_at
    from jsonb_to_recordset(content -> 'events') as e (
      agency_id text, event_id text, seq bigint, kind text, booking_id text, body text, occurred_at timestamptz);

    insert into webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, next_attempt_at, created_at)
    select e.agency_id, 'dlv_' || md5(e.event_id || w.endpoint_id), w.endpoint_id, e.event_id, 'pending',
           e.occurred_at, e.occurred_at
    from jsonb_to_recordset(content -> 'events') as e (agency_id text, event_id text, occurred_at timestamptz)
    join webhook_endpoint w on w.agency_id = e.agency_id and w.status = 'active';
  end if;

  -- The rows below may come without a journal row, so each is safe to send twice by itself.
  if content ? 'audit' then
    insert into audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
    select a.agency_id, a.audit_id, a.at, a.actor_kind, a.actor_id, a.route, a.outcome, a.booking_id, a.request_id,
           a.count
    from jsonb_to_recordset(content -> 'audit') as a (
      agency_id text, audit_id text, at timestamptz, actor_kind text, actor_id text, route text, outcome text,
      booking_id text, request_id text, count bigint)
    on conflict (agency_id, audit_id) do update set count = greatest(audit.count, excluded.count);
  end if;

  if content ? 'idempotency' then
    insert into idempotency (agency_id, key_id, route, idempotency_key, request_hash, status, body, created_at)
    select i.agency_id, i.key_id, i.route, i.idempotency_key, i.request_hash, i.status, i.body, i.created_at
    from jsonb_to_recordset(content -> 'idempotency') as i (
      agency_id text, key_id text, route text, idempotency_key text, request_hash text, status integer, body text,
      created_at timestamptz)
    on conflict (agency_id, key_id, route, idempotency_key) do update set
      request_hash = excluded.request_hash, status = excluded.status, body = excluded.body,
      created_at = excluded.created_at
    where idempotency.created_at <= excluded.created_at - interval '24 hours';
  end if;

  if content ? 'usage' then
    insert into usage_month (agency_id, month, used)
    select u.agency_id, u.month, u.used
    from jsonb_to_recordset(content -> 'usage') as u (agency_id text, month text, used bigint)
    on conflict (agency_id, month) do update set used = greatest(usage_month.used, excluded.used);
  end if;

  return 'written';
end $function$;

CREATE OR REPLACE FUNCTION public.append_batch(writer_epoch bigint, batch uuid, entries journal_row[], payloads text, created booking_row[], changed booking_row[], guests guest_row[], events event_row[], bodies text, audit_lines audit_row[], idempotencies idempotency_row[], answers text, others jsonb)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  current_epoch    bigint;
  wanted           integer := coalesce(cardinality(entries), 0);
  written          integer;
  guest_of_booking jsonb := '{}';
begin
  select epoch into current_epoch from writer_fence for share;
  if current_epoch <> writer_epoch then
    raise exception 'Cannot append: epoch % is fenced by epoch %', writer_epoch, current_epoch
      using errcode = 'NL001';
  end if;

  if wanted > 0 then
    insert into journal (agency_id, unit_id, seq, other_unit_id, batch_id, epoch, kind, booking_id, payload,
                         checksum, request_id, at)
    select e.agency_id, e.unit_id, e.seq, e.other_unit_id, batch, writer_epoch, e.kind, e.booking_id, e.payload,
           e.checksum, e.request_id, e.at
    from rows from (unnest(entries), string_to_table(payloads, E'\x1e')) as e (
      agency_id, unit_id, seq, other_unit_id, kind, booking_id, checksum, request_id, at, payload)
    on conflict (seq) do nothing;
    get diagnostics written = row_count;
    if written = 0 and batch = (select j.batch_id from journal j where j.seq = entries[1].seq) then
      return 'duplicate';
    elsif written <> wanted then
      raise exception 'Cannot append: sequence numbers of batch % are taken', batch using errcode = 'NL002';
    end if;
  end if;

  if others ? 'units' then
    insert into unit (agency_id, unit_id, slug, name, status, city, area, building, bedrooms, beds, bathrooms,
                      max_guests, size_sqm, checkin_time, checkout_time, instant_book, base_price, cleaning_fee,
                      extra_bed_fee, min_stay, turnover_nights, rates)
    select u.agency_id, u.unit_id, u.slug, u.name, u.status, u.city, u.area, u.building, u.bedrooms, u.beds,
           u.bathrooms, u.max_guests, u.size_sqm, u.checkin_time, u.checkout_time, u.instant_book, u.base_price,
           u.cleaning_fee, u.extra_bed_fee, u.min_stay, u.turnover_nights, u.rates
    from jsonb_to_recordset(others -> 'units') as u (
      agency_id text, unit_id text, slug text, name text, status text, city text, area text, building text,
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
  if guests is not null then
    with wanted_guest as (
      select g.*, coalesce(lower(g.email), g.guest_id) as same_guest from unnest(guests) g
    ), new_guest as (
      select distinct on (agency_id, same_guest) * from wanted_guest order by agency_id, same_guest, guest_id
    ), resolved as (
      insert into guest (agency_id, guest_id, first_name, last_name, email, phone, nationality, created_at)
      select agency_id, guest_id, first_name, last_name, email, phone, nationality, created_at from new_guest
      on conflict (agency_id, email_key) do update set email = guest.email
      returning agency_id, guest_id, coalesce(email_key, guest_id) as same_guest
    )
    select jsonb_object_agg(w.booking_id, r.guest_id) into guest_of_booking
    from wanted_guest w join resolved r on r.agency_id = w.agency_id and r.same_guest = w.same_guest;
  end if;

  if created is not null then
    insert into booking (agency_id, booking_id, unit_id, type, status, source, source_ref, arrival, departure,
                         adults, children, extra_bed, total_amount, guest_id, notes, hold_expires_at,
                         expected_until, cancelled_at, cancel_reason, created_at, updated_at, version, seq)
    select b.agency_id, b.booking_id, b.unit_id, b.type, b.status, b.source, b.source_ref, b.arrival, b.departure,
           b.adults, b.children, b.extra_bed, b.total_amount, guest_of_booking ->> b.booking_id, b.notes,
           b.hold_expires_at, b.expected_until, b.cancelled_at, b.cancel_reason, b.created_at, b.updated_at,
           b.version, b.seq
    from unnest(created) b;
  end if;

  -- A change says which version it was decided on; a row that does not match is a bug of the writer, and the
  -- whole change is refused rather than half applied.
  if changed is not null then
    update booking b set
      unit_id = c.unit_id, status = c.status, arrival = c.arrival, departure = c.departure,
      hold_expires_at = c.hold_expires_at, expected_until = c.expected_until, cancelled_at = c.cancelled_at,
      cancel_reason = c.cancel_reason, total_amount = c.total_amount, updated_at = c.updated_at,
      version = c.version, seq = c.seq
    from unnest(changed) c
    where b.agency_id = c.agency_id and b.booking_id = c.booking_id and b.version = c.version - 1;
    get diagnostics written = row_count;
    if written <> cardinality(changed) then
      raise exception 'Cannot change bookings: % of % rows have the version decided on',
        written, cardinality(changed) using errcode = 'NL003';
    end if;
  end if;

  if events is not null then
    insert into webhook_event (agency_id, event_id, seq, kind, booking_id, body, occurred_at)
    select e.agency_id, e.event_id, e.seq, e.kind, e.booking_id, e.body, e.occurred_at
    from rows from (unnest(events), string_to_table(bodies, E'\x1e')) as e (
      agency_id, event_id, seq, kind, booking_id, occurred_at, body);

    insert into webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, next_attempt_at, created_at)
    select e.agency_id, 'dlv_' || md5(e.event_id || w.endpoint_id), w.endpoint_id, e.event_id, 'pending',
           e.occurred_at, e.occurred_at
    from unnest(events) e
    join webhook_endpoint w on w.agency_id = e.agency_id and w.status = 'active';
  end if;

  -- The rows below may come without a journal row, so each is safe to send twice by itself.
  if audit_lines is not null then
    insert into audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
    select a.agency_id, a.audit_id, a.at, a.actor_kind, a.actor_id, a.route, a.outcome, a.booking_id, a.request_id,
           a.count
    from unnest(audit_lines) a
    on conflict (agency_id, audit_id) do update set count = greatest(audit.count, excluded.count);
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

  if others ? 'usage' then
    insert into usage_month (agency_id, month, used)
    select u.agency_id, u.month, u.used
    from jsonb_to_recordset(others -> 'usage') as u (agency_id text, month text, used bigint)
    on conflict (agency_id, month) do update set used = greatest(usage_month.used, excluded.used);
  end if;

  return 'written';
end $function$;

CREATE OR REPLACE FUNCTION public.check_fence(writer_epoch bigint, alone boolean DEFAULT false)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  current_epoch bigint;
begin
  if alone then
    select epoch into current_epoch from writer_fence for update;
  else
    select epoch into current_epoch from writer_fence for share;
  end if;
  if current_epoch <> writer_epoch then
    raise exception 'Cannot write: epoch % is fenced by epoch %', writer_epoch, current_epoch using errcode = 'NL001';
  end if;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION public.claim_deliveries(claiming bigint, due_until timestamp with time zone, room integer, window_fresh integer, windows jsonb)
 RETURNS TABLE(agency_id text, delivery_id text, endpoint_id text, event_id text, kind text, body text, attempts integer, tries integer, next_attempt_at timestamp with time zone, url text, secret_sealed text, previous_secret_sealed text, previous_secret_until timestamp with time zone, consecutive_failures integer, revision integer)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_column
begin
  perform from webhook_sender s where s.tenure = claiming for share;
  if not found then
    raise exception 'Cannot claim deliveries: tenure % is over', claiming using errcode = 'NL004';
  end if;
  return query
  with candidate as (
    select due.agency_id, due.delivery_id,
           row_number() over (partition by due.agency_id order by due.place, due.next_attempt_at) as turn
    from webhook_endpoints_waiting() w
    cross join lateral (
      select from webhook_endpoint e
      where e.agency_id = w.agency_id and e.endpoint_id = w.endpoint_id and e.status = 'active' limit 1) e
    cross join lateral (
      select d.agency_id, d.delivery_id, d.next_attempt_at,
             row_number() over (order by d.next_attempt_at, d.delivery_id) as place
      from webhook_delivery d
      where d.status = 'pending' and d.agency_id = w.agency_id and d.endpoint_id = w.endpoint_id
        and d.next_attempt_at <= due_until and d.claimed_by is distinct from claiming
      order by d.next_attempt_at, d.delivery_id
      limit coalesce((windows ->> w.endpoint_id)::integer, window_fresh)) due
    order by turn, due.next_attempt_at
    limit room
  ), claimed as (
    update webhook_delivery d set claimed_by = claiming
    from candidate c
    where d.agency_id = c.agency_id and d.delivery_id = c.delivery_id and d.status = 'pending'
    returning d.*
  )
  select c.agency_id, c.delivery_id, c.endpoint_id, c.event_id, v.kind, v.body, c.attempts, c.tries,
         c.next_attempt_at, e.url, e.secret_sealed, e.previous_secret_sealed, e.previous_secret_until,
         e.consecutive_failures, e.revision
  from claimed c
  join webhook_event v on v.agency_id = c.agency_id and v.event_id = c.event_id
  join webhook_endpoint e on e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id
  order by c.next_attempt_at, c.delivery_id;
end $function$;

CREATE OR REPLACE FUNCTION public.delete_webhook_endpoint(writer_epoch bigint, agency text, endpoint text, deleted_at timestamp with time zone, dropped_max integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  dropped      integer;
  is_flood     boolean;
  last_dropped record;
begin
  perform check_fence(writer_epoch, true);
  update webhook_endpoint e set
    status = 'deleted', secret_sealed = '', previous_secret_sealed = null, previous_secret_until = null,
    revision = e.revision + 1, updated_at = deleted_at
  where e.agency_id = agency and e.endpoint_id = endpoint and e.status <> 'deleted';
  if not found then
    return null;
  end if;
  -- By the index of what is pending, and without a join: see src/db/pending-deliveries.ts.
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

CREATE OR REPLACE FUNCTION public.keep_rate(writer_epoch bigint, writer_term bigint, slots jsonb, keep_from bigint, drop_earlier boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform check_fence(writer_epoch);
  insert into rate_slot (term, slot, ended_at, wall_ms, boot_id, boot_ms, total, counts)
  select writer_term, s.slot, clock_timestamp() - s."ageMs" * interval '1 millisecond', s."wallMs", s."bootId",
         s."bootMs", s.total, s.counts
  from jsonb_to_recordset(slots) as s (
    slot bigint, "ageMs" double precision, "wallMs" double precision, "bootId" text, "bootMs" double precision,
    total bigint, counts text)
  on conflict (term, slot) do update set
    ended_at = excluded.ended_at, wall_ms = excluded.wall_ms, boot_id = excluded.boot_id, boot_ms = excluded.boot_ms,
    total = excluded.total, counts = excluded.counts
  where rate_slot.total < excluded.total;
  delete from rate_slot where term = writer_term and slot < keep_from;
  if drop_earlier then
    delete from rate_slot where term < writer_term;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_usage(writer_epoch bigint, totals jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform check_fence(writer_epoch);
  insert into usage_month (agency_id, month, used)
  select u."agencyId", u.month, u.used
  from jsonb_to_recordset(totals) as u ("agencyId" text, month text, used bigint)
  on conflict (agency_id, month) do update set used = greatest(usage_month.used, excluded.used);
end $function$;

CREATE OR REPLACE FUNCTION public.next_delivery_due(due_after timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
  select min(due.next_attempt_at)
  from webhook_endpoints_waiting() w
  cross join lateral (
    select from webhook_endpoint e
    where e.agency_id = w.agency_id and e.endpoint_id = w.endpoint_id and e.status = 'active' limit 1) e
  cross join lateral (
    select d.next_attempt_at from webhook_delivery d
    where d.status = 'pending' and d.agency_id = w.agency_id and d.endpoint_id = w.endpoint_id
      and d.next_attempt_at > due_after
    order by d.next_attempt_at limit 1) due
$function$;

CREATE OR REPLACE FUNCTION public.record_attempts(claiming bigint, content jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  perform from webhook_endpoint e
  join jsonb_to_recordset(content -> 'endpoints') as r (agency_id text, endpoint_id text)
    on e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id
  order by e.agency_id, e.endpoint_id for no key update of e;

  with settled as (
    update webhook_delivery d set
      status = case when d.status = 'dropped' and r.status = 'pending' then 'dropped' else r.status end,
      attempts = r.attempts, tries = r.tries, next_attempt_at = r.next_attempt_at, finished_at = r.finished_at,
      claimed_by = null
    from jsonb_to_recordset(content -> 'deliveries') as r (
      agency_id text, delivery_id text, attempts_before integer, attempts integer, tries integer, status text,
      next_attempt_at timestamptz, finished_at timestamptz)
    where d.agency_id = r.agency_id and d.delivery_id = r.delivery_id and d.claimed_by = claiming
      and d.attempts = r.attempts_before
    returning d.agency_id, d.delivery_id, d.attempts
  )
  insert into webhook_attempt (agency_id, delivery_id, attempt, at, duration_ms, http_status, reason, detail)
  select a.agency_id, a.delivery_id, a.attempt, a.at, a.duration_ms, a.http_status, a.reason, a.detail
  from jsonb_to_recordset(content -> 'attempts') as a (
    agency_id text, delivery_id text, attempt integer, at timestamptz, duration_ms integer, http_status integer,
    reason text, detail text)
  join settled s on s.agency_id = a.agency_id and s.delivery_id = a.delivery_id and s.attempts = a.attempt
  on conflict do nothing;

  perform from webhook_sender s where s.tenure = claiming for share;
  if found then
    update webhook_endpoint e set
      consecutive_failures = r.consecutive_failures, status = r.status, disabled_reason = r.disabled_reason,
      updated_at = case when e.status = r.status then e.updated_at else r.at end
    from jsonb_to_recordset(content -> 'endpoints') as r (
      agency_id text, endpoint_id text, revision integer, consecutive_failures integer, status text,
      disabled_reason text, at timestamptz)
    where e.agency_id = r.agency_id and e.endpoint_id = r.endpoint_id and e.revision = r.revision
      and e.status <> 'deleted';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.renew_epoch(writer_epoch bigint, wanted_renewal uuid)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  renewed bigint;
begin
  update writer_fence set epoch = epoch + 1, renewal = wanted_renewal, taken_at = clock_timestamp()
    where epoch = writer_epoch returning epoch into renewed;
  if found then
    return renewed;
  end if;
  select epoch into renewed from writer_fence where epoch = writer_epoch + 1 and renewal = wanted_renewal;
  if found then
    return renewed;
  end if;
  raise exception 'Cannot renew: epoch % is fenced', writer_epoch using errcode = 'NL001';
end $function$;

CREATE OR REPLACE FUNCTION public.rotate_secret_key(known jsonb, new_hmac text, endpoints_read integer, changes jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  stored  text;
  changed integer;
begin
  update writer_fence set epoch = writer_fence.epoch + 1, holder = 'rotate-secret-key', taken_at = clock_timestamp();
  -- From here on no endpoint appears or changes.
  lock table webhook_endpoint in share row exclusive mode;
  select hmac into stored from secret_key_check for update;
  if stored is not null and known is not null and not known ? stored then
    raise exception 'Cannot change the key: the database is used with another one' using errcode = 'NL010';
  end if;

  update webhook_endpoint e set
    secret_sealed = c.secret_after, previous_secret_sealed = c.previous_after,
    previous_secret_until = case when c.previous_after is null then null else e.previous_secret_until end
  from jsonb_to_recordset(changes) as c(
    agency_id text, endpoint_id text, secret_before text, secret_after text, previous_before text, previous_after text)
  where e.agency_id = c.agency_id and e.endpoint_id = c.endpoint_id and e.status <> 'deleted'
    and e.secret_sealed = c.secret_before and e.previous_secret_sealed is not distinct from c.previous_before;
  get diagnostics changed = row_count;
  if changed <> jsonb_array_length(changes)
    or endpoints_read <> (select count(*) from webhook_endpoint where status <> 'deleted') then
    raise exception 'Cannot change the key: endpoints were changed meanwhile' using errcode = 'NL011';
  end if;

  insert into secret_key_check (hmac) values (new_hmac) on conflict (is_only) do update set hmac = excluded.hmac;
end $function$;

CREATE OR REPLACE FUNCTION public.take_over(new_holder text)
 RETURNS TABLE(epoch bigint, last_seq bigint)
 LANGUAGE plpgsql
AS $function$
declare
  taken bigint;
begin
  update writer_fence set epoch = writer_fence.epoch + 1, holder = new_holder, taken_at = clock_timestamp()
    returning writer_fence.epoch into taken;
  return query select taken, coalesce((select max(journal.seq) from journal), 0);
end $function$;

CREATE OR REPLACE FUNCTION public.take_over_sending(writer_epoch bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  taken bigint;
begin
  perform from writer_fence where epoch = writer_epoch for share;
  if not found then
    raise exception 'Cannot take over sending: epoch % is fenced', writer_epoch using errcode = 'NL001';
  end if;
  update webhook_sender set tenure = webhook_sender.tenure + 1, epoch = writer_epoch, taken_at = clock_timestamp()
    returning tenure into taken;
  return taken;
end $function$;

CREATE OR REPLACE FUNCTION public.webhook_endpoints_waiting()
 RETURNS TABLE(agency_id text, endpoint_id text)
 LANGUAGE sql
 STABLE
AS $function$
  with recursive waiting as (
    (select d.agency_id, d.endpoint_id from webhook_delivery d
     where d.status = 'pending' order by d.agency_id, d.endpoint_id limit 1)
    union all
    select n.agency_id, n.endpoint_id
    from waiting w
    cross join lateral (
      select d.agency_id, d.endpoint_id from webhook_delivery d
      where d.status = 'pending' and (d.agency_id, d.endpoint_id) > (w.agency_id, w.endpoint_id)
      order by d.agency_id, d.endpoint_id limit 1) n
  )
  select w.agency_id, w.endpoint_id from waiting w
$function$;
