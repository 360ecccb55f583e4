import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  addNights,
  asNight,
  formatNight,
  isoWeekday,
  NIGHT_MAX,
  NIGHT_MIN,
  type Night,
  parseNight,
} from '../../../src/core/domain/night.ts'
import { DAY_MS } from '../../../src/lib/clock.ts'

const isoOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)

describe('a night', () => {
  test('matches the proleptic Gregorian calendar on every accepted date, in both directions', () => {
    for (let day: number = NIGHT_MIN; day <= NIGHT_MAX; day++) {
      const text = isoOf(day)
      if (parseNight(text) !== day) throw new Error(`parseNight('${text}') is ${parseNight(text)}, not ${day}`)
      if (formatNight(day as Night) !== text) throw new Error(`formatNight(${day}) is ${formatNight(day as Night)}`)
    }
  })

  test('is accepted only from 2000-01-01 to 2099-12-31', () => {
    expect(parseNight('2000-01-01')).toBe(NIGHT_MIN)
    expect(parseNight('2099-12-31')).toBe(NIGHT_MAX)
    for (const text of ['1999-12-31', '2100-01-01', '0000-01-01', '9999-12-31']) expect(parseNight(text)).toBeNull()
  })

  test.each([
    '2026-02-29',
    '2026-02-30',
    '2100-02-29',
    '2024-02-30',
    '2026-04-31',
    '2026-06-31',
    '2026-09-31',
    '2026-11-31',
    '2026-01-32',
    '2026-00-10',
    '2026-13-01',
    '2026-01-00',
    '2026-1-1',
    '2026-01-1',
    '2026-001-1',
    '26-01-01',
    '',
    ' 2026-01-01',
    '2026-01-01 ',
    '2026-01-01T00:00',
    '2026/01/01',
    '2026-01-0a',
    '2026-0a-01',
    '20a6-01-01',
    '+026-01-01',
    '2026--1-01',
    '2026-01--1',
    '２０２６-01-01',
    '2026-01-0１',
    '2026\u201301\u201301',
    '2026-01-0/',
    '2026-01-1/',
    '2026-01-/9',
    '2026-1/-01',
    '2026-01-0:',
  ])('is not read from %p', (text) => {
    expect(parseNight(text)).toBeNull()
  })

  test('is parsed on 29 February of leap years', () => {
    expect(parseNight('2000-02-29')).not.toBeNull()
    expect(parseNight('2024-02-29')).not.toBeNull()
    expect(parseNight('2096-02-29')).not.toBeNull()
  })

  test('is parsed from arbitrary text only if a Date formats it back the same', () => {
    const dateLike = fc.stringMatching(/^[0-9-]{10}$/)
    const looselyDated = fc
      .tuple(fc.integer({ min: 1990, max: 2110 }), fc.integer({ min: 0, max: 14 }), fc.integer({ min: 0, max: 33 }))
      .map(([y, m, d]) => `${y}-${String(m).padStart(2, '0')}-${String(d).padStart(2, '0')}`)
    fc.assert(
      fc.property(fc.oneof(looselyDated, dateLike, fc.string()), (text) => {
        const ms = /^20\d\d-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
        const exists = !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 10) === text
        expect(parseNight(text)).toBe(exists ? ((ms / DAY_MS) as Night) : null)
      }),
      { numRuns: 5_000 },
    )
  })

  test('is formatted beyond the accepted dates, where a cleaning block may end', () => {
    expect(formatNight(addNights(NIGHT_MAX, 1))).toBe('2100-01-01')
    expect(formatNight(addNights(NIGHT_MAX, 60))).toBe('2100-03-01') // 2100 is no leap year
    expect(formatNight(addNights(NIGHT_MIN, -1))).toBe('1999-12-31')
    expect(formatNight(asNight(0))).toBe('1970-01-01')
    for (let day = -1_000; day < 120_000; day += 17) expect(formatNight(asNight(day))).toBe(isoOf(day))
  })

  test('is formatted the same the second time', () => {
    const night = parseNight('2026-07-04') as Night
    expect([formatNight(night), formatNight(night)]).toEqual(['2026-07-04', '2026-07-04'])
  })

  test('knows its weekday, Monday 1 to Sunday 7', () => {
    expect(isoWeekday(parseNight('2026-01-05') as Night)).toBe(1)
    expect(isoWeekday(parseNight('2026-01-11') as Night)).toBe(7)
    for (let day = -30; day <= NIGHT_MAX; day++) {
      const expected = new Date(day * DAY_MS).getUTCDay() || 7
      if (isoWeekday(day as Night) !== expected) throw new Error(`isoWeekday(${day}) is not ${expected}`)
    }
  })

  test('is a whole number of days', () => {
    expect(() => asNight(1.5)).toThrow('not an integer')
    expect(() => asNight(Number.NaN)).toThrow('not an integer')
    expect(() => addNights(NIGHT_MIN, 0.5)).toThrow('not an integer')
    expect(addNights(NIGHT_MIN, 366)).toBe(parseNight('2001-01-01') as Night)
  })
})
