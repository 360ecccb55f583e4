-- When an API key was last used, for the agency to see which keys can go.

alter table api_key add column last_used_at timestamptz; -- to the minute

-- `uses`: [{"agencyId", "keyId", "usedAt"}]. The latest is kept, so to send it twice, or late, does no harm. To be called beside keep_usage, in
-- its statement, which checks the fences.
create function keep_key_uses(uses jsonb) returns void
language plpgsql as $$
begin
  update api_key k set last_used_at = u."usedAt"
  from jsonb_to_recordset(uses) as u ("agencyId" uuid, "keyId" uuid, "usedAt" timestamptz)
  where k.agency_id = u."agencyId" and k.key_id = u."keyId"
    and (k.last_used_at is null or k.last_used_at < u."usedAt");
end $$;
