import {
  type BookingFacts,
  bookedStay,
  bookingIdentity,
  type DateSpan,
  type Instant,
  isUnitSet,
  type WebhookEventKind,
  webhookEventOf,
} from '../../core/domain/booking.ts'
import { formatNight, type Night } from '../../core/domain/night.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { decodeEntry, envelopeIn, type StoredEntry } from '../../core/journal/entry-codec.ts'
import { CorruptLedgerError } from '../../core/journal/journal-error.ts'
import type { Envelope } from '../../core/journal/record.ts'
import { assert } from '../../lib/assert.ts'

/** A webhook event: what its journal entry says, and the booking's reference, which is in no entry. */
interface WebhookEvent {
  /** `evt_…` */
  readonly id: string
  readonly kind: WebhookEventKind
  readonly at: Instant
  readonly seq: number
  readonly about: ChangedBooking | ChangedUnit
}

interface ChangedBooking {
  /** After the change. */
  readonly booking: BookingFacts
  readonly sourceRef: string | null
  readonly envelope: Envelope
}

interface ChangedUnit {
  readonly unit: Unit
  readonly changed: DateSpan
}

/**
 * The body of a webhook event (docs/contract.md#events): the booking as of the event, without guest data, or which unit changed, and for
 * which dates. The same event has the same text, byte for byte, on every attempt (W3): do not reorder its members.
 */
export function webhookBody({ id, kind, at, seq, about }: WebhookEvent, isTest = false): string {
  const data = 'unit' in about ? unitData(about, seq) : bookingData(about)
  const mode = isTest ? { mode: 'test' } : {}
  return JSON.stringify({ id, event: kind, occurredAt: new Date(at).toISOString(), seq, ...mode, data })
}

function bookingData({ booking, sourceRef, envelope }: ChangedBooking) {
  return {
    ...bookingIdentity(booking, { slug: envelope.unitSlug, name: envelope.unitName }),
    sourceRef,
    ...bookedStay(booking),
    currency: envelope.currency,
    version: booking.version,
  }
}

/** The version of a unit is the sequence number of the last entry that changed it. */
function unitData({ unit, changed }: ChangedUnit, seq: number) {
  const date = (night: Night | null) => (night === null ? null : formatNight(night))
  return { unitId: unit.id, unitSlug: unit.slug, version: seq, from: date(changed.from), to: date(changed.to) }
}

/** An entry of the journal as webhook events are made from it. */
type AnnouncedEntry = StoredEntry & { readonly id: string; readonly at: Instant }

/**
 * The body of the webhook event that an entry of the journal fires.
 * @throws CorruptLedgerError when the entry is not as it was written, or fires none
 */
export function bodyOfEntry(entry: AnnouncedEntry, sourceRef: string | null, isTest = false): string {
  return webhookBody(eventOfEntry(entry, sourceRef), isTest)
}

/** The webhook event that an entry of the journal fires. @throws CorruptLedgerError as `bodyOfEntry` does */
export function eventOfEntry(entry: AnnouncedEntry, sourceRef: string | null): WebhookEvent {
  const event = decodeEntry(entry)
  const kind = webhookEventOf(event)
  const { id, at, seq } = entry
  if (kind === null)
    throw new CorruptLedgerError(`Cannot read journal entry ${entry.seq} as a webhook event: it fires none`)
  if (!isUnitSet(event))
    return { id, kind, at, seq, about: { booking: event.after, sourceRef, envelope: envelopeIn(entry) } }
  const { unit, changed } = event
  assert(changed !== undefined, 'Cannot read a webhook event: its unit has not changed')
  return { id, kind, at, seq, about: { unit, changed } }
}
