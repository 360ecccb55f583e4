import { expect, test } from 'bun:test'
import { instantOf, localTime } from '../../../src/page/format/instants.ts'

const ZONES = ['Europe/Lisbon', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia', 'UTC']

test.each(ZONES)('%s: clocks show the time that was entered, on every day of a year', (zone) => {
  for (let day = 0; day < 365; day++) {
    const date = new Date(Date.UTC(2027, 0, 1 + day)).toISOString().slice(0, 10)
    for (const time of ['00:30', '12:00', '18:45', '23:59']) {
      const at = instantOf({ date, time }, zone)
      expect(at).not.toBeNull()
      expect([date, localTime(at ?? 0, zone)]).toEqual([date, { date, time }])
    }
  }
})

test('a time that clocks skip is the one as long after the change', () => {
  const at = instantOf({ date: '2027-03-28', time: '01:30' }, 'Europe/Lisbon')
  expect(new Date(at ?? 0).toISOString()).toBe('2027-03-28T01:30:00.000Z')
  expect(localTime(at ?? 0, 'Europe/Lisbon').time).toBe('02:30')
})

test('what is no time is none', () => {
  for (const [date, time] of [
    ['', '12:00'],
    ['2027-03-01', ''],
    ['2027-13-01', '12:00'],
  ] as const)
    expect(instantOf({ date, time }, 'UTC')).toBeNull()
})
