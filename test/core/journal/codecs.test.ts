import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  BOOKING_STATUSES,
  BOOKING_TYPES,
  type Booking,
  isUnitSet,
  type LoggedEvent,
  PRICINGS,
  type UnitEvent,
} from '../../../src/core/domain/booking.ts'
import { addNights } from '../../../src/core/domain/night.ts'
import type { Restrictions } from '../../../src/core/domain/restrictions.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { BOOKING_FIELDS } from '../../../src/core/journal/booking-codec.ts'
import {
  decodeAnyEntry,
  decodeEntry,
  type EncodedEntry,
  type EntryPlace,
  encodeEntry,
  envelopeIn,
  partIn,
} from '../../../src/core/journal/entry-codec.ts'
import { CorruptLedgerError } from '../../../src/core/journal/journal-error.ts'
import type { Entry } from '../../../src/core/journal/record.ts'
import { NO_LINK } from '../../../src/core/journal/shard.ts'
import { decodeSnapshot, encodeSnapshot, SNAPSHOT_FORMAT, stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { ENVELOPE, entryOf } from '../../support/journal-records.ts'
import { AGENCY, CALLER, night, sampleBooking, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const UNIT_A = sampleId('unt', 'a')
const UNIT_B = sampleId('unt', 'b')

const SEASON = { name: 'Été', from: night('2027-06-01'), to: night('2027-09-01'), nightlyPrice: 1, minStay: null }
const RATES = { seasons: [SEASON], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
const RESTRICTIONS: Restrictions = {
  rows: [
    { from: night('2027-06-01'), to: null, weekdays: [1, 7], rule: 'closedToArrival', value: true },
    { from: null, to: night('2027-06-01'), weekdays: null, rule: 'stopSell', value: true },
  ],
  advanceNoticeHours: 24,
  bookingWindowDays: null,
}
const BEFORE = sampleBooking({ status: 'option', holdExpiresAt: 1_800_000_000_123, sourceRef: 'ref "1"\n' })
const EVENTS: UnitEvent[] = [
  {
    kind: 'unit_set',
    unit: sampleUnit({
      name: 'Sea “View” \u{1f3d6}',
      rules: sampleRules({ rates: RATES, restrictions: RESTRICTIONS }),
    }),
  },
  { kind: 'booking_created', after: BEFORE },
  {
    kind: 'booking_changed',
    before: BEFORE,
    after: { ...BEFORE, unitId: UNIT_B, expectedUntil: night('2027-03-09') },
  },
  { kind: 'booking_changed', before: BEFORE, after: { ...BEFORE, departure: night('2027-03-09') }, pricing: 'keep' },
  {
    kind: 'booking_cancelled',
    before: BEFORE,
    after: { ...BEFORE, status: 'cancelled', holdExpiresAt: null, cancelledAt: 7, cancelReason: 'x' },
  },
]

const PLACE: EntryPlace = {
  shard: 3,
  seq: 7,
  month: '2027-01-01',
  previousLink: NO_LINK,
  chainKey: new Uint8Array(32),
}

function encode(event: UnitEvent, change: Partial<Entry> = {}): EncodedEntry {
  return encodeEntry(AGENCY.id, entryOf(event, change), PLACE)
}

/** What the journal keeps of a booking. */
function factsOf({ sourceRef: _, cancelReason: __, ...facts }: Booking) {
  return facts
}

function loggedOf(event: UnitEvent): LoggedEvent {
  if (isUnitSet(event)) return event
  if (event.kind === 'booking_created') return { ...event, after: factsOf(event.after) }
  return { ...event, before: factsOf(event.before), after: factsOf(event.after) }
}

const texts = fc.string({ unit: 'binary' })
const instants = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) })
const nights = fc.nat(30_000).map((n) => addNights(night('2000-01-01'), n))
const bookings: fc.Arbitrary<Booking> = fc.record({
  id: fc.constant(BEFORE.id),
  unitId: fc.constantFrom(UNIT_A, UNIT_B),
  type: fc.constantFrom(...BOOKING_TYPES),
  status: fc.constantFrom(...BOOKING_STATUSES),
  source: texts,
  sourceRef: fc.option(texts),
  arrival: nights,
  departure: nights,
  adults: fc.nat(),
  children: fc.nat(),
  extraBed: fc.boolean(),
  totalAmount: fc.maxSafeNat(),
  holdExpiresAt: fc.option(instants),
  expectedUntil: fc.option(nights),
  cancelledAt: fc.option(instants),
  cancelReason: fc.option(texts),
  createdAt: instants,
  updatedAt: instants,
  version: fc.integer({ min: 1 }),
  groupId: fc.option(fc.constant(sampleId('grp', 'a'))),
})
const events: fc.Arbitrary<UnitEvent> = fc.oneof(
  fc.record({ kind: fc.constant('booking_created' as const), after: bookings }),
  fc.record({
    kind: fc.constantFrom('booking_changed' as const, 'booking_cancelled' as const),
    before: bookings,
    after: bookings,
  }),
  fc.record({
    kind: fc.constant('booking_changed' as const),
    before: bookings,
    after: bookings,
    pricing: fc.constantFrom(...PRICINGS),
  }),
)

describe('a journal entry', () => {
  for (const event of EVENTS) {
    test(`of ${event.kind} comes back as it was, without the free texts`, () => {
      expect(decodeEntry(encode(event))).toStrictEqual(loggedOf(event))
    })
  }

  test('of an erased guest names the id and nothing else, belongs to no unit, is announced to nobody, and is none of a unit', () => {
    const event = { kind: 'guest_erased', guestId: sampleId('gst', 'a') } as const
    const encoded = encodeEntry(AGENCY.id, { ...entryOf(EVENTS[0] as UnitEvent), event }, PLACE)
    const { payload, unitId, otherUnitId, bookingId, isAnnounced, booking } = encoded
    expect(payload).toBe(JSON.stringify({ guestId: event.guestId }))
    const nothing = { unitId: null, otherUnitId: null, bookingId: null, isAnnounced: false, booking: null }
    expect({ unitId, otherUnitId, bookingId, isAnnounced, booking }).toEqual(nothing)
    expect(decodeAnyEntry(encoded)).toStrictEqual(event)
    expect(() => decodeEntry(encoded)).toThrow('as that of a unit')
    expect(() => decodeAnyEntry({ ...encoded, unitId: UNIT_A })).toThrow(CorruptLedgerError)
  })

  test('comes back as it was, whatever is different before and after', () => {
    const property = fc.property(events, (event) => {
      expect(decodeEntry(encode(event))).toStrictEqual(loggedOf(event))
    })
    fc.assert(property, { numRuns: 2_000 })
  })

  test('says of a booking every field but the free texts that has a value, in the order of the declaration', () => {
    const { id: _, unitId: __, sourceRef: ___, cancelReason: ____, ...logged } = BOOKING_FIELDS
    const property = fc.property(bookings, (booking) => {
      const { booking: row, payload } = encode({ kind: 'booking_changed', before: BEFORE, after: booking })
      const said = Object.keys(logged).map((name) => [name, row?.[name as keyof typeof logged]] as const)
      const after = Object.fromEntries(said.filter(([, value]) => value !== null))
      expect(JSON.stringify(JSON.parse(payload).after)).toBe(JSON.stringify(after))
      const { createdAt, ...others } = after
      const created = encode({ kind: 'booking_created', after: booking }).payload
      const expected = createdAt === after['updatedAt'] ? others : { createdAt, ...others }
      expect(created).toBe(JSON.stringify({ after: expected, envelope: ENVELOPE }))
    })
    fc.assert(property)
  })

  test('from before a move said how it was priced is read as it was: without saying it', () => {
    const { payload } = encode({ kind: 'booking_changed', before: BEFORE, after: { ...BEFORE, version: 2 } })
    expect(payload).not.toContain('pricing')
  })

  test('says last how a move was priced, where the audit trail looks for it, and nothing else may stand there', () => {
    const moved = { kind: 'booking_changed', before: BEFORE, after: { ...BEFORE, unitId: UNIT_B } } as const
    const encoded = encode({ ...moved, pricing: 'keep' })
    expect(encoded.payload).toEndWith(',"pricing":"keep"}')
    const payload = encoded.payload.replace('"keep"', '"free"')
    expect(() => decodeEntry(withChecksum({ ...encoded, payload }))).toThrow(
      'its pricing free is not known to this version',
    )
  })

  test('J9: says which entry of its record it is, unless it is the only one', () => {
    const entry = entryOf({ kind: 'booking_created', after: sampleBooking({ source: '"part":[7,8]' }) })
    const encoded = encodeEntry(AGENCY.id, entry, { ...PLACE, part: [2, 3] })
    expect(partIn(encoded)).toEqual([2, 3])
    expect(decodeEntry(encoded)).toStrictEqual(loggedOf(entry.event as UnitEvent))
    const alone = encodeEntry(AGENCY.id, entry, PLACE)
    expect(partIn(alone)).toBeNull()
    expect(alone.payload).toBe(encoded.payload.replace(',"part":[2,3]', ''))
  })

  test('of a booking names it', () => {
    const entry = withChecksum({ ...encode({ kind: 'booking_created', after: BEFORE }), bookingId: null })
    expect(() => decodeEntry(entry)).toThrow('Cannot read journal entry 7: it names no booking')
  })

  test('names neither the reference nor the reason of a cancellation', () => {
    const free = { sourceRef: 'REF-OF-ANA', cancelReason: 'ANA IS ILL' }
    const before = sampleBooking({ sourceRef: 'OLD REF', cancelReason: 'OLD REASON' })
    const after = sampleBooking({ ...free, status: 'cancelled', version: 2 })
    for (const event of [
      { kind: 'booking_created' as const, after },
      { kind: 'booking_changed' as const, before, after },
      { kind: 'booking_cancelled' as const, before, after },
    ]) {
      const { booking, ...logged } = encode(event)
      expect(booking).toMatchObject(free)
      expect(JSON.stringify(logged)).not.toMatch(/REF|ANA|REASON|sourceRef|cancelReason/)
    }
  })

  test('says who made the change, and what the webhook event says beyond the booking', () => {
    const entry = entryOf({ kind: 'booking_created', after: BEFORE })
    const { actor, route, requestId } = CALLER
    const encoded = encodeEntry(AGENCY.id, entry, PLACE)
    expect(encoded).toMatchObject({ id: entry.id, at: entry.at, agencyId: AGENCY.id, actor, route, requestId })
    expect(envelopeIn(encoded)).toEqual(ENVELOPE)
  })

  test('of a unit has no envelope to read', () => {
    const unit = encode({ kind: 'unit_set', unit: sampleUnit() })
    expect(() => envelopeIn(unit)).toThrow('Cannot read journal entry 7: it has no envelope')
  })

  test('of a unit has its registration number; without one, its bytes are as before units had one', () => {
    const numbered = sampleUnit({ registrationNumber: '00123/AL' })
    expect(decodeEntry(encode({ kind: 'unit_set', unit: numbered }))).toStrictEqual({
      kind: 'unit_set',
      unit: numbered,
    })
    const { registrationNumber: _, ...before } = sampleUnit()
    const old = withChecksum({
      ...encode({ kind: 'unit_set', unit: numbered }),
      payload: JSON.stringify({ unit: before }),
    })
    expect(decodeEntry(old)).toStrictEqual({ kind: 'unit_set', unit: { ...before, registrationNumber: null } })
    expect(encode({ kind: 'unit_set', unit: sampleUnit() }).payload).toBe(old.payload)
  })

  test('of a booking is not written without one', () => {
    const event = { kind: 'booking_created' as const, after: BEFORE }
    expect(() => encode(event, { envelope: null })).toThrow('Cannot encode an entry: its envelope is missing')
  })

  test('is announced when it fires a webhook event: not for a unit, nor for a new lifetime of a hold', () => {
    const held: UnitEvent = { kind: 'booking_changed', before: BEFORE, after: { ...BEFORE, holdExpiresAt: 9 } }
    const moved: UnitEvent = {
      kind: 'booking_changed',
      before: BEFORE,
      after: { ...BEFORE, arrival: night('2027-02-27') },
    }
    const announced = [...EVENTS, held, moved].map((event) => encode(event).isAnnounced)
    expect(announced).toEqual([false, true, true, true, true, false, true])
  })

  test('names both units when a booking moves, and one otherwise', () => {
    const named = EVENTS.map((event) => encode(event)).map(({ unitId, otherUnitId }) => [unitId, otherUnitId])
    expect(named).toEqual([
      [UNIT_A, null],
      [UNIT_A, null],
      [UNIT_B, UNIT_A],
      [UNIT_A, null],
      [UNIT_A, null],
    ])
  })

  for (const [what, change] of Object.entries({
    payload: { payload: encode({ kind: 'booking_created', after: sampleBooking({ adults: 3 }) }).payload },
    'sequence number': { seq: 8 },
    unit: { unitId: UNIT_B },
    'other unit': { otherUnitId: UNIT_B },
    booking: { bookingId: sampleId('bkg', 'b') },
    kind: { kind: 'unit_set' },
    checksum: { checksum: '0000000000000000' },
  })) {
    test(`with another ${what} is not read`, () => {
      const entry = { ...encode({ kind: 'booking_created', after: BEFORE }), ...change }
      expect(() => decodeEntry(entry)).toThrow(`Cannot read journal entry ${entry.seq}: its checksum does not match`)
    })
  }
})

/** The entry with the checksum of what it says: only an entry that was written so has it. */
function withChecksum<E extends Parameters<typeof decodeEntry>[0]>(entry: E): E {
  const { seq, unitId, otherUnitId, bookingId, kind, payload } = entry
  const covered = `${seq}|${unitId}|${otherUnitId ?? ''}|${bookingId ?? ''}|${kind}|${payload}`
  return { ...entry, checksum: BigInt.asIntN(64, Bun.hash.xxHash64(covered)).toString() }
}

describe('a snapshot (S1)', () => {
  test('is the same whichever of two guests was expected to stay longer first', () => {
    const stays = ['a', 'b'].map((id, i) =>
      sampleBooking({
        id: sampleId('bkg', id),
        unitId: UNIT_A,
        status: 'checked_in',
        arrival: night(`2027-0${i + 3}-01`),
        departure: night(`2027-0${i + 3}-03`),
      }),
    )
    const states = [stays, stays.toReversed()].map((inOrder) => {
      const of = UnitState.empty(UNIT_A)
      let seq = 0
      for (const after of stays) of.apply({ kind: 'booking_created', after }, ++seq)
      for (const before of inOrder) {
        const after = { ...before, expectedUntil: addNights(before.departure, 2), version: 2 }
        of.apply({ kind: 'booking_changed', before, after }, ++seq)
      }
      return stateHash(of)
    })
    expect(new Set(states).size).toBe(1)
  })

  const state = UnitState.empty(UNIT_A)
  for (const [i, event] of EVENTS.slice(0, 2).entries()) state.apply(event, i + 1)
  const snapshot = encodeSnapshot(AGENCY.id, state)

  test('comes back as the same state, derived layer and all', () => {
    const decoded = decodeSnapshot(snapshot)
    expect(decoded.defect).toBeNull()
    expect(stateHash(decoded.state ?? UnitState.empty('none'))).toBe(stateHash(state))
    expect(decoded.state?.cleaning.equals(state.cleaning)).toBe(true)
    expect(decoded.state?.rules).toEqual(state.rules)
    expect(decoded.state?.closed.equals(state.closed)).toBe(true)
    expect(state.closed.equals(state.cleaning)).toBe(false)
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
