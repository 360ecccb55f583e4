-- Which SECRET_KEY this database is used with: an HMAC under the key, from which the key cannot be told. No row until a
-- process has started on the database once.
create table secret_key_check (
  is_only  boolean not null primary key default true check (is_only),
  hmac     text    not null
);

-- Another SECRET_KEY: all secrets of webhook endpoints and the check value together, or nothing. Whoever writes is fenced out first:
-- it would go on to encrypt with the old key.
-- known: the check values that may be there, a JSON array; null for any. endpoints_read: how many endpoints that are not deleted were
-- read. changes: what to store instead of what was read.
-- Errors: NL010 the database is used with another key, NL011 an endpoint is no longer as it was read.
create function rotate_secret_key(known jsonb, new_hmac text, endpoints_read integer, changes jsonb) returns void
language plpgsql as $$
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
end $$;
