-- A batch whose rows come as composites. Reading them from jsonb was half of what a booking cost the server: a tree is
-- built of the whole batch, then a hash table of every row. Here the input function of each column reads its text.
-- The function that takes jsonb stays until no version that calls it is deployed any more.
create type journal_row as (
  agency_id text, unit_id text, seq bigint, other_unit_id text, kind text, booking_id text, checksum text,
  request_id text, at timestamptz);
create type booking_row as (
  agency_id text, booking_id text, unit_id text, type text, status text, source text, source_ref text, arrival date,
  departure date, adults integer, children integer, extra_bed boolean, total_amount bigint, notes text,
  hold_expires_at timestamptz, expected_until date, cancelled_at timestamptz, cancel_reason text,
  created_at timestamptz, updated_at timestamptz, version integer, seq bigint);
create type guest_row as (
  agency_id text, guest_id text, booking_id text, first_name text, last_name text, email text, phone text,
  nationality text, created_at timestamptz);
create type event_row as (
  agency_id text, event_id text, seq bigint, kind text, booking_id text, occurred_at timestamptz);
create type audit_row as (
  agency_id text, audit_id text, at timestamptz, actor_kind text, actor_id text, route text, outcome text,
  booking_id text, request_id text, count bigint);
create type idempotency_row as (
  agency_id text, key_id text, route text, idempotency_key text, request_hash text, status integer,
  created_at timestamptz);

-- One group commit (invariant J2): all of it is durable or none of it. Answers 'written', or 'duplicate' when
-- this very batch is already there because an earlier send of it had got through (J3).
-- What there is none of is null. `payloads`, `bodies` and `answers` are the long texts of the rows before them, in order,
-- JSON, with U+001E between them, which JSON never holds. `others`: rows that are rare, {"units": [], "usage": []}.
-- Errors: NL001 the writer is fenced, NL002 the sequence numbers are taken by another batch, NL003 a change was decided
-- on another version of its booking.
create function append_batch(
  writer_epoch bigint, batch uuid,
  entries journal_row[], payloads text,
  created booking_row[], changed booking_row[], guests guest_row[],
  events event_row[], bodies text,
  audit_lines audit_row[],
  idempotencies idempotency_row[], answers text,
  others jsonb
) returns text
language plpgsql as $$
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
end $$;
