import { describe, expect, test } from 'bun:test'
import type { UnitEvent } from '../../../src/core/domain/event.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { decodeEntry, encodeEntry } from '../../../src/core/journal/entry-codec.ts'
import { decodeSnapshot, encodeSnapshot, SNAPSHOT_FORMAT, stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { night, sampleBooking, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const UNIT_A = sampleId('unt', 'a')
const UNIT_B = sampleId('unt', 'b')

const SEASON = { name: 'Été', from: night('2027-06-01'), to: night('2027-09-01'), nightlyPrice: 1, minStay: null }
const RATES = { seasons: [SEASON], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
const BEFORE = sampleBooking({ status: 'option', holdExpiresAt: 1_800_000_000_123, sourceRef: 'ref "1"\n' })
const EVENTS: UnitEvent[] = [
  { kind: 'unit_set', unit: sampleUnit({ name: 'Sea “View” \u{1f3d6}', rules: sampleRules({ rates: RATES }) }) },
  { kind: 'booking_created', after: BEFORE },
  {
    kind: 'booking_changed',
    before: BEFORE,
    after: { ...BEFORE, unitId: UNIT_B, expectedUntil: night('2027-03-09') },
  },
  {
    kind: 'booking_cancelled',
    before: BEFORE,
    after: { ...BEFORE, status: 'cancelled', cancelledAt: 7, cancelReason: 'x' },
  },
]

describe('a journal entry', () => {
  for (const event of EVENTS) {
    test(`of ${event.kind} comes back as it was`, () => {
      expect(decodeEntry(encodeEntry(event, 7))).toEqual(event)
    })
  }

  test('names both units when a booking moves, and one otherwise', () => {
    const named = EVENTS.map((event) => encodeEntry(event, 7)).map(({ unitId, otherUnitId }) => [unitId, otherUnitId])
    expect(named).toEqual([
      [UNIT_A, null],
      [UNIT_A, null],
      [UNIT_B, UNIT_A],
      [UNIT_A, null],
    ])
  })

  for (const [what, change] of Object.entries({
    payload: { payload: encodeEntry({ kind: 'booking_created', after: sampleBooking({ adults: 3 }) }, 7).payload },
    'sequence number': { seq: 8 },
    unit: { unitId: UNIT_B },
    'other unit': { otherUnitId: UNIT_B },
    kind: { kind: 'unit_set' },
    checksum: { checksum: '0000000000000000' },
  })) {
    test(`with another ${what} is not read`, () => {
      const entry = { ...encodeEntry({ kind: 'booking_created', after: BEFORE }, 7), ...change }
      expect(() => decodeEntry(entry)).toThrow(`Cannot read journal entry ${entry.seq}: its checksum does not match`)
    })
  }
})

describe('a snapshot (S1)', () => {
  const state = UnitState.empty(UNIT_A)
  for (const [i, event] of EVENTS.slice(0, 2).entries()) state.apply(event, i + 1)
  const snapshot = encodeSnapshot(sampleId('agc', 'a'), state)

  test('comes back as the same state, derived layer and all', () => {
    const decoded = decodeSnapshot(snapshot)
    expect(decoded.defect).toBeNull()
    expect(stateHash(decoded.state ?? UnitState.empty('none'))).toBe(stateHash(state))
    expect(decoded.state?.cleaning.equals(state.cleaning)).toBe(true)
  })

  for (const [what, change, defect] of [
    [
      'of another format',
      { format: SNAPSHOT_FORMAT + 1 },
      `its format ${SNAPSHOT_FORMAT + 1} is not ${SNAPSHOT_FORMAT}`,
    ],
    ['with a flipped byte', { state: snapshot.state.replace('2', '3') }, 'its hash does not match'],
    ['of another unit', { unitId: UNIT_B }, 'its hash does not match'],
    ['filed under another sequence number', { seq: 9 }, 'its sequence number does not match'],
  ] as const) {
    test(`${what} is skipped, and says why`, () => {
      expect(decodeSnapshot({ ...snapshot, ...change })).toEqual({ state: null, defect })
    })
  }
})
