import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { BookingDesk } from '../../core/bookings/booking-commands.ts'
import type { BookingList } from '../../core/bookings/booking-list.ts'
import type { PartnerGate } from '../../access/partner-access.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'

/** What the tools read from. */
export interface ToolLedger {
  readonly catalogue: Catalogue
  readonly desk: BookingDesk
  readonly bookingList: BookingList
}

/** What the endpoint needs of the running core. */
export interface McpLedger extends ToolLedger {
  readonly clock: Clock
  readonly newId: IdSource
  /** The one that REST uses: the budgets are shared (contract, Tool endpoint). */
  readonly gate: PartnerGate
}

/** What the endpoint tells its surroundings of a message that ended in -32603. */
export interface McpFailure {
  readonly error: unknown
  readonly requestId: string
  readonly route: string
  /** A broken invariant: the process must end. */
  readonly isBug: boolean
}
