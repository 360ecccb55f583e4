import type { Listed } from '../core/bookings/booking-lists.ts'
import type { BookingFacts, LedgerEvent, Pricing } from '../core/domain/booking.ts'
import type { Actor, AuditDraft } from '../core/journal/record.ts'

/** A line of the audit trail as it is read. */
export interface AuditEntry extends Omit<AuditDraft, 'auditId' | 'traceparent'> {
  readonly id: string
  readonly traceId: string | null
  /** What has changed; null when the line has no journal entry, or when the entry cannot be read. */
  readonly event: LedgerEvent<BookingFacts> | null
  /** Of a stay that got other dates or another unit; null for everything else, and for moves that are older than the choice. */
  readonly pricing: Pricing | null
}

/** Null: any. Instants are milliseconds; `from` inclusive, `to` exclusive. */
export interface AuditFilter {
  readonly from: number | null
  readonly to: number | null
  readonly actorKind: Actor['kind'] | null
  readonly keyId: string | null
  /** Of an access token. */
  readonly tokenId: string | null
  readonly personId: string | null
  readonly outcome: string | null
  readonly bookingId: string | null
  readonly requestId: string | null
  readonly traceId: string | null
}

export interface AuditList {
  /** Newest first, ties by id. */
  list(agencyId: string, filter: AuditFilter, page: { offset: number; limit: number }): Promise<Listed<AuditEntry>>
}
