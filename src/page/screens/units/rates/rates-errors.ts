/** What is wrong with a draft of rates, at which field, in words. The same rules as the service's. Pure. */
import { type Day, dayText } from '../../../format/days.ts'
import { type DiscountDraft, dayOrNull, PRICE_FIELDS, type RatesDraft, type SeasonDraft } from './rates-draft.ts'

/** By field: `season 3 from`, `weekday 5`, `discount 2 pct`, `basePrice`. */
export type RatesErrors = ReadonlyMap<string, string>

export const seasonField = (key: number, field: keyof SeasonDraft) => `season ${key} ${field}`
export const discountField = (key: number, field: keyof DiscountDraft) => `discount ${key} ${field}`
/** @param weekday 1 (Monday) to 7 */
export const weekdayField = (weekday: number) => `weekday ${weekday}`

const NIGHTS_MAX = 366
const TURNOVER_NIGHTS_MAX = 60

export function errorsOf(draft: RatesDraft): RatesErrors {
  const errors = new Map<string, string>()
  for (const season of draft.seasons) addSeason(errors, season)
  addOverlaps(errors, draft.seasons)
  draft.weekdays.forEach((pct, index) => {
    if (pct !== null && !isPct(pct, -100, 1_000))
      errors.set(weekdayField(index + 1), 'From −100 to 1000, with at most two decimals.')
  })
  addDiscounts(errors, draft.discounts)
  for (const field of PRICE_FIELDS) {
    const value = draft.prices[field]
    if (value === null) errors.set(field, 'Required.')
    else if (field === 'minStay' && !isNights(value)) errors.set(field, `From 1 to ${NIGHTS_MAX} nights.`)
    else if (field === 'turnoverNights' && !(Number.isInteger(value) && value >= 0 && value <= TURNOVER_NIGHTS_MAX))
      errors.set(field, `From 0 to ${TURNOVER_NIGHTS_MAX} nights.`)
  }
  return errors
}

function addSeason(errors: Map<string, string>, season: SeasonDraft): void {
  const set = (field: keyof SeasonDraft, message: string) => errors.set(seasonField(season.key, field), message)
  const [from, last] = [dayOrNull(season.from), dayOrNull(season.lastNight)]
  if (season.name.trim() === '') set('name', 'Enter a name. Guests see it in their quote.')
  if (from === null) set('from', 'Choose the first night.')
  if (last === null) set('lastNight', 'Choose the last night.')
  else if (from !== null && last < from) set('lastNight', `Must not be before the first night, ${dayText(from)}.`)
  if (season.nightlyPrice === null) set('nightlyPrice', 'Enter a price.')
  if (season.minStay !== null && !isNights(season.minStay)) set('minStay', `From 1 to ${NIGHTS_MAX} nights.`)
}

/** Each overlap is told at the season that starts later, against the earlier one that ends last. */
function addOverlaps(errors: Map<string, string>, seasons: readonly SeasonDraft[]): void {
  const inOrder: { season: SeasonDraft; from: Day; last: Day }[] = []
  for (const season of seasons) {
    const [from, last] = [dayOrNull(season.from), dayOrNull(season.lastNight)]
    if (from !== null && last !== null && from <= last) inOrder.push({ season, from, last })
  }
  inOrder.sort((a, b) => a.from - b.from)
  let endsLast: (typeof inOrder)[number] | undefined
  for (const entry of inOrder) {
    if (endsLast !== undefined && entry.from <= endsLast.last) {
      const other = endsLast.season.name.trim() === '' ? 'another season' : `“${endsLast.season.name.trim()}”`
      errors.set(
        seasonField(entry.season.key, 'from'),
        `Overlaps ${other}, whose last night is ${dayText(endsLast.last)}. Start on ${dayText(endsLast.last + 1)} or later, or let ${other} end before ${dayText(entry.from)}.`,
      )
    }
    if (endsLast === undefined || entry.last > endsLast.last) endsLast = entry
  }
}

function addDiscounts(errors: Map<string, string>, discounts: readonly DiscountDraft[]): void {
  discounts.forEach(({ key, minNights, pct }, index) => {
    if (minNights === null || !isNights(minNights))
      errors.set(discountField(key, 'minNights'), `From 1 to ${NIGHTS_MAX} nights.`)
    else if (discounts.findIndex((other) => other.minNights === minNights) < index)
      errors.set(discountField(key, 'minNights'), 'There is already a discount from this length.')
    if (pct === null || !isPct(pct, 0, 100))
      errors.set(discountField(key, 'pct'), 'From 0 to 100, with at most two decimals.')
  })
}

function isNights(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= NIGHTS_MAX
}

function isPct(value: number, min: number, max: number): boolean {
  return value >= min && value <= max && Math.round(value * 100) / 100 === value
}
