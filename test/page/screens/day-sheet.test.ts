import { expect, test } from 'bun:test'
import type { Schema } from '../../../src/page/api/schema.ts'
import { dayOf, isoOf } from '../../../src/page/format/days.ts'
import { daySheet } from '../../../src/page/screens/overview/day-sheet.ts'

type Tape = Schema<'Tape'>

const FROM = '2027-01-01'
const TODAY = '2027-02-10'

interface Given {
  readonly arrival: string
  readonly departure: string
  readonly type?: Tape['types'][number]
  readonly status?: Tape['statuses'][number]
  readonly total?: number
  readonly holdExpiresAt?: number
}

const TYPES: Tape['types'] = ['guest', 'block', 'owner_stay', 'maintenance']
const STATUSES: Tape['statuses'] = ['confirmed', 'option', 'checked_in', 'checked_out', 'draft']

function tapeOf(...stays: readonly Given[]): Tape {
  const unit = (slug: string, status: 'active' | 'archived'): Tape['units'][number] => [
    ...([slug, slug.toUpperCase(), null, null, 1, 2, 1, 0, 0] as const),
    status,
  ]
  return {
    from: FROM,
    to: '2027-03-01',
    today: TODAY,
    currency: 'EUR',
    currencyDigits: 2,
    timezone: 'Europe/Lisbon',
    cursor: '',
    types: TYPES,
    statuses: STATUSES,
    sources: ['portal'],
    units: [unit('sea', 'active'), unit('old', 'archived')],
    stays: stays.map(
      ({ arrival, departure, type = 'guest', status = 'confirmed', total = 0, holdExpiresAt }, index) => [
        ...[`bkg_${index}`, 0, dayOf(arrival) - dayOf(FROM), dayOf(departure) - dayOf(FROM)],
        ...[TYPES.indexOf(type), STATUSES.indexOf(status), 'Ana', 0, total, holdExpiresAt ?? null, null, 1, 2, 1, null],
      ],
    ) as Tape['stays'],
  }
}

test('who arrives, departs and sleeps here is told by the day', () => {
  const sheet = daySheet(
    tapeOf(
      { arrival: '2027-02-08', departure: TODAY, status: 'checked_out' },
      { arrival: TODAY, departure: '2027-02-12' },
      { arrival: '2027-02-09', departure: '2027-02-11', status: 'checked_in' },
      // Left a day early.
      { arrival: '2027-02-07', departure: '2027-02-11', status: 'checked_out' },
    ),
  )
  expect(sheet.departures.map(({ id }) => id)).toEqual(['bkg_0'])
  expect(sheet.arrivals.map(({ id }) => id)).toEqual(['bkg_1'])
  expect(sheet.inHouse.map(({ id }) => id)).toEqual(['bkg_2', 'bkg_1'])
  expect(sheet.arrivals[0]).toMatchObject({ unit: 'SEA', guest: 'Ana', guests: 3 })
})

test('only guest stays count, and no hold or draft', () => {
  const stay = { arrival: '2027-02-09', departure: '2027-02-12', total: 300 }
  const sheet = daySheet(
    tapeOf(
      { ...stay, type: 'block' },
      { ...stay, type: 'owner_stay' },
      { ...stay, type: 'maintenance' },
      { ...stay, status: 'draft' },
      { ...stay, status: 'option', holdExpiresAt: 1_900_000_000 },
    ),
  )
  expect(sheet.inHouse).toEqual([])
  expect(sheet.months.every(({ soldNights, revenue }) => soldNights === 0 && revenue === 0)).toBe(true)
})

test('a stay over the end of a month counts in each by its nights', () => {
  const { months } = daySheet(tapeOf({ arrival: '2027-01-29', departure: '2027-02-02', total: 40_000 }))
  expect(months.map(({ start }) => isoOf(start))).toEqual(['2027-01-01', '2027-02-01'])
  expect(months.map(({ soldNights }) => soldNights)).toEqual([3, 1])
  expect(months.map(({ revenue }) => revenue)).toEqual([30_000, 10_000])
  // The archived unit has no nights to sell.
  expect(months.map(({ nights }) => nights)).toEqual([31, 28])
})

test('the hold that lapses first comes first', () => {
  const stay = { arrival: '2027-02-19', departure: '2027-02-22', status: 'option' } as const
  const { holds } = daySheet(
    tapeOf({ ...stay, holdExpiresAt: 1_900_000_002 }, { ...stay, holdExpiresAt: 1_900_000_001 }),
  )
  expect(holds.map(({ id }) => id)).toEqual(['bkg_1', 'bkg_0'])
  expect(holds[0]?.holdExpiresAt).toBe(1_900_000_001_000)
})
