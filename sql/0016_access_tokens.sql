-- Access tokens: how people of an agency use the portal, each with a role.

create table access_token (
  agency_id     uuid not null references agency,
  token_id      uuid not null,
  name          text not null,
  role          text not null check (role in ('viewer', 'desk', 'manager', 'owner')),
  prefix        text not null,
  secret_sha256 text not null unique check (length(secret_sha256) = 64),
  created_at    timestamptz not null,
  expires_at    timestamptz,
  revoked_at    timestamptz,
  primary key (agency_id, token_id)
);

-- A fourth kind of actor. Not valid: every stored row satisfies the stricter check that this one replaces, and to read them all again
-- would keep the service from writing meanwhile.
alter table journal drop constraint journal_actor_kind_check;
alter table journal add constraint journal_actor_kind_check
  check (actor_kind in ('key', 'access_token', 'portal', 'system')) not valid;
alter table audit_line drop constraint audit_line_actor_kind_check;
alter table audit_line add constraint audit_line_actor_kind_check
  check (actor_kind in ('key', 'access_token', 'portal', 'system')) not valid;

-- Keeps the answer to a write outside the journal, in the write's own statement. An answer that is kept already, by an attempt whose
-- outcome its caller does not know, undoes the statement: the write was made. The same line sent again is no second write.
-- Errors: NL030 the request has been answered.
create function keep_answer(answer idempotency_row, answer_body text) returns boolean language plpgsql as $$
begin
  insert into idempotency (agency_id, key_id, route, idempotency_key, request_hash, status, body, created_at)
  values (answer.agency_id, answer.key_id, answer.route, answer.idempotency_key, answer.request_hash, answer.status, answer_body,
          answer.created_at)
  on conflict (agency_id, key_id, route, idempotency_key) do update set
    request_hash = excluded.request_hash, status = excluded.status, body = excluded.body, created_at = excluded.created_at
  where idempotency.created_at <= excluded.created_at - interval '24 hours';
  if not found and not exists (
    select from idempotency i
    where i.agency_id = answer.agency_id and i.key_id = answer.key_id and i.route = answer.route
      and i.idempotency_key = answer.idempotency_key and i.request_hash = answer.request_hash
      and i.created_at = answer.created_at) then
    raise exception 'Cannot keep an answer: the request has been answered' using errcode = 'NL030';
  end if;
  return true;
end $$;
