/** What a booking is decided by is read in its turn: what changed while it waited counts. */
import { expect, test } from 'bun:test'
import type { Booking } from '../../../src/core/domain/booking.ts'
import type { FeeType, Unit } from '../../../src/core/domain/unit.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { MemoryLedger } from '../../support/memory-ledger.ts'
import { AGENCY, CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'

const LINEN: FeeType = {
  id: sampleId('fee', 'a'),
  label: 'Linen',
  kind: 'fixed',
  amount: 2_500,
  basisPoints: null,
  includesWeeklyCleaning: false,
  application: 'every_stay',
  active: true,
}

async function world() {
  const unit = sampleUnit({ id: sampleId('unt', '0'), slug: 'unit-0' })
  const other = sampleUnit({ id: sampleId('unt', '1'), slug: 'unit-1' })
  const ledger = await MemoryLedger.open([unit, other])
  const booked = await ledger.commands.book(AGENCY, requestFor(unit, '2027-02-01', '2027-02-03'), CALLER)
  if (booked.kind !== 'done') throw new Error('Cannot book in a test')
  /** Runs `command`, with `meanwhile` before its turn comes. */
  const behind = async <T>(unitId: string, command: () => Promise<T>, meanwhile: () => void): Promise<T> => {
    const busy = Promise.withResolvers<void>()
    const holder = ledger.directory.turn({ agencyId: AGENCY.id, unitId }, () => busy.promise)
    const outcome = command()
    await ledger.clock.advance(10)
    meanwhile()
    busy.resolve()
    await holder
    return outcome
  }
  const archive = (which: Unit) =>
    ledger.commands.setUnit(AGENCY, which.id, () => ({ ...which, status: 'archived' }), CALLER)
  return { ledger, unit, other, booking: booked.booking, behind, archive }
}

const totalOf = (outcome: { kind: string; booking?: Booking }) => outcome.booking?.totalAmount ?? outcome.kind
const lastOutcome = ({ store }: MemoryLedger) => [...store.audit.values()].at(-1)?.['outcome']

test('a fee that is added while a booking waits for its turn is in its total', async () => {
  const { ledger, unit, behind } = await world()
  const book = () => ledger.commands.book(AGENCY, requestFor(unit, '2027-03-01', '2027-03-03'), CALLER)
  const outcome = await behind(unit.id, book, () => ledger.catalogue.putFeeType(AGENCY.id, LINEN))
  expect(totalOf(outcome)).toBe(2 * 10_000 + 5_000 + 2_500)
})

test('a fee that is added while a change of dates waits for its turn is in the new total', async () => {
  const { ledger, unit, booking, behind } = await world()
  const change = { departure: requestFor(unit, '2027-02-01', '2027-02-04').stay.departure }
  const restay = () => ledger.commands.change(AGENCY, { bookingId: booking.id, change }, CALLER)
  const outcome = await behind(unit.id, restay, () => ledger.catalogue.putFeeType(AGENCY.id, LINEN))
  expect(totalOf(outcome)).toBe(3 * 10_000 + 5_000 + 2_500)
})

test('units and fees that were put back from memory before the turn are read again, as they are when they have come', async () => {
  const { ledger, unit, behind } = await world()
  const { catalogue } = ledger
  const book = () => ledger.commands.book(AGENCY, requestFor(unit, '2027-03-01', '2027-03-03'), CALLER)
  const { peekInventory, inventory } = catalogue
  let loads = 0
  const outcome = await behind(unit.id, book, () => {
    catalogue.peekInventory = () => null
    catalogue.inventory = async () => {
      loads += 1
      const loaded = await inventory.call(catalogue, AGENCY.id)
      // Read, and changed before the caller continues; put back once more the first time.
      if (loads === 1) return loaded
      catalogue.peekInventory = peekInventory
      catalogue.putFeeType(AGENCY.id, LINEN)
      return loaded
    }
  })
  expect(loads).toBe(2)
  expect(totalOf(outcome)).toBe(2 * 10_000 + 5_000 + 2_500)
})

test('a booking whose unit is archived while it waits finds it unknown, and leaves its line', async () => {
  const { ledger, unit, behind, archive } = await world()
  const before = ledger.store.bookings.size
  const commands = await behind(
    unit.id,
    () =>
      Promise.all([archive(unit), ledger.commands.book(AGENCY, requestFor(unit, '2027-03-01', '2027-03-03'), CALLER)]),
    () => {},
  )
  expect(commands[1]).toEqual({ kind: 'unit_archived' })
  expect(ledger.store.bookings.size).toBe(before)
  expect(lastOutcome(ledger)).toBe('NOT_FOUND')
})

test('a move to a unit that is archived while it waits finds it unknown, and the booking stays', async () => {
  const { ledger, other, booking, behind, archive } = await world()
  const move = () => ledger.commands.change(AGENCY, { bookingId: booking.id, change: { unitId: other.id } }, CALLER)
  const [, outcome] = await behind(
    other.id,
    () => Promise.all([archive(other), move()]),
    () => {},
  )
  expect(outcome).toEqual({ kind: 'unit_archived' })
  expect(ledger.store.bookings.get(booking.id)?.booking.unitId).toBe(sampleId('unt', '0'))
  expect(lastOutcome(ledger)).toBe('NOT_FOUND')
})

test('a booking in a unit that was archived since can still be changed and cancelled', async () => {
  const { ledger, unit, booking, archive } = await world()
  await archive(unit)
  const change = { status: 'checked_in' as const }
  expect((await ledger.commands.change(AGENCY, { bookingId: booking.id, change }, CALLER)).kind).toBe('done')
  expect((await ledger.commands.cancel(AGENCY, { bookingId: booking.id, reason: null }, CALLER)).kind).toBe('done')
})

test('a booking that was to move, and is cancelled instead, leaves the other unit as it was', async () => {
  const { ledger, unit, other } = await world()
  const held = await ledger.commands.book(
    AGENCY,
    requestFor(unit, '2027-04-01', '2027-04-03', { status: 'option', holdHours: 1 }),
    CALLER,
  )
  if (held.kind !== 'done') throw new Error('Cannot book in a test')
  const before = await ledger.directory.read({ agencyId: AGENCY.id, unitId: other.id })
  const seq = before.seq
  ledger.clock.jumpWall(2 * HOUR_MS)
  const moved = await ledger.commands.change(
    AGENCY,
    { bookingId: held.booking.id, change: { unitId: other.id } },
    CALLER,
  )
  expect([moved.kind, moved.kind === 'done' && moved.booking.status]).toEqual(['done', 'cancelled'])
  expect((await ledger.directory.read({ agencyId: AGENCY.id, unitId: other.id })).seq).toBe(seq)
})
