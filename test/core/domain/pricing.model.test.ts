import { expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  asNight,
  formatNight,
  type IsoWeekday,
  NIGHT_MAX,
  NIGHT_MIN,
  type Night,
} from '../../../src/core/domain/night.ts'
import { type PriceStayInput, priceStay, type Quote } from '../../../src/core/domain/pricing.ts'
import { type FeeType, ratesProblems, type Season } from '../../../src/core/domain/unit.ts'
import { DAY_MS } from '../../../src/lib/clock.ts'
import { rounds } from '../../support/long-run.ts'

/**
 * A second implementation of the pricing rules, night by night, with big integers and date strings: slow, and sharing
 * nothing with the code under test except its types. Returns the lines as text, then the total.
 */
function modelQuote({ rules, stay, children, extraBed, feeTypes }: PriceStayInput): string[] {
  const iso = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)
  const percent = (amount: bigint, basisPoints: number): bigint => {
    const hundredths = (amount * BigInt(basisPoints)).toString()
    const minus = hundredths.startsWith('-')
    const digits = hundredths.replace('-', '').padStart(5, '0')
    const whole = BigInt(digits.slice(0, -4)) + ('56789'.includes(digits.charAt(digits.length - 4)) ? 1n : 0n)
    return minus ? -whole : whole
  }

  type ModelNight = { date: string; key: string; label: string; price: bigint }
  const seasons = rules.rates.seasons.map((s) => ({ ...s, firstDate: iso(s.from), endDate: iso(s.to) }))
  const nights: ModelNight[] = []
  for (let date = iso(stay.arrival); date !== iso(stay.departure); ) {
    const covering = seasons.filter((s) => s.firstDate <= date && date < s.endDate)
    const weekday = [7, 1, 2, 3, 4, 5, 6][new Date(date).getUTCDay()]
    const change = rules.rates.weekdayAdjustments.find((a) => a.weekday === weekday)?.basisPoints ?? 0
    const plain = BigInt(covering[0]?.nightlyPrice ?? rules.basePrice)
    const price = percent(plain, 10_000 + change)
    const season = covering[0]?.firstDate
    nights.push({ date, key: `${season} ${price}`, label: covering[0]?.name ?? 'Nightly rate', price })
    date = iso(Date.parse(date) / DAY_MS + 1)
  }

  const lines: string[] = []
  let total = 0n
  const add = (text: string, amount: bigint) => {
    lines.push(`${text} = ${amount}`)
    total += amount
  }
  const dates = [...nights.map((n) => n.date), iso(stay.departure)]
  for (let start = 0, i = 1; i <= nights.length; i++) {
    const first = nights[start]
    if (first === undefined || nights[i]?.key === first.key) continue
    const count = BigInt(i - start)
    add(`accommodation|${first.label}|${first.date}|${dates[i]}|${count}|${first.price}|null|null`, count * first.price)
    start = i
  }
  const reached = rules.rates.lengthOfStayDiscounts.filter((d) => d.minNights <= nights.length)
  const most = Math.max(...reached.map((d) => d.minNights))
  const off = reached.find((d) => d.minNights === most)?.basisPoints ?? 0
  if (off > 0) add(`discount|Length-of-stay discount|null|null|null|null|${off / 100}|null`, percent(total, -off))
  const afterDiscount = total
  if (rules.cleaningFee > 0)
    add(`cleaning|Cleaning|null|null|1|${rules.cleaningFee}|null|null`, BigInt(rules.cleaningFee))
  if (rules.extraBedFee > 0 && extraBed && children > 0)
    add(
      `extra_bed|Extra bed|null|null|${nights.length}|${rules.extraBedFee}|null|null`,
      BigInt(rules.extraBedFee) * BigInt(nights.length),
    )
  for (const fee of feeTypes) {
    if (!fee.active || fee.application === 'on_request') continue
    if (fee.kind === 'fixed') add(`fee|${fee.label}|null|null|1|${fee.amount}|null|${fee.id}`, BigInt(fee.amount ?? 0))
    else
      add(
        `fee|${fee.label}|null|null|null|null|${(fee.basisPoints ?? 0) / 100}|${fee.id}`,
        percent(afterDiscount, fee.basisPoints ?? 0),
      )
  }
  return [...lines, `${nights.length} nights, ${total}`]
}

function asText(quote: Quote): string[] {
  const date = (night: Night | null) => (night === null ? 'null' : formatNight(night))
  const lines = quote.lines.map(
    (l) =>
      `${l.kind}|${l.label}|${date(l.from)}|${date(l.to)}|${l.quantity}|${l.unitAmount}|${l.pct}|${l.feeTypeId} = ${l.amount}`,
  )
  return [...lines, `${quote.nights} nights, ${quote.total}`]
}

const price = fc.oneof(
  fc.integer({ min: 0, max: 200 }),
  fc.integer({ min: 0, max: 100_000 }),
  fc.integer({ min: 0, max: 100_000_000_000 }),
)
const amount = fc.oneof(fc.constant(0), price)

/** Consecutive seasons from about the arrival on, with or without gaps, listed in any order. */
const seasonsAround = (arrival: number): fc.Arbitrary<Season[]> =>
  fc
    .tuple(
      fc.integer({ min: -20, max: 10 }),
      fc.array(
        fc.record({
          gap: fc.constantFrom(0, 0, 1, 3),
          length: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 20 })),
          name: fc.constantFrom('High', 'Low', 'Nightly rate'),
          nightlyPrice: fc.oneof(fc.constantFrom(100, 250), price),
          minStay: fc.constantFrom(null, 2),
        }),
        { maxLength: 5 },
      ),
    )
    .chain(([offset, parts]) => {
      let at = arrival + offset
      const seasons = parts.map(({ gap, length, ...rest }) => {
        const from = asNight(at + gap)
        at += gap + length
        return { ...rest, from, to: asNight(at) }
      })
      return fc.shuffledSubarray(seasons, { minLength: seasons.length })
    })

const weekdayAdjustments = fc.uniqueArray(
  fc.record({
    weekday: fc.integer({ min: 1, max: 7 }) as fc.Arbitrary<IsoWeekday>,
    basisPoints: fc.oneof(
      fc.constantFrom(0, 1, 1_250, -5_000, 5_000, -10_000, 100_000),
      fc.integer({ min: -10_000, max: 100_000 }),
    ),
  }),
  { selector: (a) => a.weekday, maxLength: 7 },
)

const lengthOfStayDiscounts = fc.uniqueArray(
  fc.record({
    minNights: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 366 })),
    basisPoints: fc.oneof(fc.constantFrom(0, 1_000, 5_000, 10_000), fc.integer({ min: 0, max: 10_000 })),
  }),
  { selector: (d) => d.minNights, maxLength: 4 },
)

const feeType: fc.Arbitrary<FeeType> = fc
  .record({
    id: fc.constantFrom('fee_1', 'fee_2'),
    label: fc.constantFrom('Linen', 'City tax'),
    kind: fc.constantFrom('fixed' as const, 'percent' as const),
    figure: fc.integer({ min: 0, max: 10_000 }),
    includesWeeklyCleaning: fc.boolean(),
    application: fc.constantFrom('every_stay' as const, 'every_stay' as const, 'on_request' as const),
    active: fc.constantFrom(true, true, false),
  })
  .map(({ figure, ...rest }) => ({
    ...rest,
    amount: rest.kind === 'fixed' ? figure : null,
    basisPoints: rest.kind === 'percent' ? figure : null,
  }))

const nights = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 366 }) },
)

const input: fc.Arbitrary<PriceStayInput> = fc
  .integer({ min: NIGHT_MIN + 100, max: NIGHT_MAX - 400 })
  .chain((arrival) =>
    fc.record({
      rules: fc.record({
        basePrice: price,
        cleaningFee: amount,
        extraBedFee: amount,
        minStay: fc.constant(1),
        turnoverNights: fc.constant(0),
        rates: fc.record({ seasons: seasonsAround(arrival), weekdayAdjustments, lengthOfStayDiscounts }),
      }),
      stay: nights.map((n) => ({ arrival: asNight(arrival), departure: asNight(arrival + n) })),
      children: fc.integer({ min: 0, max: 2 }),
      extraBed: fc.boolean(),
      feeTypes: fc.array(feeType, { maxLength: 4 }),
      currency: fc.constantFrom('EUR', 'JPY'),
    }),
  )

test('10,000 quotes match a naive night-by-night model line by line', () => {
  fc.assert(
    fc.property(input, (each) => {
      expect(ratesProblems(each.rules.rates)).toEqual([])
      const quote = priceStay(each)
      expect(asText(quote)).toEqual(modelQuote(each))
      expect(quote.currency).toBe(each.currency)
    }),
    { numRuns: rounds({ push: 2_000, long: 10_000 }) },
  )
})
