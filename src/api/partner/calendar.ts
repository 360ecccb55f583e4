import { Type } from '@sinclair/typebox'
import type { Agency, Inventory } from '../../core/catalogue/agency.ts'
import { timeOf } from '../../core/catalogue/agency-time.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { isHeld, type Outcome, tagged } from '../../http/answer.ts'
import { PAGE_QUERY, PAGE_SIZE_MAX, pageOf, sliceOf } from '../../http/json/page.ts'
import { arrivalsOf, CalendarsJson, calendarsText } from '../../http/json/read-calendars.ts'
import { RANGE_DAYS_MAX, rangeOf } from '../../http/json/request-fields.ts'
import { selectUnits, slugsOf, UNITS_NAMED_MAX } from '../../http/json/unit-json.ts'
import type { Operation } from '../../http/operation.ts'
import { invalidField, type Problem, unknownUnit } from '../../http/problems.ts'
import { choice, dateText, text } from '../../http/text-schema.ts'
import { partnerRoute, withInventory } from './partner-route.ts'

const GET_CALENDAR = {
  id: 'getCalendar',
  method: 'GET',
  path: '/partner/v1/calendar',
  isLarge: true,
  tag: 'Availability and prices',
  summary: 'Get the calendars of many units',
  description:
    'Unavailable nights of every unit in one answer, as runs. `prices=true` adds the price and the minimum stay of every night, and also ' +
    'needs the scope `read:rates`; `restrictions=true` adds the dates on which a stay can arrive and depart. Ask again with ' +
    '`If-None-Match`: as long as nothing in the agency has changed, the answer is 304.',
  scope: 'read:availability',
  scopesWith: { parameter: 'prices', scopes: { true: 'read:rates' } },
  isConditional: true,
  query: Type.Object({
    from: dateText('Range start, inclusive.'),
    to: dateText(`Range end, exclusive; at most ${RANGE_DAYS_MAX} days after \`from\`.`),
    units: Type.Optional(
      text({
        minLength: 1,
        description:
          `Slugs separated by commas, at most ${UNITS_NAMED_MAX}; the answer has their order. ` +
          'If omitted: every unit that `GET /units` lists.',
        examples: ['sea-view,garden'],
      }),
    ),
    prices: Type.Optional(choice(['true', 'false'], { default: 'false', description: 'Adds `prices` and `minStay`.' })),
    restrictions: Type.Optional(
      choice(['true', 'false'], {
        default: 'false',
        description: 'Adds `arrival`, `departure` and `maxStay`, and `minStay` with restrictions.',
      }),
    ),
    page: PAGE_QUERY.page,
    pageSize: Type.Optional({ ...PAGE_QUERY.pageSize, description: `Units per page, 1 to ${PAGE_SIZE_MAX}.` }),
  }),
  answer: { status: 200, description: 'A page of calendars.', schema: CalendarsJson },
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

const MALFORMED_UNITS = invalidField('units', `must be 1 to ${UNITS_NAMED_MAX} slugs separated by commas`)

export const CALENDAR = [
  partnerRoute(GET_CALENDAR, ({ ledger, agency, open, request, query }) => {
    const range = rangeOf(query)
    if ('code' in range) return range
    const { from, to, prices = 'false', restrictions = 'false' } = query
    const page = pageOf(query)
    return withInventory<Outcome>(ledger.catalogue, open.admission.holder, (inventory) => {
      const units = unitsOf(inventory, query.units)
      if ('code' in units) return units
      // Taken first: whatever changes while the calendars are read gives another tag to the next request.
      const versions = `${inventory.version} ${ledger.commands.changesOf(agency)}`
      const now = timeOf(agency, ledger.clock)
      const params = `${from} ${to} ${prices} ${restrictions} ${page.page} ${page.pageSize} ${query.units ?? ''}`
      const arrivals = restrictions === 'true' ? arrivalsKey(sliceOf(units, page), agency, now) : ''
      const tag = ledger.tags.of(`calendar ${versions} ${params}${arrivals}`)
      if (isHeld(request, tag)) return tagged(tag, null)
      const members = { prices: prices === 'true', restrictions: restrictions === 'true' }
      const wanted = { range, with: members, now, page }
      return calendarsText(ledger.commands, agency, units, wanted).then((text) => tagged(tag, text))
    })
  }),
]

/** What restrictions change by the passing of time alone, in the units shown: the first and last arrival by advance notice and booking window. */
function arrivalsKey(units: readonly Unit[], agency: Agency, now: number): string {
  let key = ''
  for (const unit of units) {
    const { earliest, latest } = arrivalsOf(unit, agency, now)
    if (Number.isFinite(earliest) || Number.isFinite(latest)) key += ` ${unit.id} ${earliest} ${latest}`
  }
  return key
}

function unitsOf(inventory: Inventory, list: string | undefined): readonly Unit[] | Problem {
  if (list === undefined) return inventory.listed
  const slugs = slugsOf(list)
  if (slugs === null) return MALFORMED_UNITS
  const selected = selectUnits(inventory, slugs)
  return selected.kind === 'selected' ? selected.units : unknownUnit(selected.slug)
}
