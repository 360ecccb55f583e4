/** Rates while they are edited: what was read, what is in the fields, and the request bodies they make. Pure. */
import type { Schema } from '../../../api/schema.ts'
import { type Day, dayOf, dayText, isoOf } from '../../../format/days.ts'

export type Rates = Schema<'Rates'>

/** What a unit's prices depend on besides its rates. Amounts in minor units. */
export const PRICE_FIELDS = ['basePrice', 'minStay', 'cleaningFee', 'extraBedFee', 'turnoverNights'] as const
export type PriceField = (typeof PRICE_FIELDS)[number]
export type Prices = Readonly<Record<PriceField, number>>

/** As the service has them. */
export interface Saved {
  readonly rates: Rates
  readonly prices: Prices
}

/** Null and empty: not filled in. */
export interface SeasonDraft {
  readonly key: number
  readonly name: string
  /** `YYYY-MM-DD`. */
  readonly from: string
  /** `YYYY-MM-DD`: the night itself, not the day after it. */
  readonly lastNight: string
  readonly nightlyPrice: number | null
  readonly minStay: number | null
}

export interface DiscountDraft {
  readonly key: number
  readonly minNights: number | null
  readonly pct: number | null
}

export interface RatesDraft {
  readonly seasons: readonly SeasonDraft[]
  /** Per cent, Monday first. */
  readonly weekdays: readonly (number | null)[]
  readonly discounts: readonly DiscountDraft[]
  readonly prices: Readonly<Record<PriceField, number | null>>
}

let lastKey = 0
export function newKey(): number {
  lastKey += 1
  return lastKey
}

export function pricesOf(unit: Prices): Prices {
  const { basePrice, minStay, cleaningFee, extraBedFee, turnoverNights } = unit
  return { basePrice, minStay, cleaningFee, extraBedFee, turnoverNights }
}

export function draftOf({ rates, prices }: Saved): RatesDraft {
  return {
    seasons: rates.seasons.map(({ to, ...season }) => ({ ...season, key: newKey(), lastNight: isoOf(dayOf(to) - 1) })),
    weekdays: [1, 2, 3, 4, 5, 6, 7].map(
      (day) => rates.weekdayAdjustments.find(({ weekday }) => weekday === day)?.pct ?? null,
    ),
    discounts: rates.lengthOfStayDiscounts.map((discount) => ({ ...discount, key: newKey() })),
    prices,
  }
}

/** The draft as a request takes it. It has no errors (`errorsOf`). */
export function ratesOf({ seasons, weekdays, discounts }: RatesDraft): Rates {
  return {
    seasons: seasons.map(({ name, from, lastNight, nightlyPrice, minStay }) => ({
      name: name.trim(),
      from,
      to: isoOf(dayOf(lastNight) + 1),
      nightlyPrice: nightlyPrice ?? 0,
      minStay,
    })),
    weekdayAdjustments: weekdays.flatMap((pct, index) =>
      pct === null || pct === 0 ? [] : [{ weekday: index + 1, pct }],
    ),
    lengthOfStayDiscounts: discounts.map(({ minNights, pct }) => ({ minNights: minNights ?? 0, pct: pct ?? 0 })),
  }
}

/** A text that two rates share if they price every stay alike. */
export function canonical({ seasons, weekdayAdjustments, lengthOfStayDiscounts }: Rates): string {
  return JSON.stringify([
    seasons
      .map(({ name, from, to, nightlyPrice, minStay }) => [from, to, name, nightlyPrice, minStay])
      .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    weekdayAdjustments.filter(({ pct }) => pct !== 0).map(({ weekday, pct }) => [weekday, pct]),
    lengthOfStayDiscounts.map(({ minNights, pct }) => [minNights, pct]).sort(([a = 0], [b = 0]) => a - b),
  ])
}

/** Only what differs, so that a colleague's change of another field stays. */
export function changedPrices(before: Prices, { prices }: RatesDraft): Partial<Prices> {
  const changed = PRICE_FIELDS.filter((field) => prices[field] !== null && prices[field] !== before[field])
  return Object.fromEntries(changed.map((field) => [field, prices[field]]))
}

/** Whether there is anything to be saved. */
export function isChanged(saved: Saved, draft: RatesDraft): boolean {
  if (PRICE_FIELDS.some((field) => draft.prices[field] !== saved.prices[field])) return true
  try {
    return canonical(ratesOf(draft)) !== canonical(saved.rates)
  } catch {
    // A date is missing: nothing that was read is without one.
    return true
  }
}

/** The same season a year later. */
export function nextYear(season: SeasonDraft): SeasonDraft {
  return { ...season, key: newKey(), from: yearLater(season.from), lastNight: yearLater(season.lastNight) }
}

/** 29 February becomes 28 February. */
function yearLater(iso: string): string {
  if (iso === '') return ''
  const year = Number(iso.slice(0, 4)) + 1
  const rest = iso.slice(4) === '-02-29' ? '-02-28' : iso.slice(4)
  return `${year}${rest}`
}

/** Null while a date is missing or no date. */
export function dayOrNull(iso: string): Day | null {
  try {
    return dayOf(iso)
  } catch {
    return null
  }
}

/** What is wrong with a draft, in words, by the same rules as the service's. By field: `season 3 from`, `weekday 5`, `discount 2 pct`, `basePrice`. */
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
