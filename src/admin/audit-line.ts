import { type AuditSource, successLine } from '../core/bookings/audit-lines.ts'
import type { Caller } from '../core/bookings/caller.ts'
import type { AuditDraft } from '../core/journal/record.ts'

/** The line of a change of the agency's own data that is about to become durable with it (design, Audit). */
export function auditLine(source: AuditSource, caller: Caller): AuditDraft {
  return successLine(source, caller, null)
}
