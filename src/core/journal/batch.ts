/**
 * One group commit as the rows that it writes.
 *
 * - J2 A batch is one statement: journal rows and everything derived from them.
 * - J3 Sequence numbers are given here, gapless, in the order of the records.
 */
import type { BookingEvent } from '../domain/event.ts'
import type { Unit } from '../domain/unit.ts'
import { encodeBooking, encodeEntry, encodeRates } from './entry-codec.ts'
import type { BatchContent, BatchRow } from './journal-store.ts'
import type { AuditDraft, JournalRecord } from './record.ts'

export interface EncodedBatch {
  readonly content: BatchContent
  /** By record: the sequence number of its entry, or null when it has none. */
  readonly seqs: readonly (number | null)[]
  /** Of the last entry; `firstSeq - 1` when there is none. */
  readonly lastSeq: number
}

/** `firstSeq`: the number of the first entry. */
export function encodeBatch(records: readonly JournalRecord[], firstSeq: number): EncodedBatch {
  const rows = new BatchRows()
  let seq = firstSeq - 1
  const seqs = records.map((record) => {
    if (record.entry !== undefined) seq += 1
    rows.add(record, seq)
    return record.entry === undefined ? null : seq
  })
  return { content: rows.content(), seqs, lastSeq: seq }
}

class BatchRows {
  readonly #journal: BatchRow[] = []
  readonly #units: BatchRow[] = []
  readonly #guests: BatchRow[] = []
  readonly #created: BatchRow[] = []
  readonly #changed: BatchRow[] = []
  readonly #events: BatchRow[] = []
  readonly #idempotency: BatchRow[] = []
  // One line per id: a statement may touch a row only once.
  readonly #audit = new Map<string, BatchRow>()

  add(record: JournalRecord, seq: number): void {
    if (record.entry !== undefined) this.#addEntry(record, record.entry, seq)
    if (record.audit !== undefined) this.#audit.set(record.audit.auditId, auditRow(record.agencyId, record.audit))
    if (record.idempotency !== undefined) this.#idempotency.push(idempotencyRow(record, record.idempotency))
  }

  #addEntry(record: JournalRecord, entry: NonNullable<JournalRecord['entry']>, seq: number): void {
    const { event } = entry
    const { unitId, otherUnitId, kind, payload, checksum } = encodeEntry(event, seq)
    const at = iso(entry.at)
    this.#journal.push({
      agency_id: record.agencyId,
      unit_id: unitId,
      seq,
      other_unit_id: otherUnitId,
      kind,
      booking_id: event.kind === 'unit_set' ? null : event.after.id,
      payload,
      checksum,
      request_id: entry.requestId,
      at,
    })
    if (event.kind === 'unit_set') {
      this.#units.push(unitRow(record.agencyId, event.unit))
      return
    }
    const booking = bookingRow(record, event, seq)
    if (event.kind === 'booking_created') this.#created.push(booking)
    else this.#changed.push(booking)
    if (record.guest !== undefined) this.#guests.push(guestRow(record, record.guest, event.after.id, at))
    if (record.announcement !== undefined) {
      const { eventId, kind: eventKind, body } = record.announcement
      this.#events.push({
        agency_id: record.agencyId,
        event_id: eventId,
        seq,
        kind: eventKind,
        booking_id: event.after.id,
        body: body(seq),
        occurred_at: at,
      })
    }
  }

  content(): BatchContent {
    const content = {
      journal: this.#journal,
      units: this.#units,
      guests: this.#guests,
      created: this.#created,
      changed: this.#changed,
      events: this.#events,
      audit: [...this.#audit.values()],
      idempotency: this.#idempotency,
    }
    return Object.fromEntries(Object.entries(content).filter(([, rows]) => rows.length > 0))
  }
}

function bookingRow(record: JournalRecord, event: BookingEvent, seq: number): BatchRow {
  const booking = encodeBooking(event.after)
  return {
    agency_id: record.agencyId,
    booking_id: booking['id'],
    unit_id: booking['unitId'],
    type: booking['type'],
    status: booking['status'],
    source: booking['source'],
    source_ref: booking['sourceRef'],
    arrival: booking['arrival'],
    departure: booking['departure'],
    adults: booking['adults'],
    children: booking['children'],
    extra_bed: booking['extraBed'],
    total_amount: booking['totalAmount'],
    notes: record.notes ?? null,
    hold_expires_at: booking['holdExpiresAt'],
    expected_until: booking['expectedUntil'],
    cancelled_at: booking['cancelledAt'],
    cancel_reason: booking['cancelReason'],
    created_at: booking['createdAt'],
    updated_at: booking['updatedAt'],
    version: booking['version'],
    seq,
  }
}

function guestRow(
  record: JournalRecord,
  guest: NonNullable<JournalRecord['guest']>,
  bookingId: string,
  at: string,
): BatchRow {
  return {
    agency_id: record.agencyId,
    guest_id: guest.guestId,
    booking_id: bookingId,
    first_name: guest.firstName,
    last_name: guest.lastName,
    email: guest.email,
    phone: guest.phone,
    nationality: guest.nationality,
    created_at: at,
  }
}

function unitRow(agencyId: string, unit: Unit): BatchRow {
  return {
    agency_id: agencyId,
    unit_id: unit.id,
    slug: unit.slug,
    name: unit.name,
    status: unit.status,
    city: unit.city,
    area: unit.area,
    building: unit.building,
    bedrooms: unit.bedrooms,
    beds: unit.beds,
    bathrooms: unit.bathrooms,
    max_guests: unit.maxGuests,
    size_sqm: unit.sizeSqm,
    checkin_time: unit.checkinTime,
    checkout_time: unit.checkoutTime,
    instant_book: unit.instantBook,
    base_price: unit.rules.basePrice,
    cleaning_fee: unit.rules.cleaningFee,
    extra_bed_fee: unit.rules.extraBedFee,
    min_stay: unit.rules.minStay,
    turnover_nights: unit.rules.turnoverNights,
    rates: encodeRates(unit.rules.rates),
  }
}

function auditRow(agencyId: string, audit: AuditDraft): BatchRow {
  return {
    agency_id: agencyId,
    audit_id: audit.auditId,
    at: iso(audit.at),
    actor_kind: audit.actor.kind,
    actor_id: audit.actor.id,
    route: audit.route,
    outcome: audit.outcome,
    booking_id: audit.bookingId,
    request_id: audit.requestId,
    count: audit.count,
  }
}

function idempotencyRow(record: JournalRecord, idempotency: NonNullable<JournalRecord['idempotency']>): BatchRow {
  return {
    agency_id: record.agencyId,
    key_id: idempotency.keyId,
    route: idempotency.route,
    idempotency_key: idempotency.idempotencyKey,
    request_hash: idempotency.requestHash,
    status: idempotency.status,
    body: idempotency.body,
    created_at: iso(record.at),
  }
}

function iso(instant: number): string {
  return new Date(instant).toISOString()
}
