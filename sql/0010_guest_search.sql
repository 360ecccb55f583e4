-- GET /guests?search= by index. Both extensions are trusted: the owner of the database may create them.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- The four columns a search looks into, one under the other, in lower case. A search without a line break cannot match
-- across two of them.
alter table guest add column search_text text
  generated always as (lower(first_name || E'\n' || last_name || E'\n' || coalesce(email, '') || E'\n' || coalesce(phone, ''))) stored;

-- The agency comes last, so that it is looked up only for guests that have the trigrams, and as an expression, so that the
-- planner does not take this index for what has no trigram. New entries are kept apart until there are 512 kB of them, which
-- every search reads (64 blocks).
create index guest_search on guest using gin (search_text gin_trgm_ops, (agency_id || ''))
  with (gin_pending_list_limit = 512);

analyze guest;
