import { describe, expect, test } from 'bun:test'
import type { UnitEvent } from '../../../src/core/domain/event.ts'
import { decodeOldEvent, encodeOldEvent } from '../../../src/postgres/upgrade/old-entries.ts'
import { night, sampleBooking, sampleId, sampleUnit } from '../../support/samples.ts'

const BEFORE = sampleBooking({ sourceRef: 'Ref "1"', holdExpiresAt: Date.UTC(2027, 0, 2), status: 'option' })
const AFTER = sampleBooking({ ...BEFORE, unitId: sampleId('unt', 'b'), expectedUntil: night('2027-03-09'), version: 2 })
const EVENTS: readonly UnitEvent[] = [
  { kind: 'unit_set', unit: sampleUnit() },
  { kind: 'booking_created', after: BEFORE },
  { kind: 'booking_changed', before: BEFORE, after: AFTER },
  {
    kind: 'booking_cancelled',
    before: BEFORE,
    after: { ...AFTER, status: 'cancelled', cancelReason: 'ill', cancelledAt: 5 },
  },
]

describe('an entry of the layout before shards', () => {
  test.each([...EVENTS])('says after it is read what was written: $kind', (event) => {
    expect(decodeOldEvent(encodeOldEvent(event, 7))).toEqual(event)
  })

  // A row of the previous version, as it is in a database.
  test('is read and written with the bytes of the previous version', () => {
    const payload =
      '{"after":{"id":"bkg_00000000000000000000000000000001","unitId":"unt_00000000000000000000000000000002","type":"guest",' +
      '"status":"confirmed","source":"partner","sourceRef":"R-1","arrival":"2027-03-01","departure":"2027-03-05","adults":2,' +
      '"children":0,"extraBed":false,"totalAmount":45000,"holdExpiresAt":null,"expectedUntil":null,"cancelledAt":null,' +
      '"cancelReason":null,"createdAt":"2027-01-01T00:00:00.000Z","updatedAt":"2027-01-01T00:00:00.000Z","version":1}}'
    const entry = {
      seq: 12,
      unitId: 'unt_00000000000000000000000000000002',
      otherUnitId: null,
      kind: 'booking_created',
      payload,
      checksum: '82cccd587db562dd',
    }
    expect(encodeOldEvent(decodeOldEvent(entry), 12)).toEqual(entry)
  })

  test('that is not as it was written is refused with its number', () => {
    const entry = encodeOldEvent({ kind: 'booking_created', after: BEFORE }, 7)
    for (const damaged of [
      { ...entry, seq: 8 },
      { ...entry, payload: `${entry.payload} ` },
      { ...entry, checksum: '0' },
    ])
      expect(() => decodeOldEvent(damaged)).toThrow(
        `Cannot read journal entry ${damaged.seq}: its checksum does not match`,
      )
  })
})
