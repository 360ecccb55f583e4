import { expect, test } from 'bun:test'
import { hashOf, pageOf, parseHash } from '../../src/page/route/route.ts'

test('an address is read as it was written', () => {
  const hash = hashOf(['guests', 'gst_1/2 ü'], { search: 'Ana & Rui?', page: 2 })
  expect(parseHash(hash)).toEqual({ path: ['guests', 'gst_1/2 ü'], query: { search: 'Ana & Rui?', page: '2' } })
})

test('what is empty is left out of the address', () => {
  expect(hashOf('bookings', { status: '', page: null, unit: undefined })).toBe('#/bookings')
})

test.each(['', '#', '#/', '#//'])('%p has no path', (hash) => {
  expect(parseHash(hash)).toEqual({ path: [], query: {} })
})

test('what cannot be decoded is left as it is', () => {
  expect(parseHash('#/units/%zz').path).toEqual(['units', '%zz'])
})

test.each([
  ['#/audit?page=3', 3],
  ['#/audit', 1],
  ['#/audit?page=0', 1],
  ['#/audit?page=-2', 1],
  ['#/audit?page=all', 1],
])('%p asks for page %p', (hash, page) => {
  expect(pageOf(parseHash(hash))).toBe(page)
})
