-- The peer: the obvious service a team would write instead. Its tables are copies of the ledger's, so that both are asked the same
-- questions, with an audit trail and an outbox of its own, and ids as text; the indexes are those its statements want.
create schema peer;
create table peer.agency as select * from public.agency;
create table peer.api_key as select * from public.api_key;
create table peer.unit as select * from public.unit;
create table peer.fee_type as select * from public.fee_type;
create table peer.guest as select * from public.guest;
create table peer.booking (like public.booking including defaults);
insert into peer.booking select * from public.booking;
alter table peer.booking drop column seq, drop column version;
create table peer.audit as
  select agency_id, entry_id as audit_id, at, actor_kind, actor_id, route, 'OK'::text as outcome, booking_id, request_id, 1::bigint as count
  from public.journal;
create table peer.outbox as
  select agency_id, entry_id as event_id, 'booking.created'::text as kind, booking_id, payload as body, at as occurred_at
  from public.journal where is_announced;
create table peer.webhook_endpoint as select * from public.webhook_endpoint;
create table peer.webhook_delivery as select agency_id, delivery_id, endpoint_id, event_id, status, created_at from public.webhook_delivery;

do $$
declare
  of record;
  prefixes constant jsonb := '{"agency_id": "agc", "key_id": "key", "actor_id": "key", "unit_id": "unt", "fee_type_id": "fee",
    "guest_id": "gst", "booking_id": "bkg", "audit_id": "aud", "event_id": "evt", "endpoint_id": "whe", "delivery_id": "dlv"}';
begin
  for of in select table_name, column_name from information_schema.columns where table_schema = 'peer' and data_type = 'uuid' loop
    execute format('alter table peer.%I alter column %2$I type text using %3$L || replace(%2$I::text, ''-'', '''')',
                   of.table_name, of.column_name, (prefixes ->> of.column_name) || '_');
  end loop;
end $$;

alter table peer.agency add primary key (agency_id);
alter table peer.api_key add primary key (agency_id, key_id);
create unique index on peer.api_key (secret_sha256);
alter table peer.unit add primary key (agency_id, unit_id);
create unique index on peer.unit (agency_id, slug);
alter table peer.fee_type add primary key (agency_id, fee_type_id);
alter table peer.guest add primary key (agency_id, guest_id);
create index on peer.guest (agency_id, created_at desc, guest_id);
alter table peer.booking add primary key (agency_id, booking_id);
alter table peer.booking add constraint booking_night_sold_once
  exclude using gist (hashtextextended(agency_id || unit_id, 0) with =, daterange(arrival, departure) with &&)
  where (status <> 'cancelled');
create index on peer.booking (agency_id, unit_id, departure) where status <> 'cancelled';
create index on peer.booking (agency_id, arrival desc, booking_id);
alter table peer.audit add primary key (agency_id, audit_id);
create index on peer.audit (agency_id, at desc, audit_id desc);
alter table peer.outbox add primary key (agency_id, event_id);
alter table peer.webhook_endpoint add primary key (agency_id, endpoint_id);
alter table peer.webhook_delivery add primary key (agency_id, delivery_id);
