/**
 * A batch as the parameters of `append_batch` (sql/): rows as arrays of composites, in PostgreSQL's own notation, long texts
 * sent separately. The input functions of the columns read it, without an intermediate tree.
 *
 * - J2 A batch is one statement: journal rows and everything derived from them.
 */

import type { Unit } from '../../core/domain/unit.ts'
import { type EncodedEntry, encodeRates } from '../../core/journal/entry-codec.ts'
import { encodeInstant } from '../../core/journal/fields.ts'
import type { BatchToAppend, NumberedRecord, ShardEpoch } from '../../core/journal/journal-store.ts'
import type { AuditDraft } from '../../core/journal/record.ts'
import { assert } from '../../lib/assert.ts'
import type { Sql } from '../client/connect.ts'
import { compositeText, jsonRow, type RowOf } from './table.ts'
import { AUDIT_ROW, BOOKING_ROW, GUEST_ROW, IDEMPOTENCY_ROW, JOURNAL_ROW, UNIT } from './tables.ts'

/** One group commit, all or nothing (J2). Errors: as `classifyDatabaseError` classifies them. */
export function appendBatch(sql: Sql, batch: BatchToAppend) {
  const text = batchText(batch)
  return sql`
    select append_batch(
      ${text.shards}::text::smallint[], ${text.epochs}::text::bigint[],
      ${text.entries}::text::journal_row[], ${text.payloads}::text, ${text.links}::text::bytea,
      ${text.created}::text::booking_row[], ${text.changed}::text::booking_row[], ${text.guests}::text::guest_row[],
      ${text.auditLines}::text::audit_row[],
      ${text.idempotencies}::text::idempotency_row[], ${text.answers}::text,
      ${text.others}::text::jsonb)`
}

/** Between long texts: JSON never contains it unescaped. */
const BETWEEN_TEXTS = '\x1e'

/** The shards that a statement writes to, and their epochs: arrays. */
interface FencesText {
  readonly shards: string
  readonly epochs: string
}

export function fencesText(fences: readonly ShardEpoch[]): FencesText {
  return {
    shards: `{${fences.map(({ shard }) => shard).join(',')}}`,
    epochs: `{${fences.map(({ epoch }) => epoch).join(',')}}`,
  }
}

/** By parameter of `append_batch`; null where the batch has none. */
interface BatchText extends FencesText {
  readonly entries: string | null
  readonly payloads: string | null
  readonly links: string | null
  readonly created: string | null
  readonly changed: string | null
  readonly guests: string | null
  readonly auditLines: string | null
  readonly idempotencies: string | null
  readonly answers: string | null
  readonly others: string | null
}

/** The same text for the same batch (J3). */
export function batchText({ shards, records }: BatchToAppend): BatchText {
  const rows = new BatchRows()
  for (const record of records) rows.add(record)
  return { ...fencesText(shards), ...rows.text() }
}

class BatchRows {
  readonly #journal: RowOf<typeof JOURNAL_ROW>[] = []
  readonly #payloads: string[] = []
  #links = ''
  readonly #created: RowOf<typeof BOOKING_ROW>[] = []
  readonly #changed: RowOf<typeof BOOKING_ROW>[] = []
  readonly #guests: RowOf<typeof GUEST_ROW>[] = []
  readonly #idempotency: RowOf<typeof IDEMPOTENCY_ROW>[] = []
  readonly #answers: string[] = []
  readonly #units: Readonly<Record<string, unknown>>[] = []
  // One line per id: a statement may touch a row only once.
  readonly #audit = new Map<string, RowOf<typeof AUDIT_ROW>>()

  add(numbered: NumberedRecord): void {
    const { agencyId, at, audit, idempotency } = numbered.record
    if (numbered.entry !== null) this.#addEntry(numbered, numbered.entry)
    if (audit !== undefined) this.#audit.set(audit.auditId, auditRow(agencyId, audit))
    if (idempotency !== undefined) {
      this.#idempotency.push({ ...idempotency, agencyId, createdAt: encodeInstant(at) })
      this.#answers.push(idempotency.body)
    }
  }

  #addEntry({ record }: NumberedRecord, encoded: EncodedEntry): void {
    const { agencyId, entry, guest, notes } = record
    assert(entry !== undefined, 'Cannot write an entry: its record has none')
    const { seq, booking } = encoded
    const { event } = entry
    this.#journal.push(entryRow(encoded))
    this.#payloads.push(encoded.payload)
    this.#links += encoded.link.toHex()
    if (event.kind === 'unit_set') this.#units.push(jsonRow(UNIT, unitRow(agencyId, event.unit)))
    if (booking === null) return
    const row = { ...booking, agencyId, notes: notes ?? null, seq }
    if (event.kind === 'booking_created') this.#created.push(row)
    else this.#changed.push(row)
    if (guest !== undefined)
      this.#guests.push({
        ...{ ...guest, agencyId, id: guest.guestId },
        ...{ bookingId: booking.id, createdAt: encodeInstant(entry.at) },
      })
  }

  text(): Omit<BatchText, keyof FencesText> {
    return {
      entries: compositeText(JOURNAL_ROW, this.#journal),
      payloads: texts(this.#payloads),
      links: this.#journal.length === 0 ? null : `\\x${this.#links}`,
      created: compositeText(BOOKING_ROW, this.#created),
      changed: compositeText(BOOKING_ROW, this.#changed),
      guests: compositeText(GUEST_ROW, this.#guests),
      auditLines: compositeText(AUDIT_ROW, [...this.#audit.values()]),
      idempotencies: compositeText(IDEMPOTENCY_ROW, this.#idempotency),
      answers: texts(this.#answers),
      others: this.#units.length === 0 ? null : JSON.stringify({ units: this.#units }),
    }
  }
}

function texts(each: readonly string[]): string | null {
  return each.length === 0 ? null : each.join(BETWEEN_TEXTS)
}

/** An entry as a row of `journal_row`. */
function entryRow(entry: EncodedEntry): RowOf<typeof JOURNAL_ROW> {
  return {
    shard: entry.shard,
    seq: entry.seq,
    month: entry.month,
    at: encodeInstant(entry.at),
    agencyId: entry.agencyId,
    unitId: entry.unitId,
    otherUnitId: entry.otherUnitId,
    bookingId: entry.bookingId,
    id: entry.id,
    kind: entry.kind,
    isAnnounced: entry.isAnnounced,
    actorKind: entry.actor.kind,
    actorId: entry.actor.id,
    route: entry.route,
    requestId: entry.requestId,
    checksum: entry.checksum,
  }
}

export function auditRow(agencyId: string, line: AuditDraft): RowOf<typeof AUDIT_ROW> {
  const { auditId, at, actor } = line
  return { ...line, agencyId, id: auditId, at: encodeInstant(at), actorKind: actor.kind, actorId: actor.id }
}

function unitRow(agencyId: string, { rules: { rates, ...prices }, ...master }: Unit): RowOf<typeof UNIT> {
  return { agencyId, ...master, ...prices, rates: encodeRates(rates) }
}
