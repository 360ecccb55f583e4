import { describe, expect, test } from 'bun:test'
import { PRICE_MAX } from '../../../src/core/domain/money.ts'
import { addNights } from '../../../src/core/domain/night.ts'
import { PricedNightsCache } from '../../../src/core/domain/priced-nights.ts'
import { everyStayFees, priceStay, stayTotals } from '../../../src/core/domain/pricing.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { generatedFees, generatedRules } from '../../support/generated-rules.ts'
import { night, sampleRules } from '../../support/samples.ts'

const ABOUT = night('2027-03-01')

test('of generated rates and fees, the total of any stay is that of its quote', () => {
  const prices = new PricedNightsCache()
  for (let seed = 1; seed <= 2_000; seed++) {
    const random = new SeededRandom(seed)
    const rules = generatedRules(random, ABOUT, {
      cleaningFee: random.pick([0, 5_001]),
      extraBedFee: random.pick([0, 777]),
    })
    const feeTypes = generatedFees(random)
    const arrival = addNights(ABOUT, random.int(-100, 300))
    const nights = random.pick([1, 2, 7, 28, random.int(1, 366)])
    const [children, extraBed] = [random.int(0, 1), random.chance(0.5)]
    const stay = { arrival, departure: addNights(arrival, nights) }
    const { from, sums } = prices.of({ unitId: `unit-${seed % 100}`, rules }, arrival, stay.departure)
    const first = arrival - from
    const accommodation = (sums[first + nights] ?? 0) - (sums[first] ?? 0)
    const total = stayTotals(rules, { nights, children, extraBed }, everyStayFees(feeTypes))(accommodation)
    const quote = priceStay({ rules, stay, children, extraBed, feeTypes, currency: 'EUR' })
    expect({ seed, total }).toEqual({ seed, total: quote.total })
  }
})

test('the highest price there is stays exact', () => {
  const weekdayAdjustments = ([1, 2, 3, 4, 5, 6, 7] as const).map((weekday) => ({ weekday, basisPoints: 100_000 }))
  const rates = { seasons: [], lengthOfStayDiscounts: [], weekdayAdjustments }
  const rules = sampleRules({ basePrice: PRICE_MAX, cleaningFee: PRICE_MAX, extraBedFee: PRICE_MAX, rates })
  const stay = { arrival: ABOUT, departure: addNights(ABOUT, 366) }
  const { from, sums } = new PricedNightsCache().of({ unitId: 'a', rules }, stay.arrival, stay.departure)
  const accommodation = (sums[ABOUT - from + 366] ?? 0) - (sums[ABOUT - from] ?? 0)
  const total = stayTotals(rules, { nights: 366, children: 1, extraBed: true }, everyStayFees([]))(accommodation)
  expect(total).toBe(priceStay({ rules, stay, children: 1, extraBed: true, feeTypes: [], currency: 'EUR' }).total)
})

describe('priced nights', () => {
  const [from, to] = [ABOUT, addNights(ABOUT, 92)]

  test('are computed once for as long as the rates are the same', () => {
    const prices = new PricedNightsCache()
    const rules = sampleRules()
    const first = prices.of({ unitId: 'a', rules }, from, to)
    expect(prices.of({ unitId: 'a', rules }, addNights(from, 5), addNights(to, 5))).toBe(first)
    // What is not part of a night's price does not matter.
    expect(prices.of({ unitId: 'a', rules: { ...rules, cleaningFee: 1, turnoverNights: 3 } }, from, to)).toBe(first)
    expect(prices.computed).toBe(1)
    for (const change of [{ basePrice: 1 }, { minStay: 9 }, { rates: { ...rules.rates } }]) {
      const changed = prices.of({ unitId: 'a', rules: { ...rules, ...change } }, from, to)
      expect(changed).not.toBe(first)
      expect(changed.sums[1]).toBe(change.basePrice ?? rules.basePrice)
    }
    expect([prices.computed, prices.nights]).toEqual([4, first.to - first.from])
  })
  test('belong to one unit, and cover what was asked', () => {
    const prices = new PricedNightsCache()
    const [one, two] = [sampleRules({ basePrice: 1 }), sampleRules({ basePrice: 2 })]
    expect(prices.of({ unitId: 'a', rules: one }, from, to).sums[1]).toBe(1)
    expect(prices.of({ unitId: 'b', rules: two }, from, to).sums[1]).toBe(2)
    const far = prices.of({ unitId: 'a', rules: one }, addNights(from, 3_000), addNights(from, 3_366))
    expect([far.from <= from + 3_000, far.to >= from + 3_366]).toEqual([true, true])
    expect(far.minStays).toEqual([{ from: far.from, to: far.to, minStay: 1 }])
  })
  test('take bounded memory: those of the units that were computed first are dropped', () => {
    const prices = new PricedNightsCache(1_000)
    const rules = sampleRules()
    const first = prices.of({ unitId: 'u-0', rules }, from, to)
    for (let i = 1; i < 50; i++) {
      prices.of({ unitId: `u-${i}`, rules }, from, to)
      expect(prices.nights).toBeLessThanOrEqual(1_000)
    }
    expect(prices.nights).toBeGreaterThan(500)
    expect(prices.of({ unitId: 'u-0', rules }, from, to)).not.toBe(first)
    expect(prices.computed).toBe(51)
  })
})
