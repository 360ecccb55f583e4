import type { Clock } from '../../lib/clock.ts'
import type { Instant } from '../domain/booking.ts'

/**
 * The clock of a sandbox: it stands at `now` until it is moved, and then goes on to `target`. Every holder of the agency has the same
 * object, which is changed in place: a request that began before a move reads the time of its decision, not that of its beginning.
 */
export interface SandboxClock {
  now: Instant
  target: Instant
}

/**
 * The time of an agency: what its stored instants are made from and compared with. Limits, signatures and the expiry of credentials use the
 * clock of the process instead, for sandboxes too.
 */
export function timeOf({ clock }: { readonly clock?: SandboxClock }, process: Pick<Clock, 'now'>): Instant {
  return clock === undefined ? process.now() : clock.now
}
