import { expect, test } from 'bun:test'
import { nextRequestId, systemIds } from '../../src/lib/ids.ts'

test('a request id has the form of every other id, and 10,000 in a row are all different and in order', () => {
  const ids = Array.from({ length: 10_000 }, nextRequestId)
  for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
})

test('the ids of the system are the same sequence', () => {
  const ids = new Set([nextRequestId(), systemIds('req'), nextRequestId()])
  expect(ids.size).toBe(3)
})
