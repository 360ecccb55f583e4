import { Type } from '@sinclair/typebox'
import type { Inventory } from '../../../core/catalogue/agency.ts'
import { timeOf } from '../../../core/catalogue/agency-time.ts'
import { formatNight, type Night } from '../../../core/domain/night.ts'
import { forEachRunInUnion } from '../../../core/domain/night-bitmap.ts'
import type { Unit } from '../../../core/domain/unit.ts'
import type { UnitState } from '../../../core/domain/unit-state.ts'
import { nightListJson } from '../../../http/json/calendar-json.ts'
import { CalendarsJson, calendarsText } from '../../../http/json/read-calendars.ts'
import { type NightRange, RANGE_DAYS_MAX, rangeOf } from '../../../http/json/request-fields.ts'
import { selectUnits, slugsOf, UNITS_NAMED_MAX } from '../../../http/json/unit-json.ts'
import { dateText, text } from '../../../http/text-schema.ts'
import { fault, PAGE_ARGUMENTS, type ToolFault, toolOf, toolPageOf, unknownUnit } from './tool.ts'

/** The tool for GET /availability, with the gaps between the blocked nights written out. */
export const GET_AVAILABILITY = toolOf({
  name: 'get_availability',
  title: 'Get availability',
  scope: 'read:availability',
  description:
    'Lists which nights of one unit are available in the half-open range [from, to). A night is named by the date on ' +
    `which it begins, \`to\` is excluded, and the range is at most ${RANGE_DAYS_MAX} days long. ` +
    '`blockedNights` are booked, on hold, reserved for cleaning or not for sale; `openRanges` are the gaps between them, each with the first ' +
    'possible arrival (`from`), the last possible departure (`to`) and the number of nights between. It gives no prices and ' +
    'holds nothing, and it ignores the minimum stay and other restrictions: call quote_stay before you promise anything.',
  input: Type.Object(
    {
      unit: text({ minLength: 1, description: 'Slug of the unit, from list_units.', examples: ['sea-view'] }),
      from: dateText('First night of the range, YYYY-MM-DD.'),
      to: dateText(`End of the range, YYYY-MM-DD, exclusive; at most ${RANGE_DAYS_MAX} days after from.`),
    },
    { additionalProperties: false },
  ),
  output: Type.Object({
    unit: Type.String({ description: 'Slug, as requested.' }),
    from: dateText('As requested.'),
    to: dateText('As requested; exclusive.'),
    blockedNights: Type.Array(dateText('An unavailable night.'), { description: 'In ascending order.' }),
    openRanges: Type.Array(
      Type.Object({
        from: dateText('First available night.'),
        to: dateText('The day after the last available night: the last possible departure.'),
        nights: Type.Integer({ minimum: 1 }),
      }),
      { description: 'The nights of the range that are not blocked, in ascending order.' },
    ),
  }),
  run: async ({ catalogue, commands }, agency, args) => {
    const range = rangeOf(args)
    if ('code' in range) return fault(range.title)
    const inventory = catalogue.peekInventory(agency.id) ?? (await catalogue.inventory(agency.id))
    const unit = inventory.sellableUnit(args.unit)
    return unit === null
      ? unknownUnit(args.unit)
      : availabilityText(await commands.calendar(agency, unit), unit.slug, range)
  },
})

/** Written directly, as in REST: this is the most used tool. */
export function availabilityText(state: UnitState, slug: string, { from, to }: NightRange): string {
  let open = ''
  let openFrom = from
  const addOpen = (end: Night): void => {
    if (end <= openFrom) return
    const comma = open === '' ? '' : ','
    open += `${comma}{"from":"${formatNight(openFrom)}","to":"${formatNight(end)}","nights":${end - openFrom}}`
  }
  forEachRunInUnion(state.occupied, state.closed, from, to, (first, end) => {
    addOpen(first)
    openFrom = end
  })
  addOpen(to)
  const blocked = nightListJson(state.occupied, state.closed, from, to)
  const head = `{"unit":${JSON.stringify(slug)},"from":"${formatNight(from)}","to":"${formatNight(to)}"`
  return `${head},"blockedNights":${blocked},"openRanges":[${open}]}`
}

/** The tool for GET /calendar: the same units in the same order, with smaller pages. */
export const GET_CALENDAR = toolOf({
  name: 'get_calendar',
  title: 'Get the calendars of many units',
  scope: 'read:availability',
  scopeWith: ({ prices }) => (prices === true ? 'read:rates' : null),
  description:
    'Lists the unavailable nights of many units at once, over the half-open range [from, to) of at most ' +
    `${RANGE_DAYS_MAX} days. \`blocked\` are runs of nights that are booked, on hold, reserved for cleaning or not for sale: the first unavailable night ` +
    '(`from`) and the next available one (`to`). With `prices`, `prices[i]` is the price of the night `from` + i in the minor unit of ' +
    '`currency` (12345 means 123.45 in EUR), and `minStay[i]` the shortest stay, in nights, for an arrival on it. With `restrictions`, ' +
    'character i of `arrival` and `departure` is 1 if a stay can arrive or depart on the date `from` + i and 0 if it is refused there, and ' +
    '`maxStay[i]` is the most nights (0: no limit); quote_stay names the rules that refuse a stay. It returns 25 units per ' +
    'page by default and at most 200: ask for a short range first. Night prices do not include discounts, cleaning and fees: call ' +
    'quote_stay for what a stay costs.',
  input: Type.Object(
    {
      from: dateText('First night of the range, YYYY-MM-DD.'),
      to: dateText(`End of the range, YYYY-MM-DD, exclusive; at most ${RANGE_DAYS_MAX} days after from.`),
      units: Type.Optional(
        text({
          minLength: 1,
          description: `Slugs from list_units, separated by commas, at most ${UNITS_NAMED_MAX}. All units if omitted.`,
          examples: ['sea-view,garden'],
        }),
      ),
      prices: Type.Optional(
        Type.Boolean({ default: false, description: 'Adds the price and the minimum stay of every night.' }),
      ),
      restrictions: Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'Adds the dates on which a stay can arrive and depart, and the minimum and maximum stay by arrival date.',
        }),
      ),
      ...PAGE_ARGUMENTS,
    },
    { additionalProperties: false },
  ),
  output: CalendarsJson,
  run: async ({ catalogue, clock, commands }, agency, args) => {
    const range = rangeOf(args)
    if ('code' in range) return fault(range.title)
    const inventory = catalogue.peekInventory(agency.id) ?? (await catalogue.inventory(agency.id))
    const units = unitsOf(inventory, args.units)
    if ('sentence' in units) return units
    const { prices = false, restrictions = false } = args
    const now = timeOf(agency, clock)
    return calendarsText(commands, agency, units, {
      range,
      with: { prices, restrictions },
      now,
      page: toolPageOf(args),
    })
  },
})

function unitsOf(inventory: Inventory, list: string | undefined): readonly Unit[] | ToolFault {
  if (list === undefined) return inventory.listed
  const slugs = slugsOf(list)
  if (slugs === null) return fault(`units must be 1 to ${UNITS_NAMED_MAX} slugs separated by commas`)
  const selected = selectUnits(inventory, slugs)
  return selected.kind === 'selected' ? selected.units : unknownUnit(selected.slug)
}
