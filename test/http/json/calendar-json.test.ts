import { expect, test } from 'bun:test'
import { addNights, formatNight, type Night } from '../../../src/core/domain/night.ts'
import { unionNightsIn } from '../../../src/core/domain/night-bitmap.ts'
import { effectiveMinStay, priceStay } from '../../../src/core/domain/pricing.ts'
import { NO_RESTRICTIONS } from '../../../src/core/domain/restrictions.ts'
import { SEASONS_MAX, type Season } from '../../../src/core/domain/unit.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { CalendarText } from '../../../src/http/json/calendar-json.ts'
import { pageOf } from '../../../src/http/json/page.ts'
import { calendarsText } from '../../../src/http/json/read-calendars.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { Slices } from '../../../src/lib/slices.ts'
import { generatedRules } from '../../support/generated-rules.ts'
import { AGENCY, night, sampleBooking, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const FROM = night('2027-01-01')

interface UnitCalendar {
  unit: string
  blocked: { from: string; to: string }[]
  prices?: number[]
  minStay?: number[]
}

/** A unit whose nights are booked here and there, with cleaning nights after each stay. */
function generatedState(random: SeededRandom): UnitState {
  const unit = sampleUnit({ rules: generatedRules(random, FROM, { turnoverNights: random.int(0, 2) }) })
  const state = UnitState.empty(unit.id)
  state.apply({ kind: 'unit_set', unit }, 1)
  let arrival = FROM - random.int(0, 20)
  for (let seq = 2; seq < random.int(2, 40); seq++) {
    const departure = arrival + random.int(1, 40)
    const after = sampleBooking({ arrival: arrival as Night, departure: departure as Night })
    state.apply({ kind: 'booking_created', after }, seq)
    arrival = departure + random.pick([0, 0, 1, 2, 30])
  }
  return state
}

test('of generated units: blocked runs are maximal and expand to the blocked nights; prices and minimum stays are those of each night', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new SeededRandom(seed)
    const state = generatedState(random)
    const from = addNights(FROM, random.int(-30, 200))
    const to = addNights(from, random.pick([0, 1, 31, 32, 33, 366]))
    const text = new CalendarText({ from, to }, { prices: true })
    text.add('sea-view', state)
    const [calendar] = JSON.parse(text.text) as [Required<UnitCalendar>]
    const runs = calendar.blocked.map((run) => [night(run.from), night(run.to)] as const)
    const expanded = runs.flatMap(([first, end]) => Array.from({ length: end - first }, (_, i) => addNights(first, i)))
    expect({ seed, expanded }).toEqual({ seed, expanded: unionNightsIn(state.occupied, state.cleaning, from, to) })
    // Maximal: none is empty, and between two of them there is a night.
    for (const [i, [first, end]] of runs.entries())
      expect(first).toBeLessThan(Math.min(end, runs[i + 1]?.[0] ?? Infinity))
    for (const [i, [, end]] of runs.entries()) expect(end).toBeLessThan(runs[i + 1]?.[0] ?? Infinity)
    const nights = Array.from({ length: to - from }, (_, i) => addNights(from, i))
    const priceOf = (arrival: Night) =>
      priceStay({
        rules: state.rules,
        stay: { arrival, departure: addNights(arrival, 1) },
        children: 0,
        extraBed: false,
        feeTypes: [],
        currency: 'EUR',
      }).lines[0]?.amount
    expect({ seed, prices: calendar.prices as unknown }).toEqual({ seed, prices: nights.map(priceOf) })
    expect({ seed, minStay: calendar.minStay }).toEqual({
      seed,
      minStay: nights.map((arrival) => effectiveMinStay(state.rules, arrival)),
    })
  }
})

test('minimum stays beside prices are those of restrictions too: a shorter stay would be refused', () => {
  const rows = [
    { from: addNights(FROM, 1), to: addNights(FROM, 2), weekdays: null, rule: 'minStayArrival', value: 3 },
    { from: addNights(FROM, 5), to: addNights(FROM, 6), weekdays: null, rule: 'minStayThrough', value: 4 },
  ] as const
  const rules = sampleRules({ restrictions: { rows, advanceNoticeHours: null, bookingWindowDays: null } })
  const state = UnitState.empty(sampleUnit().id)
  state.apply({ kind: 'unit_set', unit: sampleUnit({ rules }) }, 1)
  for (const members of [{ prices: true }, { prices: true, restrictions: true }]) {
    const text = new CalendarText({ from: FROM, to: addNights(FROM, 7) }, members)
    text.add('sea-view', state)
    expect(JSON.parse(text.text)[0].minStay).toEqual([1, 3, 1, 1, 1, 4, 1])
  }
})

test('without prices there are neither prices nor minimum stays', () => {
  const text = new CalendarText({ from: FROM, to: addNights(FROM, 3) })
  text.add('a"b', UnitState.empty(sampleId('unt', 'a')))
  expect(text.text).toBe(String.raw`[{"unit":"a\"b","blocked":[]}]`)
})

/** Every other night is booked, and every night is a season of its own. */
function laboriousState(): UnitState {
  const seasons = Array.from({ length: SEASONS_MAX }, (_, i): Season => {
    const from = addNights(FROM, i)
    return { name: `Night ${i}`, from, to: addNights(from, 1), nightlyPrice: i, minStay: null }
  })
  const rules = sampleRules({ rates: { seasons, weekdayAdjustments: [], lengthOfStayDiscounts: [] } })
  const state = UnitState.empty(sampleUnit().id)
  state.apply({ kind: 'unit_set', unit: sampleUnit({ rules }) }, 1)
  for (let i = 0; i < 183; i++) {
    const arrival = addNights(FROM, 2 * i)
    const booked = sampleBooking({ arrival, departure: addNights(arrival, 1) })
    state.apply({ kind: 'booking_created', after: booked }, i + 2)
  }
  return state
}

test('200 units are read in slices: none does more than its steps and one unit, however laborious the units are', async () => {
  const stepsMax = 2_000
  const range = { from: FROM, to: addNights(FROM, 366) }
  const units = Array.from({ length: 200 }, (_, i) => sampleUnit({ id: sampleId('unt', i), slug: `unit-${i}` }))
  for (const state of [laboriousState(), generatedState(new SeededRandom(3))]) {
    const one = new CalendarText(range, { prices: true })
    one.add('one', state)
    let readInSlice = 0
    let mostInSlice = 0
    let slices = 1
    const commands = {
      activate: async () => {},
      listedCalendar: () => {
        readInSlice += 1
        mostInSlice = Math.max(mostInSlice, readInSlice)
        return state
      },
    }
    const pause = async () => {
      readInSlice = 0
      slices += 1
    }
    const request = { range, with: { prices: true }, now: 0, page: pageOf({ pageSize: 200 }) }
    const text = await calendarsText(commands, AGENCY, units, request, new Slices(stepsMax, pause))
    expect(JSON.parse(text).units.map(({ unit }: UnitCalendar) => unit)).toEqual(units.map(({ slug }) => slug))
    expect(mostInSlice * one.steps).toBeLessThan(stepsMax + one.steps)
    expect(slices).toBeGreaterThan((200 * one.steps) / (stepsMax + one.steps))
    expect(formatNight(range.to)).toBe('2028-01-02')
  }
  // What the steps are for: a unit is as much work as it has runs.
  const laborious = new CalendarText(range, { prices: true })
  laborious.add('one', laboriousState())
  expect(laborious.steps).toBeGreaterThan(183 + 366)
  // Nights that minimum stays read count too: 366 for each of 366 arrivals.
  const restricted = new CalendarText(range, { restrictions: true })
  const through = { from: null, to: null, weekdays: null, rule: 'minStayThrough', value: 366 } as const
  const rules = sampleRules({ restrictions: { rows: [through], advanceNoticeHours: null, bookingWindowDays: null } })
  const state = UnitState.empty(sampleUnit().id)
  state.apply({ kind: 'unit_set', unit: sampleUnit({ rules }) }, 1)
  restricted.add('one', state)
  expect(restricted.steps).toBeGreaterThan((366 * 366) / 20)
  // And by its rows of restrictions, which are read for each date the first time.
  const few = new CalendarText({ from: FROM, to: addNights(FROM, 2) }, { restrictions: true })
  const many = { ...rules, restrictions: { ...NO_RESTRICTIONS, rows: Array.from({ length: 500 }, () => through) } }
  const unit = sampleUnit({ rules: many })
  state.apply({ kind: 'unit_set', unit }, 2)
  few.add('one', state)
  expect(few.steps).toBeGreaterThan(500)
})
