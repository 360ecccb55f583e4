import { Type } from '@sinclair/typebox'
import { formatNight, type Night } from '../../../core/domain/night.ts'
import { forEachRunInUnion } from '../../../core/domain/night-bitmap.ts'
import type { UnitState } from '../../../core/domain/unit-state.ts'
import { nightListJson } from '../../json/calendar-json.ts'
import { type NightRange, RANGE_DAYS_MAX, rangeOf } from '../../json/request-fields.ts'
import { dateText, text } from '../../schema/text-schema.ts'
import { fault, toolOf, unknownUnit } from './tool.ts'

/** The tool for GET /availability, with the gaps between the blocked nights written out. */
export const GET_AVAILABILITY = toolOf({
  name: 'get_availability',
  title: 'Get availability',
  scope: 'read:availability',
  description:
    'Lists which nights of one unit are available in the half-open range [from, to). A night is named by the date on ' +
    `which it begins, \`to\` is excluded, and the range is at most ${RANGE_DAYS_MAX} days long. ` +
    '`blockedNights` are booked, on hold or reserved for cleaning; `openRanges` are the gaps between them, each with the first ' +
    'possible arrival (`from`), the last possible departure (`to`) and the number of nights between. It gives no prices and ' +
    'holds nothing, and it ignores the minimum stay: call quote_stay before you promise anything.',
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
  forEachRunInUnion(state.occupied, state.cleaning, from, to, (first, end) => {
    addOpen(first)
    openFrom = end
  })
  addOpen(to)
  const blocked = nightListJson(state.occupied, state.cleaning, from, to)
  const head = `{"unit":${JSON.stringify(slug)},"from":"${formatNight(from)}","to":"${formatNight(to)}"`
  return `${head},"blockedNights":${blocked},"openRanges":[${open}]}`
}
