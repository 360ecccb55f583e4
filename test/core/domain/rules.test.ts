import { describe, expect, test } from 'bun:test'
import { PRICE_MAX } from '../../../src/core/domain/money.ts'
import { type IsoWeekday, type Night, parseNight } from '../../../src/core/domain/night.ts'
import {
  NO_RATES,
  type Rates,
  ratesProblems,
  SEASONS_MAX,
  type Season,
  sortedRates,
} from '../../../src/core/domain/unit.ts'

const night = (text: string): Night => {
  const parsed = parseNight(text)
  if (parsed === null) throw new Error(`no night: ${text}`)
  return parsed
}

const season = (from: string, to: string, rest: Partial<Season> = {}): Season => ({
  name: 'High',
  from: night(from),
  to: night(to),
  nightlyPrice: 10_000,
  minStay: null,
  ...rest,
})

const seasons = (...list: Season[]): Rates => ({ ...NO_RATES, seasons: list })
const weekdays = (...list: [number, number][]): Rates => ({
  ...NO_RATES,
  weekdayAdjustments: list.map(([weekday, basisPoints]) => ({ weekday: weekday as IsoWeekday, basisPoints })),
})
const discounts = (...list: [number, number][]): Rates => ({
  ...NO_RATES,
  lengthOfStayDiscounts: list.map(([minNights, basisPoints]) => ({ minNights, basisPoints })),
})
const messages = (rates: Rates): string[] => ratesProblems(rates).map((problem) => problem.message)

describe('rates without a problem', () => {
  test.each([
    ['none at all', NO_RATES],
    ['adjacent seasons', seasons(season('2026-07-01', '2026-08-01'), season('2026-06-01', '2026-07-01'))],
    ['a season of one night at no price', seasons(season('2026-07-01', '2026-07-02', { nightlyPrice: 0 }))],
    [
      'the most expensive season with the longest minimum',
      seasons(season('2000-01-01', '2099-12-31', { nightlyPrice: PRICE_MAX, minStay: 366 })),
    ],
    ['all weekdays at the bounds', weekdays([1, -10_000], [2, 100_000], [3, 0], [4, 1], [5, -1], [6, 5], [7, 7])],
    ['discounts at the bounds', discounts([1, 0], [366, 10_000])],
  ])('%s', (_, rates) => {
    expect(ratesProblems(rates)).toEqual([])
  })
})

describe('a problem names the field and the accepted values', () => {
  const july = season('2026-07-01', '2026-08-01')
  test.each<[string, Rates, string[]]>([
    [
      'an empty season',
      seasons(season('2026-07-01', '2026-07-01')),
      ['seasons[0].to must be after seasons[0].from (2026-07-01); it is exclusive'],
    ],
    [
      'a reversed season',
      seasons(july, season('2026-07-20', '2026-07-10')),
      ['seasons[1].to must be after seasons[1].from (2026-07-20); it is exclusive'],
    ],
    [
      'an overlap by one night',
      seasons(july, season('2026-07-31', '2026-09-01')),
      ['seasons[1].from must be 2026-08-01 or later: seasons[0] lasts until then'],
    ],
    [
      'an overlap listed in reverse order',
      seasons(season('2026-07-31', '2026-09-01'), july),
      ['seasons[0].from must be 2026-08-01 or later: seasons[1] lasts until then'],
    ],
    [
      'a duplicate season',
      seasons(july, july),
      ['seasons[1].from must be 2026-08-01 or later: seasons[0] lasts until then'],
    ],
    [
      'a long season over two that do not touch each other',
      seasons(
        season('2026-01-01', '2026-12-01'),
        season('2026-02-01', '2026-03-01'),
        season('2026-05-01', '2026-06-01'),
      ),
      [
        'seasons[1].from must be 2026-12-01 or later: seasons[0] lasts until then',
        'seasons[2].from must be 2026-12-01 or later: seasons[0] lasts until then',
      ],
    ],
    [
      'a negative price',
      seasons({ ...july, nightlyPrice: -1 }),
      [`seasons[0].nightlyPrice must be an integer from 0 to ${PRICE_MAX} (minor units)`],
    ],
    [
      'a price with a fraction',
      seasons({ ...july, nightlyPrice: 0.5 }),
      [`seasons[0].nightlyPrice must be an integer from 0 to ${PRICE_MAX} (minor units)`],
    ],
    [
      'a price above the bound',
      seasons({ ...july, nightlyPrice: PRICE_MAX + 1 }),
      [`seasons[0].nightlyPrice must be an integer from 0 to ${PRICE_MAX} (minor units)`],
    ],
    [
      'a minimum of no nights',
      seasons({ ...july, minStay: 0 }),
      ['seasons[0].minStay must be null or an integer from 1 to 366 (nights)'],
    ],
    [
      'a minimum above a year',
      seasons({ ...july, minStay: 367 }),
      ['seasons[0].minStay must be null or an integer from 1 to 366 (nights)'],
    ],
    ['a season without a name', seasons({ ...july, name: '' }), ['seasons[0].name must have 1 to 120 characters']],
    [
      'a name that is too long',
      seasons({ ...july, name: 'x'.repeat(121) }),
      ['seasons[0].name must have 1 to 120 characters'],
    ],
    [
      'a season from before 2000',
      seasons({ ...july, from: (night('2000-01-01') - 1) as Night }),
      ['seasons[0].from must be from 2000-01-01 to 2099-12-31'],
    ],
    [
      'a season beyond 2099',
      seasons({ ...july, to: (night('2099-12-31') + 1) as Night }),
      ['seasons[0].to must be from 2000-01-01 to 2099-12-31'],
    ],
    [
      'weekday 0',
      weekdays([0, 100]),
      ['weekdayAdjustments[0].weekday must be an integer from 1 (Monday) to 7 (Sunday)'],
    ],
    [
      'weekday 8',
      weekdays([8, 100]),
      ['weekdayAdjustments[0].weekday must be an integer from 1 (Monday) to 7 (Sunday)'],
    ],
    [
      'a duplicate weekday',
      weekdays([5, 100], [6, 100], [5, 200]),
      ['weekdayAdjustments[2].weekday must differ from weekdayAdjustments[0].weekday (5)'],
    ],
    [
      'a weekday below -100 %',
      weekdays([5, -10_001]),
      ['weekdayAdjustments[0].pct must be from -100 to 1000, with at most two decimals'],
    ],
    [
      'a weekday above 1000 %',
      weekdays([5, 100_001]),
      ['weekdayAdjustments[0].pct must be from -100 to 1000, with at most two decimals'],
    ],
    [
      'a weekday in parts of a basis point',
      weekdays([5, 0.5]),
      ['weekdayAdjustments[0].pct must be from -100 to 1000, with at most two decimals'],
    ],
    [
      'a discount from no nights',
      discounts([0, 100]),
      ['lengthOfStayDiscounts[0].minNights must be an integer from 1 to 366'],
    ],
    [
      'a discount from 367 nights',
      discounts([367, 100]),
      ['lengthOfStayDiscounts[0].minNights must be an integer from 1 to 366'],
    ],
    [
      'two discounts from the same nights',
      discounts([7, 100], [7, 200]),
      ['lengthOfStayDiscounts[1].minNights must differ from lengthOfStayDiscounts[0].minNights (7)'],
    ],
    [
      'a negative discount',
      discounts([7, -1]),
      ['lengthOfStayDiscounts[0].pct must be from 0 to 100, with at most two decimals'],
    ],
    [
      'a discount above 100 %',
      discounts([7, 10_001]),
      ['lengthOfStayDiscounts[0].pct must be from 0 to 100, with at most two decimals'],
    ],
  ])('%s', (_, rates, expected) => {
    expect(messages(rates)).toEqual(expected)
    for (const { field, message } of ratesProblems(rates)) expect(message.startsWith(`${field} `)).toBe(true)
  })

  test('too many seasons', () => {
    const first = night('2026-01-01')
    const many = (n: number): Rates =>
      seasons(
        ...Array.from({ length: n }, (_, i) => ({ ...july, from: (first + i) as Night, to: (first + i + 1) as Night })),
      )
    expect(messages(many(SEASONS_MAX))).toEqual([])
    expect(messages(many(SEASONS_MAX + 1))).toEqual([`seasons must have at most ${SEASONS_MAX} items`])
  })

  test('all problems are reported at once', () => {
    const rates: Rates = {
      ...seasons({ ...july, nightlyPrice: -1, minStay: 0 }, season('2026-07-02', '2026-07-03')),
      weekdayAdjustments: [{ weekday: 9 as IsoWeekday, basisPoints: 0 }],
      lengthOfStayDiscounts: [{ minNights: 0, basisPoints: 0 }],
    }
    expect(ratesProblems(rates).map((problem) => problem.field)).toEqual([
      'seasons[0].nightlyPrice',
      'seasons[0].minStay',
      'seasons[1].from',
      'weekdayAdjustments[0].weekday',
      'lengthOfStayDiscounts[0].minNights',
    ])
  })
})

describe('canonical order', () => {
  test('is seasons by first night, adjustments by weekday, discounts by nights, and leaves the original alone', () => {
    const a = season('2026-01-01', '2026-02-01')
    const b = season('2026-03-01', '2026-04-01')
    const c = season('2026-05-01', '2026-06-01')
    const rates: Rates = {
      ...seasons(b, c, a),
      weekdayAdjustments: weekdays([6, 1], [5, 2]).weekdayAdjustments,
      lengthOfStayDiscounts: discounts([28, 1], [7, 2]).lengthOfStayDiscounts,
    }
    expect(sortedRates(rates)).toEqual({
      seasons: [a, b, c],
      weekdayAdjustments: [
        { weekday: 5, basisPoints: 2 },
        { weekday: 6, basisPoints: 1 },
      ],
      lengthOfStayDiscounts: [
        { minNights: 7, basisPoints: 2 },
        { minNights: 28, basisPoints: 1 },
      ],
    })
    expect(rates.seasons).toEqual([b, c, a])
  })
})
