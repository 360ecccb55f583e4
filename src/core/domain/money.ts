import { assert } from '../../lib/assert.ts'

/**
 * How many digits the minor unit of a currency has, by ISO 4217 (list one, 2026). Not asked of `Intl`: browsers and runtimes follow
 * CLDR for some currencies, which counts the digits in common use (0 for HUF), and amounts would be read as a hundred times too much.
 */

const DIGITS: Readonly<Record<string, number>> = {
  BIF: 0,
  CLP: 0,
  DJF: 0,
  GNF: 0,
  ISK: 0,
  JPY: 0,
  KMF: 0,
  KRW: 0,
  PYG: 0,
  RWF: 0,
  UGX: 0,
  UYI: 0,
  VND: 0,
  VUV: 0,
  XAF: 0,
  XOF: 0,
  XPF: 0,
  BHD: 3,
  IQD: 3,
  JOD: 3,
  KWD: 3,
  LYD: 3,
  OMR: 3,
  TND: 3,
  CLF: 4,
  UYW: 4,
}

/** @param currency an ISO 4217 code */
export function currencyDigits(currency: string): number {
  return DIGITS[currency] ?? 2
}

/** An amount in the minor unit of the agency's currency (docs/contract.md#conventions). Always a safe integer. */
export type MinorUnits = number

/**
 * The largest configured price or fixed fee, in minor units: one billion in a currency with two decimals. The highest
 * quote within the bounds in `unit.ts` (366 nights at PRICE_MAX + 1000 %, an extra bed and every fee type at its own
 * maximum) stays below 2^53.
 */
export const PRICE_MAX: MinorUnits = 100_000_000_000

/**
 * `amount × basisPoints / 10 000`, rounded half away from zero (docs/design.md#pricing: the one rounding rule). Exact for
 * every pair of safe integers whose result is a safe integer. Never -0.
 */
export function percentOf(amount: MinorUnits, basisPoints: number): MinorUnits {
  const product = amount * basisPoints
  if (!(Math.abs(product) <= FAST_PRODUCT_MAX)) return percentOfBig(amount, basisPoints)
  assert(Number.isInteger(amount) && Number.isInteger(basisPoints), 'Cannot take a percentage: not integers')
  // The quotient is below 2^40, where doubles are 1/8192 apart, so every ten-thousandth can be distinguished from a whole
  // number.
  const rounded = Math.floor((Math.abs(product) + 5_000) / 10_000)
  return product < 0 ? 0 - rounded : rounded
}

const FAST_PRODUCT_MAX = Number.MAX_SAFE_INTEGER - 5_000

function percentOfBig(amount: MinorUnits, basisPoints: number): MinorUnits {
  assert(
    Number.isSafeInteger(amount) && Number.isSafeInteger(basisPoints),
    'Cannot take a percentage: not safe integers',
  )
  const product = BigInt(amount) * BigInt(basisPoints)
  const half = product < 0n ? -5_000n : 5_000n
  const result = Number((product + half) / 10_000n)
  assert(Number.isSafeInteger(result), 'Cannot take a percentage: the result is not a safe integer')
  return result
}

/**
 * Converts a percentage as written in the API (12.5, at most two decimals) to basis points; null when it has more
 * decimals or is not finite.
 */
export function basisPointsOfPct(pct: number): number | null {
  const basisPoints = Math.round(pct * 100)
  if (!Number.isSafeInteger(basisPoints)) return null
  // Division is correctly rounded, so the quotient is exactly the double that the two-decimal text parses to.
  return basisPoints / 100 === pct ? basisPoints + 0 : null
}

export function pctOfBasisPoints(basisPoints: number): number {
  return basisPoints / 100
}
