import { expect, test } from 'bun:test'
import { stayDates, stayPlace } from '../../../src/page/stays/stay-name.ts'

const STAY = { arrival: '2026-11-26', departure: '2026-12-02' }

test('the dates of a stay do not run into the name of a unit that is written from right to left', () => {
  expect(stayPlace({ ...STAY, unitName: 'شقة 33' })).toBe(`\u2068شقة 33\u2069, ${stayDates(STAY)}`)
  expect(stayPlace({ ...STAY, unitName: 'Baixa Studio' })).toBe(`Baixa Studio, ${stayDates(STAY)}`)
})
