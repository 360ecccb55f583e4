import { Type } from '@sinclair/typebox'
import { STEPS_PER_PART } from '../../../core/bookings/offer-search.ts'
import { OffersJson, offersText } from '../../json/offers-json.ts'
import { PARTY_FIELDS } from '../../json/request-fields.ts'
import { SEARCH_FIELDS, SEARCH_NIGHTS_MAX, searchOf, WINDOW_DAYS_MAX } from '../../json/search-query.ts'
import { PAGE_ARGUMENTS, toolPageOf } from './page-arguments.ts'
import { fault, toolOf } from './tool.ts'

/** The tool for GET /search: the same offers in the same order, with smaller pages. */
export const SEARCH_STAYS = toolOf({
  name: 'search_stays',
  title: 'Search stays that can be booked',
  scope: 'read:rates',
  description:
    'Finds which units can be booked, over all units at once, with the exact total of each stay. Give either `arrival` and ' +
    `\`departure\`, or \`from\`, \`to\` and \`nights\` for any stay of 1 to ${SEARCH_NIGHTS_MAX} nights inside the half-open window [from, to) of at ` +
    `most ${WINDOW_DAYS_MAX} days. By default it returns one offer per unit, its cheapest stay, cheapest unit first, 25 offers per page. ` +
    '`total` is what the guest pays, with discounts, cleaning and fees, in the minor unit of `currency` (12345 means 123.45 in ' +
    'EUR). Every offer obeys minimum stays and cleaning days, and fits `adults` and `children`. Searching holds nothing and books ' +
    'nothing: call quote_stay for the lines of a total.',
  input: Type.Object(
    {
      ...SEARCH_FIELDS,
      extraBed: Type.Optional({
        ...PARTY_FIELDS.extraBed,
        description: 'Adds the fee of an extra bed to the totals; ignored without children.',
      }),
      ...PAGE_ARGUMENTS,
    },
    { additionalProperties: false },
  ),
  output: OffersJson,
  run: async ({ access, catalogue, commands }, agency, args) => {
    const page = toolPageOf(args)
    const asked = searchOf(args, args.extraBed ?? false, page)
    if ('code' in asked) return fault(asked.title)
    const inventory = catalogue.peekInventory(agency.id) ?? (await catalogue.inventory(agency.id))
    const found = await commands.search(agency, inventory, asked)
    await access.takeParts(agency.id, Math.floor(found.steps / STEPS_PER_PART))
    return offersText(agency, found, asked.window.nights, page)
  },
})
