import { Type } from '@sinclair/typebox'
import { ENTRIES_PER_PART } from '../../core/bookings/units-as-of.ts'
import { timeOf } from '../../core/catalogue/agency-time.ts'
import type { Instant } from '../../core/domain/booking.ts'
import { formatNight, type Night, STAY_NIGHTS_MAX } from '../../core/domain/night.ts'
import type { Unit } from '../../core/domain/unit.ts'
import type { UnitState } from '../../core/domain/unit-state.ts'
import { asOfField, asOfInstant, problemOfAsOf } from '../../http/json/as-of.ts'
import { nightOf } from '../../http/json/request-fields.ts'
import { invalidField, notFound, type Problem } from '../../http/problems.ts'
import { choice, dateText } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { type AgencyCall, agencyRoute } from './portal-route.ts'
import { UNIT_PATH } from './units.ts'

const GET_CALENDAR = {
  id: 'getUnitCalendar',
  role: 'viewer',
  method: 'GET',
  path: `${UNIT_PATH}/calendar`,
  tag: 'Calendars',
  summary: "Get a unit's booked and cleaning nights",
  description:
    'Nights that are not listed are free. A booked night is not also listed as cleaning. With `asOf`, the answer is the calendar of an ' +
    'earlier moment. If the unit did not exist at that moment, the answer is 404; if its history is no longer kept, 410.',
  query: Type.Object({
    from: dateText('First night.'),
    to: dateText(`The day after the last night; at most ${STAY_NIGHTS_MAX} days after from.`),
    asOf: asOfField('The calendar as of this moment, with the bookings and rules of that time.'),
  }),
  answer: {
    status: 200,
    description: 'The unavailable nights.',
    schema: Type.Object({
      calendar: Type.Object({
        unit: Type.String(),
        from: dateText('First night.'),
        to: dateText('The day after the last night.'),
        nights: Type.Array(Type.Object({ night: dateText('The night.'), state: choice(['taken', 'cleaning']) })),
      }),
    }),
  },
  problems: ['HISTORY_EXPIRED'],
} as const satisfies PortalOperation

export const UNIT_CALENDAR = [
  agencyRoute(GET_CALENDAR, async (call) => {
    const { ledger, agency, path, query } = call
    const [from, to] = [nightOf(query.from), nightOf(query.to)]
    if (to <= from) return invalidField('to', `must be after from (${query.from})`)
    if (to - from > STAY_NIGHTS_MAX)
      return invalidField(
        'to',
        `must be at most ${STAY_NIGHTS_MAX} days after from (${formatNight((from + STAY_NIGHTS_MAX) as Night)})`,
      )
    const at = query.asOf === undefined ? null : asOfInstant(query.asOf, timeOf(agency, ledger.clock))
    if (at !== null && typeof at !== 'number') return at
    const unit = (await ledger.catalogue.inventory(agency.id)).unitBySlug(path.unitSlug)
    if (unit === null) return notFound('unit')
    const state = at === null ? await ledger.commands.calendar(agency, unit) : await calendarAsOf(call, unit, at)
    if ('code' in state) return state
    const { occupied, cleaning } = state
    const occupiedNights = occupied.nightsIn(from, to).map((night) => ({ night, state: 'taken' as const }))
    const cleaned = cleaning
      .nightsIn(from, to)
      .filter((night) => !occupied.has(night))
      .map((night) => ({ night, state: 'cleaning' as const }))
    const nights = [...occupiedNights, ...cleaned]
      .sort((a, b) => a.night - b.night)
      .map(({ night, state }) => ({ night: formatNight(night), state }))
    return JSON.stringify({ calendar: { unit: unit.slug, from: query.from, to: query.to, nights } })
  }),
]

async function calendarAsOf(
  { ledger, access, identity, agency }: AgencyCall<typeof GET_CALENDAR>,
  unit: Unit,
  at: Instant,
): Promise<UnitState | Problem> {
  const found = await ledger.unitsAsOf.read({ agencyId: agency.id, unitId: unit.id }, at)
  if (found.kind !== 'found') return problemOfAsOf(found)
  await access.takeParts(identity, found.entries / ENTRIES_PER_PART)
  return found.state
}
