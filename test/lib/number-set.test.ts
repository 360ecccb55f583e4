import { expect, test } from 'bun:test'
import { NumberSet } from '../../src/lib/number-set.ts'

test('it has what was added and nothing beside it, across blocks and far apart', () => {
  const added = [0, 1, 7, 8, 65_535, 65_536, 131_072, 2 ** 40 + 3]
  const set = new NumberSet()
  for (const n of added) set.add(n)
  const near = added.flatMap((n) => [n - 1, n, n + 1]).filter((n) => n >= 0)
  expect([...new Set(near)].filter((n) => set.has(n))).toEqual(added)
})
