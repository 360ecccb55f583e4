import type { Agency } from '../catalogue/agency.ts'
import type { Inventory } from '../catalogue/inventory.ts'
import { isLive } from '../domain/booking.ts'
import { type Decision, quoteOf, type Tariff } from '../domain/decide.ts'
import type { BookingEvent } from '../domain/event.ts'
import type { Quote } from '../domain/pricing.ts'
import type { UnitState } from '../domain/unit-state.ts'
import type { Write } from './durable-writes.ts'

/** What a turn has decided. */
export interface Decided {
  readonly kind: 'decided'
  readonly decision: Decision<BookingEvent>
  /** Of a dry run: what the stay costs now. */
  readonly quote: Quote | null
}

/** With what a dry run says of the price, taken at the same moment as the decision. */
export function decidedOf(
  { isDryRun }: Write,
  decision: Decision<BookingEvent>,
  state: UnitState,
  tariff: Tariff,
): Decided {
  if (!isDryRun || decision.kind === 'rejected') return { kind: 'decided', decision, quote: null }
  const booking = decision.kind === 'accepted' ? decision.event.after : decision.booking
  return { kind: 'decided', decision, quote: isLive(booking) ? quoteOf(state, booking, tariff) : null }
}

export function tariffOf({ currency }: Agency, { feeTypes }: Inventory): Tariff {
  return { currency, feeTypes }
}
