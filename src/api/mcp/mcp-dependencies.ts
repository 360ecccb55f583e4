import type { PartnerAccess } from '../../access/partner-access.ts'
import type { BookingCommands } from '../../core/bookings/booking-commands.ts'
import type { BookingList } from '../../core/bookings/booking-lists.ts'
import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'

/** What the tools read from. */
export interface ToolLedger {
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly bookingList: BookingList
  readonly access: Pick<PartnerAccess, 'takeParts'>
}

/** What the endpoint needs from the running core. */
export interface McpLedger extends ToolLedger {
  readonly clock: Clock
  readonly newId: IdSource
  /** The one that REST uses: the budgets are shared (docs/contract.md#tool-endpoint). */
  readonly access: PartnerAccess
}
