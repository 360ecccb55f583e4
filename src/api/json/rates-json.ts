import { createHash } from 'node:crypto'
import { pctOfBasisPoints } from '../../core/domain/money.ts'
import { formatNight } from '../../core/domain/night.ts'
import { type Rates, sortedRates } from '../../core/domain/unit.ts'

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

/**
 * The entity tag of a unit's rates, with its quotes: made from nothing but the rates, so that it stays valid when the service restarts,
 * and that of another process is the same.
 */
export function ratesTag(rates: Rates): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(ratesJson(sortedRates(rates))))
    .digest('base64url')
  return `"${digest.slice(0, TAG_CHARS)}"`
}

/** 132 bits. */
const TAG_CHARS = 22
