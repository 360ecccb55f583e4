import { describe, expect, test } from 'bun:test'
import { formatNight } from '../../../src/core/domain/night.ts'
import { FeedError, type FeedEvent, readFeed } from '../../../src/events/ical/feed.ts'
import { AIRBNB, BOOKING_COM, GOOGLE, OUTLOOK, VRBO } from './channel-feeds.ts'

const LISBON = { timezone: 'Europe/Lisbon' }

/** `uid arrival departure`, or `uid kind`. */
function formatted(events: readonly FeedEvent[]): string[] {
  return events.map((event) =>
    event.kind === 'taken'
      ? `${event.uid} ${formatNight(event.stay.arrival)} ${formatNight(event.stay.departure)}`
      : `${event.uid} ${event.kind}`,
  )
}

function one(...lines: string[]): FeedEvent {
  const [event] = readFeed(calendar('UID:a', ...lines), LISBON)
  if (event === undefined) throw new Error('Expected an event')
  return event
}

function calendar(...lines: string[]): string {
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//x//EN',
    'BEGIN:VEVENT',
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n')
}

describe('the feed of', () => {
  test('Airbnb: reservations and blocks, dates as values, folded lines', () => {
    expect(formatted(readFeed(AIRBNB, LISBON))).toEqual([
      '1418fb94e984-2f3b8b1f2a7c4d55a0e2b41c9d3e7f10@airbnb.com 2027-05-02 2027-05-07',
      '7f662ec65913-bb0f5de0f6ac7d9e0ad5fd2a7ee8d0c1@airbnb.com 2027-05-20 2027-05-22',
    ])
  })

  test('Booking.com: CLOSED events with line feeds alone', () => {
    expect(formatted(readFeed(BOOKING_COM, LISBON))).toEqual([
      'bd4f6b7d54a1a3a6d1ee0b8bb4a4f4a5@booking.com 2027-06-01 2027-06-04',
      '0a1b2c3d4e5f60718293a4b5c6d7e8f9@booking.com 2027-06-10 2027-06-11',
    ])
  })

  test('Vrbo: a reservation, a block, a cancellation, with names ignored', () => {
    const events = readFeed(VRBO, LISBON)
    expect(formatted(events)).toEqual([
      '8fd4a2c1-1f7b-4a6b-9d83-4e9f0a1b2c3d 2027-07-03 2027-07-10',
      '1c9f6a52-97f1-4f0c-b6b2-0d1e2f3a4b5c 2027-07-15 2027-07-16',
      '5e2d9b7a-3c41-4c6f-8a90-1b2c3d4e5f60 cancelled',
    ])
    expect(JSON.stringify(events)).not.toContain('Jane')
  })

  test('Google: timed events with a zone and all-day events; free time skipped, a weekly event refused', () => {
    expect(formatted(readFeed(GOOGLE, LISBON))).toEqual([
      '0abc1def2ghi3jkl4mno5pqr6s@google.com 2027-08-01 2027-08-05',
      '1abc1def2ghi3jkl4mno5pqr6s@google.com 2027-08-09 2027-08-10',
      '2abc1def2ghi3jkl4mno5pqr6s@google.com skipped',
      '4abc1def2ghi3jkl4mno5pqr6s@google.com 2027-08-20 2027-08-22',
      '3abc1def2ghi3jkl4mno5pqr6s@google.com refused',
    ])
  })

  test('Outlook: its own time zone, described in the feed', () => {
    // 23:30 in Berlin is 22:30 in Lisbon; 01:00 the day after is midnight.
    expect(formatted(readFeed(OUTLOOK, LISBON))).toEqual(['outlook-1 2027-03-29 2027-03-31'])
  })
})

describe('an event', () => {
  test.each([
    ['a date without an end is one night', ['DTSTART;VALUE=DATE:20270301'], 'a 2027-03-01 2027-03-02'],
    [
      'a date that ends on itself is one night too',
      ['DTSTART;VALUE=DATE:20270301', 'DTEND;VALUE=DATE:20270301'],
      'a 2027-03-01 2027-03-02',
    ],
    ['a duration in days', ['DTSTART;VALUE=DATE:20270301', 'DURATION:P3D'], 'a 2027-03-01 2027-03-04'],
    ['a duration in hours over midnight', ['DTSTART:20270301T220000Z', 'DURATION:PT4H'], 'a 2027-03-01 2027-03-02'],
    ['the leap day', ['DTSTART;VALUE=DATE:20280228', 'DTEND;VALUE=DATE:20280301'], 'a 2028-02-28 2028-03-01'],
    [
      'a time without a zone is in the agency’s zone',
      ['DTSTART:20270301T150000', 'DTEND:20270303T100000'],
      'a 2027-03-01 2027-03-03',
    ],
    [
      'a tentative event takes its nights',
      ['STATUS:TENTATIVE', 'DTSTART;VALUE=DATE:20270301'],
      'a 2027-03-01 2027-03-02',
    ],
  ])('%s', (_, lines, expected) => {
    expect(formatted([one(...lines)])).toEqual([expected])
  })

  test.each([
    ['ends within a day', ['DTSTART:20270301T100000Z', 'DTEND:20270301T120000Z'], 'skipped', /no night/],
    [
      'ends before it starts',
      ['DTSTART;VALUE=DATE:20270305', 'DTEND;VALUE=DATE:20270301'],
      'refused',
      /before it starts/,
    ],
    [
      'is longer than a stay can be',
      ['DTSTART;VALUE=DATE:20270101', 'DTEND;VALUE=DATE:20280103'],
      'refused',
      /367 nights/,
    ],
    ['is beyond the accepted dates', ['DTSTART;VALUE=DATE:21010101'], 'refused', /2099-12-31/],
    ['is in an unknown zone', ['DTSTART;TZID=Mars/Base:20270301T100000'], 'refused', /Mars\/Base/],
    ['has no start', ['SUMMARY:x'], 'refused', /DTSTART/],
    ['starts on an incomplete date', ['DTSTART;VALUE=DATE:202703'], 'refused', /DTSTART that is not a date/],
    ['starts on 30 February', ['DTSTART;VALUE=DATE:20270230'], 'refused', /DTSTART that is not a date/],
    ['starts at a time on 30 February', ['DTSTART:20270230T100000'], 'refused', /DTSTART that is not a date/],
    ['starts at 25:00', ['DTSTART:20270301T250000Z'], 'refused', /DTSTART that is not a date/],
    [
      'ends at minute 61 in a time zone',
      ['DTSTART:20270301T100000', 'DTEND;TZID=Europe/Berlin:20270302T236100'],
      'refused',
      /DTEND that is not a date/,
    ],
    ['recurs by dates', ['DTSTART;VALUE=DATE:20270301', 'RDATE;VALUE=DATE:20270401'], 'refused', /RDATE/],
  ] as const)('that %s', (_, lines, kind, reason) => {
    const event = one(...lines)
    expect(event.kind).toBe(kind)
    expect('reason' in event ? event.reason : '').toMatch(reason)
  })

  test('counts by days in the agency’s zone, whatever its own zone, across clock changes', () => {
    const at = (timezone: string) =>
      formatted(readFeed(calendar('UID:a', 'DTSTART:20261031T233000Z', 'DTEND:20261102T013000Z'), { timezone }))
    expect(at('Europe/Berlin')).toEqual(['a 2026-11-01 2026-11-02'])
    // St. John's leaves summer time on 2026-11-01: −02:30 before, −03:30 after.
    expect(at('America/St_Johns')).toEqual(['a 2026-10-31 2026-11-01'])
    expect(at('Pacific/Apia')).toEqual(['a 2026-11-01 2026-11-02'])
  })

  test('that occurs twice counts as its newest revision', () => {
    const twice = calendar('UID:a', 'SEQUENCE:2', 'DTSTART;VALUE=DATE:20270301').replace(
      'END:VCALENDAR',
      'BEGIN:VEVENT\r\nUID:a\r\nSEQUENCE:1\r\nSTATUS:CANCELLED\r\nDTSTART;VALUE=DATE:20270301\r\nEND:VEVENT\r\nEND:VCALENDAR',
    )
    expect(formatted(readFeed(twice, LISBON))).toEqual(['a 2027-03-01 2027-03-02'])
  })

  test('without a UID is identified by its dates', () => {
    const [event] = readFeed(calendar('DTSTART;VALUE=DATE:20270301'), LISBON)
    expect(event?.uid).toContain('2027-03-01')
  })
})

test('an IANA time zone needs no description in the feed', () => {
  const event = one('DTSTART;TZID=America/New_York:20270301T200000', 'DTEND;TZID=America/New_York:20270302T200000')
  expect(formatted([event])).toEqual(['a 2027-03-02 2027-03-03'])
})

describe('a text that is not a feed', () => {
  test.each([
    ['nothing', ''],
    ['a web page', '<!doctype html><html></html>'],
    ['a feed that was cut short', AIRBNB.slice(0, -60)],
    ['a card', 'BEGIN:VCARD\r\nVERSION:4.0\r\nFN:x\r\nEND:VCARD'],
  ])('%s is refused as a whole', (_, text) => {
    expect(() => readFeed(text, LISBON)).toThrow(FeedError)
  })

  test.each([
    ['', 'nothing'],
    ['<!doctype html><html></html>', 'a web page'],
    ['<html xmlns="http://www.w3.org/1999/xhtml">', 'a web page with a colon'],
    ['{"error":"not found"}', 'the JSON of another service'],
  ])('%p is refused by what it is not: %s', (text) => {
    expect(() => readFeed(text, LISBON)).toThrow('it does not begin with BEGIN:VCALENDAR')
  })

  test.each(Object.entries({ AIRBNB, BOOKING_COM, GOOGLE, OUTLOOK, VRBO }))(
    '%s truncated at any point is refused',
    (_, feed) => {
      const accepted: number[] = []
      for (let length = 0; length < feed.trimEnd().length; length++) {
        try {
          readFeed(feed.slice(0, length), LISBON)
          accepted.push(length)
        } catch (error) {
          if (!(error instanceof FeedError)) throw error
        }
      }
      expect(accepted).toEqual([])
    },
  )

  test('a feed without an END:VEVENT, or without the end of its second calendar, is refused and says what is missing', () => {
    const lost = AIRBNB.replace('END:VEVENT\r\n', '')
    expect(() => readFeed(lost, LISBON)).toThrow('truncated or damaged at the line END:VCALENDAR')
    const second = `${AIRBNB}${AIRBNB.slice(0, AIRBNB.indexOf('END:VEVENT'))}`
    expect(() => readFeed(second, LISBON)).toThrow('truncated: END:VEVENT is missing')
  })

  test.each(['CANCEL', 'request'])('a feed of messages, METHOD:%s, is refused as a whole', (method) => {
    const feed = calendar('UID:a', 'DTSTART;VALUE=DATE:20270301').replace('VERSION', `METHOD:${method}\r\nVERSION`)
    expect(() => readFeed(feed, LISBON)).toThrow(
      `Cannot read the feed: its METHOD is ${method}; a feed has METHOD:PUBLISH, or no METHOD`,
    )
    expect(formatted(readFeed(feed.replace(method, 'publish'), LISBON))).toEqual(['a 2027-03-01 2027-03-02'])
  })

  test('a line inside folded text that looks like an END is ignored', () => {
    const folded = calendar('UID:a', 'DTSTART;VALUE=DATE:20270301', 'DESCRIPTION:see', ' END:VEVENT', '\tBEGIN:VALARM')
    expect(formatted(readFeed(folded, LISBON))).toEqual(['a 2027-03-01 2027-03-02'])
  })

  test('a feed without events is valid', () => {
    expect(readFeed('BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR', LISBON)).toEqual([])
  })
})

describe('a hostile feed is refused before it costs time or memory', () => {
  const zoned = (tzid: string, ...parts: string[]) =>
    calendar('UID:a', `DTSTART;TZID=${tzid}:20270329T233000`, `DTEND;TZID=${tzid}:20270331T010000`).replace(
      'BEGIN:VEVENT',
      ['BEGIN:VTIMEZONE', `TZID:${tzid}`, ...parts, 'END:VTIMEZONE', 'BEGIN:VEVENT'].join('\r\n'),
    )
  const part = (rule: string, start = '16011028T030000') =>
    [
      ...['BEGIN:STANDARD', `DTSTART:${start}`, 'TZOFFSETFROM:+0200', 'TZOFFSETTO:+0100', `RRULE:${rule}`],
      'END:STANDARD',
    ].join('\r\n')

  test.each([
    'FREQ=SECONDLY',
    'FREQ=MONTHLY;BYDAY=-1SU',
    'FREQ=YEARLY;BYDAY=SU',
    'FREQ=YEARLY;BYDAY=53SU;BYMONTH=1',
    'FREQ=YEARLY;BYMONTH=1,2',
    'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=1,2',
    'FREQ=YEARLY;BYMONTH=3;BYDAY=2SU;BYMONTHDAY=1,2',
    'FREQ=YEARLY;BYMONTH=3;BYDAY=SU,MO;BYMONTHDAY=1,2,3,4,5,6,7',
    'FREQ=YEARLY;BYYEARDAY=1,2,3',
    'FREQ=YEARLY;BYHOUR=1,2;BYMINUTE=1,2',
    'FREQ=YEARLY;INTERVAL=2',
  ])('a time zone with %s', (rule) => {
    const refusal =
      'Cannot read the feed: its time zone Own has a rule (RRULE) that is not one day of a year from 1600 on'
    expect(() => readFeed(zoned('Own', part(rule)), LISBON)).toThrow(refusal)
    // A zone that has a name of its own is not read from the feed.
    expect(formatted(readFeed(zoned('Europe/Berlin', part(rule)), LISBON))).toEqual(['a 2027-03-29 2027-03-31'])
  })

  test.each([
    'FREQ=YEARLY',
    'FREQ=YEARLY;BYMONTH=10',
    'FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10',
    'FREQ=YEARLY;INTERVAL=1;BYDAY=1SU;BYMONTH=11;WKST=MO;UNTIL=20400101T000000Z',
    'FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=25,26,27,28,29,30,31;BYDAY=SU',
    'FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=28',
  ])('but not one with %s', (rule) => {
    expect(formatted(readFeed(zoned('Own', part(rule)), LISBON))).toEqual(['a 2027-03-29 2027-03-31'])
  })

  test('a time zone whose rule begins long before clocks changed', () => {
    expect(() => readFeed(zoned('Own', part('FREQ=YEARLY', '00010101T000000')), LISBON)).toThrow('from 1600 on')
  })

  test('more rules or clock changes than clocks have had', () => {
    const rules = Array<string>(101).fill(part('FREQ=YEARLY'))
    const dates = part('FREQ=YEARLY').replace('RRULE:FREQ=YEARLY', Array(1_000).fill('RDATE:20270101').join('\r\n'))
    for (const parts of [rules, [dates]])
      for (const tzid of ['Own', 'Europe/Berlin'])
        expect(() => readFeed(zoned(tzid, ...parts), LISBON)).toThrow('more than 1000 clock changes or 100 rules')
  })

  test.each(['P9999999999D', 'P99999999999999999999999W', '-P9999999999D'])('a DURATION of %s', (duration) => {
    expect(one('DTSTART;VALUE=DATE:20270301', `DURATION:${duration}`)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('DURATION of more than'),
    })
  })

  test('a line with a hundred thousand parameters', () => {
    const line = `SUMMARY${';A=b'.repeat(100_000)}:x`
    expect(() => readFeed(calendar('UID:a', line), LISBON)).toThrow('it has a line of more than 65536 characters')
    expect(() => readFeed(`BEGIN:VCARD\r\n${line}`, LISBON)).toThrow('it has a line of more than 65536 characters')
  })

  test.each(['UID;VALUE=DATE:foo', 'UID;VALUE=PERIOD:foo', 'STATUS;VALUE=DATE:foo'])(
    'a value that is not of its type: %s',
    (line) => expect(() => readFeed(calendar(line, 'DTSTART;VALUE=DATE:20270301'), LISBON)).toThrow(FeedError),
  )
})
