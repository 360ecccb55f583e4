-- What an append costs: the same checks in fewer statements, and in less of each (docs/decisions.md, "Speed: what an append costs
-- Postgres").

-- Agencies are not deleted, and neither entries nor bookings refer to one. For guests, the check was a query and a row lock each.
alter table guest drop constraint guest_agency_id_fkey;

-- Locks the fences and compares them (J5). Comes before everything that a writer reads.
create or replace function check_fences(shards smallint[], epochs bigint[]) returns boolean language plpgsql as $$
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

-- One batch, all or nothing (J2). `shards`: of all its records, in order. `payloads`: of the entries, with E'\x1e' between them;
-- `links`: one after the other, 32 bytes each.
-- Returns 'duplicate' when its entries are there already; what belongs to them is then not written again.
-- One plan for all calls: planning takes longer than a batch. It must not be the plan for a table that was still small.
create or replace function append_batch(
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
end $$;
