import { expect, test } from 'bun:test'
import {
  CALENDAR_CHARS_KEPT_MAX,
  CALENDAR_PAGES_PER_AGENCY_MAX,
  CALENDARS_PER_UNIT_MAX,
  CalendarTexts,
} from '../../../src/api/portal/calendar-texts.ts'
import { FakeClock } from '../../support/fake-clock.ts'

function opened() {
  const clock = new FakeClock()
  const texts = new CalendarTexts(clock)
  let writes = 0
  const ask = (unitId: string, { agencyId = 'agency', version = '1', text = 'calendar' } = {}) =>
    texts.text({ agencyId, unitId, version }, () => {
      writes += 1
      return text
    })
  return { clock, ask, writes: () => writes }
}
const WRITTEN = { kind: 'written' } as const
const OVER = { kind: 'over' } as const

test('a unit has so many requests a minute, and says when the next one passes; other units have their own', async () => {
  const { clock, ask } = opened()
  for (let n = 0; n < CALENDARS_PER_UNIT_MAX; n++) expect(ask('a')).toMatchObject(WRITTEN)
  await clock.advance(20_000)
  expect(ask('a')).toEqual({ kind: 'over', retryAfterS: 40 })
  expect(ask('b')).toMatchObject(WRITTEN)
  await clock.advance(40_000)
  expect(ask('a')).toMatchObject(WRITTEN)
})

test('a text is written once for each version of the unit', () => {
  const { ask, writes } = opened()
  expect([ask('a'), ask('a'), ask('b')]).toEqual(Array(3).fill({ kind: 'written', text: 'calendar' }))
  expect(writes()).toBe(2)
  expect(ask('a', { version: '2', text: 'other' })).toEqual({ kind: 'written', text: 'other' })
  expect(writes()).toBe(3)
})

test('what is written for an agency is bounded by its length; what is kept and other agencies are answered', async () => {
  const { clock, ask } = opened()
  const text = 'x'.repeat(4_096 * 9)
  for (let n = 0; n < CALENDAR_PAGES_PER_AGENCY_MAX / 10; n++) expect(ask(`unit ${n}`, { text })).toMatchObject(WRITTEN)
  expect(ask('one more', { text })).toMatchObject({ ...OVER, retryAfterS: 60 })
  expect(ask('unit 199', { text })).toMatchObject(WRITTEN)
  expect(ask('another', { agencyId: 'other' })).toMatchObject(WRITTEN)
  await clock.advance(60_000)
  expect(ask('one more', { text })).toMatchObject(WRITTEN)
})

test('texts that are kept have a bounded length: the one that was not asked for longest goes', () => {
  const { ask, writes } = opened()
  const text = 'x'.repeat(CALENDAR_CHARS_KEPT_MAX / 4)
  for (const unit of ['a', 'b', 'c', 'd', 'a', 'e']) ask(unit, { agencyId: unit, text })
  expect(writes()).toBe(5)
  ask('a', { agencyId: 'a', text })
  expect(writes()).toBe(5)
  ask('b', { agencyId: 'another of b', text })
  expect(writes()).toBe(6)
})
