/** The lines of the audit trail that have no journal entry (docs/design.md#audit). */
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'
import type { AuditDraft, Caller, ChangeAnswer, ChangeLine } from '../journal/record.ts'

export interface AuditSource {
  readonly clock: Clock
  readonly newId: IdSource
}

/** Of a change to the agency's own data, or of a write that changed nothing because there was nothing to change. */
export function successLine(source: AuditSource, caller: Caller, bookingId: string | null = null): AuditDraft {
  return line(source, caller, 'OK', bookingId)
}

/** Of a change to the agency's own data, with the answer to keep for its `Idempotency-Key`. */
export function changeLine(source: AuditSource, caller: Caller, answer: ChangeAnswer | undefined): ChangeLine {
  const line = successLine(source, caller)
  return answer === undefined ? line : { ...line, answer }
}

/** A write that was refused with `code`. */
export function refusalLine(source: AuditSource, caller: Caller, code: string, bookingId: string | null): AuditDraft {
  return line(source, caller, code, bookingId)
}

/** A repeated write that was answered with its first answer. */
export function replayLine(source: AuditSource, caller: Caller, bookingId: string | null): AuditDraft {
  return line(source, caller, 'REPLAYED', bookingId)
}

function line({ clock, newId }: AuditSource, caller: Caller, outcome: string, bookingId: string | null): AuditDraft {
  const { actor, route, requestId } = caller
  return { auditId: newId('aud'), at: clock.now(), actor, route, outcome, bookingId, requestId, count: 1 }
}
