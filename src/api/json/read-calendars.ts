import type { BookingCommands } from '../../core/bookings/booking-commands.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { Slices } from '../../lib/slices.ts'
import { CalendarText } from './calendar-json.ts'
import type { NightRange } from './night-range.ts'

/** Well under 5 ms: see `bench/calendar.ts`. */
const STEPS_PER_SLICE = 2_000

/**
 * The calendars of `units` as a JSON list, in their order. Units that are not in memory are loaded together. Each is read at once, but
 * different units may be read at different moments: other requests are answered in between.
 */
export async function calendarsJson(
  commands: Pick<BookingCommands, 'activate' | 'calendar'>,
  agency: Agency,
  units: readonly Unit[],
  { range, withPrices }: { range: NightRange; withPrices: boolean },
  slices = new Slices(STEPS_PER_SLICE),
): Promise<string> {
  await commands.activate(agency, units)
  const text = new CalendarText(range, withPrices)
  for (const unit of units) {
    const before = text.steps
    const state = commands.calendar(agency, unit)
    text.add(unit.slug, state instanceof Promise ? await state : state)
    const pause = slices.spend(text.steps - before)
    if (pause !== null) await pause
  }
  return text.text
}
