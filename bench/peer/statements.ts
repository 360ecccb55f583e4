/** The peer's statements: prepared, one round trip per read, the key looked up by its hash in the same statement. */
import type { Sql } from '../../src/postgres/client/connect.ts'

/** A unit with what its price and its refusals need. Dates are day numbers, as the pricing code wants them. */
export interface UnitRow {
  agency_id: string
  currency: string
  key_id: string
  unit_id: string | null
  name: string
  instant_book: boolean
  base_price: number
  cleaning_fee: number
  extra_bed_fee: number
  min_stay: number
  turnover_nights: number
  rates: Record<string, unknown>
  fees: Record<string, unknown>[]
  /** `[arrival, departure]` of the bookings that touch the range, or its cleaning. */
  stays: [number, number][]
}

export function unitWithStays(sql: Sql, hash: string, slug: string, from: string, to: string) {
  return sql<UnitRow[]>`
    select k.agency_id, a.currency, k.key_id, u.unit_id, u.name, u.instant_book, u.base_price::float8,
           u.cleaning_fee::float8, u.extra_bed_fee::float8, u.min_stay, u.turnover_nights, u.rates,
           (select json_agg(json_build_object('id', f.fee_type_id, 'label', f.label, 'kind', f.kind, 'amount', f.amount,
                   'basisPoints', f.basis_points, 'application', f.application, 'active', f.active) order by f.position)
            from peer.fee_type f where f.agency_id = k.agency_id) as fees,
           coalesce((select json_agg(json_build_array(b.arrival - '1970-01-01'::date, b.departure - '1970-01-01'::date))
            from peer.booking b
            where b.agency_id = u.agency_id and b.unit_id = u.unit_id and b.status <> 'cancelled'
              and b.departure >= ${from}::text::date - u.turnover_nights and b.arrival < ${to}::text::date), '[]') as stays
    from peer.api_key k
    join peer.agency a on a.agency_id = k.agency_id and a.status = 'active'
    left join peer.unit u on u.agency_id = k.agency_id and u.slug = ${slug} and u.status <> 'archived'
    where k.secret_sha256 = ${hash} and k.revoked_at is null`
}

/** Without prices: what availability needs. */
export function staysOf(sql: Sql, hash: string, slug: string, from: string, to: string) {
  return sql<{ unit_id: string | null; turnover_nights: number; stays: [number, number][] }[]>`
    select u.unit_id, u.turnover_nights,
           coalesce((select json_agg(json_build_array(b.arrival - '1970-01-01'::date, b.departure - '1970-01-01'::date))
            from peer.booking b
            where b.agency_id = u.agency_id and b.unit_id = u.unit_id and b.status <> 'cancelled'
              and b.departure >= ${from}::text::date - u.turnover_nights and b.arrival < ${to}::text::date), '[]') as stays
    from peer.api_key k
    join peer.agency a on a.agency_id = k.agency_id and a.status = 'active'
    left join peer.unit u on u.agency_id = k.agency_id and u.slug = ${slug} and u.status <> 'archived'
    where k.secret_sha256 = ${hash} and k.revoked_at is null`
}

export function unitsOfKey(sql: Sql, hash: string) {
  return sql`
    select u.unit_id as "id", u.slug, u.name, u.status, u.city, u.area, u.building, u.bedrooms, u.beds, u.bathrooms,
           u.max_guests as "maxGuests", u.size_sqm as "sizeSqm", u.base_price::float8 as "basePrice",
           u.cleaning_fee::float8 as "cleaningFee", u.min_stay as "minStay", u.checkin_time as "checkinTime",
           u.checkout_time as "checkoutTime", u.instant_book as "instantBook",
           u.registration_number as "registrationNumber"
    from peer.api_key k join peer.unit u on u.agency_id = k.agency_id and u.status <> 'archived'
    where k.secret_sha256 = ${hash} and k.revoked_at is null
    order by u.name, u.unit_id`
}

/** @param column what a row of a booking is made of, for lists and single reads */
export function bookingById(sql: Sql, hash: string, id: string) {
  return sql`
    select ${bookingColumns(sql)}
    from peer.api_key k
    join peer.booking b on b.agency_id = k.agency_id and b.booking_id = ${id}
    join peer.unit u on u.agency_id = b.agency_id and u.unit_id = b.unit_id
    where k.secret_sha256 = ${hash} and k.revoked_at is null`
}

export function bookingsPage(sql: Sql, hash: string, page: { offset: number; limit: number }) {
  return sql<{ total: number }[]>`
    select counted.total, b.*
    from peer.api_key k
    cross join lateral (select count(*)::float8 as total from peer.booking c where c.agency_id = k.agency_id) counted
    cross join lateral (
      select ${bookingColumns(sql)}
      from (select * from peer.booking where agency_id = k.agency_id order by arrival desc, booking_id
            offset ${page.offset}::text::bigint limit ${page.limit}::text::bigint) b
      join peer.unit u on u.agency_id = b.agency_id and u.unit_id = b.unit_id
      order by b.arrival desc, b.booking_id) b
    where k.secret_sha256 = ${hash} and k.revoked_at is null`
}

export function guestsFound(sql: Sql, hash: string, pattern: string, limit: number) {
  return sql`
    select counted.total, g.*
    from peer.api_key k
    cross join lateral (
      select count(*)::float8 as total from peer.guest c
      where c.agency_id = k.agency_id and (c.first_name ilike ${pattern} or c.last_name ilike ${pattern}
        or c.email ilike ${pattern} or c.phone ilike ${pattern})) counted
    left join lateral (
      select guest_id as "id", first_name as "firstName", last_name as "lastName", email, phone, nationality,
             created_at as "createdAt"
      from peer.guest g
      where g.agency_id = k.agency_id and (g.first_name ilike ${pattern} or g.last_name ilike ${pattern}
        or g.email ilike ${pattern} or g.phone ilike ${pattern})
      order by g.created_at desc, g.guest_id limit ${limit}::text::bigint) g on true
    where k.secret_sha256 = ${hash} and k.revoked_at is null`
}

function bookingColumns(sql: Sql) {
  return sql`b.booking_id as "id", u.slug as "unitSlug", u.name as "unitName", b.type, b.status, b.source,
    b.arrival::text as "arrival", b.departure::text as "departure", b.departure - b.arrival as "nights", b.adults,
    b.children, b.total_amount::float8 as "totalAmount", b.source_ref as "sourceRef", b.created_at as "createdAt",
    b.updated_at as "updatedAt", b.hold_expires_at as "holdExpiresAt", b.cancelled_at as "cancelledAt",
    b.cancel_reason as "cancelReason"`
}

interface NewBooking {
  readonly agencyId: string
  readonly keyId: string
  readonly unitId: string
  readonly bookingId: string
  readonly arrival: string
  readonly departure: string
  readonly adults: number
  readonly totalAmount: number
  readonly sourceRef: string | null
  readonly event: string
  readonly requestId: string
}

/** One transaction: booking, audit line, event, deliveries; the statements are sent without waiting for one another. */
export function insertBooking(sql: Sql, b: NewBooking): Promise<unknown> {
  return sql.begin((tx) => [
    tx`
      insert into peer.booking (agency_id, booking_id, unit_id, type, status, source, source_ref, arrival, departure, adults,
                                children, extra_bed, total_amount, created_at, updated_at)
      values (${b.agencyId}, ${b.bookingId}, ${b.unitId}, 'guest', 'confirmed', 'partner', ${b.sourceRef},
              ${b.arrival}::text::date, ${b.departure}::text::date, ${b.adults}, 0, false, ${b.totalAmount}, now(), now())`,
    tx`
      insert into peer.audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
      values (${b.agencyId}, ${b.requestId}, now(), 'key', ${b.keyId}, 'POST /partner/v1/bookings', 'OK', ${b.bookingId},
              ${b.requestId}, 1)`,
    ...outbox(tx as unknown as Sql, b, 'booking.created'),
  ])
}

/** Null when there is no such booking to cancel. */
export async function cancelBooking(
  sql: Sql,
  b: { agencyId: string; keyId: string; bookingId: string; reason: string | null; event: string; requestId: string },
): Promise<void> {
  await sql.begin((tx) => [
    tx`
      update peer.booking set status = 'cancelled', cancelled_at = now(), cancel_reason = ${b.reason}, updated_at = now()
      where agency_id = ${b.agencyId} and booking_id = ${b.bookingId} and status <> 'cancelled'`,
    tx`
      insert into peer.audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
      values (${b.agencyId}, ${b.requestId}, now(), 'key', ${b.keyId}, 'POST /partner/v1/bookings/{id}/cancel', 'OK',
              ${b.bookingId}, ${b.requestId}, 1)`,
    ...outbox(tx as unknown as Sql, b, 'booking.cancelled'),
  ])
}

function outbox(tx: Sql, b: { agencyId: string; bookingId: string; event: string; requestId: string }, kind: string) {
  return [
    tx`
      insert into peer.outbox (agency_id, event_id, kind, booking_id, body, occurred_at)
      values (${b.agencyId}, ${b.requestId}, ${kind}, ${b.bookingId}, ${b.event}, now())`,
    tx`
      insert into peer.webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, created_at)
      select agency_id, ${b.requestId} || endpoint_id, endpoint_id, ${b.requestId}, 'pending', now()
      from peer.webhook_endpoint where agency_id = ${b.agencyId} and status = 'active'`,
  ]
}
