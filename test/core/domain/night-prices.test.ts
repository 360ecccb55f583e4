import { describe, expect, test } from 'bun:test'
import { PRICE_MAX } from '../../../src/core/domain/money.ts'
import { addNights, type Night } from '../../../src/core/domain/night.ts'
import { forEachNightPriceRun, type NightPriceRun, nightPriceSums } from '../../../src/core/domain/priced-nights.ts'
import { effectiveMinStay, priceStay } from '../../../src/core/domain/pricing.ts'
import type { UnitRules } from '../../../src/core/domain/unit.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { generatedRules } from '../../support/generated-rules.ts'
import { night, sampleRules } from '../../support/samples.ts'

const ABOUT = night('2027-03-01')

/** What the quote of a stay charges for its nights. */
function accommodationOf(rules: UnitRules, arrival: Night, departure: Night): number {
  const { lines } = priceStay({
    rules,
    stay: { arrival, departure },
    children: 0,
    extraBed: false,
    feeTypes: [],
    currency: 'EUR',
  })
  return lines.filter(({ kind }) => kind === 'accommodation').reduce((sum, { amount }) => sum + amount, 0)
}

function runsOf(rules: UnitRules, from: Night, to: Night): NightPriceRun[] {
  const runs: NightPriceRun[] = []
  forEachNightPriceRun(rules, from, to, (run) => runs.push(run))
  return runs
}

test('of generated rates, nights cost what their quotes say one by one, and any stay the sum of its nights', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new SeededRandom(seed)
    const rules = generatedRules(random, ABOUT)
    const from = addNights(ABOUT, random.int(-70, 120))
    const to = addNights(from, random.int(0, 130))
    const runs = runsOf(rules, from, to)
    const sums = nightPriceSums(rules, from, to)

    // The runs are the range, without gap or overlap.
    expect(runs.map((run) => run.from)).toEqual(from === to ? [] : [from, ...runs.map((run) => run.to).slice(0, -1)])
    expect(runs.at(-1)?.to ?? to).toBe(to)
    for (const run of runs)
      for (let at = run.from; at < run.to; at++) {
        const price = run.prices[(at - run.from) % run.prices.length]
        expect({ seed, at, price }).toEqual({ seed, at, price: accommodationOf(rules, at, addNights(at, 1)) })
        expect({ seed, at, minStay: run.minStay }).toEqual({ seed, at, minStay: effectiveMinStay(rules, at) })
      }
    expect(sums).toHaveLength(to - from + 1)
    for (let n = 0; n < 20 && from < to; n++) {
      const a = random.int(0, to - from - 1)
      const b = random.int(a + 1, to - from)
      const stay = accommodationOf(rules, addNights(from, a), addNights(from, b))
      expect({ seed, a, b, sum: (sums[b] ?? 0) - (sums[a] ?? 0) }).toEqual({ seed, a, b, sum: stay })
    }
  }
})

describe('runs', () => {
  test('none is empty, also where the range ends with a season', () => {
    const season = { name: 'Summer', from: ABOUT, to: addNights(ABOUT, 90), nightlyPrice: 20_000, minStay: 3 }
    const rules = sampleRules({ rates: { seasons: [season], weekdayAdjustments: [], lengthOfStayDiscounts: [] } })
    for (const to of [season.to, addNights(season.to, -1)])
      expect(runsOf(rules, addNights(ABOUT, -5), to).map((run) => [run.season, run.to - run.from])).toEqual([
        [null, 5],
        ['Summer', to - ABOUT],
      ])
  })

  test('a season of many nights is one run, with seven prices or one', () => {
    const season = { name: 'Summer', from: ABOUT, to: addNights(ABOUT, 90), nightlyPrice: 20_000, minStay: 3 }
    const rates = { seasons: [season], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
    const [from, to] = [addNights(ABOUT, -5), addNights(ABOUT, 100)]
    const shown = (rules: UnitRules) => runsOf(rules, from, to).map((run) => [run.prices, run.minStay])
    expect(shown(sampleRules({ rates }))).toEqual([
      [[10_000], 1],
      [[20_000], 3],
      [[10_000], 1],
    ])
    const weekends = { ...rates, weekdayAdjustments: [{ weekday: 6 as const, basisPoints: 1_000 }] }
    // 1 March 2027 is a Monday.
    expect(shown(sampleRules({ rates: weekends }))[1]).toEqual([
      [20_000, 20_000, 20_000, 20_000, 20_000, 22_000, 20_000],
      3,
    ])
  })
  test('the sums of 366 nights of the highest price are exact', () => {
    const rules = sampleRules({
      basePrice: PRICE_MAX,
      rates: {
        seasons: [],
        lengthOfStayDiscounts: [],
        weekdayAdjustments: ([1, 2, 3, 4, 5, 6, 7] as const).map((weekday) => ({ weekday, basisPoints: 100_000 })),
      },
    })
    expect(nightPriceSums(rules, ABOUT, addNights(ABOUT, 366)).at(-1)).toBe(366 * PRICE_MAX * 11)
    expect(Number.isSafeInteger(366 * PRICE_MAX * 11)).toBe(true)
  })
})
