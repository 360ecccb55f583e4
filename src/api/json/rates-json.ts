import { pctOfBasisPoints } from '../../core/domain/money.ts'
import { formatNight } from '../../core/domain/night.ts'
import type { Rates } from '../../core/domain/rules.ts'

/** A unit's rates as the portal shows and takes them: dates as text, adjustments and discounts in per cent. */
export function ratesJson(rates: Rates) {
  return {
    seasons: rates.seasons.map(({ name, from, to, nightlyPrice, minStay }) => ({
      ...{ name, nightlyPrice, minStay },
      from: formatNight(from),
      to: formatNight(to),
    })),
    weekdayAdjustments: rates.weekdayAdjustments.map(({ weekday, basisPoints }) => ({
      weekday,
      pct: pctOfBasisPoints(basisPoints),
    })),
    lengthOfStayDiscounts: rates.lengthOfStayDiscounts.map(({ minNights, basisPoints }) => ({
      minNights,
      pct: pctOfBasisPoints(basisPoints),
    })),
  }
}
