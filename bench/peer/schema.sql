-- The peer: the obvious service a team would write instead, with the same rows. Tables are copies of the ledger's, so that
-- both are asked the same questions; the indexes are those its statements want.
create schema peer;
create table peer.agency as select * from public.agency;
alter table peer.agency add primary key (agency_id);
create table peer.api_key as select * from public.api_key;
alter table peer.api_key add primary key (agency_id, key_id);
create unique index on peer.api_key (secret_sha256);
create table peer.unit as select * from public.unit;
alter table peer.unit add primary key (agency_id, unit_id);
create unique index on peer.unit (agency_id, slug);
create table peer.fee_type as select * from public.fee_type;
alter table peer.fee_type add primary key (agency_id, fee_type_id);
create table peer.guest as select agency_id, guest_id, first_name, last_name, email, phone, nationality, created_at from public.guest;
alter table peer.guest add primary key (agency_id, guest_id);
create index on peer.guest (agency_id, created_at desc, guest_id);

create table peer.booking (like public.booking including defaults);
insert into peer.booking select * from public.booking;
alter table peer.booking drop column seq, drop column version, add primary key (agency_id, booking_id);
alter table peer.booking add constraint booking_night_sold_once
  exclude using gist (hashtextextended(agency_id || unit_id, 0) with =, daterange(arrival, departure) with &&)
  where (status <> 'cancelled');
create index on peer.booking (agency_id, unit_id, departure) where status <> 'cancelled';
create index on peer.booking (agency_id, arrival desc, booking_id);

create table peer.audit as select * from public.audit;
alter table peer.audit add primary key (agency_id, audit_id);
create index on peer.audit (agency_id, at desc, audit_id desc);
create table peer.outbox as select agency_id, event_id, kind, booking_id, body, occurred_at from public.webhook_event;
alter table peer.outbox add primary key (agency_id, event_id);
create table peer.webhook_endpoint as select * from public.webhook_endpoint;
alter table peer.webhook_endpoint add primary key (agency_id, endpoint_id);
create table peer.webhook_delivery as select agency_id, delivery_id, endpoint_id, event_id, status, created_at from public.webhook_delivery;
alter table peer.webhook_delivery add primary key (agency_id, delivery_id);
