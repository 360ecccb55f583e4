import { type MinorUnits, PRICE_MAX, pctOfBasisPoints } from './money.ts'
import { formatNight, type IsoWeekday, NIGHT_MAX, NIGHT_MIN, type Night, STAY_NIGHTS_MAX } from './night.ts'
import type { Restrictions } from './restrictions.ts'

/** A period with a nightly price of its own. */
export interface Season {
  readonly name: string
  readonly from: Night
  /** Exclusive. */
  readonly to: Night
  readonly nightlyPrice: MinorUnits
  /** Nights; applies to stays that arrive in the season. Null: the minimum of the unit. */
  readonly minStay: number | null
}

/** Changes the price of every night of one weekday by a signed percentage. */
export interface WeekdayAdjustment {
  readonly weekday: IsoWeekday
  readonly basisPoints: number
}

/** Takes a percentage off the accommodation of a stay of `minNights` or more. */
export interface LengthOfStayDiscount {
  readonly minNights: number
  readonly basisPoints: number
}

export interface Rates {
  readonly seasons: readonly Season[]
  readonly weekdayAdjustments: readonly WeekdayAdjustment[]
  readonly lengthOfStayDiscounts: readonly LengthOfStayDiscount[]
}

/** Everything about a unit that its prices and refusals depend on. */
export interface UnitRules {
  /** Per night, when no season applies. */
  readonly basePrice: MinorUnits
  /** Per stay. */
  readonly cleaningFee: MinorUnits
  /** Per night. */
  readonly extraBedFee: MinorUnits
  /** Nights. */
  readonly minStay: number
  /** Nights kept free after a departure (docs/design.md#cleaning-block). */
  readonly turnoverNights: number
  readonly rates: Rates
  /** Left out: none. */
  readonly restrictions?: Restrictions
}

/** A fee type of the agency (docs/contract.md#feetype). */
export interface FeeType {
  readonly id: string
  /** Shown to the guest verbatim. */
  readonly label: string
  readonly kind: 'fixed' | 'percent'
  /** Per stay; not null when `kind` is fixed. */
  readonly amount: MinorUnits | null
  /** Of the accommodation after discount; not null when `kind` is percent. */
  readonly basisPoints: number | null
  readonly includesWeeklyCleaning: boolean
  readonly application: 'every_stay' | 'on_request'
  readonly active: boolean
}

export const NO_RATES: Rates = { seasons: [], weekdayAdjustments: [], lengthOfStayDiscounts: [] }

export const SEASONS_MAX = 500
export const SEASON_NAME_LENGTH_MAX = 120
export const WEEKDAY_BASIS_POINTS_MIN = -10_000
export const WEEKDAY_BASIS_POINTS_MAX = 100_000
export const DISCOUNT_BASIS_POINTS_MAX = 10_000

/** Percentage fees are 0 … 100 %. Checked where fee types are written. */
export const FEE_BASIS_POINTS_MAX = 10_000

/** Active fee types with `application` every_stay per agency. Limited so that a quote's total stays exact. */
export const EVERY_STAY_FEE_TYPES_MAX = 20

interface RatesProblem {
  /** The path in the portal's request body, for example `seasons[1].from`. */
  readonly field: string
  /** Names the field and the accepted values. */
  readonly message: string
}

/** All problems in a unit's rates; empty when they can be stored and used for pricing (docs/design.md#portal-api). */
export function ratesProblems(rates: Rates): RatesProblem[] {
  return [
    ...seasonsProblems(rates.seasons),
    ...overlapProblems(rates.seasons),
    ...weekdayProblems(rates.weekdayAdjustments),
    ...discountProblems(rates.lengthOfStayDiscounts),
  ]
}

/** The same rates in canonical order: seasons by first night, adjustments by weekday, discounts by nights. */
export function sortedRates(rates: Rates): Rates {
  return {
    seasons: rates.seasons.toSorted((a, b) => a.from - b.from),
    weekdayAdjustments: rates.weekdayAdjustments.toSorted((a, b) => a.weekday - b.weekday),
    lengthOfStayDiscounts: rates.lengthOfStayDiscounts.toSorted((a, b) => a.minNights - b.minNights),
  }
}

function seasonsProblems(seasons: readonly Season[]): RatesProblem[] {
  const problems: RatesProblem[] = []
  if (seasons.length > SEASONS_MAX) problems.push(problem('seasons', `must have at most ${SEASONS_MAX} items`))
  seasons.forEach((season, i) => {
    const at = `seasons[${i}]`
    if (season.name.length === 0 || season.name.length > SEASON_NAME_LENGTH_MAX)
      problems.push(problem(`${at}.name`, `must have 1 to ${SEASON_NAME_LENGTH_MAX} characters`))
    if (!isIntegerIn(season.from, NIGHT_MIN, NIGHT_MAX))
      problems.push(problem(`${at}.from`, `must be from ${formatNight(NIGHT_MIN)} to ${formatNight(NIGHT_MAX)}`))
    if (!isIntegerIn(season.to, NIGHT_MIN, NIGHT_MAX))
      problems.push(problem(`${at}.to`, `must be from ${formatNight(NIGHT_MIN)} to ${formatNight(NIGHT_MAX)}`))
    else if (season.from >= season.to)
      problems.push(problem(`${at}.to`, `must be after ${at}.from (${formatNight(season.from)}); it is exclusive`))
    if (!isIntegerIn(season.nightlyPrice, 0, PRICE_MAX))
      problems.push(problem(`${at}.nightlyPrice`, `must be an integer from 0 to ${PRICE_MAX} (minor units)`))
    if (season.minStay !== null && !isIntegerIn(season.minStay, 1, STAY_NIGHTS_MAX))
      problems.push(problem(`${at}.minStay`, `must be null or an integer from 1 to ${STAY_NIGHTS_MAX} (nights)`))
  })
  return problems
}

/**
 * Each overlap is reported on the season that starts later, against the earlier season that ends last. Empty seasons
 * cover nothing.
 */
function overlapProblems(seasons: readonly Season[]): RatesProblem[] {
  const problems: RatesProblem[] = []
  const inOrder = seasons.map((season, index) => ({ season, index })).filter(({ season }) => season.from < season.to)
  inOrder.sort((a, b) => a.season.from - b.season.from || a.index - b.index)
  let endsLast: { season: Season; index: number } | null = null
  for (const entry of inOrder) {
    if (endsLast !== null && entry.season.from < endsLast.season.to) {
      const until = formatNight(endsLast.season.to)
      problems.push(
        problem(
          `seasons[${entry.index}].from`,
          `must be ${until} or later: seasons[${endsLast.index}] lasts until then`,
        ),
      )
    }
    if (endsLast === null || entry.season.to > endsLast.season.to) endsLast = entry
  }
  return problems
}

function weekdayProblems(adjustments: readonly WeekdayAdjustment[]): RatesProblem[] {
  const problems: RatesProblem[] = []
  adjustments.forEach(({ weekday, basisPoints }, i) => {
    const at = `weekdayAdjustments[${i}]`
    const first = adjustments.findIndex((other) => other.weekday === weekday)
    if (!isIntegerIn(weekday, 1, 7))
      problems.push(problem(`${at}.weekday`, 'must be an integer from 1 (Monday) to 7 (Sunday)'))
    else if (first < i)
      problems.push(problem(`${at}.weekday`, `must differ from weekdayAdjustments[${first}].weekday (${weekday})`))
    if (!isIntegerIn(basisPoints, WEEKDAY_BASIS_POINTS_MIN, WEEKDAY_BASIS_POINTS_MAX))
      problems.push(problem(`${at}.pct`, pctBounds(WEEKDAY_BASIS_POINTS_MIN, WEEKDAY_BASIS_POINTS_MAX)))
  })
  return problems
}

function discountProblems(discounts: readonly LengthOfStayDiscount[]): RatesProblem[] {
  const problems: RatesProblem[] = []
  discounts.forEach(({ minNights, basisPoints }, i) => {
    const at = `lengthOfStayDiscounts[${i}]`
    const first = discounts.findIndex((other) => other.minNights === minNights)
    if (!isIntegerIn(minNights, 1, STAY_NIGHTS_MAX))
      problems.push(problem(`${at}.minNights`, `must be an integer from 1 to ${STAY_NIGHTS_MAX}`))
    else if (first < i)
      problems.push(
        problem(`${at}.minNights`, `must differ from lengthOfStayDiscounts[${first}].minNights (${minNights})`),
      )
    if (!isIntegerIn(basisPoints, 0, DISCOUNT_BASIS_POINTS_MAX))
      problems.push(problem(`${at}.pct`, pctBounds(0, DISCOUNT_BASIS_POINTS_MAX)))
  })
  return problems
}

function problem(field: string, rest: string): RatesProblem {
  return { field, message: `${field} ${rest}` }
}

function pctBounds(min: number, max: number): string {
  return `must be from ${pctOfBasisPoints(min)} to ${pctOfBasisPoints(max)}, with at most two decimals`
}

function isIntegerIn(n: number, min: number, max: number): boolean {
  return Number.isInteger(n) && n >= min && n <= max
}

export const UNIT_STATUSES = ['active', 'draft', 'archived'] as const
export type UnitStatus = (typeof UNIT_STATUSES)[number]

/** A rental unit: its master data and the rules by which it is sold (docs/contract.md#unit). */
export interface Unit {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly status: UnitStatus
  readonly city: string | null
  readonly area: string | null
  readonly building: string | null
  readonly bedrooms: number
  readonly beds: number
  readonly bathrooms: number
  readonly maxGuests: number
  readonly sizeSqm: number | null
  /** Local time of day in the agency's time zone, `HH:MM`. */
  readonly checkinTime: string
  readonly checkoutTime: string
  readonly instantBook: boolean
  /** The registration number that listings must show by law (docs/partner-additions.md#7-registration-number). */
  readonly registrationNumber: string | null
  readonly rules: UnitRules
}
