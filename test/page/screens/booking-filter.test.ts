import { expect, test } from 'bun:test'
import { filterOf, soonestFirst, whenQuery } from '../../../src/page/screens/bookings/booking-filter.ts'

const TODAY = '2027-03-10'
const answerTo = (query: Record<string, string>) => whenQuery(filterOf({ query }), TODAY)

test('the list begins with those who are in house or arrive next', () => {
  expect(answerTo({})).toEqual({ from: TODAY, order: 'earliest_first' })
  expect(answerTo({ status: 'option' })).toEqual({ from: TODAY, order: 'earliest_first' })
})

test('past stays come latest first, and so does everything at once', () => {
  expect(answerTo({ when: 'past' })).toEqual({ departedBefore: TODAY, order: 'latest_first' })
  expect(answerTo({ when: 'all' })).toEqual({ order: 'latest_first' })
})

test('who asks for certain days, or for those who have left, gets them whenever they are', () => {
  expect(answerTo({ from: '2026-01-01' })).toEqual({ order: 'earliest_first' })
  expect(answerTo({ to: '2026-02-01' })).toEqual({ order: 'earliest_first' })
  expect(answerTo({ status: 'checked_out' })).toEqual({ order: 'latest_first' })
})

test('a search shows those to come soonest first, then those that are over, latest first', () => {
  const stay = (arrival: string, departure: string) => ({ arrival, departure })
  const inHouse = stay('2027-03-08', TODAY)
  const next = stay('2027-03-11', '2027-03-12')
  const later = stay('2028-01-01', '2028-01-02')
  const justLeft = stay('2027-03-01', '2027-03-09')
  const longAgo = stay('2025-03-01', '2025-03-09')
  expect([longAgo, later, justLeft, next, inHouse].toSorted(soonestFirst(TODAY))).toEqual([
    ...[inHouse, next, later, justLeft, longAgo],
  ])
})
