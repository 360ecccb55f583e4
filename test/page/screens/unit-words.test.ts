import { expect, test } from 'bun:test'
import { feeOf } from '../../../src/page/screens/fees/fee-words.ts'
import { changeOf, NEW_UNIT, placeOf, slugOf } from '../../../src/page/screens/units/unit-words.ts'

test('a name makes a slug that the service takes', () => {
  expect(slugOf('Belém Garden House')).toBe('belem-garden-house')
  expect(slugOf('  Große Straße 7 (2. Stock) ')).toBe('grosse-strasse-7-2-stock')
  expect(slugOf('海')).toBe('')
  expect(slugOf(`${'a'.repeat(59)} b`)).toBe('a'.repeat(59))
})

test('a place leaves out what is not known', () => {
  expect(placeOf({ building: null, area: '', city: 'Lisbon' })).toBe('Lisbon')
})

test('only the fields of a unit that were edited are sent', () => {
  expect(changeOf(NEW_UNIT, { ...NEW_UNIT, city: ' ', name: ' Sea View ' })).toEqual({ name: 'Sea View' })
  const registered = { ...NEW_UNIT, registrationNumber: ' 48213/AL ' }
  expect(changeOf(NEW_UNIT, registered)).toEqual({ registrationNumber: '48213/AL' })
  expect(changeOf(registered, NEW_UNIT)).toEqual({ registrationNumber: null })
})

test("a fee's example is rounded as the service rounds: half a cent goes up", () => {
  const percent = (pct: number) => ({ kind: 'percent', amount: null, pct }) as const
  expect(feeOf(percent(3.5), 39_425)).toBe(1_380)
  expect(feeOf(percent(5), 10)).toBe(1)
  expect(feeOf(percent(0.01), 4_999)).toBe(0)
  expect(feeOf({ kind: 'fixed', amount: 800, pct: null }, 39_425)).toBe(800)
})
