import { expect, test } from 'bun:test'
import { monthRounds, monthsAhead } from '../../src/app/months-ahead.ts'
import { FakeClock } from '../support/fake-clock.ts'

const DAY_MS = 86_400_000

function open(ensure: () => Promise<string>) {
  const clock = new FakeClock()
  const newest: string[] = []
  const failures: unknown[] = []
  monthRounds({
    ensure,
    clock,
    onNewest: (month) => newest.push(month),
    onFailure: (error) => failures.push(error),
  }).start()
  return { clock, newest, failures }
}

test.each([
  ['2027-04-01', '2027-01-31T23:59:59Z', 3],
  ['2027-04-01', '2027-02-01T00:00:00Z', 2],
  ['2028-02-01', '2027-11-05T00:00:00Z', 3],
  ['2026-12-01', '2027-02-01T00:00:00Z', -2],
  ['', '2027-02-01T00:00:00Z', null],
])('partitions up to %s are so many months ahead at %s', (newest, now, ahead) => {
  expect(monthsAhead(newest, Date.parse(now))).toBe(ahead)
})

test('the newest month is passed on, once a day', async () => {
  const answers = ['2027-04-01', '2027-04-01', '2027-05-01']
  const { clock, newest } = open(async () => answers.shift() ?? 'none')
  expect(newest).toEqual([])
  for (let day = 1; day <= 3; day++) await clock.advance(DAY_MS)
  expect(newest).toEqual(['2027-04-01', '2027-04-01', '2027-05-01'])
})

test('a failure is reported, and the next day it is tried again', async () => {
  let day = 0
  const { clock, newest, failures } = open(async () => {
    day += 1
    if (day === 1) throw new Error('the database is away')
    return '2027-04-01'
  })
  await clock.advance(DAY_MS)
  expect([newest, failures]).toMatchObject([[], [{ message: 'the database is away' }]])
  await clock.advance(DAY_MS)
  expect([newest, failures.length]).toEqual([['2027-04-01'], 1])
})
