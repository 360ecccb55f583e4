import { describe, expect, test } from 'bun:test'
import {
  type AuditChange,
  actorWords,
  changeAction,
  changedMembers,
  historyLines,
} from '../../../src/page/history/history-words.ts'

type Stay = NonNullable<AuditChange['after']>

const STAY: Stay = {
  unitSlug: 'sea-view',
  unitName: 'Sea View',
  type: 'guest',
  status: 'confirmed',
  arrival: '2027-03-01',
  departure: '2027-03-05',
  totalAmount: 50_000,
  holdExpiresAt: null,
  expectedUntil: null,
}
const HOLD: Stay = { ...STAY, status: 'option', holdExpiresAt: '2027-02-01T12:00:00.000Z' }
const CONTEXT = { currency: { currency: 'EUR', digits: 2 }, timezone: 'Europe/Lisbon' }

const change = (kind: AuditChange['kind'], before: Stay | null, after: Stay): AuditChange => ({
  kind,
  before,
  after,
  unitSlug: after.unitSlug,
  unitName: after.unitName,
})
const changed = (before: Stay, after: Partial<Stay>) => change('booking_changed', before, { ...before, ...after })

describe('what was done to a booking', () => {
  test.each<[string, AuditChange]>([
    ['booked it', change('booking_created', null, STAY)],
    ['put the nights on hold', change('booking_created', null, HOLD)],
    ['added it: maintenance', change('booking_created', null, { ...STAY, type: 'maintenance' })],
    ['confirmed it', changed(HOLD, { status: 'confirmed', holdExpiresAt: null })],
    ['moved it to another unit', changed(STAY, { unitSlug: 'garden', unitName: 'Garden', arrival: '2027-03-02' })],
    ['changed its dates', changed(STAY, { departure: '2027-03-06' })],
    ['changed when the hold expires', changed(HOLD, { holdExpiresAt: '2027-02-03T12:00:00.000Z' })],
    ['noted an expected extension', changed(STAY, { expectedUntil: '2027-03-09' })],
    ['no longer expects an extension', changed({ ...STAY, expectedUntil: '2027-03-09' }, { expectedUntil: null })],
    ['released the hold', change('booking_cancelled', HOLD, { ...HOLD, status: 'cancelled', holdExpiresAt: null })],
    ['cancelled it', change('booking_cancelled', STAY, { ...STAY, status: 'cancelled' })],
  ])('%s', (words, reported) => {
    expect(changeAction(reported)).toBe(words)
  })
})

test('only what differs is told, and nothing that merely ends with the status', () => {
  const after = { ...HOLD, status: 'confirmed', holdExpiresAt: null, totalAmount: 60_000 } as const
  expect(changedMembers({ before: HOLD, after }, CONTEXT)).toMatchObject([
    { label: 'Status', before: 'Hold', after: 'Confirmed' },
    { label: 'Price', after: expect.stringContaining('600.00') },
  ])
})

test('the history from the journal is shown newest first, each change as the difference from the previous one', () => {
  const { unitSlug, arrival, departure, totalAmount } = STAY
  const entry = { unitSlug, arrival, departure, totalAmount, status: 'option', at: '2027-01-01T10:00:00.000Z' } as const
  const history = [
    { ...entry, version: 1, event: 'booking.created', by: 'partner' },
    { ...entry, version: 3, event: 'booking.updated', by: 'agency', unitSlug: 'garden', totalAmount: 60_000 },
    { ...entry, version: 4, event: 'booking.cancelled', by: 'system', status: 'cancelled', unitSlug: 'garden' },
  ] as const
  const told = (kept: (typeof history)[number][]) =>
    historyLines(kept, { type: 'guest', nameOf: (slug) => slug.toUpperCase() }).map((line) => [
      actorWords(line).name,
      changeAction(line.change as AuditChange),
      changedMembers(line.change as AuditChange, CONTEXT).map(({ label, before }) => [label, before]),
    ])
  expect(told([...history])).toEqual([
    ['Timer', 'released the hold', expect.anything()],
    [
      'The agency',
      'moved it to another unit',
      [
        ['Unit', 'SEA-VIEW'],
        ['Price', expect.stringContaining('500.00')],
      ],
    ],
    [
      'A partner',
      'put the nights on hold',
      [
        ['Unit', null],
        ['Stay', null],
        ['Price', null],
      ],
    ],
  ])
  // Its first change is no longer kept.
  expect(told([...history.slice(1)]).at(-1)).toEqual(['The agency', 'changed it', expect.anything()])
})
