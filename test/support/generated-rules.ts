import { addNights, type IsoWeekday, type Night } from '../../src/core/domain/night.ts'
import {
  DATE_RULES,
  type Restriction,
  type Restrictions,
  restrictionsProblems,
  SWITCH_RULES,
} from '../../src/core/domain/restrictions.ts'
import {
  type FeeType,
  type Rates,
  ratesProblems,
  type Season,
  sortedRates,
  type UnitRules,
} from '../../src/core/domain/unit.ts'
import { assert } from '../../src/lib/assert.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import { sampleRules } from './samples.ts'

/** Rules that can be stored, with seasons, weekday prices, discounts and minimum stays around `about`: none, few, or many short ones. */
export function generatedRules(random: SeededRandom, about: Night, change: Partial<UnitRules> = {}): UnitRules {
  const rates: Rates = {
    seasons: seasonsAround(random, about),
    weekdayAdjustments: ([1, 2, 3, 4, 5, 6, 7] as IsoWeekday[])
      .filter(() => random.chance(0.3))
      .map((weekday) => ({ weekday, basisPoints: random.pick([-10_000, -333, 1, 1_250, 100_000]) })),
    lengthOfStayDiscounts: [2, 7, 28]
      .filter(() => random.chance(0.4))
      .map((minNights) => ({ minNights, basisPoints: random.int(0, 5_000) })),
  }
  const faults = ratesProblems(rates)
  assert(faults.length === 0, `Cannot generate rates: ${faults[0]?.message}`)
  return sampleRules({
    basePrice: random.pick([0, 1, 9_999, 12_345]),
    minStay: random.int(1, 3),
    rates: random.chance(0.5) ? sortedRates(rates) : rates,
    ...change,
  })
}

/** Up to eight rows of restrictions, of every kind, around `about`, and sometimes an advance notice and a booking window. */
export function generatedRestrictions(random: SeededRandom, about: Night): Restrictions {
  const rows = Array.from({ length: random.below(9) }, (): Restriction => {
    const rule = random.pick(DATE_RULES)
    const from = random.chance(0.3) ? null : addNights(about, random.int(-80, 80))
    const to = random.chance(0.3)
      ? null
      : addNights(from ?? about, random.chance(0.8) ? random.int(1, 20) : random.int(1, 700))
    const some = ([1, 2, 3, 4, 5, 6, 7] as IsoWeekday[]).filter(() => random.chance(0.4))
    const weekdays = some.length === 0 || random.chance(0.4) ? null : some
    const nights = random.chance(0.1) ? random.int(1, 366) : random.int(1, 9)
    return { from, to, weekdays, rule, value: SWITCH_RULES.includes(rule) ? random.chance(0.6) : nights }
  })
  const restrictions = {
    rows,
    advanceNoticeHours: random.pick([null, null, random.int(0, 2_000)]),
    bookingWindowDays: random.pick([null, null, random.int(1, 150)]),
  }
  const faults = restrictionsProblems(restrictions)
  assert(faults.length === 0, `Cannot generate restrictions: ${faults[0]?.message}`)
  return restrictions
}

/** Fee types of all kinds, each with an id and a label of its own. */
export function generatedFees(random: SeededRandom): FeeType[] {
  return Array.from({ length: random.int(0, 4) }, (_, i) => {
    const kind = random.pick(['fixed', 'percent'] as const)
    return {
      id: `fee-${i}`,
      label: `Fee ${i}`,
      kind,
      includesWeeklyCleaning: false,
      amount: kind === 'fixed' ? random.int(0, 9_999) : null,
      basisPoints: kind === 'percent' ? random.int(0, 10_000) : null,
      application: random.pick(['every_stay', 'every_stay', 'on_request'] as const),
      active: random.chance(0.8),
    }
  })
}

function seasonsAround(random: SeededRandom, about: Night): Season[] {
  const seasons: Season[] = []
  const longest = random.pick([1, 10, 90])
  let from = about - random.int(0, 60)
  for (let n = random.pick([0, 1, 5, 40]); n > 0; n--) {
    from += random.pick([0, 0, 1, 9])
    const to = from + random.int(1, longest)
    const nightlyPrice = random.pick([0, 5_555, random.int(1, 100_000)])
    const minStay = random.pick([null, null, random.int(1, 5)])
    seasons.push({ name: `Season ${n}`, from: from as Night, to: to as Night, nightlyPrice, minStay })
    from = to
  }
  return random.chance(0.5) ? seasons : seasons.reverse()
}
