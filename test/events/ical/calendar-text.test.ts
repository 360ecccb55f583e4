import { describe, expect, spyOn, test } from 'bun:test'
import ICAL from 'ical.js'
import { addNights, formatNight } from '../../../src/core/domain/night.ts'
import { calendarText } from '../../../src/events/ical/calendar-text.ts'
import { readFeed } from '../../../src/events/ical/feed.ts'
import { night } from '../../support/samples.ts'

const NOW = Date.UTC(2027, 0, 1, 12)

function textOf(nights: string[], name = 'Sea View'): string {
  return calendarText({ unitId: 'unt_a', name, blocked: nights.map(night), now: NOW })
}

describe('a calendar of blocked nights', () => {
  test('has an all-day event for each run of consecutive nights, across month ends and the leap day', () => {
    const text = textOf(['2028-02-28', '2028-02-29', '2028-03-01', '2028-03-05'])
    expect(text.match(/BEGIN:VEVENT/g)).toHaveLength(2)
    expect(text).toContain('DTSTART;VALUE=DATE:20280228\r\nDTEND;VALUE=DATE:20280302\r\n')
    expect(text).toContain('DTSTAMP:20270101T120000Z')
    expect(text).toContain('UID:unt_a-2028-02-28@nightledger')
  })

  test('is parsed back as the same nights', () => {
    const events = readFeed(textOf(['2027-03-01', '2027-03-02', '2027-04-01']), { timezone: 'Pacific/Apia' })
    expect(
      events.map((event) => event.kind === 'taken' && [event.stay.arrival, event.stay.departure].map(formatNight)),
    ).toEqual([
      ['2027-03-01', '2027-03-03'],
      ['2027-04-01', '2027-04-02'],
    ])
  })

  test('has no event that is longer than a stay may be, so that what is blocked for years can be imported', () => {
    const text = textOf(Array.from({ length: 1_098 }, (_, n) => formatNight(addNights(night('2027-03-01'), n))))
    expect([...text.matchAll(/DTSTART;VALUE=DATE:(\d+)/g)].map(([, date]) => date)).toEqual([
      '20270301',
      '20280301',
      '20290302',
    ])
    expect(readFeed(text, { timezone: 'UTC' }).map(({ kind }) => kind)).toEqual(['taken', 'taken', 'taken'])
  })

  test('has CRLF line endings and no line over 75 octets, for any name of the unit', () => {
    const text = textOf(['2027-03-01'], `Casa; com vista, ${'ã'.repeat(100)}\nBEGIN:VEVENT`)
    expect(text.replaceAll('\r\n', '')).not.toContain('\n')
    for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75)
    expect(text.match(/^BEGIN:VEVENT/gm)).toHaveLength(1)
  })

  test('A1: is written in a moment, however many events it has: none is made with the library, which would take a fifth of a second', () => {
    const made = spyOn(ICAL.Component.prototype, 'addPropertyWithValue')
    try {
      const [few, many] = [1, 28].map((days) => {
        made.mockClear()
        textOf(
          Array.from({ length: days }, (_, i) => `2027-03-${String(i + 1).padStart(2, '0')}`).filter(
            (_, i) => i % 2 === 0,
          ),
        )
        return made.mock.calls.length
      })
      expect(many).toBe(few)
    } finally {
      made.mockRestore()
    }
  })

  test('without blocked nights is still a valid calendar', () => {
    expect(textOf([])).toStartWith('BEGIN:VCALENDAR\r\n')
    expect(readFeed(textOf([]), { timezone: 'UTC' })).toEqual([])
  })
})
