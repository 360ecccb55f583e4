import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { FoundOutcome } from '../../../src/core/bookings/booking-turns.ts'
import { UnitsAsOf } from '../../../src/core/bookings/units-as-of.ts'
import { type Booking, type BookingStatus, TRANSITIONS } from '../../../src/core/domain/booking.ts'
import { addNights, formatNight, type Night } from '../../../src/core/domain/night.ts'
import { unionNightsIn } from '../../../src/core/domain/night-bitmap.ts'
import type { Rejection } from '../../../src/core/domain/night-guard.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { decodeEntry } from '../../../src/core/journal/entry-codec.ts'
import type { Caller } from '../../../src/core/journal/record.ts'
import { recoverUnit } from '../../../src/core/journal/recovery.ts'
import { encodeSnapshot, stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { rounds } from '../../support/long-run.ts'
import { MemoryAsOfRows } from '../../support/memory-as-of-rows.ts'
import { MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { MemoryLedger } from '../../support/memory-ledger.ts'
import { AGENCY, night, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

/** A naive model of a unit, without bitmaps: rules, and a list of bookings. */
interface NaiveUnit {
  unit: Unit
  bookings: Booking[]
}

const FIRST = night('2027-03-01')
const UNIT_IDS = [sampleId('unt', 'a'), sampleId('unt', 'b')] as const
const CALLER: Caller = { actor: { kind: 'portal', id: null }, route: 'model', requestId: null }

const stays = fc.record({ from: fc.nat(30), nights: fc.integer({ min: 1, max: 7 }) })
const commands = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('book' as const),
      unit: fc.nat(1),
      stay: stays,
      type: fc.constantFrom('guest' as const, 'guest' as const, 'owner_stay' as const, 'block' as const),
      status: fc.constantFrom<BookingStatus>('confirmed', 'option', 'draft', 'checked_in'),
      enforcement: fc.constantFrom('partner' as const, 'agency' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), pick: fc.nat(50) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('status' as const),
      pick: fc.nat(50),
      status: fc.constantFrom<BookingStatus>('option', 'confirmed', 'checked_in', 'checked_out', 'cancelled'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restay' as const), pick: fc.nat(50), stay: stays }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), pick: fc.nat(50), unit: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('extend' as const), pick: fc.nat(50), by: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('rules' as const),
      unit: fc.nat(1),
      turnoverNights: fc.nat(3),
      minStay: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('passivate' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
)

type Command = typeof commands extends fc.Arbitrary<infer C> ? C : never

function nightsBetween(from: Night, to: Night): Night[] {
  const nights: Night[] = []
  for (let n = from; n < to; n = addNights(n, 1)) nights.push(n)
  return nights
}

function live({ bookings }: NaiveUnit): Booking[] {
  return bookings.filter((booking) => booking.status !== 'cancelled')
}

function takenNights(of: NaiveUnit, except?: Booking): Set<Night> {
  return new Set(live(of).flatMap((b) => (b.id === except?.id ? [] : nightsBetween(b.arrival, b.departure))))
}

function cleaningNights(of: NaiveUnit): Set<Night> {
  const cleaned = live(of).filter(({ type }) => type === 'guest' || type === 'owner_stay')
  const turnover = of.unit.rules.turnoverNights
  return new Set(cleaned.flatMap(({ departure }) => nightsBetween(departure, addNights(departure, turnover))))
}

/** The code of the first rule that refuses a new stay, determined night by night. */
function refusal(
  of: NaiveUnit,
  arrival: Night,
  departure: Night,
  enforcement: 'partner' | 'agency',
): Rejection['code'] | null {
  const wanted = nightsBetween(arrival, departure)
  if (enforcement === 'partner') {
    if (wanted.length < of.unit.rules.minStay) return 'MIN_STAY'
    if (cleaningNights(of).has(arrival)) return 'TURNOVER_BLOCK_CONFLICT'
    const expected = live(of).filter((b) => b.status === 'checked_in' && b.expectedUntil !== null)
    const extended = new Set(expected.flatMap((b) => nightsBetween(b.departure, b.expectedUntil as Night)))
    if (wanted.some((n) => extended.has(n))) return 'EXPECTED_EXTENSION_CONFLICT'
  }
  const taken = takenNights(of)
  return wanted.some((n) => taken.has(n)) ? 'BOOKING_CONFLICT' : null
}

class Model {
  readonly units: NaiveUnit[] = UNIT_IDS.map((id, i) => ({
    unit: sampleUnit({ id, slug: `unit-${i}`, rules: sampleRules({ turnoverNights: i }) }),
    bookings: [],
  }))

  unit(i: number): NaiveUnit {
    return this.units[i] as NaiveUnit
  }

  pick(n: number): { of: NaiveUnit; booking: Booking } | null {
    const all = this.units.flatMap((of) => of.bookings.map((booking) => ({ of, booking })))
    return all.length === 0 ? null : (all[n % all.length] ?? null)
  }

  /** Applies the answer of the booking commands to the model, after the answer has been checked. */
  keep(booking: Booking): void {
    for (const of of this.units) of.bookings = of.bookings.filter(({ id }) => id !== booking.id)
    this.units.find(({ unit }) => unit.id === booking.unitId)?.bookings.push(booking)
  }
}

function expectRefusal(outcome: FoundOutcome, code: Rejection['code'] | null): void {
  expect(outcome.kind === 'rejected' ? outcome.rejection.code : null).toBe(code)
}

async function run(ledger: MemoryLedger, model: Model, command: Command): Promise<void> {
  const { commands, clock } = ledger
  switch (command.kind) {
    case 'book': {
      const of = model.unit(command.unit)
      const arrival = addNights(FIRST, command.stay.from)
      const departure = addNights(arrival, command.stay.nights)
      const code = refusal(of, arrival, departure, command.enforcement)
      const quoted = await commands.quote(AGENCY, {
        unit: of.unit,
        stay: { arrival, departure },
        children: 0,
        extraBed: false,
      })
      // A quote is for a partner: its first reason is the code with which a partner's booking is refused.
      const firstReason = quoted.kind === 'rejected' ? quoted.rejection.code : (quoted.reasons[0] ?? null)
      expect<Rejection['code'] | null>(firstReason).toBe(refusal(of, arrival, departure, 'partner'))
      const outcome = await commands.book(
        AGENCY,
        {
          unit: of.unit,
          stay: { arrival, departure },
          type: command.type,
          status: command.status,
          source: 'model',
          sourceRef: null,
          adults: 2,
          children: 0,
          extraBed: false,
          notes: null,
          holdHours: 24,
          guest: null,
          enforcement: command.enforcement,
        },
        CALLER,
      )
      expectRefusal(outcome, code)
      if (outcome.kind === 'rejected' && outcome.rejection.code === 'BOOKING_CONFLICT') {
        const taken = takenNights(of)
        const nights = nightsBetween(arrival, departure).filter((n) => taken.has(n))
        expect(outcome.rejection.conflict.nights).toEqual(nights)
      }
      if (outcome.kind === 'rejected' && 'conflict' in outcome.rejection) {
        const { bookableFrom } = outcome.rejection.conflict
        if (bookableFrom === null) throw new Error('Within a month there is always an offer')
        expect(refusal(of, bookableFrom, addNights(bookableFrom, command.stay.nights), command.enforcement)).toBeNull()
        for (let n = addNights(arrival, 1); n < bookableFrom; n = addNights(n, 1)) {
          expect(refusal(of, n, addNights(n, command.stay.nights), command.enforcement)).not.toBeNull()
        }
      }
      if (outcome.kind === 'done') model.keep(outcome.booking)
      return
    }
    case 'cancel': {
      const picked = model.pick(command.pick)
      if (picked === null) return
      const outcome = await commands.cancel(AGENCY, { bookingId: picked.booking.id, reason: 'model' }, CALLER)
      if (outcome.kind !== 'done') throw new Error('A cancel is never refused')
      expect(outcome.booking.status).toBe('cancelled')
      if (picked.booking.status === 'cancelled') expect(outcome.booking).toEqual(picked.booking)
      model.keep(outcome.booking)
      return
    }
    case 'status': {
      const picked = model.pick(command.pick)
      if (picked === null) return
      const { booking } = picked
      const possible: readonly BookingStatus[] = TRANSITIONS[booking.status]
      const outcome = await commands.change(
        AGENCY,
        { bookingId: booking.id, change: { status: command.status } },
        CALLER,
      )
      const isMove = possible.includes(command.status) || command.status === booking.status
      expectRefusal(outcome, isMove ? null : 'INVALID_TRANSITION')
      if (outcome.kind === 'done') model.keep(outcome.booking)
      return
    }
    case 'restay': {
      const picked = model.pick(command.pick)
      if (picked === null) return
      const arrival = addNights(FIRST, command.stay.from)
      const departure = addNights(arrival, command.stay.nights)
      const change = { arrival, departure }
      const outcome = await commands.change(AGENCY, { bookingId: picked.booking.id, change }, CALLER)
      const taken = takenNights(picked.of, picked.booking)
      const isTaken = nightsBetween(arrival, departure).some((n) => taken.has(n))
      if (picked.booking.status === 'cancelled') expectRefusal(outcome, 'INVALID_TRANSITION')
      else expectRefusal(outcome, isTaken ? 'BOOKING_CONFLICT' : null)
      if (outcome.kind === 'done') model.keep(outcome.booking)
      return
    }
    case 'move': {
      const picked = model.pick(command.pick)
      if (picked === null) return
      const { booking } = picked
      const to = model.unit(command.unit)
      const outcome = await commands.change(AGENCY, { bookingId: booking.id, change: { unitId: to.unit.id } }, CALLER)
      const taken = takenNights(to, booking)
      const isTaken = nightsBetween(booking.arrival, booking.departure).some((n) => taken.has(n))
      if (booking.status === 'cancelled') expectRefusal(outcome, 'INVALID_TRANSITION')
      else expectRefusal(outcome, isTaken ? 'BOOKING_CONFLICT' : null)
      if (outcome.kind === 'done') model.keep(outcome.booking)
      return
    }
    case 'extend': {
      const picked = model.pick(command.pick)
      if (picked === null || picked.booking.status !== 'checked_in') return
      const expectedUntil = addNights(picked.booking.departure, command.by)
      const change = { expectedUntil: command.by === 0 ? null : expectedUntil }
      const outcome = await commands.change(AGENCY, { bookingId: picked.booking.id, change }, CALLER)
      if (outcome.kind !== 'done') throw new Error('A guest in house can always be expected to stay')
      model.keep(outcome.booking)
      return
    }
    case 'wait': {
      await clock.advance(command.hours * HOUR_MS)
      for (const { bookingId } of await ledger.store.expiredHolds(clock.now(), null, 1_000)) {
        const outcome = await commands.expire(AGENCY, bookingId)
        if (outcome.kind !== 'done') throw new Error('An expired hold is always ended')
        expect(outcome.booking).toMatchObject({ status: 'cancelled', cancelReason: 'hold_expired' })
        model.keep(outcome.booking)
      }
      return
    }
    case 'rules': {
      const of = model.unit(command.unit)
      const { turnoverNights, minStay } = command
      const unit = { ...of.unit, rules: { ...of.unit.rules, turnoverNights, minStay } }
      of.unit = (await commands.setUnit(AGENCY, unit.id, () => unit, CALLER)) ?? of.unit
      return
    }
    case 'passivate': {
      ledger.directory.sweep()
      await clock.advance(2_000)
      ledger.directory.sweep()
      expect(ledger.directory.stats.resident).toBe(0)
      return
    }
    case 'crash':
      return ledger.takeOver()
  }
}

/** Checks every answer of the unit about its nights against the list of bookings. */
async function expectSameCalendar(ledger: MemoryLedger, of: NaiveUnit): Promise<UnitState> {
  const state = await ledger.commands.calendar(AGENCY, of.unit)
  const [from, to] = [addNights(FIRST, -5), addNights(FIRST, 60)]
  const blocked = unionNightsIn(state.occupied, state.cleaning, from, to)
  const expected = [...takenNights(of), ...cleaningNights(of)].filter((n) => n >= from && n < to)
  expect(blocked.map(formatNight)).toEqual([...new Set(expected)].sort((a, b) => a - b).map(formatNight))
  return state
}

test('a unit answers as a list of bookings does, through passivation, crashes and recovery from any snapshot', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(commands, { minLength: 1, maxLength: 25, size: 'max' }),
      fc.nat(1_000),
      async (sequence, cut) => {
        const model = new Model()
        const ledger = await MemoryLedger.open(model.units.map(({ unit }) => unit))
        for (const command of sequence) await run(ledger, model, command)
        for (const of of model.units) {
          const state = await expectSameCalendar(ledger, of)
          const entries = await ledger.store.loadEntries(AGENCY.id, of.unit.id, 0)
          // Replayed from the start, or from a snapshot of any moment, the same events give the same state.
          const replayed = UnitState.empty(of.unit.id)
          const store = new MemoryJournalStore()
          store.journal.push(...ledger.store.journal)
          for (const [i, entry] of entries.entries()) {
            if (i === cut % entries.length) await store.writeSnapshots([encodeSnapshot(AGENCY.id, replayed)])
            replayed.apply(decodeEntry(entry), entry.seq)
          }
          expect(stateHash(replayed)).toBe(stateHash(state))
          const recovered = await recoverUnit(store, { agencyId: AGENCY.id, unitId: of.unit.id }, () => {})
          expect(stateHash(recovered.state)).toBe(stateHash(state))
        }
        expect(ledger.store.journal.map(({ seq }) => seq)).toEqual(ledger.store.journal.map((_, i) => i + 1))
      },
    ),
    { numRuns: rounds({ push: 400, long: 10_000 }) },
  )
}, 120_000)

test('a unit read as of any moment is what it was then, through moves between units, passivation and crashes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(commands, { minLength: 1, maxLength: 25, size: 'max' }), async (sequence) => {
      const model = new Model()
      const ledger = await MemoryLedger.open(model.units.map(({ unit }) => unit))
      const opened = ledger.clock.now()
      const seen: { at: number; unitId: string; hash: string }[] = []
      for (const command of [null, ...sequence]) {
        if (command !== null) await run(ledger, model, command)
        for (const { unit } of model.units)
          seen.push({
            at: ledger.clock.now(),
            unitId: unit.id,
            hash: stateHash(await ledger.commands.calendar(AGENCY, unit)),
          })
        await ledger.clock.advance(1)
      }
      const asOf = new UnitsAsOf({ rows: new MemoryAsOfRows(ledger.store), onDefect: () => {} })
      for (const { at, unitId, hash } of seen) {
        const found = await asOf.read({ agencyId: AGENCY.id, unitId }, at)
        expect(found.kind === 'found' ? stateHash(found.state) : found.kind).toBe(hash)
        expect((await asOf.read({ agencyId: AGENCY.id, unitId }, opened - 1)).kind).toBe('before_unit')
      }
    }),
    { numRuns: rounds({ push: 120, long: 3_000 }) },
  )
}, 120_000)
