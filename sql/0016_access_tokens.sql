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
