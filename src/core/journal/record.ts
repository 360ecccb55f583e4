import type { Instant } from '../domain/booking.ts'
import type { UnitEvent } from '../domain/event.ts'

/** Who did it. `key`: a partner; `portal`: the agency; `system`: a timer of ours. */
export interface Actor {
  readonly kind: 'key' | 'portal' | 'system'
  /** The API key's id; null if there is none to name. */
  readonly id: string | null
}

/** A line of the audit trail (docs/design.md#audit). `outcome` is `OK` or the refusal's code. */
export interface AuditDraft {
  readonly auditId: string
  readonly at: Instant
  readonly actor: Actor
  readonly route: string
  readonly outcome: string
  readonly bookingId: string | null
  readonly requestId: string | null
  /** 1, or how many refused requests the line counts so far. Lines with the same id keep the highest. */
  readonly count: number
}

/** Personal data that comes with a new booking; stored outside the journal, never in it. */
export interface GuestDraft {
  /** Used unless the agency has a guest with the same e-mail. */
  readonly guestId: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string | null
  readonly phone: string | null
  readonly nationality: string | null
}

/** The first answer to a request with an `Idempotency-Key` (docs/design.md#additive-headers). */
export interface IdempotencyDraft {
  readonly keyId: string
  readonly route: string
  readonly idempotencyKey: string
  readonly requestHash: string
  readonly status: number
  readonly body: string
}

/** A webhook event. The body is written once, when the sequence number is known. */
export interface Announcement {
  readonly eventId: string
  readonly kind: 'booking.created' | 'booking.updated' | 'booking.cancelled'
  readonly body: (seq: number) => string
}

/** One change of one unit, or of two when a booking moves. */
export interface Entry {
  readonly event: UnitEvent
  readonly at: Instant
  readonly requestId: string | null
}

/** What one caller wants durable before it answers: all of it or none of it (J2). */
export interface JournalRecord {
  readonly agencyId: string
  readonly at: Instant
  readonly entry?: Entry
  readonly guest?: GuestDraft
  /** Of a new booking. */
  readonly notes?: string
  readonly audit?: AuditDraft
  readonly idempotency?: IdempotencyDraft
  readonly announcement?: Announcement
}
