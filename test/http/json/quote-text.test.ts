import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { formatNight, NIGHT_MAX, NIGHT_MIN, type Night } from '../../../src/core/domain/night.ts'
import type { QuoteLine } from '../../../src/core/domain/pricing.ts'
import { quoteAnswerText } from '../../../src/http/json/quote-json.ts'
import { sampleUnit } from '../../support/samples.ts'

const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null })
const nights = fc.integer({ min: NIGHT_MIN, max: NIGHT_MAX }) as fc.Arbitrary<Night>
const lines: fc.Arbitrary<QuoteLine> = fc.record({
  kind: fc.constantFrom('accommodation', 'discount', 'cleaning', 'extra_bed', 'fee'),
  label: fc.string({ unit: 'grapheme' }),
  from: orNull(nights),
  to: orNull(nights),
  quantity: orNull(fc.maxSafeNat()),
  unitAmount: orNull(fc.maxSafeInteger()),
  pct: orNull(fc.integer({ min: -10_000, max: 100_000 }).map((basisPoints) => basisPoints / 100)),
  amount: fc.maxSafeInteger(),
  feeTypeId: orNull(fc.string()),
})

test('a quote is written as JSON.stringify would, whatever its labels are', () => {
  const quotes = fc.record({ nights: fc.integer({ min: 1, max: 366 }), currency: fc.string(), lines: fc.array(lines) })
  const reasons = fc.subarray(['TURNOVER_BLOCK_CONFLICT', 'EXPECTED_EXTENSION_CONFLICT', 'BOOKING_CONFLICT'] as const)
  fc.assert(
    fc.property(quotes, fc.integer(), reasons, fc.boolean(), (quote, total, codes, instantBook) => {
      const { nights, currency, lines } = quote
      const text = quoteAnswerText({ ...sampleUnit({}), instantBook }, { ...quote, total }, codes)
      const dated = lines.map((line) => ({
        ...line,
        from: line.from === null ? null : formatNight(line.from),
        to: line.to === null ? null : formatNight(line.to),
      }))
      const available = codes.length === 0
      const expected = {
        available,
        instantBook,
        currency,
        reasons: codes,
        quote: { nights, currency, total, lines: dated },
      }
      expect(text).toBe(JSON.stringify(expected))
    }),
  )
})
