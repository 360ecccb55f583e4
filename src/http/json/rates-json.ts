import { createHash } from 'node:crypto'
import { type Static, Type } from '@sinclair/typebox'
import { pctOfBasisPoints } from '../../core/domain/money.ts'
import { formatNight } from '../../core/domain/night.ts'
import { type FeeType, type Rates, sortedRates } from '../../core/domain/unit.ts'

/** A unit's rates as the portal shows and takes them: dates as text, adjustments and discounts in per cent. */
export function ratesJson(rates: Rates) {
  return {
    seasons: rates.seasons.map(({ name, from, to, nightlyPrice, minStay }) => ({
      name,
      nightlyPrice,
      minStay,
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

/** See docs/contract.md#feetype. */
export const FeeTypeJson = Type.Object(
  {
    id: Type.String(),
    label: Type.String({ description: 'Shown to the guest verbatim.' }),
    kind: Type.Unsafe<FeeType['kind']>({ type: 'string', enum: ['fixed', 'percent'] }),
    amount: Type.Union([Type.Integer(), Type.Null()], { description: 'Minor units per stay; null for percentages.' }),
    pct: Type.Union([Type.Number(), Type.Null()], {
      description: 'Percentage of the accommodation; null for fixed fees.',
    }),
    includesWeeklyCleaning: Type.Boolean(),
  },
  { $id: 'FeeType' },
)

export function feeTypeJson(feeType: FeeType): Static<typeof FeeTypeJson> {
  const { id, label, kind, amount, basisPoints, includesWeeklyCleaning } = feeType
  return {
    id,
    label,
    kind,
    amount: kind === 'fixed' ? amount : null,
    pct: kind === 'percent' && basisPoints !== null ? pctOfBasisPoints(basisPoints) : null,
    includesWeeklyCleaning,
  }
}
