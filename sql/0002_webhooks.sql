-- Webhooks that arrive: what the sender claims, every attempt, and who may send.

-- `revision` counts the agency's changes of url and status: the sender writes its counter only against the revision
-- it has seen, so that a failure of the old address is not counted against the new one.
alter table webhook_endpoint
  add column revision integer not null default 0,
  add constraint webhook_endpoint_failures check (consecutive_failures >= 0);

-- A ping is an event that no booking has.
alter table webhook_event
  alter column seq drop not null,
  alter column booking_id drop not null;

-- `attempts` numbers the finished attempts, `tries` counts those of the present schedule: a resend begins a new one.
-- `claimed_by` is the sender's tenure; a claim of any other tenure is void. That a delivery is held is not stored:
-- it is pending, and its endpoint is switched off.
update webhook_delivery set status = 'pending' where status = 'held';
alter table webhook_delivery
  add column tries integer not null default 0,
  add column claimed_by bigint,
  drop constraint webhook_delivery_status_check,
  add constraint webhook_delivery_status_check check (status in ('pending', 'delivered', 'dead', 'dropped')),
  add constraint webhook_delivery_due_known check (status <> 'pending' or next_attempt_at is not null),
  set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
drop index webhook_delivery_due;
create index webhook_delivery_pending on webhook_delivery (agency_id, endpoint_id, next_attempt_at, delivery_id)
  where status = 'pending';

-- One row per finished attempt. `reason` is the contract's sentence, `detail` our own name for the cause.
create table webhook_attempt (
  agency_id    text        not null,
  delivery_id  text        not null,
  attempt      integer     not null check (attempt > 0),
  at           timestamptz not null,
  duration_ms  integer     not null,
  http_status  integer,
  reason       text,
  detail       text,
  primary key (agency_id, delivery_id, attempt)
);

-- One row. A sender takes over by raising the tenure; every claim reads it for share, so that after a take-over
-- commits no older sender claims anything. Only the holder of the writer fence may take over.
create table webhook_sender (
  is_only   boolean     not null primary key default true check (is_only),
  tenure    bigint      not null,
  epoch     bigint      not null,
  taken_at  timestamptz not null
);
insert into webhook_sender (tenure, epoch, taken_at) values (0, 0, now());

-- Errors: NL001 when the caller's process is no longer the writer.
create function take_over_sending(writer_epoch bigint) returns bigint
language plpgsql as $$
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
end $$;

-- The endpoints that have anything pending: one index probe each, however many deliveries wait behind it.
create function webhook_endpoints_waiting() returns table (agency_id text, endpoint_id text)
language sql stable as $$
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
$$;

-- Claims due deliveries for a sender, at most `room`: first one of every agency, then the second of every agency, so that
-- a flood of one takes no place of another. `windows` says how many more an endpoint may have, `window_fresh` holds for
-- one that it does not name. Every step is by index, and the planner is told so: before the tables are analysed it would
-- compare every endpoint with every other, and later read a whole flood for the few rows of a claim (both were measured).
-- Errors: NL004 when another sender has taken over.
create function claim_deliveries(
  claiming bigint, due_until timestamptz, room integer, window_fresh integer, windows jsonb)
returns table (
  agency_id text, delivery_id text, endpoint_id text, event_id text, kind text, body text, attempts integer,
  tries integer, next_attempt_at timestamptz, url text, secret_sealed text, previous_secret_sealed text,
  previous_secret_until timestamptz, consecutive_failures integer, revision integer)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
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
end $$;

-- When the next delivery after `due_after` falls due; null when none waits.
create function next_delivery_due(due_after timestamptz) returns timestamptz
language sql stable set enable_seqscan = off set enable_bitmapscan = off as $$
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
$$;

-- Writes what became of attempts: all of it or nothing, and safe to send twice. An outcome is taken only for the very
-- claim and attempt it belongs to. A delivery that the agency dropped meanwhile is not brought back by a failure.
create function record_attempts(claiming bigint, content jsonb) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
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
end $$;
