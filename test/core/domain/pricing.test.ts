import { describe, expect, test } from 'bun:test'
import { PRICE_MAX } from '../../../src/core/domain/money.ts'
import {
  formatNight,
  type IsoWeekday,
  NIGHT_MAX,
  NIGHT_MIN,
  type Night,
  parseNight,
} from '../../../src/core/domain/night.ts'
import { effectiveMinStay, type PriceStayInput, priceStay, type QuoteLine } from '../../../src/core/domain/pricing.ts'
import {
  EVERY_STAY_FEE_TYPES_MAX,
  FEE_BASIS_POINTS_MAX,
  type FeeType,
  NO_RATES,
  type Rates,
  type Season,
  type UnitRules,
} from '../../../src/core/domain/unit.ts'

const night = (text: string): Night => {
  const parsed = parseNight(text)
  if (parsed === null) throw new Error(`no night: ${text}`)
  return parsed
}

const season = (
  name: string,
  from: string,
  to: string,
  nightlyPrice: number,
  minStay: number | null = null,
): Season => ({
  name,
  from: night(from),
  to: night(to),
  nightlyPrice,
  minStay,
})

const unit = (rules: Partial<UnitRules> = {}, rates: Partial<Rates> = {}): UnitRules => ({
  basePrice: 10_000,
  cleaningFee: 0,
  extraBedFee: 0,
  minStay: 1,
  turnoverNights: 0,
  ...rules,
  rates: { ...NO_RATES, ...rates },
})

const fee = (rest: Partial<FeeType>): FeeType => ({
  id: 'fee_1',
  label: 'Linen',
  kind: 'fixed',
  amount: 1_500,
  basisPoints: null,
  includesWeeklyCleaning: false,
  application: 'every_stay',
  active: true,
  ...rest,
})

const weekday = (n: IsoWeekday, pct: number) => ({ weekday: n, basisPoints: pct * 100 })

const quote = (rules: UnitRules, from: string, to: string, rest: Partial<PriceStayInput> = {}) =>
  priceStay({
    rules,
    stay: { arrival: night(from), departure: night(to) },
    children: 0,
    extraBed: false,
    feeTypes: [],
    currency: 'EUR',
    ...rest,
  })

/** A line as one string, so that a table can show a whole quote. */
const shown = (line: QuoteLine): string => {
  const parts = [`${line.kind} '${line.label}'`]
  if (line.from !== null && line.to !== null) parts.push(`${formatNight(line.from)}/${formatNight(line.to)}`)
  if (line.quantity !== null) parts.push(`${line.quantity} × ${line.unitAmount}`)
  if (line.pct !== null) parts.push(`${line.pct} %`)
  if (line.feeTypeId !== null) parts.push(line.feeTypeId)
  return `${parts.join(' ')} = ${line.amount}`
}
const linesOf = (...args: Parameters<typeof quote>): string[] => quote(...args).lines.map(shown)

// In July 2026 the 1st is a Wednesday; Fridays are the 3rd, 10th, 17th, 24th and 31st.

describe('accommodation', () => {
  test('without rates is the base price, on one line', () => {
    expect(quote(unit(), '2026-07-01', '2026-07-08')).toEqual({
      nights: 7,
      currency: 'EUR',
      total: 70_000,
      lines: [
        {
          kind: 'accommodation',
          label: 'Nightly rate',
          from: night('2026-07-01'),
          to: night('2026-07-08'),
          quantity: 7,
          unitAmount: 10_000,
          pct: null,
          amount: 70_000,
          feeTypeId: null,
        },
      ],
    })
  })

  test('uses the season of each night; the night of its end date belongs to the next one', () => {
    const rules = unit({}, { seasons: [season('High', '2026-07-03', '2026-07-05', 20_000)] })
    expect(linesOf(rules, '2026-07-01', '2026-07-07')).toEqual([
      "accommodation 'Nightly rate' 2026-07-01/2026-07-03 2 × 10000 = 20000",
      "accommodation 'High' 2026-07-03/2026-07-05 2 × 20000 = 40000",
      "accommodation 'Nightly rate' 2026-07-05/2026-07-07 2 × 10000 = 20000",
    ])
    expect(linesOf(rules, '2026-07-05', '2026-07-06')).toEqual([
      "accommodation 'Nightly rate' 2026-07-05/2026-07-06 1 × 10000 = 10000",
    ])
    expect(linesOf(rules, '2026-07-04', '2026-07-05')).toEqual([
      "accommodation 'High' 2026-07-04/2026-07-05 1 × 20000 = 20000",
    ])
    expect(linesOf(rules, '2026-07-02', '2026-07-03')).toEqual([
      "accommodation 'Nightly rate' 2026-07-02/2026-07-03 1 × 10000 = 10000",
    ])
  })

  test('does not depend on the order in which seasons are listed', () => {
    const a = season('A', '2026-07-01', '2026-07-03', 1_000)
    const b = season('B', '2026-07-04', '2026-07-06', 2_000)
    const c = season('C', '2026-07-06', '2026-07-09', 3_000)
    const expected = [
      "accommodation 'A' 2026-07-01/2026-07-03 2 × 1000 = 2000",
      "accommodation 'Nightly rate' 2026-07-03/2026-07-04 1 × 10000 = 10000",
      "accommodation 'B' 2026-07-04/2026-07-06 2 × 2000 = 4000",
      "accommodation 'C' 2026-07-06/2026-07-07 1 × 3000 = 3000",
    ]
    for (const seasons of [
      [a, b, c],
      [c, b, a],
      [b, c, a],
    ])
      expect(linesOf(unit({}, { seasons }), '2026-07-01', '2026-07-07')).toEqual(expected)
  })

  test('keeps two seasons separate, and a season separate from the base price, even with equal price and name', () => {
    const seasons = [
      season('High', '2026-07-02', '2026-07-04', 10_000),
      season('High', '2026-07-04', '2026-07-06', 10_000),
    ]
    expect(linesOf(unit({}, { seasons }), '2026-07-01', '2026-07-07')).toEqual([
      "accommodation 'Nightly rate' 2026-07-01/2026-07-02 1 × 10000 = 10000",
      "accommodation 'High' 2026-07-02/2026-07-04 2 × 10000 = 20000",
      "accommodation 'High' 2026-07-04/2026-07-06 2 × 10000 = 20000",
      "accommodation 'Nightly rate' 2026-07-06/2026-07-07 1 × 10000 = 10000",
    ])
  })

  test('at a price of 0 is still a line', () => {
    expect(linesOf(unit({ basePrice: 0 }), '2026-07-01', '2026-07-03')).toEqual([
      "accommodation 'Nightly rate' 2026-07-01/2026-07-03 2 × 0 = 0",
    ])
  })
})

describe('weekday adjustments', () => {
  test('change the nights of their weekday, on lines of their own', () => {
    const rules = unit({}, { weekdayAdjustments: [weekday(5, 20), weekday(6, 20)] })
    expect(linesOf(rules, '2026-07-01', '2026-07-08')).toEqual([
      "accommodation 'Nightly rate' 2026-07-01/2026-07-03 2 × 10000 = 20000",
      "accommodation 'Nightly rate' 2026-07-03/2026-07-05 2 × 12000 = 24000",
      "accommodation 'Nightly rate' 2026-07-05/2026-07-08 3 × 10000 = 30000",
    ])
  })

  test('apply to the price on either side of a season boundary', () => {
    // Friday the 3rd is base, Saturday the 4th is High: 10000 + 12.5 % = 11250, 20000 + 12.5 % = 22500.
    const rules = unit(
      {},
      {
        seasons: [season('High', '2026-07-04', '2026-07-20', 20_000)],
        weekdayAdjustments: [weekday(5, 12.5), weekday(6, 12.5)],
      },
    )
    expect(linesOf(rules, '2026-07-02', '2026-07-06')).toEqual([
      "accommodation 'Nightly rate' 2026-07-02/2026-07-03 1 × 10000 = 10000",
      "accommodation 'Nightly rate' 2026-07-03/2026-07-04 1 × 11250 = 11250",
      "accommodation 'High' 2026-07-04/2026-07-05 1 × 22500 = 22500",
      "accommodation 'High' 2026-07-05/2026-07-06 1 × 20000 = 20000",
    ])
  })

  test('continue from Sunday to Monday on one line where both are equal', () => {
    const rules = unit({}, { weekdayAdjustments: [weekday(7, -10), weekday(1, -10)] })
    expect(linesOf(rules, '2026-07-04', '2026-07-08')).toEqual([
      "accommodation 'Nightly rate' 2026-07-04/2026-07-05 1 × 10000 = 10000",
      "accommodation 'Nightly rate' 2026-07-05/2026-07-07 2 × 9000 = 18000",
      "accommodation 'Nightly rate' 2026-07-07/2026-07-08 1 × 10000 = 10000",
    ])
  })

  test.each([
    // base price, percent, the Friday's price: the night's price is rounded half away from zero, once
    [999, 12.5, 1_124], // 1123.875
    [100, 12.5, 113], // 112.5
    [100, -12.5, 88], // 87.5
    [100, 0.5, 101], // 100.5
    [100, -0.5, 100], // 99.5
    [1, -50, 1], // 0.5
    [1, -51, 0], // 0.49
    [12_345, -100, 0],
    [12_345, 1_000, 135_795],
    [8_800, 15, 10_120], // yen: no decimals, the same arithmetic
    [8_801, 15, 10_121], // 10121.15
  ])('of a base price of %d by %d percent make %d', (basePrice, pct, expected) => {
    const rules = unit({ basePrice }, { weekdayAdjustments: [{ weekday: 5, basisPoints: Math.round(pct * 100) }] })
    expect(quote(rules, '2026-07-03', '2026-07-04').total).toBe(expected)
  })

  test('are rounded per night, not per line: three nights of 33.5 cost 3 × 34', () => {
    const rules = unit({ basePrice: 67 }, { weekdayAdjustments: [weekday(5, -50), weekday(6, -50), weekday(7, -50)] })
    expect(linesOf(rules, '2026-07-03', '2026-07-06')).toEqual([
      "accommodation 'Nightly rate' 2026-07-03/2026-07-06 3 × 34 = 102",
    ])
  })

  test('of 0 percent, or too small to change the price, do not split a line', () => {
    const rules = unit({ basePrice: 100 }, { weekdayAdjustments: [weekday(5, 0), { weekday: 6, basisPoints: 1 }] })
    expect(linesOf(rules, '2026-07-01', '2026-07-08')).toEqual([
      "accommodation 'Nightly rate' 2026-07-01/2026-07-08 7 × 100 = 700",
    ])
  })
})

describe('the length-of-stay discount', () => {
  const rates = {
    lengthOfStayDiscounts: [
      { minNights: 28, basisPoints: 2_000 },
      { minNights: 7, basisPoints: 1_000 },
      { minNights: 14, basisPoints: 500 },
    ],
  }
  test.each([
    // departure, nights, discount
    ['2026-07-07', 6, null],
    ['2026-07-08', 7, "discount 'Length-of-stay discount' 10 % = -7000"],
    ['2026-07-14', 13, "discount 'Length-of-stay discount' 10 % = -13000"],
    ['2026-07-15', 14, "discount 'Length-of-stay discount' 5 % = -7000"], // most nights wins, not most percent
    ['2026-07-28', 27, "discount 'Length-of-stay discount' 5 % = -13500"],
    ['2026-07-29', 28, "discount 'Length-of-stay discount' 20 % = -56000"],
  ])('until %s (%d nights) is the one with the most nights reached', (to, nights, discount) => {
    const { lines, total } = quote(unit({}, rates), '2026-07-01', to)
    expect(lines.slice(1).map(shown)).toEqual(discount === null ? [] : [discount])
    expect(total).toBe(nights * 10_000 + (lines[1]?.amount ?? 0))
  })

  test.each([
    [101, 5_000, -51], // 50.5
    [103, 2_500, -26], // 25.75
    [1, 4_999, 0], // 0.4999: configured, so the line stays
    [12_345, 3_333, -4_115], // 4114.5885
    [10_000, 10_000, -10_000],
  ])('on a sum of %d at %d basis points is %d', (basePrice, basisPoints, amount) => {
    const { lines } = quote(
      unit({ basePrice }, { lengthOfStayDiscounts: [{ minNights: 1, basisPoints }] }),
      '2026-07-01',
      '2026-07-02',
    )
    expect(lines[1]?.amount).toBe(amount)
    expect(lines[1]?.pct).toBe(basisPoints / 100)
  })

  test('of 0 percent has no line, and takes precedence over one for fewer nights', () => {
    const stopped = unit(
      {},
      {
        lengthOfStayDiscounts: [
          { minNights: 2, basisPoints: 0 },
          { minNights: 1, basisPoints: 1_000 },
        ],
      },
    )
    expect(quote(stopped, '2026-07-01', '2026-07-03').total).toBe(20_000)
  })

  test('applies to the sum of the accommodation lines, not to cleaning, bed or fees', () => {
    const rules = unit(
      { cleaningFee: 9_000, extraBedFee: 700 },
      {
        seasons: [season('High', '2026-07-02', '2026-07-03', 33_333)],
        lengthOfStayDiscounts: [{ minNights: 2, basisPoints: 1_000 }],
      },
    )
    expect(linesOf(rules, '2026-07-01', '2026-07-03', { children: 1, extraBed: true, feeTypes: [fee({})] })).toEqual([
      "accommodation 'Nightly rate' 2026-07-01/2026-07-02 1 × 10000 = 10000",
      "accommodation 'High' 2026-07-02/2026-07-03 1 × 33333 = 33333",
      "discount 'Length-of-stay discount' 10 % = -4333", // 4333.3
      "cleaning 'Cleaning' 1 × 9000 = 9000",
      "extra_bed 'Extra bed' 2 × 700 = 1400",
      "fee 'Linen' 1 × 1500 fee_1 = 1500",
    ])
  })
})

describe('cleaning and extra bed', () => {
  test('cleaning is charged once, however long the stay', () => {
    expect(linesOf(unit({ cleaningFee: 4_500 }), '2026-07-01', '2026-07-22').slice(1)).toEqual([
      "cleaning 'Cleaning' 1 × 4500 = 4500",
    ])
  })

  test('the extra bed is charged per night, and only when asked for with children', () => {
    const rules = unit({ extraBedFee: 800 })
    const bed = (children: number, extraBed: boolean) =>
      linesOf(rules, '2026-07-01', '2026-07-04', { children, extraBed }).slice(1)
    expect(bed(1, true)).toEqual(["extra_bed 'Extra bed' 3 × 800 = 2400"])
    expect(bed(3, true)).toEqual(["extra_bed 'Extra bed' 3 × 800 = 2400"])
    expect(bed(0, true)).toEqual([])
    expect(bed(2, false)).toEqual([])
  })

  test('a charge of 0 has no line', () => {
    expect(linesOf(unit(), '2026-07-01', '2026-07-04', { children: 1, extraBed: true })).toHaveLength(1)
  })
})

describe('fees', () => {
  test('a percent fee applies to the accommodation after discount, rounded half away from zero', () => {
    // 7 × 101 = 707, less 50 % (353.5, so 354) = 353; 50 % of that is 176.5, so 177. Cleaning stays out of it.
    const rules = unit(
      { basePrice: 101, cleaningFee: 1_000 },
      { lengthOfStayDiscounts: [{ minNights: 7, basisPoints: 5_000 }] },
    )
    const tax = fee({ id: 'fee_tax', label: 'Città — tax', kind: 'percent', amount: null, basisPoints: 5_000 })
    expect(linesOf(rules, '2026-07-01', '2026-07-08', { feeTypes: [tax] })).toEqual([
      "accommodation 'Nightly rate' 2026-07-01/2026-07-08 7 × 101 = 707",
      "discount 'Length-of-stay discount' 50 % = -354",
      "cleaning 'Cleaning' 1 × 1000 = 1000",
      "fee 'Città — tax' 50 % fee_tax = 177",
    ])
  })

  test('a fixed fee is per stay, and fees are listed in the catalogue’s order', () => {
    const feeTypes = [
      fee({ id: 'fee_b', label: 'B' }),
      fee({ id: 'fee_a', label: 'A', kind: 'percent', amount: null, basisPoints: 750 }),
    ]
    expect(linesOf(unit(), '2026-07-01', '2026-07-04', { feeTypes }).slice(1)).toEqual([
      "fee 'B' 1 × 1500 fee_b = 1500",
      "fee 'A' 7.5 % fee_a = 2250",
    ])
  })

  test('only active fees that apply to every stay are charged', () => {
    const feeTypes = [
      fee({ active: false }),
      fee({ application: 'on_request' }),
      fee({ active: false, application: 'on_request' }),
    ]
    expect(linesOf(unit(), '2026-07-01', '2026-07-04', { feeTypes })).toHaveLength(1)
  })

  test('a fee type at 0 is shown: the agency listed it', () => {
    expect(linesOf(unit(), '2026-07-01', '2026-07-02', { feeTypes: [fee({ amount: 0 })] }).slice(1)).toEqual([
      "fee 'Linen' 1 × 0 fee_1 = 0",
    ])
  })

  test('a fee type without its amount or percentage is a bug', () => {
    expect(() => quote(unit(), '2026-07-01', '2026-07-02', { feeTypes: [fee({ amount: null })] })).toThrow(
      'it has no amount',
    )
    expect(() => quote(unit(), '2026-07-01', '2026-07-02', { feeTypes: [fee({ kind: 'percent' })] })).toThrow(
      'it has no percentage',
    )
  })
})

describe('a whole quote', () => {
  test('in euros, with everything', () => {
    const rules = unit(
      { basePrice: 9_990, cleaningFee: 6_500, extraBedFee: 1_200 },
      {
        seasons: [season('Summer', '2026-07-05', '2026-08-31', 14_950)],
        weekdayAdjustments: [weekday(5, 15), weekday(6, 15)],
        lengthOfStayDiscounts: [{ minNights: 7, basisPoints: 750 }],
      },
    )
    const feeTypes = [fee({}), fee({ id: 'fee_2', label: 'City tax', kind: 'percent', amount: null, basisPoints: 350 })]
    const { lines, total, nights } = quote(rules, '2026-07-02', '2026-07-11', { children: 2, extraBed: true, feeTypes })
    expect(lines.map(shown)).toEqual([
      "accommodation 'Nightly rate' 2026-07-02/2026-07-03 1 × 9990 = 9990",
      "accommodation 'Nightly rate' 2026-07-03/2026-07-05 2 × 11489 = 22978", // 11488.5
      "accommodation 'Summer' 2026-07-05/2026-07-10 5 × 14950 = 74750",
      "accommodation 'Summer' 2026-07-10/2026-07-11 1 × 17193 = 17193", // 17192.5
      "discount 'Length-of-stay discount' 7.5 % = -9368", // 7.5 % of 124911 = 9368.325
      "cleaning 'Cleaning' 1 × 6500 = 6500",
      "extra_bed 'Extra bed' 9 × 1200 = 10800",
      "fee 'Linen' 1 × 1500 fee_1 = 1500",
      "fee 'City tax' 3.5 % fee_2 = 4044", // 3.5 % of 115543 = 4044.005
    ])
    expect([nights, total]).toEqual([9, 138_387])
  })

  test('in yen, where the minor unit is the yen', () => {
    const rules = unit(
      { basePrice: 12_345, cleaningFee: 3_000 },
      { weekdayAdjustments: [weekday(6, 10)], lengthOfStayDiscounts: [{ minNights: 3, basisPoints: 333 }] },
    )
    const { currency, lines, total } = quote(rules, '2026-07-03', '2026-07-06', { currency: 'JPY' })
    expect(lines.map(shown)).toEqual([
      "accommodation 'Nightly rate' 2026-07-03/2026-07-04 1 × 12345 = 12345",
      "accommodation 'Nightly rate' 2026-07-04/2026-07-05 1 × 13580 = 13580", // 13579.5
      "accommodation 'Nightly rate' 2026-07-05/2026-07-06 1 × 12345 = 12345",
      "discount 'Length-of-stay discount' 3.33 % = -1274", // 3.33 % of 38270 = 1274.391
      "cleaning 'Cleaning' 1 × 3000 = 3000",
    ])
    expect([currency, total]).toEqual(['JPY', 39_996])
  })

  test('at all limits at once is exact', () => {
    const weekdayAdjustments = ([1, 2, 3, 4, 5, 6, 7] as const).map((n) => weekday(n, 1_000))
    const rules = unit({ basePrice: PRICE_MAX, cleaningFee: PRICE_MAX, extraBedFee: PRICE_MAX }, { weekdayAdjustments })
    const feeTypes = Array.from({ length: EVERY_STAY_FEE_TYPES_MAX }, () =>
      fee({ kind: 'percent', basisPoints: FEE_BASIS_POINTS_MAX }),
    )
    const stay = { arrival: NIGHT_MIN, departure: (NIGHT_MIN + 366) as Night }
    const { total } = priceStay({ rules, stay, children: 1, extraBed: true, feeTypes, currency: 'IDR' })
    expect(BigInt(total)).toBe(BigInt(PRICE_MAX) * (366n * 11n * 21n + 1n + 366n))
  })

  test('requires 1 to 366 nights', () => {
    const price = (arrival: number, departure: number) =>
      priceStay({
        rules: unit(),
        stay: { arrival: arrival as Night, departure: departure as Night },
        children: 0,
        extraBed: false,
        feeTypes: [],
        currency: 'EUR',
      })
    expect(price(NIGHT_MAX - 366, NIGHT_MAX).nights).toBe(366)
    for (const nights of [0, -1, 367]) expect(() => price(20_000, 20_000 + nights)).toThrow('Cannot price a stay')
  })
})

describe('the effective minimum stay', () => {
  const rules = unit(
    { minStay: 3 },
    {
      seasons: [
        season('High', '2026-07-10', '2026-07-20', 1, 7),
        season('Late', '2026-07-20', '2026-07-25', 1, null),
        season('Gap', '2026-07-25', '2026-07-26', 1, 1),
      ],
    },
  )
  test.each([
    ['2026-07-09', 3, 'before the season'],
    ['2026-07-10', 7, 'on its first night'],
    ['2026-07-19', 7, 'on its last night'],
    ['2026-07-20', 3, 'in a season without a minimum'],
    ['2026-07-25', 1, 'in a season with a shorter minimum than the unit'],
    ['2026-07-26', 3, 'after the seasons'],
  ])('for an arrival on %s is %d nights: %s', (arrival, expected) => {
    expect(effectiveMinStay(rules, night(arrival))).toBe(expected)
  })
})
