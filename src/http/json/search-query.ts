/** What a search is asked, over REST and as a tool (docs/partner-additions.md#3-get-search-what-can-be-booked-with-exact-totals). */
import { Type } from '@sinclair/typebox'
import { OFFER_SORTS } from '../../core/bookings/offer-page.ts'
import type { OfferSearchParams } from '../../core/bookings/offer-search.ts'
import type { StayWindow } from '../../core/domain/bookable-arrivals.ts'
import { formatNight, type Night, nightsOf } from '../../core/domain/night.ts'
import { invalid, invalidField, type Problem } from '../problems.ts'
import { choice, dateText, text } from '../text-schema.ts'
import type { Page } from './page.ts'
import { nightOf, PARTY_FIELDS, stayOf } from './request-fields.ts'

export const WINDOW_DAYS_MAX = 92
export const SEARCH_NIGHTS_MAX = 60

/** All but `extraBed`, which is text in a query, and the page. */
export const SEARCH_FIELDS = {
  arrival: Type.Optional(dateText('First night of a stay of given dates; with `departure`.')),
  departure: Type.Optional(dateText('Departure day: after arrival, at most 366 nights later; with `arrival`.')),
  from: Type.Optional(dateText('Start of a window, inclusive: the earliest arrival; with `to` and `nights`.')),
  to: Type.Optional(
    dateText(`End of the window, exclusive: the latest departure, at most ${WINDOW_DAYS_MAX} days after \`from\`.`),
  ),
  nights: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: SEARCH_NIGHTS_MAX,
      description: 'Length of every stay in the window, not longer than the window.',
    }),
  ),
  adults: Type.Optional({
    ...PARTY_FIELDS.adults,
    description: 'Units for fewer guests than adults and children together are left out.',
  }),
  children: Type.Optional({ ...PARTY_FIELDS.children, description: 'See `adults`.' }),
  city: Type.Optional(
    text({
      minLength: 1,
      description: 'The city of the unit, exactly, in upper or lower case.',
      examples: ['Lisbon'],
    }),
  ),
  area: Type.Optional(text({ minLength: 1, description: 'The area of the unit, exactly, in upper or lower case.' })),
  bedrooms: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Minimum number of bedrooms.' }),
  ),
  maxTotal: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The highest total, inclusive, in minor units.',
    }),
  ),
  each: Type.Optional(
    choice(['unit', 'stay'], {
      default: 'unit',
      description:
        '`unit`: one offer per unit, its cheapest stay, and the earliest of equally cheap ones. `stay`: one for each stay that can be booked.',
    }),
  ),
  sort: Type.Optional(
    choice(OFFER_SORTS, {
      default: 'total',
      description:
        '`total`: cheapest first, `-total`: dearest first. Ties are ordered by the name of the unit, then by arrival.',
    }),
  ),
}

const SEARCHED = Type.Object(SEARCH_FIELDS)
type Searched = typeof SEARCHED.static

/** The search that the fields ask for, or what is wrong with them. Each has passed its schema. */
export function searchOf(fields: Searched, extraBed: boolean, { offset, limit }: Page): OfferSearchParams | Problem {
  const window = windowOf(fields)
  if ('code' in window) return window
  const { adults = 2, children = 0, city = null, area = null, bedrooms = null, maxTotal = null } = fields
  const { each = 'unit', sort = 'total' } = fields
  return {
    window,
    adults,
    children,
    extraBed,
    city,
    area,
    bedrooms,
    maxTotal,
    each,
    sort,
    page: { offset, limit },
  }
}

function windowOf(fields: Searched): StayWindow | Problem {
  const { arrival, departure, from, to, nights } = fields
  if (arrival === undefined && departure === undefined) return flexibleWindow(fields)
  const ofWindow = Object.entries({ from, to, nights }).filter(([, value]) => value !== undefined)
  if (ofWindow.length > 0)
    return invalid(
      ofWindow.map(([field]) => ({
        field,
        message: `${field} cannot be combined with arrival and departure: give these two, or from, to and nights`,
      })),
    )
  if (arrival === undefined) return invalidField('arrival', 'is required with departure')
  if (departure === undefined) return invalidField('departure', 'is required with arrival')
  const stay = stayOf({ arrival, departure })
  return 'code' in stay ? stay : { from: stay.arrival, to: stay.departure, nights: nightsOf(stay) }
}

function flexibleWindow({ from, to, nights }: Searched): StayWindow | Problem {
  if (from === undefined && to === undefined && nights === undefined)
    return invalidField('arrival', 'is required, with departure, or else from, to and nights')
  if (from === undefined || to === undefined || nights === undefined) {
    const missing = Object.entries({ from, to, nights }).filter(([, value]) => value === undefined)
    return invalid(
      missing.map(([field]) => ({ field, message: `${field} is required: a window has from, to and nights` })),
    )
  }
  const window = { from: nightOf(from), to: nightOf(to), nights }
  const days = window.to - window.from
  if (days < 1) return invalidField('to', `must be after from (${from})`)
  const last = formatNight((window.from + WINDOW_DAYS_MAX) as Night)
  if (days > WINDOW_DAYS_MAX) return invalidField('to', `must be at most ${WINDOW_DAYS_MAX} days after from (${last})`)
  return nights <= days ? window : invalidField('nights', `must be at most ${days}, the days from ${from} to ${to}`)
}
