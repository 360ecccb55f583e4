import { expect, test } from 'bun:test'
import { editDistance } from '../../src/lib/edit-distance.ts'

test.each([
  ['the same', 'DATABASE_URL', 'DATABASE_URL', 0],
  ['one missing', 'DATABSE_URL', 'DATABASE_URL', 1],
  ['one too many', 'DATABASES_URL', 'DATABASE_URL', 1],
  ['one replaced', 'DATABASE_URI', 'DATABASE_URL', 1],
  ['two that changed places', 'DATABAES_URL', 'DATABASE_URL', 1],
  ['two, far apart', 'ADTABASE_URI', 'DATABASE_URL', 2],
  ['more than is asked for', 'DATABASE', 'DATABASE_URL', 3],
  ['more than is asked for, of the same length', 'XXXXBASE_URL', 'DATABASE_URL', 3],
  ['nothing at all', '', '', 0],
])('%s', (_, one, other, distance) => {
  expect(editDistance(one, other, 2)).toBe(distance)
  expect(editDistance(other, one, 2)).toBe(distance)
})
