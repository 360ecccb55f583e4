import { describe, expect, test } from 'bun:test'
import { money, moneyInput, parseMoney, shortMoney } from '../../../src/page/format/numbers.ts'

const EUR = { currency: 'EUR', digits: 2 }

describe('an amount', () => {
  test.each([
    [124_050, EUR, '€1,240.50'],
    [-5, EUR, '-€0.05'],
    [0, EUR, '€0.00'],
    [1_240, { currency: 'JPY', digits: 0 }, 'JP¥1,240'],
    [1_240, { currency: 'KWD', digits: 3 }, 'KWD 1.240'],
    // Intl alone would show no decimals, and mean a hundred times as much.
    [124_050, { currency: 'HUF', digits: 2 }, 'HUF 1,240.50'],
    // More than a double can hold exactly with two decimals.
    [900_719_925_474_099_1, EUR, '€90,071,992,547,409.91'],
  ])('of %d is shown as the service means it', (minorUnits, currency, text) => {
    expect(money(minorUnits, currency, 'en-GB').replaceAll(/\s/g, ' ')).toBe(text)
  })

  test('in a chart is short', () => {
    expect(shortMoney(1_824_050, EUR, 'en-GB')).toBe('€18.2k')
  })
})

describe('what a person types', () => {
  test.each([
    ['1240', 2, 124_000],
    ['1240.5', 2, 124_050],
    ['1240,50', 2, 124_050],
    [' 0,05 ', 2, 5],
    ['7', 0, 7],
    ['1.234', 3, 1_234],
  ])('%p with %d digits is %d', (text, digits, minorUnits) => {
    expect(parseMoney(text, digits)).toBe(minorUnits)
  })

  test.each(['', '1.240,50', '1,240.50', '12.345', '-3', 'abc', '1.'])('%p is not an amount in euros', (text) => {
    expect(parseMoney(text, 2)).toBeNull()
  })

  test('is shown again as the same amount', () => {
    for (const minorUnits of [0, 5, 50, 124_050]) expect(parseMoney(moneyInput(minorUnits, 2), 2)).toBe(minorUnits)
    expect(moneyInput(null, 2)).toBe('')
  })
})
