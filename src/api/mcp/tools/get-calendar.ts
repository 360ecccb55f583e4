import { Type } from '@sinclair/typebox'
import type { Inventory } from '../../../core/catalogue/agency.ts'
import type { Unit } from '../../../core/domain/unit.ts'
import { CalendarsJson, calendarsText } from '../../json/read-calendars.ts'
import { RANGE_DAYS_MAX, rangeOf } from '../../json/request-fields.ts'
import { selectUnits, slugsOf, UNITS_NAMED_MAX } from '../../json/unit-json.ts'
import { dateText, text } from '../../schema/text-schema.ts'
import { PAGE_ARGUMENTS, toolPageOf } from './page-arguments.ts'
import { fault, type ToolFault, toolOf, unknownUnit } from './tool.ts'

/** The tool for GET /calendar: the same units in the same order, with smaller pages. */
export const GET_CALENDAR = toolOf({
  name: 'get_calendar',
  title: 'Get the calendars of many units',
  scope: 'read:availability',
  scopeWith: ({ prices }) => (prices === true ? 'read:rates' : null),
  description:
    'Lists the unavailable nights of many units at once, over the half-open range [from, to) of at most ' +
    `${RANGE_DAYS_MAX} days. \`blocked\` are runs of nights that are booked, on hold or reserved for cleaning: the first unavailable night ` +
    '(`from`) and the next available one (`to`). With `prices`, `prices[i]` is the price of the night `from` + i in the minor unit of ' +
    '`currency` (12345 means 123.45 in EUR), and `minStay[i]` the fewest nights a guest arriving on it can stay. It returns 25 units per ' +
    'page by default and at most 200: ask for a short range first. Night prices do not include discounts, cleaning and fees: call ' +
    'quote_stay for what a stay costs.',
  input: Type.Object(
    {
      from: dateText('First night of the range, YYYY-MM-DD.'),
      to: dateText(`End of the range, YYYY-MM-DD, exclusive; at most ${RANGE_DAYS_MAX} days after from.`),
      units: Type.Optional(
        text({
          minLength: 1,
          description: `Slugs from list_units, separated by commas, at most ${UNITS_NAMED_MAX}. All units when left out.`,
          examples: ['sea-view,garden'],
        }),
      ),
      prices: Type.Optional(
        Type.Boolean({ default: false, description: 'Adds the price and the minimum stay of every night.' }),
      ),
      ...PAGE_ARGUMENTS,
    },
    { additionalProperties: false },
  ),
  output: CalendarsJson,
  run: async ({ catalogue, commands }, agency, args) => {
    const range = rangeOf(args)
    if ('code' in range) return fault(range.title)
    const inventory = catalogue.peekInventory(agency.id) ?? (await catalogue.inventory(agency.id))
    const units = unitsOf(inventory, args.units)
    if ('sentence' in units) return units
    const { prices: withPrices = false } = args
    return calendarsText(commands, agency, units, { range, withPrices, page: toolPageOf(args) })
  },
})

function unitsOf(inventory: Inventory, list: string | undefined): readonly Unit[] | ToolFault {
  if (list === undefined) return inventory.listed
  const slugs = slugsOf(list)
  if (slugs === null) return fault(`units must be 1 to ${UNITS_NAMED_MAX} slugs separated by commas`)
  const selected = selectUnits(inventory, slugs)
  return selected.kind === 'selected' ? selected.units : unknownUnit(selected.slug)
}
