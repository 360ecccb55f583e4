import type { BookingFacts, Instant } from '../../core/domain/booking.ts'
import {
  bookedStay,
  bookingIdentity,
  type LoggedEvent,
  type WebhookEventKind,
  webhookEventOf,
} from '../../core/domain/booking.ts'
import { decodeEntry, envelopeIn, type StoredEntry } from '../../core/journal/entry-codec.ts'
import { CorruptLedgerError } from '../../core/journal/journal-error.ts'
import type { Envelope } from '../../core/journal/record.ts'

/** A webhook event: what its journal entry says, and the booking's reference, which is in no entry. */
interface WebhookEvent {
  /** `evt_…` */
  readonly id: string
  readonly kind: WebhookEventKind
  readonly at: Instant
  readonly seq: number
  /** After the change. */
  readonly booking: BookingFacts
  readonly sourceRef: string | null
  readonly envelope: Envelope
}

/**
 * The body of a webhook event (docs/contract.md#events): the booking as of the event, without guest data. The same event has the
 * same text, byte for byte, on every attempt (W3): do not reorder its members.
 */
export function webhookBody({ id, kind, at, seq, booking, sourceRef, envelope }: WebhookEvent): string {
  return JSON.stringify({
    id,
    event: kind,
    occurredAt: new Date(at).toISOString(),
    seq,
    data: {
      ...bookingIdentity(booking, { slug: envelope.unitSlug, name: envelope.unitName }),
      sourceRef,
      ...bookedStay(booking),
      currency: envelope.currency,
      version: booking.version,
    },
  })
}

/** An entry of the journal as webhook events are made from it. */
type AnnouncedEntry = StoredEntry & { readonly id: string; readonly at: Instant }

/**
 * The body of the webhook event that an entry of the journal fires.
 * @throws CorruptLedgerError when the entry is not as it was written, or fires none
 */
export function bodyOfEntry(entry: AnnouncedEntry, sourceRef: string | null): string {
  return webhookBody(eventOfEntry(entry, sourceRef))
}

/** The webhook event that an entry of the journal fires. @throws CorruptLedgerError as `bodyOfEntry` does */
export function eventOfEntry(entry: AnnouncedEntry, sourceRef: string | null): WebhookEvent {
  const event: LoggedEvent = decodeEntry(entry)
  const kind = webhookEventOf(event)
  if (event.kind === 'unit_set' || kind === null)
    throw new CorruptLedgerError(`Cannot read journal entry ${entry.seq} as a webhook event: it fires none`)
  const { id, at, seq } = entry
  return { id, kind, at, seq, booking: event.after, sourceRef, envelope: envelopeIn(entry) }
}
