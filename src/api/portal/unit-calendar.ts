import { Type } from '@sinclair/typebox'
import { formatNight, type Night, STAY_NIGHTS_MAX } from '../../core/domain/night.ts'
import { nightOf } from '../../http/json/request-fields.ts'
import { invalidField, notFound } from '../../http/problems.ts'
import { choice, dateText } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute } from './portal-route.ts'
import { UNIT_PATH } from './units.ts'

const GET_CALENDAR = {
  id: 'getUnitCalendar',
  role: 'viewer',
  method: 'GET',
  path: `${UNIT_PATH}/calendar`,
  tag: 'Calendars',
  summary: "Get a unit's booked and cleaning nights",
  description: 'Nights that are not listed are free. A booked night is not also listed as cleaning.',
  query: Type.Object({
    from: dateText('First night.'),
    to: dateText(`The day after the last night; at most ${STAY_NIGHTS_MAX} days after from.`),
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
} as const satisfies PortalOperation

export const UNIT_CALENDAR = [
  agencyRoute(GET_CALENDAR, async ({ ledger, agency, path, query }) => {
    const [from, to] = [nightOf(query.from), nightOf(query.to)]
    if (to <= from) return invalidField('to', `must be after from (${query.from})`)
    if (to - from > STAY_NIGHTS_MAX)
      return invalidField(
        'to',
        `must be at most ${STAY_NIGHTS_MAX} days after from (${formatNight((from + STAY_NIGHTS_MAX) as Night)})`,
      )
    const unit = (await ledger.catalogue.inventory(agency.id)).unitBySlug(path.unitSlug)
    if (unit === null) return notFound('unit')
    const { occupied, cleaning } = await ledger.commands.calendar(agency, unit)
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
