import { Type } from '@sinclair/typebox'
import type { BookingCommands } from '../../core/bookings/booking-commands.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import { formatNight } from '../../core/domain/night.ts'
import { ANY_ARRIVAL, type ArrivalRange, arrivalRange } from '../../core/domain/restrictions.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { Slices } from '../../lib/slices.ts'
import { dateText } from '../text-schema.ts'
import { type CalendarMembers, CalendarText, UnitCalendarJson } from './calendar-json.ts'
import { type Page, pageMembers, pageSchema, sliceOf } from './page.ts'
import type { NightRange } from './request-fields.ts'

/** A page of calendars (docs/partner-additions.md#2-get-calendar-all-units-at-once). */
export const CalendarsJson = Type.Object({
  from: dateText('As requested.'),
  to: dateText('As requested; exclusive.'),
  currency: Type.String({ description: 'Prices are in its minor unit.' }),
  ...pageSchema('units', UnitCalendarJson).properties,
})

interface CalendarsRequest {
  readonly range: NightRange
  readonly with: CalendarMembers
  /** Advance notice and booking window are measured from it. Milliseconds since 1970. */
  readonly now: number
  readonly page: Page
}

/** A quarter of a millisecond of CPU (`bench/calendar.ts`): others wait for one slice at most. */
const STEPS_PER_SLICE = 500

/**
 * The calendars of a page of `units` as JSON text, in their order. Those that are not in memory are loaded together. Each unit is read at
 * once, but different units may be read at different moments: other requests are answered in between.
 */
export async function calendarsText(
  commands: Pick<BookingCommands, 'activate' | 'listedCalendar'>,
  agency: Agency,
  units: readonly Unit[],
  { range, with: members, now, page }: CalendarsRequest,
  slices = new Slices(STEPS_PER_SLICE),
): Promise<string> {
  const onPage = sliceOf(units, page)
  await commands.activate(agency, onPage)
  const calendars = new CalendarText(range, members)
  for (const unit of onPage) {
    const before = calendars.steps
    const state = commands.listedCalendar(agency, unit)
    const arrivals = members.restrictions === true ? arrivalsOf(unit, agency, now) : undefined
    calendars.add(unit.slug, state instanceof Promise ? await state : state, arrivals)
    const pause = slices.spend(calendars.steps - before)
    if (pause !== null) await pause
  }
  const head = `{"from":"${formatNight(range.from)}","to":"${formatNight(range.to)}","currency":${JSON.stringify(agency.currency)}`
  // Without its brace: its members follow those of the head.
  const paging = JSON.stringify(pageMembers(page, units.length)).slice(1)
  return `${head},"units":${calendars.text},${paging}`
}

/** The dates on which a stay in the unit can arrive now, by advance notice and booking window. */
export function arrivalsOf({ rules: { restrictions }, checkinTime }: Unit, agency: Agency, now: number): ArrivalRange {
  if (restrictions === undefined) return ANY_ARRIVAL
  return arrivalRange(restrictions, { now, timeZone: agency.timezone, checkinTime })
}
