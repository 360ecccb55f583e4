import { expect, test } from 'bun:test'
import { type FoundStay, OFFER_SORTS, OfferPage, type OfferSort } from '../../../src/core/bookings/offer-page.ts'
import type { Night } from '../../../src/core/domain/night.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'

/** Members from the most to the least important. */
const ORDERS: Record<OfferSort, (stay: FoundStay, rank: number) => number[]> = {
  total: ({ unit, arrival, total }, rank) => [total, rank, arrival, unit],
  '-total': ({ unit, arrival, total }, rank) => [-total, rank, arrival, unit],
  arrival: ({ unit, arrival }, rank) => [arrival, rank, unit],
  name: ({ unit, arrival }, rank) => [rank, arrival, unit],
}

test('every page of every order is what sorting everything would give', () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = new SeededRandom(seed)
    const units = random.int(1, 30)
    // Some have the name of the one before.
    const ranks = new Uint32Array(units)
    for (let i = 1; i < units; i++) ranks[i] = (ranks[i - 1] ?? 0) + (random.chance(0.3) ? 0 : 1)
    const stays: FoundStay[] = []
    for (let unit = 0; unit < units; unit++)
      for (let arrival = 0; arrival < 20; arrival++)
        if (random.chance(0.5)) stays.push({ unit, arrival: arrival as Night, total: random.int(0, 12) })
    const sort = random.pick(OFFER_SORTS)
    const page = { offset: random.pick([0, 5, 100, Number.MAX_SAFE_INTEGER]), limit: random.pick([1, 10, 200]) }
    const orderOf = (stay: FoundStay) => ORDERS[sort](stay, ranks[stay.unit] ?? 0)
    const sorted = stays.toSorted((a, b) => {
      const [one, other] = [orderOf(a), orderOf(b)]
      for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return (one[i] ?? 0) - (other[i] ?? 0)
      return 0
    })
    const offers = new OfferPage(sort, page, ranks)
    for (const { unit, arrival, total } of stays) offers.add(unit, arrival, total)
    expect({ seed, found: offers.found }).toEqual({ seed, found: stays.length })
    expect({ seed, sort, rows: offers.take() }).toEqual({
      seed,
      sort,
      rows: sorted.slice(page.offset, page.offset + page.limit),
    })
  }
})

test('a row is compared with few others, however many there are', () => {
  const random = new SeededRandom(1)
  const ranks = Uint32Array.from({ length: 1_000 }, (_, i) => i)
  const deep = new OfferPage('total', { offset: 80_000, limit: 200 }, ranks)
  const first = new OfferPage('-total', { offset: 0, limit: 200 }, ranks)
  let most = 0
  for (let unit = 0; unit < 1_000; unit++)
    for (let arrival = 0; arrival < 91; arrival++) {
      const total = random.int(0, 1_000_000)
      most = Math.max(most, deep.add(unit, arrival as Night, total), first.add(unit, arrival as Night, total))
    }
  expect(most).toBeLessThan(1 + 2 * 17)
  expect([deep.take().length, first.take().length]).toEqual([200, 200])
})
