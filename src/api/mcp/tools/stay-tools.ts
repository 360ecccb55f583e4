import { Type } from '@sinclair/typebox'
import { STEPS_PER_PART } from '../../../core/bookings/offer-search.ts'
import { formatNight, NIGHT_MAX, type Night, type Stay } from '../../../core/domain/night.ts'
import { NO_RESTRICTIONS, restrictedMinStayFrom } from '../../../core/domain/restrictions.ts'
import { OffersJson, offersText } from '../../../http/json/offers-json.ts'
import { QuoteAnswerJson, quoteAnswerText } from '../../../http/json/quote-json.ts'
import { PARTY_FIELDS, STAY_FIELDS, stayOf } from '../../../http/json/request-fields.ts'
import { SEARCH_FIELDS, SEARCH_NIGHTS_MAX, searchOf, WINDOW_DAYS_MAX } from '../../../http/json/search-query.ts'
import { problemOfRejection } from '../../../http/problem-of.ts'
import { fault, PAGE_ARGUMENTS, toolOf, toolPageOf, unknownUnit } from './tool.ts'

const { adults, children, extraBed } = PARTY_FIELDS

/** The tool for POST /quote. */
export const QUOTE_STAY = toolOf({
  name: 'quote_stay',
  title: 'Quote a stay',
  scope: 'read:rates',
  description:
    'Prices a stay in one unit line by line, exactly as a booking would be invoiced. The stay is half-open: the ' +
    'first night is `arrival` and the guest leaves on `departure`. It has at most 366 nights; a stay below the minimum ' +
    'is refused with a departure to try instead, if that one is available. A stay that breaks other restrictions of the agency (days closed to arrival or ' +
    'departure, maximum stay, advance notice, booking window, nights not for sale) is refused with the reasons and the nearest arrivals ' +
    'that would be accepted. Amounts are integers in the minor unit of `currency` (12345 means 123.45 in EUR). `available` ' +
    'says whether a booking would be accepted now, and `reasons` why not. A quote holds nothing and books nothing: the nights may be gone a moment later.',
  input: Type.Object(
    {
      ...STAY_FIELDS,
      adults: Type.Optional({ ...adults, description: 'Does not change the price.' }),
      children: Type.Optional({ ...children, description: 'Affects the price only together with extraBed.' }),
      extraBed: Type.Optional({ ...extraBed, description: 'Adds the fee of an extra bed; ignored without children.' }),
    },
    { additionalProperties: false },
  ),
  output: QuoteAnswerJson,
  run: async ({ catalogue, commands }, agency, args) => {
    const stay = stayOf(args)
    if ('code' in stay) return fault(stay.title)
    const inventory = catalogue.peekInventory(agency.id) ?? (await catalogue.inventory(agency.id))
    const unit = inventory.sellableUnit(args.unit)
    if (unit === null) return unknownUnit(args.unit)
    const { children = 0, extraBed = false } = args
    const quote = (of: Stay) => commands.quote(agency, { unit, stay: of, children, extraBed })
    const quoted = await quote(stay)
    if (quoted.kind !== 'rejected') return quoteAnswerText(unit, quoted.quote, quoted.reasons)
    const { rejection } = quoted
    if (rejection.code !== 'MIN_STAY') return fault(problemOfRejection(rejection).title)
    const { restrictions = NO_RESTRICTIONS } = unit.rules
    const minStay = restrictedMinStayFrom(restrictions, stay.arrival, rejection.minStay)
    const minimum = `Minimum stay for this arrival: ${minStay} nights`
    const departure = (stay.arrival + minStay) as Night
    if (departure > NIGHT_MAX) return fault(minimum)
    const longer = await quote({ arrival: stay.arrival, departure })
    const withDeparture = `With departure ${formatNight(departure)}`
    if (longer.kind === 'rejected')
      return fault(`${minimum}. ${withDeparture}: ${problemOfRejection(longer.rejection).title}`)
    return longer.reasons.length > 0
      ? fault(`${minimum}. ${withDeparture}, it is not available: ${longer.reasons.join(', ')}`)
      : fault(`${minimum}; try departure ${formatNight(departure)}`)
  },
})

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
    'EUR). Every offer obeys minimum stays, restrictions and cleaning days, and fits `adults` and `children`. Searching holds nothing and ' +
    'books nothing: call quote_stay for the lines of a total, or for why a stay is not offered.',
  input: Type.Object(
    {
      ...SEARCH_FIELDS,
      extraBed: Type.Optional({
        ...extraBed,
        description: 'Adds the fee of an extra bed to the totals; ignored without children.',
      }),
      ...PAGE_ARGUMENTS,
    },
    { additionalProperties: false },
  ),
  output: OffersJson,
  run: async ({ access, catalogue, commands }, agency, args) => {
    const page = toolPageOf(args)
    const search = searchOf(args, args.extraBed ?? false, page)
    if ('code' in search) return fault(search.title)
    const inventory = catalogue.peekInventory(agency.id) ?? (await catalogue.inventory(agency.id))
    const found = await commands.search(agency, inventory, search)
    await access.takeParts(agency.id, found.steps / STEPS_PER_PART)
    return offersText(agency, found, search.window.nights, page)
  },
})
