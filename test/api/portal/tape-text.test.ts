import { expect, test } from 'bun:test'
import { tapeText } from '../../../src/api/portal/tape-text.ts'
import type { TapeStay } from '../../../src/core/bookings/booking-lists.ts'
import { Inventory } from '../../../src/core/catalogue/agency.ts'
import { currencyDigits } from '../../../src/core/domain/money.ts'
import { NO_RESTRICTIONS, RESTRICTIONS_MAX, type Restriction } from '../../../src/core/domain/restrictions.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { Slices } from '../../../src/lib/slices.ts'
import { AGENCY, night, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const unit = sampleUnit({ id: sampleId('unt', 'a') })
const stayOf = (n: number): TapeStay => ({
  id: sampleId('bkg', n),
  unitId: unit.id,
  arrival: n,
  departure: n + 1,
  type: 'guest',
  status: 'confirmed',
  guest: `Guest ${n}`,
  source: n % 2 === 0 ? 'portal' : 'phone',
  sourceRef: null,
  total: n,
  holdExpiresAt: null,
  expectedUntil: null,
  version: 1,
  adults: 2,
  children: 0,
  groupId: null,
})
const shown = (stays: readonly TapeStay[]) => ({
  agency: AGENCY,
  inventory: new Inventory([unit], []),
  stays,
  cursor: 'c',
  from: '2027-03-01',
  to: '2027-04-01',
  today: '2027-03-02',
})

test('10,000 stays are written in slices of 1,000, and other requests are answered in between', async () => {
  let pauses = 0
  const stays = Array.from({ length: 10_000 }, (_, n) => stayOf(n))
  const slices = new Slices(1_000, () => Promise.resolve(void pauses++))
  const written = JSON.parse(await tapeText(shown(stays), slices))
  expect(pauses).toBe(10)
  expect(written.stays).toHaveLength(10_000)
  expect(written.stays.map(([id]: string[]) => id)).toEqual(stays.map(({ id }) => id))
  expect(written.sources).toEqual(['portal', 'phone'])
})

test('the restrictions of a unit with as many as it may have are a slice of their own', async () => {
  let pauses = 0
  const row = { from: null, to: null, weekdays: null, rule: 'stopSell', value: true } as const
  const rows = Array.from({ length: RESTRICTIONS_MAX }, () => row)
  const restricted = Array.from({ length: 5 }, (_, i) =>
    sampleUnit({ id: sampleId('unt', i), rules: sampleRules({ restrictions: { ...NO_RESTRICTIONS, rows } }) }),
  )
  const slices = new Slices(200, () => Promise.resolve(void pauses++))
  await tapeText({ ...shown([]), inventory: new Inventory(restricted, []) }, slices)
  expect(pauses).toBe(5)
})

test('a stay of a unit that this process does not know of is left out, wherever it stands', async () => {
  const unknown = { ...stayOf(0), unitId: sampleId('unt', 'x') }
  const written = async (stays: readonly TapeStay[]) => JSON.parse(await tapeText(shown(stays))).stays.length
  expect(await written([unknown])).toBe(0)
  expect(await written([unknown, stayOf(1), unknown, stayOf(2)])).toBe(2)
  expect(await written([...Array.from({ length: 1_000 }, () => unknown), stayOf(1)])).toBe(1)
})

test('stays that were booked together are listed by index; without any, the answer has no such member', async () => {
  const written = async (stays: readonly TapeStay[]) => JSON.parse(await tapeText(shown(stays)))
  const [groupId, otherId] = [sampleId('grp', 'a'), sampleId('grp', 'b')]
  const unknown = { ...stayOf(0), unitId: sampleId('unt', 'x'), groupId }
  const stays = [
    { ...stayOf(1), groupId },
    unknown,
    stayOf(2),
    { ...stayOf(3), groupId: otherId },
    { ...stayOf(4), groupId },
  ]
  expect((await written(stays)).groups).toEqual([
    [groupId, [0, 3]],
    [otherId, [2]],
  ])
  expect(await written([stayOf(1)])).not.toHaveProperty('groups')
})

test('only units with closed days in the window are listed with them; without any, the answer has no such member', async () => {
  const closed = (rows: readonly Restriction[]) =>
    sampleUnit({ id: sampleId('unt', 'b'), rules: { ...sampleRules(), restrictions: { ...NO_RESTRICTIONS, rows } } })
  const written = async (...units: Unit[]) =>
    JSON.parse(await tapeText({ ...shown([]), inventory: new Inventory(units, []) }))
  const row = { from: night('2027-03-02'), to: night('2027-03-04'), weekdays: null }
  const rows: Restriction[] = [
    { ...row, rule: 'closedToArrival', value: true },
    { ...row, from: night('2027-03-03'), rule: 'closedToDeparture', value: true },
    { ...row, to: night('2027-03-06'), rule: 'stopSell', value: true },
    { ...row, rule: 'minStayThrough', value: 366 },
  ]
  expect((await written(unit, closed(rows))).restrictions).toEqual([[1, '05744']])
  expect(await written(unit, closed(rows.slice(3)))).not.toHaveProperty('restrictions')
})

test.each([
  ['EUR', 2],
  ['HUF', 2],
  ['IDR', 2],
  ['JPY', 0],
  ['KWD', 3],
  ['CLF', 4],
] as const)("the minor unit of %s has ISO 4217's %i digits", (currency, digits) => {
  expect(currencyDigits(currency)).toBe(digits)
})
