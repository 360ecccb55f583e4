/** A database of the layout before shards, and the previous version as a writer: statements and texts as that version has them. */
import { type Agency, SCOPES } from '../../src/core/catalogue/agency.ts'
import { type Booking, HOLD_EXPIRED } from '../../src/core/domain/booking.ts'
import { bookedStay, bookingIdentity } from '../../src/core/domain/booking-summary.ts'
import { type BookingEvent, type UnitEvent, webhookEventOf } from '../../src/core/domain/event.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { encodeRates } from '../../src/core/journal/entry-codec.ts'
import type { Caller } from '../../src/core/journal/record.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { OLD_MIGRATIONS } from '../../src/postgres/schema/migrations.ts'
import { encodeOldBooking, encodeOldEvent } from '../../src/postgres/upgrade/old-entries.ts'
import { SecretBox } from '../../src/webhooks/secret-box.ts'
import { secretKeyCheck } from '../../src/webhooks/secret-key-check.ts'
import { AGENCY, night, sampleBooking, sampleKey, sampleUnit } from './samples.ts'
import { TEST_SECRET_KEY } from './service-process.ts'

export const OLD_SECRET_KEY = Uint8Array.fromHex(TEST_SECRET_KEY)

/** What the previous version writes in one record. */
export interface OldRecord {
  readonly agency: Agency
  /** Of the unit that the event is filed under. */
  readonly unit: Unit
  readonly event?: UnitEvent
  readonly at: number
  readonly caller: Caller
  /** Of the line in the audit trail; `OK` when left out. */
  readonly outcome?: string
  readonly count?: number
  readonly bookingId?: string | null
  readonly guest?: { readonly firstName: string; readonly lastName: string; readonly email: string | null }
  readonly notes?: string
  readonly idempotencyKey?: string
}

type Row = Record<string, unknown>

/** Applies the migrations of the previous version to an empty database, and stores the check value of its key. */
export async function makeOldDatabase(url: string): Promise<void> {
  const sql = connect(url, { purpose: 'admin' })
  await migrate(sql, { migrations: OLD_MIGRATIONS })
  await sql`insert into secret_key_check (hmac) values (${secretKeyCheck(OLD_SECRET_KEY)})`
  await sql.end()
}

/** The previous version, as a writer. */
export class OldWriter {
  readonly #sql: Sql
  #epoch = 0
  #lastSeq = 0

  constructor(sql: Sql) {
    this.#sql = sql
  }

  get lastSeq(): number {
    return this.#lastSeq
  }

  async takeOver(): Promise<void> {
    const [row] = await this.#sql<{ epoch: number; seq: number }[]>`
      select epoch::float8 as "epoch", last_seq::float8 as "seq" from take_over('previous version')`
    if (row === undefined) throw new Error('Cannot take over an old ledger')
    this.#epoch = row.epoch
    this.#lastSeq = row.seq
  }

  /** One group commit. @throws the database's error, NL001 when the writer is fenced out */
  async append(records: readonly OldRecord[]): Promise<void> {
    const content: Record<string, Row[]> = {}
    const add = (name: string, row: Row) => {
      content[name] ??= []
      content[name].push(row)
    }
    let seq = this.#lastSeq
    for (const record of records) {
      const { agency, event, at, caller, outcome = 'OK', count = 1 } = record
      const bookingId = record.bookingId ?? (event === undefined || event.kind === 'unit_set' ? null : event.after.id)
      const isoAt = new Date(at).toISOString()
      if (event !== undefined) addEntry(add, record, event, ++seq)
      add('audit', {
        ...{ agency_id: agency.id, audit_id: systemIds('aud'), at: isoAt, actor_kind: caller.actor.kind },
        ...{ actor_id: caller.actor.id, route: caller.route, outcome, booking_id: bookingId },
        ...{ request_id: caller.requestId, count },
      })
      if (record.idempotencyKey !== undefined)
        add('idempotency', {
          ...{
            agency_id: agency.id,
            key_id: caller.actor.id,
            route: caller.route,
            idempotency_key: record.idempotencyKey,
          },
          ...{ request_hash: 'hash', status: 201, body: `{"id":"${bookingId}"}`, created_at: isoAt },
        })
    }
    await this.#sql`
      select append_batch(${this.#epoch}::text::bigint, ${crypto.randomUUID()}::text::uuid, ${JSON.stringify(content)}::text::jsonb)`
    this.#lastSeq = seq
  }
}

function addEntry(add: (name: string, row: Row) => void, record: OldRecord, event: UnitEvent, seq: number): void {
  const { agency, at, caller, unit, guest, notes } = record
  const isoAt = new Date(at).toISOString()
  const { unitId, otherUnitId, kind, payload, checksum } = encodeOldEvent(event, seq)
  const booking_id = event.kind === 'unit_set' ? null : event.after.id
  add('journal', {
    ...{ agency_id: agency.id, unit_id: unitId, seq, other_unit_id: otherUnitId, kind, booking_id, payload, checksum },
    ...{ request_id: caller.requestId, at: isoAt },
  })
  if (event.kind === 'unit_set') {
    const { rules, ...master } = event.unit
    const { rates, ...prices } = rules
    const row = { agency_id: agency.id, ...inSnakeCase({ ...master, ...prices }), rates: encodeRates(rates) }
    add('units', { ...row, unit_id: event.unit.id })
    return
  }
  const row = inSnakeCase(encodeOldBooking(event.after))
  const stored = { ...row, agency_id: agency.id, booking_id, notes: notes ?? null, seq }
  add(event.kind === 'booking_created' ? 'created' : 'changed', stored)
  if (guest !== undefined) {
    const { firstName, lastName, email } = guest
    add('guests', {
      ...{ agency_id: agency.id, guest_id: systemIds('gst'), booking_id, first_name: firstName, last_name: lastName },
      ...{ email, phone: null, nationality: null, created_at: isoAt },
    })
  }
  const webhook = webhookEventOf(event)
  if (webhook === null) return
  const event_id = systemIds('evt')
  const body = oldBody({ id: event_id, kind: webhook, seq, event, agency, unit })
  add('events', { agency_id: agency.id, event_id, seq, kind: webhook, booking_id, body, occurred_at: isoAt })
}

/** The body of a webhook event, as the previous version stores it. */
function oldBody(of: { id: string; kind: string; seq: number; event: BookingEvent; agency: Agency; unit: Unit }) {
  const { after } = of.event
  return JSON.stringify({
    id: of.id,
    event: of.kind,
    occurredAt: new Date(after.updatedAt).toISOString(),
    seq: of.seq,
    data: {
      ...bookingIdentity(after, of.unit),
      sourceRef: after.sourceRef,
      ...bookedStay(after),
      currency: of.agency.currency,
      version: after.version,
    },
  })
}

function inSnakeCase(row: object): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  )
}

/** What an old ledger of a test has. */
export interface OldWorld {
  readonly agencies: readonly Agency[]
  /** By agency. */
  readonly units: readonly (readonly Unit[])[]
  readonly keyIds: readonly string[]
  /** The booking whose reference and reason were erased by hand. */
  readonly erasedId: string
  /** Active endpoint of the first agency. */
  readonly endpointId: string
}

const START = Date.UTC(2026, 8, 20, 10)

/** Three agencies with everything that the previous version stores, written over three months. */
export async function fillOldLedger(sql: Sql, writer: OldWriter): Promise<OldWorld> {
  const agencies = ['north', 'south', 'west'].map(
    (slug): Agency => ({ ...AGENCY, id: systemIds('agc'), slug, name: `${slug} stays` }),
  )
  const keyIds: string[] = []
  for (const agency of agencies) keyIds.push(await addOldAgency(sql, agency))
  const units = agencies.map(({ slug }) =>
    ['sea', 'hill'].map((name) =>
      sampleUnit({ id: systemIds('unt'), slug: `${slug}-${name}`, name: `${name} "${slug}"` }),
    ),
  )
  const endpointId = await addEndpoints(sql, agencies[0] as Agency)
  const erasedId = systemIds('bkg')
  for (const [i, agency] of agencies.entries()) {
    const keyId = keyIds[i] as string
    const [sea, hill] = units[i] as [Unit, Unit]
    const records = recordsOf({ agency, keyId, sea, hill, erasedId: i === 0 ? erasedId : systemIds('bkg') })
    for (const record of records) await writer.append([record])
  }
  await sql`update booking set source_ref = null, cancel_reason = null where booking_id = ${erasedId}`
  await settleDeliveries(sql, endpointId)
  return { agencies, units, keyIds, erasedId, endpointId }
}

/** A day in the life of an agency: every kind of entry and of line. */
function recordsOf(of: { agency: Agency; keyId: string; sea: Unit; hill: Unit; erasedId: string }): OldRecord[] {
  const { agency, keyId, sea, hill } = of
  let at = START
  let requests = 0
  const next = () => {
    at += 36 * 3_600_000
    return at
  }
  const partner = (route: string): Caller => {
    requests += 1
    return { actor: { kind: 'key', id: keyId }, route, requestId: `req-${agency.slug}-${requests}` }
  }
  const portal: Caller = {
    actor: { kind: 'portal', id: null },
    route: 'PATCH /portal/v1/agencies/{agency}/bookings/{id}',
    requestId: null,
  }
  const timer: Caller = { actor: { kind: 'system', id: null }, route: 'hold timer', requestId: null }
  const make = (change: Partial<Booking>): Booking =>
    sampleBooking({ id: systemIds('bkg'), unitId: sea.id, createdAt: next(), updatedAt: at, ...change })
  const changed = (before: Booking, change: Partial<Booking>): Booking => ({
    ...before,
    ...change,
    updatedAt: next(),
    version: before.version + 1,
  })

  const stay = make({
    id: of.erasedId,
    sourceRef: 'Ref, of "Zoë"',
    arrival: night('2027-01-02'),
    departure: night('2027-01-05'),
  })
  const moved = changed(stay, { unitId: hill.id, totalAmount: 50_000 })
  const ended = changed(moved, { status: 'cancelled', cancelReason: 'family (ill)\nsorry', cancelledAt: at })
  const option = make({
    status: 'option',
    holdExpiresAt: at + 3_600_000,
    arrival: night('2027-02-02'),
    departure: night('2027-02-05'),
  })
  const expired = changed(option, {
    status: 'cancelled',
    holdExpiresAt: null,
    cancelReason: HOLD_EXPIRED,
    cancelledAt: at,
  })
  const guest = make({
    status: 'checked_in',
    arrival: night('2027-03-02'),
    departure: night('2027-03-05'),
    source: 'website',
  })
  const expected = changed(guest, { expectedUntil: night('2027-03-08') })
  const kept = make({ sourceRef: 'KEPT-1', arrival: night('2027-04-02'), departure: night('2027-04-05') })
  const set = (unit: Unit): OldRecord => {
    const caller = { ...portal, route: 'POST /portal/v1/agencies/{agency}/units', requestId: `req-${unit.slug}` }
    return { agency, unit, event: { kind: 'unit_set', unit }, at: next(), caller }
  }
  const cancel = partner('POST /partner/v1/bookings/{id}/cancel')
  const write = (unit: Unit, event: BookingEvent, caller: Caller, more: Partial<OldRecord> = {}): OldRecord => ({
    ...{ agency, unit, event, at: event.after.updatedAt, caller },
    ...more,
  })
  const book = 'POST /partner/v1/bookings'
  return [
    set(sea),
    set(hill),
    write(sea, { kind: 'booking_created', after: stay }, partner(book), {
      ...{
        guest: { firstName: 'Zoë', lastName: 'Brandt', email: 'Zoe@example.com' },
        notes: 'late, "very"',
        idempotencyKey: 'once',
      },
    }),
    write(hill, { kind: 'booking_changed', before: stay, after: moved }, portal),
    write(hill, { kind: 'booking_cancelled', before: moved, after: ended }, cancel),
    // Repeated: it changes nothing and has a line all the same, with the same request id.
    { agency, unit: hill, at: next(), caller: cancel, bookingId: stay.id },
    write(sea, { kind: 'booking_created', after: option }, partner(book)),
    write(sea, { kind: 'booking_cancelled', before: option, after: expired }, timer),
    write(sea, { kind: 'booking_created', after: guest }, portal, {
      guest: { firstName: 'Ada', lastName: 'Okafor', email: null },
    }),
    write(sea, { kind: 'booking_changed', before: guest, after: expected }, portal),
    { agency, unit: sea, at: next(), caller: partner(book), outcome: 'BOOKING_CONFLICT' },
    { agency, unit: sea, at: next(), caller: partner(book), outcome: 'REPLAYED', bookingId: kept.id },
    {
      agency,
      unit: sea,
      at: next(),
      caller: { ...partner(book), requestId: null },
      outcome: 'RATE_LIMITED',
      count: 17,
    },
    { agency, unit: sea, at: next(), caller: { ...portal, route: 'POST /portal/v1/agencies/{agency}/keys' } },
    { agency, unit: sea, at: next(), caller: partner(book), outcome: 'NOT_FOUND', bookingId: 'no such booking' },
    set({ ...sea, name: `${sea.name} renamed` }),
    write({ ...sea, name: `${sea.name} renamed` }, { kind: 'booking_created', after: kept }, partner(book), {
      guest: { firstName: 'Zoë', lastName: 'Brandt', email: 'zoe@example.com' },
    }),
  ]
}

/** An agency with a key, a fee and a usage. Returns the id of the key. */
export async function addOldAgency(sql: Sql, agency: Agency): Promise<string> {
  const { key } = sampleKey({ agencyId: agency.id })
  const { plan } = agency
  await sql`
    insert into agency (agency_id, slug, name, currency, timezone, status, api_access, requests_per_minute,
                        requests_per_month, default_hold_hours, created_at)
    values (${agency.id}, ${agency.slug}, ${agency.name}, ${agency.currency}, ${agency.timezone}, 'active', true,
            ${plan.requestsPerMinute}, ${plan.requestsPerMonth}, ${agency.defaultHoldHours}, now())`
  await sql`
    insert into api_key (agency_id, key_id, name, prefix, secret_sha256, scopes, created_at)
    values (${agency.id}, ${key.id}, ${key.name}, ${key.prefix}, ${key.secretSha256}, ${`{${SCOPES.join(',')}}`}::text::text[], now())`
  await sql`
    insert into fee_type (agency_id, fee_type_id, label, kind, amount, includes_weekly_cleaning, application, active)
    values (${agency.id}, ${systemIds('fee')}, 'Linen', 'fixed', 1500, false, 'every_stay', true)`
  await sql`insert into usage_month (agency_id, month, used) values (${agency.id}, '2026-11', 41)`
  return key.id
}

/** Returns its id. */
export async function addOldEndpoint(
  sql: Sql,
  agency: Agency,
  status: 'active' | 'disabled' | 'deleted',
): Promise<string> {
  const id = systemIds('whe')
  const owner = { agencyId: agency.id, endpointId: id }
  const sealed = status === 'deleted' ? '' : new SecretBox(OLD_SECRET_KEY).seal('whsec_abc', owner)
  await sql`
    insert into webhook_endpoint (agency_id, endpoint_id, url, status, secret_sealed, created_at, updated_at)
    values (${agency.id}, ${id}, 'https://hooks.example/in', ${status}, ${sealed}, now(), now())`
  return id
}

/** An active endpoint, with a ping, a disabled one and a deleted one. Returns the id of the active one. */
async function addEndpoints(sql: Sql, agency: Agency): Promise<string> {
  const active = await addOldEndpoint(sql, agency, 'active')
  await addOldEndpoint(sql, agency, 'disabled')
  await addOldEndpoint(sql, agency, 'deleted')
  const [ping, pinged] = [systemIds('evt'), systemIds('dlv')]
  await sql`
    with event as (
      insert into webhook_event (agency_id, event_id, kind, body, occurred_at)
      values (${agency.id}, ${ping}, 'ping', '{}', now())
    ), delivery as (
      insert into webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, attempts, tries, created_at, finished_at)
      values (${agency.id}, ${pinged}, ${active}, ${ping}, 'delivered', 1, 1, now(), now())
    )
    insert into webhook_attempt (agency_id, delivery_id, attempt, at, duration_ms, http_status, reason, detail)
    values (${agency.id}, ${pinged}, 1, now(), 12, 200, null, null)`
  return active
}

/** Of the deliveries that the writer has made: the first is delivered, the second dead, the third dropped, the rest pending. */
async function settleDeliveries(sql: Sql, endpointId: string): Promise<void> {
  const rows = await sql<{ id: string; agencyId: string }[]>`
    select delivery_id as "id", agency_id as "agencyId" from webhook_delivery
    where endpoint_id = ${endpointId} and status = 'pending' order by created_at, delivery_id limit 3`
  for (const [i, status] of (['delivered', 'dead', 'dropped'] as const).entries()) {
    const row = rows[i]
    if (row === undefined) throw new Error('Cannot settle deliveries: there are too few')
    await sql`
      update webhook_delivery set status = ${status}, attempts = ${i + 1}, tries = ${i + 1}, next_attempt_at = null,
             finished_at = created_at + interval '5 seconds'
      where delivery_id = ${row.id}`
    for (let attempt = 1; attempt <= i + 1; attempt++)
      await sql`
        insert into webhook_attempt (agency_id, delivery_id, attempt, at, duration_ms, http_status, reason, detail)
        values (${row.agencyId}, ${row.id}, ${attempt}, now(), 30, ${status === 'delivered' ? 200 : 500}, 'because', 'why')`
  }
}
