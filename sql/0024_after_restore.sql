-- For a ledger that was restored to an earlier moment, before it serves. What came after that moment was seen by partners and is gone:
-- its numbers are not used again, cursors and the history that they belong to end, and webhooks wait until the agency has looked.
-- Fences out every writer. `endpoints`: how many were switched off.
create function after_restore(out history_id uuid, out endpoints bigint) language plpgsql as $$
begin
  perform from shard s order by s.shard for update;
  -- The mark comes with the link of the last entry up to it, so the chain goes on from there.
  update shard s
  set epoch = s.epoch + 1, holder = 'after-restore', writer_id = null, renewal = null, taken_at = clock_timestamp(),
      mark = greatest(s.mark, coalesce(e.seq, 0)) + 1000000,
      mark_link = case when coalesce(e.seq, 0) > s.mark then e.link else s.mark_link end
  from shard o left join lateral (
    select j.seq, j.link from journal j where j.shard = o.shard order by j.seq desc limit 1) e on true
  where o.shard = s.shard;
  delete from writer;
  update ledger l set history_id = gen_random_uuid() returning l.history_id into after_restore.history_id;
  update webhook_endpoint w
  set status = 'disabled', disabled_reason = 'the service was restored from a backup: events may be missing, or be sent again',
      updated_at = clock_timestamp(), revision = w.revision + 1
  where w.status = 'active';
  get diagnostics endpoints = row_count;
end $$;
