import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { BookingDesk } from '../../core/bookings/booking-commands.ts'
import type { BookingList } from '../../core/bookings/booking-list.ts'
import type { BookingRows } from '../../core/bookings/booking-rows.ts'
import type { GuestList } from '../../core/bookings/guest-list.ts'
import type { IdempotencyDesk } from '../idempotency/idempotent-writes.ts'
import type { PartnerGate } from '../../access/partner-access.ts'
import type { RefusalCounter } from '../../access/refusal-counter.ts'
import type { RequestTally } from '../../observability/request-stats.ts'
import type { UsageMeter } from '../../access/usage-meter.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'

/** What the partner surface needs of the running core. */
export interface PartnerLedger {
  readonly clock: Clock
  readonly newId: IdSource
  readonly catalogue: Catalogue
  readonly desk: BookingDesk
  readonly bookingRows: BookingRows
  readonly bookingList: BookingList
  readonly guestList: GuestList
  readonly gate: PartnerGate
  readonly usage: UsageMeter
  readonly refusals: RefusalCounter
  readonly idempotency: IdempotencyDesk
}

/** What the surface tells its surroundings of a request that ended in 500. */
export interface FailureReport {
  readonly error: unknown
  readonly requestId: string
  readonly route: string
  /** A broken invariant: the process must end. */
  readonly isBug: boolean
}

/** What every partner route is made with. */
export interface PartnerSurface {
  readonly ledger: PartnerLedger
  readonly tally: RequestTally
  onFailure(report: FailureReport): void
}
