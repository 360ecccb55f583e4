import { afterAll, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { AIRBNB, GOOGLE, VRBO } from '../events/ical/channel-feeds.ts'
import { cliOn } from '../support/cli-terminal.ts'
import { startTestService } from '../support/test-service.ts'

let agency: Agency

const service = await startTestService()
const cli = cliOn(service)
const folder = mkdtempSync(join(tmpdir(), 'nightledger-ical-'))
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  agency = await service.agency({ timezone: 'Europe/Lisbon' })
  await service.unit(agency, { slug: 'sea-view' })
})

function importing(text: string, ...more: string[]) {
  const file = join(folder, 'feed.ics')
  writeFileSync(file, text)
  return cli(
    'bookings',
    'import-ical',
    file,
    '--unit',
    'sea-view',
    '--channel',
    'airbnb',
    '--agency',
    agency.slug,
    ...more,
  )
}

interface Block {
  id: string
  arrival: string
  departure: string
  status: string
}

async function blocks(query = ''): Promise<Block[]> {
  return (await service.get(`/agencies/${agency.slug}/bookings?type=block${query}`)).body.bookings
}

const live = async () =>
  (await blocks())
    .filter(({ status }) => status !== 'cancelled')
    .map(({ arrival, departure }) => `${arrival} ${departure}`)

test('a feed becomes blocks without a word of who; a second reading changes nothing', async () => {
  const first = await importing(AIRBNB)
  expect([first.code, first.stderr]).toEqual([0, ''])
  expect(first.stdout).toBe('2 created, 0 moved, 0 cancelled, 0 unchanged, 0 skipped, 0 conflicts, 0 refused\n')
  const made = await blocks()
  expect(made).toMatchObject([
    { arrival: '2027-05-20', departure: '2027-05-22', source: 'ical:airbnb', guest: null, notes: null, totalAmount: 0 },
    { arrival: '2027-05-02', departure: '2027-05-07', status: 'confirmed' },
  ])
  const again = await importing(AIRBNB)
  expect(again.stdout).toStartWith('0 created, 0 moved, 0 cancelled, 2 unchanged')
  expect(await blocks()).toEqual(made)
})

test('new dates move a block, CANCELLED and a vanished event cancel theirs, and what was cancelled can come again', async () => {
  await importing(AIRBNB)
  const moved = await importing(AIRBNB.replace('DTEND;VALUE=DATE:20270507', 'DTEND;VALUE=DATE:20270509'))
  expect(moved.stdout).toStartWith('0 created, 1 moved, 0 cancelled, 1 unchanged')
  expect(await live()).toEqual(['2027-05-20 2027-05-22', '2027-05-02 2027-05-09'])

  const cancelled = await importing(AIRBNB.replace('SUMMARY:Reserved', 'STATUS:CANCELLED'))
  expect(cancelled.stdout).toStartWith('0 created, 0 moved, 1 cancelled, 1 unchanged')
  expect(await live()).toEqual(['2027-05-20 2027-05-22'])

  const gone = AIRBNB.replace(/BEGIN:VEVENT[\s\S]*END:VEVENT\r\n/, '')
  const kept = await importing(gone, '--keep-missing')
  expect(kept.stdout).toContain('0 cancelled')
  const vanished = await importing(gone, '--allow-mass-cancellation')
  expect(vanished.stdout).toContain('1 cancelled')
  expect(await live()).toEqual([])
  expect((await importing(AIRBNB)).stdout).toStartWith('2 created')
})

test('blocks that each move to the nights of the next one all move in one import', async () => {
  const feed = (days: number) =>
    [
      ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:x'],
      ...[1, 3, 5, 7].flatMap((day) => [
        ...['BEGIN:VEVENT', `UID:uid-${day}`, `DTSTART;VALUE=DATE:2030010${day + days}`],
        ...[`DTEND;VALUE=DATE:203001${String(day + days + 2).padStart(2, '0')}`, 'END:VEVENT'],
      ]),
      ...['END:VCALENDAR', ''],
    ].join('\r\n')
  await importing(feed(0))
  const run = await importing(feed(2))
  expect([run.code, run.stdout]).toEqual([
    0,
    '0 created, 4 moved, 0 cancelled, 0 unchanged, 0 skipped, 0 conflicts, 0 refused\n',
  ])
})

test('a feed without events, and one without most of its events, change nothing until the agency says so', async () => {
  const feed = (...uids: number[]) =>
    [
      ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:x'],
      ...uids.flatMap((n) => [
        ...['BEGIN:VEVENT', `UID:uid-${n}`, `DTSTART;VALUE=DATE:20300${n}01`, `DTEND;VALUE=DATE:20300${n}05`],
        'END:VEVENT',
      ]),
      ...['END:VCALENDAR', ''],
    ].join('\r\n')
  await importing(feed(1, 2, 3))
  const before = await live()
  for (const [text, reason] of [
    [feed(), 'the feed has no events and would cancel 3 of 3 upcoming blocks'],
    [feed(3, 4), 'the feed would cancel 2 of 3 upcoming blocks'],
  ] as const) {
    for (const more of [[], ['--json']]) {
      const run = await importing(text, ...more)
      expect([run.code, run.stdout]).toEqual([3, ''])
      expect(run.stderr).toContain(`${reason}. Nothing was changed.`)
      expect(run.stderr).toContain('--allow-mass-cancellation')
    }
    // A dry run shows what would be cancelled, and ends as the import itself would.
    const dry = await importing(text, '--dry-run')
    expect([dry.code, dry.stdout]).toEqual([
      3,
      expect.stringMatching(/^Would be: [01] created, 0 moved, [23] cancelled/),
    ])
    expect(dry.stderr).toContain(`${reason}. Nothing was changed.`)
    expect(dry.stderr).toContain('cancel    uid-1  no longer in the feed\n')
    const json = JSON.parse((await importing(text, '--dry-run', '--json')).stdout)
    expect(json.steps).toContainEqual({ uid: 'uid-1', step: 'cancel', arrival: null, departure: null })
    expect(await live()).toEqual(before)
    expect((await importing(text, '--allow-mass-cancellation', '--dry-run')).code).toBe(0)
    expect(await live()).toEqual(before)
  }
  const allowed = await importing(feed(3, 4), '--allow-mass-cancellation')
  expect([allowed.code, allowed.stdout]).toEqual([
    0,
    '1 created, 0 moved, 2 cancelled, 1 unchanged, 0 skipped, 0 conflicts, 0 refused\n',
  ])
})

test('a feed without events is fine while the unit has no upcoming block of the channel', async () => {
  const empty = 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n'
  const run = await importing(empty)
  expect([run.code, run.stderr]).toEqual([0, ''])
  expect(run.stdout).toStartWith('0 created, 0 moved, 0 cancelled, 0 unchanged')
})

test('nights that change hands between events are freed before they are taken', async () => {
  await importing(AIRBNB)
  const dates: Record<string, string> = {
    20270502: '20270520',
    20270507: '20270522',
    20270520: '20270502',
    20270522: '20270507',
  }
  const swapped = AIRBNB.replaceAll(/202705\d\d/g, (date) => dates[date] ?? date)
  const run = await importing(swapped)
  expect(run.stdout).toContain('conflicts, 0 refused')
  // Each is in the other's way: neither can move first, and the service never sells a night twice.
  expect(run.code).toBe(3)
  const on: Record<string, string> = {
    20270502: '20270520',
    20270507: '20270522',
    20270520: '20270620',
    20270522: '20270622',
  }
  const shifted = AIRBNB.replaceAll(/202705\d\d/g, (date) => on[date] ?? date)
  expect((await importing(shifted)).code).toBe(0)
  expect(await live()).toEqual(['2027-06-20 2027-06-22', '2027-05-20 2027-05-22'])
})

test('an overlap is reported with its nights, the rest is taken over, and the exit code tells', async () => {
  const stay = { unit: 'sea-view', arrival: '2027-05-05', departure: '2027-05-06' }
  await service.ask(`/agencies/${agency.slug}/bookings`, stay)
  const run = await importing(AIRBNB)
  expect(run.code).toBe(3)
  expect(run.stdout).toStartWith('1 created')
  expect(run.stderr).toMatch(/^conflict +1418fb94e984-\S+ +overlaps nights that are already booked: 2027-05-05$/m)
  const asJson = await importing(AIRBNB, '--json')
  expect(asJson.json).toMatchObject({
    unchanged: 1,
    conflicts: 1,
    details: { conflicts: [{ reason: expect.stringContaining('2027-05-05') }] },
  })
})

test('a repeating event is refused by name, free time is skipped, the rest is taken over', async () => {
  const run = await importing(GOOGLE)
  expect(run.code).toBe(3)
  expect(run.stdout).toBe('3 created, 0 moved, 0 cancelled, 0 unchanged, 1 skipped, 0 conflicts, 1 refused\n')
  expect(run.stderr).toMatch(/refused +3abc\S+ +repeats \(RRULE\): only single events are imported/)
  expect(run.stderr).toMatch(/skipped +2abc\S+ +is marked as free time/)
})

test('channels are kept apart, and so are bookings of other sources', async () => {
  await importing(AIRBNB)
  const file = join(folder, 'vrbo.ics')
  writeFileSync(file, VRBO)
  const vrbo = ['bookings', 'import-ical', file, '--unit', 'sea-view', '--channel', 'vrbo', '--agency', agency.slug]
  expect((await cli(...vrbo)).stdout).toBe(
    '2 created, 0 moved, 0 cancelled, 1 unchanged, 0 skipped, 0 conflicts, 0 refused\n',
  )
  expect(await blocks('&source=ical:vrbo')).toHaveLength(2)
  expect(await live()).toHaveLength(4)
})

test('a dry run says the same and does nothing', async () => {
  const run = await importing(AIRBNB, '--dry-run')
  expect(run.stdout).toBe('Would be: 2 created, 0 moved, 0 cancelled, 0 unchanged, 0 skipped, 0 conflicts, 0 refused\n')
  expect(await blocks()).toEqual([])
})

test('past events are skipped, and past blocks left alone', async () => {
  const past = AIRBNB.replaceAll('202705', '202005')
  expect((await importing(past)).stdout).toContain('0 created, 0 moved, 0 cancelled, 0 unchanged, 2 skipped')
})

test('a feed is read from a URL, and our own feed by ourselves', async () => {
  const other = await service.unit(agency, { slug: 'garden' })
  await service.ask(`/agencies/${agency.slug}/bookings`, {
    unit: other.slug,
    arrival: '2090-01-01',
    departure: '2090-01-05',
  })
  const url = (await cli('units', 'calendar-url', 'garden', '--agency', agency.slug)).stdout.trim()
  const from = ['bookings', 'import-ical', url, '--unit', 'sea-view', '--channel', 'garden', '--agency', agency.slug]
  expect((await cli(...from)).code).toBe(0)
  expect(await live()).toEqual(['2090-01-01 2090-01-05'])
})

test('nothing of a feed reaches the terminal as a control character', async () => {
  const sequence = '\u001b]0;title\u0007\u001b[2J\u009b1m'
  const hostile = (...lines: string[]) =>
    ['BEGIN:VCALENDAR', 'VERSION:2.0', 'BEGIN:VEVENT', ...lines, 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n')
  const stay = ['DTSTART;VALUE=DATE:20300101', 'DTEND;VALUE=DATE:20300105']
  await importing(hostile('UID:1', ...stay))
  for (const feed of [
    hostile(`UID:${sequence}`, 'DTSTART;VALUE=DATE:20270101', 'DTEND;VALUE=DATE:20260101'),
    hostile(`UID:${sequence}`, ...stay),
    hostile(`UID:${sequence}`, ...stay, 'TRANSP:TRANSPARENT'),
    hostile('UID:2', `DTSTART;TZID="${sequence}":20300101T000000`, 'DTEND:20300105T000000'),
    hostile('UID:2', `END:${sequence}`),
    hostile('UID:2', sequence),
    hostile('UID:2').replace('VERSION:2.0', `METHOD:${sequence}`),
  ])
    for (const more of [[], ['--dry-run'], ['--json']]) {
      const run = await importing(feed, '--allow-mass-cancellation', ...more)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect([run.stdout, run.stderr].join('')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
      expect(run.stdout + run.stderr).not.toBe('')
    }
})

test('a text that is no feed, an unknown unit, a wrong channel: nothing is done', async () => {
  await importing(AIRBNB)
  const cut = await importing(AIRBNB.slice(0, -40))
  expect([cut.code, cut.stderr.startsWith('Cannot read the feed')]).toEqual([1, true])
  const cutInItsLastLine = await importing(AIRBNB.trimEnd().slice(0, -4))
  expect([cutInItsLastLine.code, cutInItsLastLine.stderr]).toEqual([1, expect.stringContaining('truncated')])
  expect(await live()).toHaveLength(2)
  const base = ['bookings', 'import-ical', join(folder, 'feed.ics'), '--agency', agency.slug]
  expect((await cli(...base, '--unit', 'nowhere', '--channel', 'x')).code).toBe(1)
  writeFileSync(join(folder, 'feed.ics'), AIRBNB)
  expect((await cli(...base, '--unit', 'nowhere', '--channel', 'x')).code).toBe(3)
  expect((await cli(...base, '--unit', 'sea-view', '--channel', 'My Channel')).code).toBe(2)
  expect((await cli(...base, '--unit', 'sea-view')).code).toBe(2)
})
