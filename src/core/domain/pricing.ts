import { assert, unreachable } from '../../lib/assert.ts'
import { type MinorUnits, pctOfBasisPoints, percentOf } from './money.ts'
import { isoWeekday, type Night, nightsOf, STAY_NIGHTS_MAX, type Stay } from './night.ts'
import { restrictedMinStay } from './restrictions.ts'
import type { FeeType, LengthOfStayDiscount, Season, UnitRules, WeekdayAdjustment } from './unit.ts'

/** The price of a stay. `total` is the sum of the lines (docs/design.md#pricing). */
export interface Quote {
  readonly nights: number
  readonly currency: string
  readonly total: MinorUnits
  readonly lines: readonly QuoteLine[]
}

/**
 * One line of a quote. Members are null where they do not apply: `from` and `to` (exclusive) are set only on
 * accommodation, `quantity` and `unitAmount` on everything except percentages (their product is `amount`), `pct` only
 * on percentages, as configured, and `feeTypeId` only on fees. The `amount` of a discount is negative.
 */
export interface QuoteLine {
  readonly kind: 'accommodation' | 'discount' | 'cleaning' | 'extra_bed' | 'fee'
  readonly label: string
  readonly from: Night | null
  readonly to: Night | null
  readonly quantity: number | null
  readonly unitAmount: MinorUnits | null
  readonly pct: number | null
  readonly amount: MinorUnits
  readonly feeTypeId: string | null
}

export interface PriceStayInput {
  readonly rules: UnitRules
  readonly stay: Stay
  readonly children: number
  /** Ignored when there are no children (docs/contract.md#post-bookings). */
  readonly extraBed: boolean
  /** All fee types of the agency, in the order of the fee lines. */
  readonly feeTypes: readonly FeeType[]
  readonly currency: string
}

const NIGHTLY_RATE_LABEL = 'Nightly rate'

/**
 * Minimum nights of a stay that arrives on `arrival`: the minimum of its season, or else of the unit (docs/design.md#pricing).
 */
export function effectiveMinStay(rules: UnitRules, arrival: Night): number {
  return seasonOn(rules.rates.seasons, arrival)?.minStay ?? rules.minStay
}

/** The minimum nights for this stay: the largest of its season or unit and of the restrictions on its arrival and nights. */
export function minStayOf(rules: UnitRules, stay: Stay): number {
  const min = effectiveMinStay(rules, stay.arrival)
  return rules.restrictions === undefined ? min : Math.max(min, restrictedMinStay(rules.restrictions, stay))
}

/**
 * Prices a stay of 1 to 366 nights, in integers, each line rounded half away from zero (docs/design.md#pricing): nights,
 * length-of-stay discount, cleaning, extra bed, fees of every stay. A cleaning fee, extra-bed fee or discount of 0 has
 * no line; a night or a fee type of 0 has one.
 */
export function priceStay(input: PriceStayInput): Quote {
  const { rules, stay, currency } = input
  const nights = nightsOf(stay)
  assert(nights >= 1 && nights <= STAY_NIGHTS_MAX, 'Cannot price a stay: it does not have 1 to 366 nights')

  const lines: QuoteLine[] = []
  addAccommodation(lines, rules, stay)
  const accommodation = sumOf(lines)
  addDiscount(lines, rules.rates.lengthOfStayDiscounts, nights, accommodation)
  const discounted = sumOf(lines)
  if (rules.cleaningFee !== 0) lines.push(perPiece('cleaning', 'Cleaning', 1, rules.cleaningFee))
  if (input.extraBed && input.children > 0 && rules.extraBedFee !== 0)
    lines.push(perPiece('extra_bed', 'Extra bed', nights, rules.extraBedFee))
  for (const feeType of input.feeTypes) if (isOfEveryStay(feeType)) lines.push(feeLine(feeType, discounted))

  const total = sumOf(lines)
  assert(Number.isSafeInteger(total), 'Cannot price a stay: the total is not a safe integer')
  return { nights, currency, total, lines }
}

/**
 * Goes through the stay season by season, so that seasons are searched once per season change and not once per night.
 */
function addAccommodation(lines: QuoteLine[], rules: UnitRules, stay: Stay): void {
  const { seasons, weekdayAdjustments } = rules.rates
  const basisPoints = weekdayAdjustments.length === 0 ? null : basisPointsByWeekday(weekdayAdjustments)
  let from = stay.arrival
  while (from < stay.departure) {
    const season = seasonOn(seasons, from)
    const end = season?.to ?? nextSeasonStart(seasons, from)
    const to = end !== null && end < stay.departure ? end : stay.departure
    const label = season?.name ?? NIGHTLY_RATE_LABEL
    const price = season?.nightlyPrice ?? rules.basePrice
    if (basisPoints === null) lines.push(nightsLine(label, from, to, price))
    else addAdjustedNights(lines, { label, from, to, price, basisPoints })
    from = to
  }
}

/** Nights of one season: consecutive nights with the same adjusted price form one line. */
function addAdjustedNights(
  lines: QuoteLine[],
  run: { label: string; from: Night; to: Night; price: MinorUnits; basisPoints: readonly number[] },
): void {
  const { label, to, price, basisPoints } = run
  let weekday: number = isoWeekday(run.from)
  let lineFrom = run.from
  let linePrice = nightPrice(price, basisPoints[weekday])
  for (let night = run.from + 1; night < to; night++) {
    weekday = weekday === 7 ? 1 : weekday + 1
    const cost = nightPrice(price, basisPoints[weekday])
    if (cost === linePrice) continue
    lines.push(nightsLine(label, lineFrom, night as Night, linePrice))
    lineFrom = night as Night
    linePrice = cost
  }
  lines.push(nightsLine(label, lineFrom, to, linePrice))
}

/** The price of a night of its weekday, rounded. `basisPoints`: of the weekday's adjustment, if it has one. */
export function nightPrice(price: MinorUnits, basisPoints: number | undefined): MinorUnits {
  return basisPoints === undefined || basisPoints === 0 ? price : percentOf(price, 10_000 + basisPoints)
}

/** Indexed by ISO weekday; index 0 is not used. */
export function basisPointsByWeekday(adjustments: readonly WeekdayAdjustment[]): readonly number[] {
  const basisPoints = [0, 0, 0, 0, 0, 0, 0, 0]
  for (const adjustment of adjustments) basisPoints[adjustment.weekday] = adjustment.basisPoints
  return basisPoints
}

/** Seasons do not overlap (`ratesProblems`), so at most one covers a night; their order does not matter. */
function seasonOn(seasons: readonly Season[], night: Night): Season | null {
  for (const season of seasons) if (season.from <= night && night < season.to) return season
  return null
}

function nextSeasonStart(seasons: readonly Season[], night: Night): Night | null {
  let next: Night | null = null
  for (const { from } of seasons) if (from > night && (next === null || from < next)) next = from
  return next
}

/** The discount with the highest `minNights` that the stay reaches, even if one for fewer nights is larger; null for none. */
function discountOf(discounts: readonly LengthOfStayDiscount[], nights: number): LengthOfStayDiscount | null {
  let best: LengthOfStayDiscount | null = null
  for (const discount of discounts)
    if (discount.minNights <= nights && (best === null || discount.minNights > best.minNights)) best = discount
  return best
}

function addDiscount(
  lines: QuoteLine[],
  discounts: readonly LengthOfStayDiscount[],
  nights: number,
  accommodation: MinorUnits,
): void {
  const best = discountOf(discounts, nights)
  if (best === null || best.basisPoints === 0) return
  const amount = percentOf(accommodation, -best.basisPoints)
  lines.push(percentLine('discount', 'Length-of-stay discount', best.basisPoints, amount, null))
}

/** Whether every stay pays it. */
function isOfEveryStay(feeType: FeeType): boolean {
  return feeType.active && feeType.application === 'every_stay'
}

function feeLine(feeType: FeeType, discounted: MinorUnits): QuoteLine {
  switch (feeType.kind) {
    case 'fixed':
      assert(feeType.amount !== null, 'Cannot price a fixed fee: it has no amount')
      return perPiece('fee', feeType.label, 1, feeType.amount, feeType.id)
    case 'percent':
      assert(feeType.basisPoints !== null, 'Cannot price a percent fee: it has no percentage')
      return percentLine(
        'fee',
        feeType.label,
        feeType.basisPoints,
        percentOf(discounted, feeType.basisPoints),
        feeType.id,
      )
    default:
      return unreachable(feeType.kind)
  }
}

function nightsLine(label: string, from: Night, to: Night, price: MinorUnits): QuoteLine {
  const quantity = to - from
  return {
    kind: 'accommodation',
    label,
    from,
    to,
    quantity,
    unitAmount: price,
    pct: null,
    amount: quantity * price,
    feeTypeId: null,
  }
}

function perPiece(
  kind: QuoteLine['kind'],
  label: string,
  quantity: number,
  unitAmount: MinorUnits,
  feeTypeId: string | null = null,
): QuoteLine {
  return {
    kind,
    label,
    from: null,
    to: null,
    quantity,
    unitAmount,
    pct: null,
    amount: quantity * unitAmount,
    feeTypeId,
  }
}

function percentLine(
  kind: QuoteLine['kind'],
  label: string,
  basisPoints: number,
  amount: MinorUnits,
  feeTypeId: string | null,
): QuoteLine {
  const pct = pctOfBasisPoints(basisPoints)
  return { kind, label, from: null, to: null, quantity: null, unitAmount: null, pct, amount, feeTypeId }
}

function sumOf(lines: readonly QuoteLine[]): MinorUnits {
  let sum = 0
  for (const line of lines) sum += line.amount
  return sum
}

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
type StayTotal = (accommodation: MinorUnits) => MinorUnits

/**
 * What stays of one length cost in a unit, from the sum of their night prices alone: everything else in a total is the same for all of
 * them. Equal to the total of `priceStay`, with the same rounding; a property test compares the two.
 */
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
