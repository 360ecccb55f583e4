import { describe, expect, test } from 'bun:test'
import { dayOf, dayStart, isTimeZone } from '../../src/lib/clock.ts'

const iso = (instant: number) => new Date(instant).toISOString()

describe('the beginning of a day', () => {
  test.each([
    ['Europe/Berlin', '2027-03-27', '2027-03-26T23:00:00.000Z'],
    ['Europe/Berlin', '2027-03-28', '2027-03-27T23:00:00.000Z'],
    ['Europe/Berlin', '2027-03-29', '2027-03-28T22:00:00.000Z'],
    ['Europe/Berlin', '2027-10-31', '2027-10-30T22:00:00.000Z'],
    ['Europe/Berlin', '2027-11-01', '2027-10-31T23:00:00.000Z'],
    ['Europe/Berlin', '2028-02-29', '2028-02-28T23:00:00.000Z'],
    ['America/St_Johns', '2027-03-14', '2027-03-14T03:30:00.000Z'],
    ['America/St_Johns', '2027-03-15', '2027-03-15T02:30:00.000Z'],
    ['America/St_Johns', '2028-02-29', '2028-02-29T03:30:00.000Z'],
    // Until 2011 Newfoundland put its clocks back at 00:01: the day had begun twice, and the first beginning counts.
    ['America/St_Johns', '2010-11-07', '2010-11-07T02:30:00.000Z'],
    ['Pacific/Apia', '2027-03-01', '2027-02-28T11:00:00.000Z'],
    ['Pacific/Apia', '2028-02-29', '2028-02-28T11:00:00.000Z'],
    // Samoa went over the date line: 2011-12-30 was no day there.
    ['Pacific/Apia', '2011-12-29', '2011-12-29T10:00:00.000Z'],
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z'],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00.000Z'],
    // Midnight itself was skipped.
    ['America/Santiago', '2024-09-08', '2024-09-08T04:00:00.000Z'],
  ])('in %s, %s, is %s', (zone, date, expected) => {
    expect(iso(dayStart(date, zone))).toBe(expected)
  })

  test('begins that day, and the millisecond before it does not, on every day of two years', () => {
    for (const zone of ['Pacific/Apia', 'America/St_Johns', 'Europe/Berlin', 'America/Santiago']) {
      for (let n = 0; n < 731; n++) {
        const date = new Date(Date.UTC(2027, 0, 1 + n)).toISOString().slice(0, 10)
        const start = dayStart(date, zone)
        expect(dayOf(start, zone)).toBe(date)
        expect(dayOf(start - 1, zone) < date).toBe(true)
      }
    }
  })
})

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['America/St_Johns', true],
  ['Europe/Atlantis', false],
  ['+02:00', false],
  ['', false],
])('%p is a time zone: %p', (name, expected) => {
  expect(isTimeZone(name)).toBe(expected)
})
