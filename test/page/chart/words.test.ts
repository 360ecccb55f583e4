import { describe, expect, test } from 'bun:test'
import { barLabel, barText, DayWords, freeCellLabel } from '../../../src/page/chart/labels.ts'
import { dayWidthOf } from '../../../src/page/chart/scale.ts'
import { dueOn, kindOf } from '../../../src/page/chart/stay.ts'
import { dayOf, parseDay, weekdayOf } from '../../../src/page/format/days.ts'
import {
  addressOf,
  filterQuery,
  NO_FILTER,
  staysFound,
  unitsShown,
} from '../../../src/page/screens/calendar/calendar-address.ts'
import { aStay, aUnit } from './fixture.ts'

const WORDS = new DayWords('en-GB')
const MONDAY = dayOf('2027-03-01')

describe('days', () => {
  test('weekdays count from Monday', () => {
    expect([MONDAY, MONDAY + 5, MONDAY + 6].map(weekdayOf)).toEqual([1, 6, 7])
    expect(weekdayOf(dayOf('1969-12-29'))).toBe(1)
  })

  test('a text is a day only if the calendar has it', () => {
    expect(parseDay('2027-03-01')).toBe(MONDAY)
    expect(['2027-06-31', '2027-3-1', '', 'today', '0002-03-01'].map(parseDay)).toEqual([null, null, null, null, null])
  })
})

describe('what is said of a stay', () => {
  test('a screen reader hears who, what, when, and for how long', () => {
    const stay = aStay({ arrival: MONDAY, departure: MONDAY + 3 })
    expect(barLabel(stay, WORDS, MONDAY - 9, 0)).toBe(
      'Ana Silva, guest stay, confirmed, Mon, 1 Mar 2027 to Thu, 4 Mar 2027, 3 nights',
    )
  })

  test('a hold says how long it lasts, and an arrival of today that it is due', () => {
    const hold = aStay({ status: 'option', holdExpiresAt: 7_200, arrival: MONDAY, departure: MONDAY + 1 })
    expect(barLabel(hold, WORDS, MONDAY, 0)).toContain('guest stay, hold, 2 h left')
    expect(barLabel(aStay({ arrival: MONDAY, departure: MONDAY + 1 }), WORDS, MONDAY, 0)).toContain('to be checked in')
  })

  test('a free day says who leaves on it', () => {
    expect(freeCellLabel(aUnit(), MONDAY, WORDS, aStay())).toMatch(
      /^Sea View, Monday,? 1 March 2027, free, Ana Silva departs$/,
    )
  })

  test('a booking without a guest shows its reference', () => {
    expect(barText(aStay({ guest: null, source: 'booking.com', sourceRef: 'X-1' }))).toBe('X-1 (Booking.com)')
  })

  test('every status and type has a look of its own', () => {
    expect(kindOf({ type: 'owner_stay', status: 'option' })).toBe('hold')
    expect(kindOf({ type: 'guest', status: 'draft' })).toBe('draft')
    expect(kindOf({ type: 'owner_stay', status: 'checked_in' })).toBe('owner')
    expect(kindOf({ type: 'guest', status: 'checked_in' })).toBe('checked-in')
    expect(kindOf({ type: 'block', status: 'confirmed' })).toBe('block')
  })

  test('only people arrive and depart', () => {
    expect(dueOn(aStay({ type: 'maintenance' }), 100)).toBeNull()
    expect(dueOn(aStay({ status: 'checked_in' }), 104)).toBe('departure')
    expect(dueOn(aStay(), 99)).toBeNull()
  })
})

describe('filter and search', () => {
  const units = [aUnit(), aUnit({ slug: 'mill', name: 'Moínho', area: 'Baixa', bedrooms: 4 })]
  const stays = (unit: string) => (unit === 'mill' ? [aStay({ unit })] : [])
  const shown = (filter: object) => unitsShown(units, { ...NO_FILTER, ...filter }, stays).map(({ slug }) => slug)

  test('by name without accents, by area, and by the bedrooms that are needed at least', () => {
    expect(shown({ text: 'moinho' })).toEqual(['mill'])
    expect(shown({ area: 'Alfama' })).toEqual(['sea-view'])
    expect(shown({ bedrooms: 3 })).toEqual(['mill'])
    expect(shown({})).toEqual(['sea-view', 'mill'])
  })

  test('by free nights, from an arrival to a departure', () => {
    expect(shown({ freeFrom: 101, freeTo: 102 })).toEqual(['sea-view'])
    expect(shown({ freeFrom: 103, freeTo: 105 })).toEqual(['sea-view', 'mill'])
    expect(shown({ freeFrom: 101 })).toEqual(['sea-view', 'mill'])
  })

  test('a search finds the guest, the reference and the id; the next to arrive comes first', () => {
    const all = [
      aStay({ id: 'past', arrival: 10, departure: 12, guest: 'Zoë Lind' }),
      aStay({ id: 'later', arrival: 120, departure: 121, guest: 'Zoe Marsh' }),
      aStay({ id: 'soon', arrival: 105, departure: 106, sourceRef: 'ZOE-9' }),
    ]
    expect(staysFound(all, 'zoe', 100, 10).map(({ id }) => id)).toEqual(['soon', 'later', 'past'])
    expect(staysFound(all, ' ', 100, 10)).toEqual([])
  })

  test('the address keeps them', () => {
    const filter = { text: 'sea', area: 'Alfama', bedrooms: 2, freeFrom: MONDAY, freeTo: MONDAY + 7 }
    const query = Object.fromEntries(Object.entries(filterQuery(filter)).map(([name, value]) => [name, String(value)]))
    expect(addressOf(query).filter).toEqual(filter)
    expect(addressOf({ bedrooms: '2', zoom: 'year', from: 'x' })).toMatchObject({
      zoom: null,
      from: null,
      filter: { bedrooms: 2 },
    })
  })
})

test('a zoom shows its days side by side, in whole pixels, and on a phone no day is too narrow for a finger', () => {
  expect([dayWidthOf('week', 1_220), dayWidthOf('month', 1_220), dayWidthOf('quarter', 1_220)]).toEqual([174, 39, 13])
  expect([dayWidthOf('week', 294), dayWidthOf('month', 294), dayWidthOf('quarter', 294)]).toEqual([42, 24, 10])
})
