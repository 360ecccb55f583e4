/** Rates while they are edited: what was read, what is in the fields, and the request bodies they make. Pure. */
import type { Schema } from '../../../api/schema.ts'
import { type Day, dayOf, isoOf } from '../../../format/days.ts'

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
      ...{ name: name.trim(), from, to: isoOf(dayOf(lastNight) + 1), nightlyPrice: nightlyPrice ?? 0, minStay },
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
