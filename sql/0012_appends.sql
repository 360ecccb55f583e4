-- What the writer of the ledger calls. Rows come as arrays of these types, ids as UUIDs without prefix (src/postgres/stores/tables.ts).

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
  count      bigint
);

create type idempotency_row as (
  agency_id       uuid,
  key_id          uuid,
  route           text,
  idempotency_key text,
  request_hash    text,
  status          integer,
  created_at      timestamptz
);

-- The fences (J5). Several are always locked in the order of their shards. NL001: the writer is fenced; the detail lists the fenced
-- shards, `17,203`. NL002, from append_batch: the entries do not continue the logs of the shards in the detail.

-- Locks the fences and compares them. Comes before everything that a writer reads.
create function check_fences(shards smallint[], epochs bigint[]) returns boolean language plpgsql as $$
declare
  fenced text;
begin
  -- A filter of the aggregate, not a condition: a condition could be applied before the rows are locked.
  select string_agg(held.shard::text, ',' order by held.shard) filter (where held.current is distinct from held.claimed) into fenced
  from (select s.shard, s.epoch as current, w.epoch as claimed
        from unnest(shards, epochs) w (shard, epoch) join shard s on s.shard = w.shard
        order by s.shard for share of s) held;
  if fenced is not null then
    raise exception 'Cannot write: fenced by another writer' using errcode = 'NL001', detail = fenced;
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

-- Makes the caller the only writer of all shards, and returns the ends of their logs.
create function take_over(new_holder text)
returns table (shard smallint, epoch bigint, last_seq bigint, last_month date, last_link bytea, newest_month date)
language plpgsql as $$
#variable_conflict use_column
begin
  perform from shard s order by s.shard for update;
  update shard s set epoch = s.epoch + 1, holder = new_holder, taken_at = clock_timestamp(), renewal = null;
  -- A statement of its own: its snapshot is taken after everything that the locks waited for has ended.
  return query
  select s.shard, s.epoch, greatest(j.seq, s.mark), coalesce(j.month, l.oldest_month), coalesce(j.link, s.mark_link), l.newest_month
  from ledger l cross join shard s
  left join lateral (
    select j.seq, j.month, j.link from journal j where j.shard = s.shard order by j.seq desc limit 1) j on true
  order by s.shard;
end $$;

-- Raises the writer's own epochs by one: all of them, or none. `wanted_renewal` identifies the call and its repetitions. A shard
-- that it has raised already stays as it is.
create function renew_epochs(shards smallint[], epochs bigint[], wanted_renewal uuid) returns void language plpgsql as $$
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

-- The functions that read the journal have one plan for all calls: planning for all partitions takes longer than the reading. It must
-- not be the plan for a table that was still small.

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
-- can nothing of those epochs commit any more. The locks wait for what still commits.
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

-- Refuses entries that do not continue the logs of their shards: the number before the first of each shard is there, in the same
-- month or an earlier one, or is the shard's mark; the number itself is in no other month; and the others follow without a gap.
-- Called once the entries are written.
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

-- One batch, all or nothing (J2). `shards`: of all its records. `payloads`: of the entries, with E'\x1e' between them; `links`: one
-- after the other, 32 bytes each.
-- Returns 'duplicate' when its entries are there already; what belongs to them is then not written again.
create function append_batch(
  shards smallint[], epochs bigint[], entries journal_row[], payloads text, links bytea,
  created booking_row[], changed booking_row[], guests guest_row[],
  audit_lines audit_row[], idempotencies idempotency_row[], answers text, others jsonb
) returns text language plpgsql as $$
declare
  wanted           integer := coalesce(cardinality(entries), 0);
  written          integer := 0;
  guest_of_booking jsonb := '{}';
  is_duplicate     boolean := false;
begin
  perform check_fences(shards, epochs);

  if wanted > 0 then
    if exists (select from unnest(entries) e where e.shard <> all (shards) or e.shard <> shard_of(e.agency_id)) then
      raise exception 'Cannot append: an entry is not of a shard of the batch' using errcode = 'NL003';
    end if;
    insert into journal (seq, at, checksum, epoch, agency_id, unit_id, other_unit_id, booking_id, entry_id, actor_id, month, shard,
                         is_announced, kind, actor_kind, link, route, request_id, payload)
    select e.seq, e.at, e.checksum, epochs[array_position(shards, e.shard)], e.agency_id, e.unit_id, e.other_unit_id, e.booking_id,
           e.entry_id, e.actor_id, e.month, e.shard, e.is_announced, e.kind, e.actor_kind,
           substring(links from (32 * e.place - 31)::integer for 32), e.route, e.request_id, e.payload
    from rows from (unnest(entries), string_to_table(payloads, E'\x1e')) with ordinality as e (
      shard, seq, month, at, agency_id, unit_id, other_unit_id, booking_id, entry_id, kind, is_announced, actor_kind, actor_id,
      route, request_id, checksum, payload, place)
    on conflict (shard, seq, month) do nothing;
    get diagnostics written = row_count;
    if written = wanted then
      perform check_numbers(entries);
    else
      is_duplicate := written = 0 and are_written(entries);
      if not is_duplicate then
        raise exception 'Cannot append: % of % numbers are taken', wanted - written, wanted using errcode = 'NL002', detail = (
          select string_agg(distinct e.shard::text, ',') from unnest(entries) e
          join journal j on j.shard = e.shard and j.seq = e.seq and j.month = e.month
          where j.xmin <> pg_current_xact_id()::xid);
      end if;
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
    get diagnostics written = row_count;
    if written <> cardinality(changed) then
      raise exception 'Cannot change bookings: % of % rows have the version decided on',
        written, cardinality(changed) using errcode = 'NL003';
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

-- What the limits count is kept beside the journal, so that a journal which is full, or waits for an outcome, holds up
-- neither the counters nor a stop.

-- `totals`: [{"agencyId", "month", "used"}]; `shards`: those of the agencies. The highest total is kept, so sending one twice, or
-- late, does no harm.
create function keep_usage(shards smallint[], epochs bigint[], totals jsonb) returns void
language plpgsql as $$
begin
  perform check_fences(shards, epochs);
  insert into usage_month (agency_id, month, used)
  select u."agencyId", u.month, u.used
  from jsonb_to_recordset(totals) as u ("agencyId" uuid, month text, used bigint)
  on conflict (agency_id, month) do update set used = greatest(usage_month.used, excluded.used);
end $$;

-- `slots`: [{"slot", "ageMs", "wallMs", "bootId", "bootMs", "total", "counts"}]. Counts of a slot only grow, so of two sends
-- of a slot the larger one is kept. Rows of this writer before `keep_from` are a minute old; those of earlier writers are
-- when `drop_earlier` says so. A slot has keys of many agencies and belongs to none of them, so its fence is that of shard 0.
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
  on conflict (term, slot) do update set
    ended_at = excluded.ended_at, wall_ms = excluded.wall_ms, boot_id = excluded.boot_id, boot_ms = excluded.boot_ms,
    total = excluded.total, counts = excluded.counts
  where rate_slot.total < excluded.total;
  delete from rate_slot where term = writer_term and slot < keep_from;
  if drop_earlier then
    delete from rate_slot where term < writer_term;
  end if;
end $$;

-- The sender serves all agencies, so its fence is that of shard 0.
create function take_over_sending(writer_epoch bigint) returns bigint
language plpgsql as $$
declare
  taken bigint;
begin
  perform check_fence(0::smallint, writer_epoch);
  update webhook_sender set tenure = webhook_sender.tenure + 1, epoch = writer_epoch, taken_at = clock_timestamp()
    returning tenure into taken;
  return taken;
end $$;

-- Replaces everything that is encrypted with SECRET_KEY, and fences out the writer. `changes`: [{"agency_id", "endpoint_id",
-- "secret_before", "secret_after", "previous_before", "previous_after"}]; `chain_changes`: [{"shard", "key_before", "key_after"}] of
-- all rows of shard_chain. `known`: the check values of the keys that the database may have; null: any.
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
