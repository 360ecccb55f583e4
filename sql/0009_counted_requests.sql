-- What the limits count is kept beside the journal, so that a journal which is full, or waits for an outcome, holds up
-- neither the counters nor a stop. Both functions raise NL001 when the writer is fenced, as append_batch does.

-- `totals`: [{"agencyId", "month", "used"}]. The highest total is kept, so sending one twice, or late, does no harm.
create function keep_usage(writer_epoch bigint, totals jsonb) returns void
language plpgsql as $$
begin
  perform check_fence(writer_epoch);
  insert into usage_month (agency_id, month, used)
  select u."agencyId", u.month, u.used
  from jsonb_to_recordset(totals) as u ("agencyId" text, month text, used bigint)
  on conflict (agency_id, month) do update set used = greatest(usage_month.used, excluded.used);
end $$;

-- The requests of the last minute, so that a new process does not grant every key a second budget: one row for each
-- half second in which requests passed, whatever their number of keys. When it ended is told by three clocks, because
-- each of them may jump: the database's, the wall clock of the process, and that of the machine since its boot.
-- `term` is the epoch in which the process began to write; its epoch may have risen since (renew_epoch), its slots go on.
create table rate_slot (
  term      bigint           not null,
  slot      bigint           not null,
  ended_at  timestamptz      not null,
  wall_ms   double precision not null,
  boot_id   text,
  boot_ms   double precision,
  total     bigint           not null,
  counts    text             not null, -- JSON: requests by key, {"key_…": 3}
  primary key (term, slot)
);

-- `slots`: [{"slot", "ageMs", "wallMs", "bootId", "bootMs", "total", "counts"}]. Counts of a slot only grow, so of two sends
-- of a slot the larger one is kept. Rows of this writer before `keep_from` are a minute old; those of earlier writers are
-- when `drop_earlier` says so.
create function keep_rate(writer_epoch bigint, writer_term bigint, slots jsonb, keep_from bigint, drop_earlier boolean) returns void
language plpgsql as $$
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
end $$;
