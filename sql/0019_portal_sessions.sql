-- The sessions of the portal's page. Each stands for the token that it was opened with: an access token, or one of the operator's.
-- `operator_hmac` is the HMAC of that token with the session's secret as the key. Only the hash of the secret is stored, so neither says
-- anything about the token.

create table portal_session (
  secret_sha256 text primary key check (length(secret_sha256) = 64),
  agency_id     uuid,
  token_id      uuid,
  operator_hmac text check (length(operator_hmac) = 64),
  created_at    timestamptz not null,
  seen_at       timestamptz not null, -- to some minutes
  foreign key (agency_id, token_id) references access_token,
  check ((agency_id is null) = (token_id is null)),
  check ((token_id is null) <> (operator_hmac is null))
);

-- `seen`: [{"sha256", "seenAt"}] of sessions that were used. `ended`: hashes of sessions to delete. Those last used before `idle_since` are
-- deleted as well. To send it twice, or late, does no harm: an ended session does not come back.
-- Errors: NL001 as check_fence.
create function keep_sessions(writer_epoch bigint, seen jsonb, ended jsonb, idle_since timestamptz) returns void
language plpgsql as $$
begin
  perform check_fence(0::smallint, writer_epoch);
  update portal_session p set seen_at = greatest(p.seen_at, s."seenAt")
  from jsonb_to_recordset(seen) as s ("sha256" text, "seenAt" timestamptz)
  where p.secret_sha256 = s."sha256";
  delete from portal_session where secret_sha256 in (select jsonb_array_elements_text(ended)) or seen_at < idle_since;
end $$;
