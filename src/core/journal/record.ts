import { idOf } from '../../lib/ids.ts'
import type { Instant, LedgerEvent } from '../domain/booking.ts'

export const ACTOR_KINDS = ['key', 'access_token', 'person', 'portal', 'system'] as const

/**
 * Who did it. `key`: a partner; `access_token`: a program of the agency; `person`: one of its people; `portal`: the operator; `system`: a
 * timer of ours.
 */
export interface Actor {
  readonly kind: (typeof ACTOR_KINDS)[number]
  /** The id of the API key, access token or person; null if there is none to name. */
  readonly id: string | null
}

/** The actor of a stored line. `uuid`: as the database returns it. */
export function actorOf(kind: Actor['kind'], uuid: string | null): Actor {
  const prefix = kind === 'access_token' ? 'tok' : kind === 'person' ? 'per' : 'key'
  return { kind, id: uuid === null ? null : idOf(prefix, uuid) }
}

/** On whose behalf a write is done; what the audit trail says about it. */
export interface Caller {
  readonly actor: Actor
  /** Method and path template, `POST /partner/v1/bookings`. */
  readonly route: string
  readonly requestId: string | null
  /** Of a request that belongs to a trace (src/lib/traceparent.ts). */
  readonly traceparent?: string | null
}

/** A line of the audit trail that has no journal entry (docs/design.md#audit). `outcome` is `OK` or the refusal's code. */
export interface AuditDraft {
  readonly auditId: string
  readonly at: Instant
  readonly actor: Actor
  readonly route: string
  readonly outcome: string
  readonly bookingId: string | null
  readonly requestId: string | null
  readonly traceparent?: string | null
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
  /** Of the API key, access token or person; of the operator, `OPERATOR_ID`. */
  readonly keyId: string
  readonly route: string
  readonly idempotencyKey: string
  readonly requestHash: string
  readonly status: number
  readonly body: string
}

/**
 * The first answer to a change outside the journal. `body` null: what the change returns, which the store of the change puts in its place
 * and can read again.
 */
export interface ChangeAnswer extends Omit<IdempotencyDraft, 'body'> {
  readonly agencyId: string
  readonly body: string | null
}

/** Makes what is kept for an `Idempotency-Key` from what a change makes. */
export type KeepChange<T> = (value: T) => ChangeAnswer & IdempotencyDraft

/** The audit line of a change outside the journal, and the answer to keep: both are written in the statement of the change. */
export interface ChangeLine extends AuditDraft {
  readonly answer?: ChangeAnswer | undefined
}

/** What the webhook event of a change contains beyond the booking, as it was at that moment. */
export interface Envelope {
  readonly unitSlug: string
  readonly unitName: string
  readonly currency: string
}

/** One change of one unit, of two when a booking moves, or of none when a guest is erased. */
export interface Entry {
  /** `evt_…`, also of its webhook event. Its line in the audit trail has the same UUID. */
  readonly id: string
  readonly event: LedgerEvent
  readonly at: Instant
  readonly caller: Caller
  /** Null unless it is of a booking. */
  readonly envelope: Envelope | null
  /** Of a new booking. Only its row has them (J6). */
  readonly notes?: string
}

/** What one caller wants durable before it answers: all of it or none of it (J2, J9). */
export interface JournalRecord {
  readonly agencyId: string
  readonly at: Instant
  /** By the clock of the process, if that is not `at`: in a sandbox. The months that entries are stored by are real ones. */
  readonly writtenAt?: Instant
  /** Nearly always a single one. They get consecutive numbers, in this order. */
  readonly entries?: readonly Entry[]
  /** The guest of every booking that the record creates. */
  readonly guest?: GuestDraft
  /** Only without an entry: the entry of a change is its line in the audit trail. */
  readonly audit?: AuditDraft
  readonly idempotency?: IdempotencyDraft
}
