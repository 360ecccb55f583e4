import type { Caller } from '../core/bookings/caller.ts'
import type { AuditDraft } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'

/** The audit line of a change that succeeds: it becomes durable together with the change (design, Audit). */
export function successLine({ clock, newId }: { clock: Clock; newId: IdSource }, caller: Caller): AuditDraft {
  return {
    auditId: newId('aud'),
    at: clock.now(),
    actor: caller.actor,
    route: caller.route,
    outcome: 'OK',
    bookingId: null,
    requestId: caller.requestId,
    count: 1,
  }
}
