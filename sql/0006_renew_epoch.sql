-- A writer that cannot tell whether a batch was written, and that cannot find out by sending it again, raises its own
-- epoch: this waits for batches under way, and no batch of the old epoch can commit afterwards (J3, J5).
-- `renewal` names the last such call, so that a repetition after a lost reply finds what it had done.
alter table writer_fence add column renewal uuid;

-- Errors: NL001 another writer has taken over.
create function renew_epoch(writer_epoch bigint, wanted_renewal uuid) returns bigint
language plpgsql as $$
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
end $$;
