import type { PartnerAccess } from '../../access/partner-access.ts'
import type { RefusalCounter } from '../../access/refusal-counter.ts'
import type { UsageMeter } from '../../access/usage-meter.ts'
import type { ChangeFeed } from '../../changes/change-feed.ts'
import type { BookingCommands } from '../../core/bookings/booking-commands.ts'
import type { BookingList } from '../../core/bookings/booking-list.ts'
import type { BookingRows } from '../../core/bookings/booking-rows.ts'
import type { GuestList } from '../../core/bookings/guest-list.ts'
import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'
import type { RequestStats } from '../../observability/request-stats.ts'
import type { EntityTags } from '../http/entity-tag.ts'
import type { FailureReport } from '../http/failure-report.ts'
import type { IdempotentWrites } from '../idempotency/idempotent-writes.ts'

/** What the partner surface needs from the running core. */
export interface PartnerLedger {
  readonly clock: Clock
  readonly newId: IdSource
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly bookingRows: BookingRows
  readonly bookingList: BookingList
  readonly guestList: GuestList
  readonly access: PartnerAccess
  readonly usage: UsageMeter
  readonly refusals: RefusalCounter
  readonly idempotency: IdempotentWrites
  readonly tags: EntityTags
  readonly changes: ChangeFeed
}

/** What every partner route needs. */
export interface PartnerDependencies {
  readonly ledger: PartnerLedger
  readonly requestStats: RequestStats
  onFailure(report: FailureReport): void
}
