import { type Static, Type } from '@sinclair/typebox'
import type { Listed } from '../../core/bookings/booking-lists.ts'
import type { Offer } from '../../core/bookings/offer-search.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import { addNights, formatNight } from '../../core/domain/night.ts'
import { dateText } from '../text-schema.ts'
import { type Page, pageMembers, pageSchema } from './page.ts'

const OfferJson = Type.Object(
  {
    unit: Type.String({ description: 'Slug.' }),
    name: Type.String(),
    city: Type.Union([Type.String(), Type.Null()]),
    area: Type.Union([Type.String(), Type.Null()]),
    bedrooms: Type.Number(),
    maxGuests: Type.Number(),
    arrival: dateText('The first night.'),
    departure: dateText('The departure day.'),
    nights: Type.Integer({ minimum: 1 }),
    currency: Type.String(),
    total: Type.Integer({
      minimum: 0,
      description:
        'Minor units: what a quote and a booking of this stay and party would come to, with discounts and fees.',
    }),
    instantBook: Type.Boolean(),
  },
  { $id: 'Offer' },
)

export const OffersJson = pageSchema('offers', OfferJson)

/** A page of offers as JSON text. */
export function offersText({ currency }: Agency, { rows, total }: Listed<Offer>, nights: number, page: Page): string {
  const offers = rows.map(({ unit, arrival, total }): Static<typeof OfferJson> => {
    const { slug, name, city, area, bedrooms, maxGuests, instantBook } = unit
    const departure = formatNight(addNights(arrival, nights))
    return {
      unit: slug,
      name,
      city,
      area,
      bedrooms,
      maxGuests,
      arrival: formatNight(arrival),
      departure,
      nights,
      currency,
      total,
      instantBook,
    }
  })
  return JSON.stringify({ offers, ...pageMembers(page, total) })
}
