/** Compares restrictions on the page with those of the service. */
import { describe, expect, test } from 'bun:test'
import { addNights, type Night } from '../../../src/core/domain/night.ts'
import { closedDates, DATE_RULES, RestrictedDates } from '../../../src/core/domain/restrictions.ts'
import { restrictionsJson } from '../../../src/http/json/restrictions-json.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import {
  canonical,
  draftOf,
  errorsOf,
  newRow,
  restrictionsChanges,
  restrictionsOf,
  rowDates,
  withRule,
} from '../../../src/page/screens/units/restrictions/restrictions-draft.ts'
import { runsOf } from '../../../src/page/screens/units/restrictions/sales-runs.ts'
import { RestrictedDays, type Restrictions } from '../../../src/page/stays/restrictions.ts'
import { generatedRestrictions } from '../../support/generated-rules.ts'
import { night } from '../../support/samples.ts'

const ABOUT = night('2027-07-05')
const SEED = Number(process.env['RESTRICTIONS_SEED'] ?? 20_270_705)

test(`the page reads the list as the service does, and an unchanged draft equals what was read (seed ${SEED})`, () => {
  const random = new SeededRandom(SEED)
  for (let round = 0; round < 200; round++) {
    const restrictions = generatedRestrictions(random, ABOUT)
    const json = restrictionsJson(restrictions)
    const dates = new RestrictedDates(restrictions.rows)
    const days = new RestrictedDays(json.restrictions)
    for (let night = ABOUT - 30; night < ABOUT + 30; night++) {
      const held = days.on(night)
      expect(DATE_RULES.map((rule) => Number(held.get(rule) ?? 0))).toEqual(
        DATE_RULES.map((rule) => dates.valueOn(rule, night)),
      )
    }
    const [from, to] = [addNights(ABOUT, -30), addNights(ABOUT, 60)]
    expect(days.digits(from, to)).toBe(closedDates(restrictions, from, to as Night))
    const draft = draftOf(json)
    expect([...errorsOf(draft)]).toEqual([])
    expect(canonical(restrictionsOf(draft))).toBe(canonical(json))
  }
})

const NONE: Restrictions = { restrictions: [], advanceNoticeHours: null, bookingWindowDays: null }

test('what the service would refuse is explained at its field', () => {
  const rows = [
    newRow({ from: '2027-07-02', last: '2027-07-01' }),
    newRow({ from: '0002-07-02' }),
    newRow({ weekdays: [] }),
    newRow({ rule: 'maxStay', value: null }),
    newRow({ rule: 'maxStay', value: 367 }),
  ]
  const draft = { rows, advanceNoticeHours: 8_761, bookingWindowDays: 0 }
  const fields = [...errorsOf(draft).keys()].map((field) => field.replace(/\d+ /, ''))
  expect(fields).toEqual([
    'row last',
    'row from',
    'row weekdays',
    'row value',
    'row value',
    'advanceNoticeHours',
    'bookingWindowDays',
  ])
})

test('changing the rule keeps a value of the same kind, and asks for one otherwise', () => {
  expect(withRule(newRow({ value: false }), 'stopSell').value).toBe(false)
  expect(withRule(newRow({}), 'maxStay').value).toBeNull()
  expect(withRule(newRow({ rule: 'maxStay', value: 7 }), 'minStayArrival').value).toBe(7)
  expect(withRule(newRow({ rule: 'maxStay', value: 7 }), 'stopSell').value).toBe(true)
})

describe('differences in words', () => {
  const row = (rule: 'maxStay' | 'stopSell', value: boolean | number) => ({
    from: null,
    to: null,
    weekdays: null,
    rule,
    value,
  })
  const of = (...restrictions: Restrictions['restrictions']): Restrictions => ({ ...NONE, restrictions })
  const [max, stop] = [row('maxStay', 7), row('stopSell', true)]

  test('new and removed rows, notice and window', () => {
    expect(restrictionsChanges(of(max), { ...of(stop), advanceNoticeHours: 1, bookingWindowDays: 30 })).toEqual([
      'New: Not for sale · Always',
      'Removed: Maximum stay on arrival: 7 nights · Always',
      'Advance notice: none → 1 hour',
      'Booking window: none → 30 days',
    ])
  })

  test('another order alone', () => {
    expect(restrictionsChanges(of(max, stop), of(stop, max))).toHaveLength(1)
    expect(restrictionsChanges(of(max, stop, max), of(max, stop, max))).toEqual([])
  })

  test('dates without beginning, without end, and some days of the week', () => {
    const dates = (from: string, last: string) => rowDates({ from, last, weekdays: [1, 2, 3, 4, 5, 6, 7] })
    expect(dates('', '')).toBe('Always')
    expect(dates('', '2027-07-01')).toStartWith('Until ')
    expect(dates('2027-07-01', '')).toStartWith('From ')
    expect(rowDates({ from: '', last: '', weekdays: [7, 1] })).toMatch(/^Always · Mon, Sun$/)
  })
})

test('consecutive arrivals that differ for the same reasons are one line', () => {
  const change = (day: number, isSold: boolean, rule: 'closedToArrival' | 'stopSell') => ({
    arrival: `2027-07-0${day}`,
    isSold,
    refusals: [{ rule, date: `2027-07-0${day}`, value: true }],
  })
  const changes = [
    change(1, false, 'closedToArrival'),
    change(2, false, 'closedToArrival'),
    change(3, false, 'stopSell'),
    change(5, false, 'stopSell'),
    change(6, true, 'stopSell'),
  ]
  expect(runsOf(changes).map(({ from, last, count }) => [from.slice(-1), last.slice(-1), count])).toEqual([
    ['1', '2', 2],
    ['3', '3', 1],
    ['5', '5', 1],
    ['6', '6', 1],
  ])
})
