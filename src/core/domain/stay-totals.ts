/**
 * What stays of one length cost in a unit, from the sum of their night prices alone: everything else in a total is the same for all of
 * them. Equal to the total of `priceStay`, with the same rounding; a property test compares the two.
 */
import { type MinorUnits, percentOf } from './money.ts'
import { discountOf, isOfEveryStay } from './pricing.ts'
import type { FeeType, UnitRules } from './rules.ts'

/** The fees of every stay of an agency, added up as far as that is possible. */
export interface EveryStayFees {
  readonly fixed: MinorUnits
  /** Of the accommodation after discount, each rounded on its own. */
  readonly basisPoints: readonly number[]
}

export function everyStayFees(feeTypes: readonly FeeType[]): EveryStayFees {
  const charged = feeTypes.filter(isOfEveryStay)
  return {
    fixed: charged.reduce((sum, { kind, amount }) => sum + (kind === 'fixed' ? (amount ?? 0) : 0), 0),
    basisPoints: charged.flatMap(({ kind, basisPoints }) => (kind === 'percent' ? [basisPoints ?? 0] : [])),
  }
}

/** The total of a stay, from the sum of its night prices. */
export type StayTotal = (accommodation: MinorUnits) => MinorUnits

export function stayTotals(
  rules: UnitRules,
  stay: { readonly nights: number; readonly children: number; readonly extraBed: boolean },
  fees: EveryStayFees,
): StayTotal {
  const { nights, children, extraBed } = stay
  const discount = -(discountOf(rules.rates.lengthOfStayDiscounts, nights)?.basisPoints ?? 0)
  const fixed = rules.cleaningFee + (extraBed && children > 0 ? rules.extraBedFee * nights : 0) + fees.fixed
  return (accommodation) => {
    const discounted = discount === 0 ? accommodation : accommodation + percentOf(accommodation, discount)
    let total = discounted + fixed
    for (const basisPoints of fees.basisPoints) total += percentOf(discounted, basisPoints)
    return total
  }
}
