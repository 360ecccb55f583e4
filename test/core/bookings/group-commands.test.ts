import { describe, expect, test } from 'bun:test'
import type { BookingRequest, BookingRow } from '../../../src/core/bookings/booking-turns.ts'
import type { GroupDone, GroupRefused } from '../../../src/core/bookings/group-commands.ts'
import type { Booking } from '../../../src/core/domain/booking.ts'
import { addNights } from '../../../src/core/domain/night.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { partIn } from '../../../src/core/journal/entry-codec.ts'
import { monthOf } from '../../../src/core/journal/shard.ts'
import type { ExpiredHold } from '../../../src/core/units/hold-timer.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { settle } from '../../support/fake-clock.ts'
import { MemoryLedger } from '../../support/memory-ledger.ts'
import { AGENCY, CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'

function units(count: number): Unit[] {
  return Array.from({ length: count }, (_, i) => {
    const label = String(i).padStart(2, '0')
    return sampleUnit({ id: sampleId('unt', label), slug: `unit-${label}` })
  })
}

function staysIn(all: readonly Unit[], arrival: string, departure: string, change: Partial<BookingRequest> = {}) {
  return all.map((unit) => requestFor(unit, arrival, departure, change))
}

function done(outcome: GroupDone | GroupRefused | { kind: 'not_found' }): GroupDone {
  if (outcome.kind !== 'done') throw new Error(`Expected a group, got ${JSON.stringify(outcome)}`)
  return outcome
}

/** Damages the row of a booking: the log of its unit has its last night free. */
function lengthen(store: MemoryLedger['store'], bookingId: string): void {
  const row = store.bookings.get(bookingId) as BookingRow
  const departure = addNights(row.booking.departure, 1)
  store.bookings.set(bookingId, { ...row, booking: { ...row.booking, departure } })
}

const UNITS_MAX = 20

async function open(count: number) {
  const all = units(count)
  const ledger = await MemoryLedger.open(all)
  const { store } = ledger
  const groupOf = (stays: readonly (BookingRequest | null)[]) => ledger.commands.groups.book(AGENCY, { stays }, CALLER)
  return { ledger, store, all, groupOf }
}

describe('a group', () => {
  test('J9: is one record with consecutive entries, the bookings in the order of the stays', async () => {
    const { store, all, groupOf } = await open(3)
    const before = store.journal.length
    const stays = staysIn(all.toReversed(), '2027-03-01', '2027-03-04')
    const { groupId, bookings, seq } = done(await groupOf(stays))
    expect(store.sends.at(-1)?.records.map(({ entries }) => entries.length)).toEqual([3])
    const entries = store.journal.slice(before)
    expect(entries.map((entry) => [entry.seq, entry.bookingId, partIn(entry)])).toEqual(
      bookings.map(({ id }, i) => [(seq ?? 0) + i, id, [i + 1, 3]]),
    )
    expect(bookings.map((booking) => [booking.unitId, booking.groupId])).toEqual(
      stays.map(({ unit }) => [unit.id, groupId]),
    )
    expect((await store.ofGroup(AGENCY.id, groupId)).map(({ booking }) => booking)).toEqual([...bookings])
  })

  test('books none of its stays if one is refused, and leaves one line in the audit trail', async () => {
    const { ledger, store, all, groupOf } = await open(3)
    await ledger.commands.book(AGENCY, requestFor(all[1] as Unit, '2027-03-02', '2027-03-03'), CALLER)
    const before = store.journal.length
    const outcome = await groupOf([...staysIn(all, '2027-03-01', '2027-03-04'), null])
    expect(outcome).toMatchObject({
      kind: 'refused',
      refusals: [
        { stay: 1, rejection: { code: 'BOOKING_CONFLICT' } },
        { stay: 3, rejection: null },
      ],
    })
    expect(store.journal).toHaveLength(before)
    expect([...store.audit.values()].map(({ outcome: code }) => code)).toEqual(['BOOKING_CONFLICT'])
    const free = await ledger.commands.calendar(AGENCY, all[0] as Unit)
    expect(free.occupied.isEmpty()).toBe(true)
  })

  test('is refused without a turn if all of its units are unknown', async () => {
    const { store, groupOf } = await open(1)
    expect(await groupOf([null, null])).toMatchObject({ refusals: [{ stay: 0 }, { stay: 1 }] })
    expect([...store.audit.values()].map(({ outcome }) => outcome)).toEqual(['NOT_FOUND'])
  })

  test('U1: occupies no unit before it is durable, and all of them at once afterwards', async () => {
    const { ledger, store, all, groupOf } = await open(4)
    const taken = () => all.map(({ id }) => ledger.directory.peek(id)?.occupied.count() ?? -1)
    let release = () => {}
    store.delay = () => new Promise((resolve) => (release = resolve))
    const pending = groupOf(staysIn(all, '2027-03-01', '2027-03-04'))
    for (let i = 0; i < 5; i++) await settle()
    expect(taken()).toEqual([0, 0, 0, 0])
    release()
    const { seq } = done(await pending)
    expect(taken()).toEqual([3, 3, 3, 3])
    expect(all.map(({ id }) => ledger.directory.peek(id)?.seq)).toEqual([0, 1, 2, 3].map((i) => (seq ?? 0) + i))
  })

  test('books no stay if the database refuses it', async () => {
    const { ledger, store, all, groupOf } = await open(3)
    store.isPoison = ({ entries = [] }) => entries.length === 3
    const kind = await groupOf(staysIn(all, '2027-03-01', '2027-03-04')).catch((error: { kind: string }) => error.kind)
    expect([kind, store.bookings.size]).toEqual(['poisoned', 0])
    for (const unit of all) expect((await ledger.commands.calendar(AGENCY, unit)).occupied.isEmpty()).toBe(true)
  })

  test('has prices in a dry run, which leaves nothing behind', async () => {
    const { ledger, store, all } = await open(2)
    const { sends, audit } = store
    const before = sends.length
    const stays = staysIn(all, '2027-03-01', '2027-03-04')
    const tried = done(await ledger.commands.groups.book(AGENCY, { stays }, CALLER, undefined, 'dry_run'))
    expect(tried.quotes?.map((quote) => quote?.total)).toEqual(tried.bookings.map(({ totalAmount }) => totalAmount))
    const refused = [...stays, ...stays]
    const outcome = await ledger.commands.groups.book(AGENCY, { stays: refused }, CALLER, undefined, 'dry_run')
    expect(outcome).toMatchObject({ refusals: [{ stay: 2 }, { stay: 3 }] })
    expect([sends.length, audit.size]).toEqual([before, 0])
  })

  test('is refused for a stay whose unit was archived in the meantime', async () => {
    const { ledger, all, groupOf } = await open(2)
    const [, second] = all as [Unit, Unit]
    await ledger.commands.setUnit(AGENCY, second.id, (unit) => unit && { ...unit, status: 'archived' }, CALLER)
    expect(await groupOf(staysIn(all, '2027-03-01', '2027-03-04'))).toMatchObject({
      refusals: [{ stay: 1, rejection: null }],
    })
  })

  test('is the same after a restart as in the answer', async () => {
    const { ledger, all, groupOf } = await open(3)
    const { bookings, groupId } = done(await groupOf(staysIn(all, '2027-03-01', '2027-03-04')))
    await ledger.takeOver()
    for (const unit of all) expect((await ledger.commands.calendar(AGENCY, unit)).occupied.count()).toBe(3)
    const cancelled = done(await ledger.commands.groups.cancel(AGENCY, { groupId, reason: 'x' }, CALLER))
    expect(cancelled.bookings.map(({ id }) => id)).toEqual(bookings.map(({ id }) => id))
  })
})

describe('J9: if the process is killed at any step,', () => {
  /** More steps than a group takes. */
  const STEPS_MAX = 120

  async function killedAfter(steps: number, cancels: boolean) {
    const { ledger, store, all, groupOf } = await open(4)
    store.delay = async () => {
      for (let i = 0; i < 3; i++) await Promise.resolve()
    }
    const stays = staysIn(all, '2027-03-01', '2027-03-04', { status: 'option' })
    const { groupId = '' } = cancels ? done(await groupOf(stays)) : {}
    const before = store.journal.length
    let isAnswered = false
    const pending = cancels ? ledger.commands.groups.cancel(AGENCY, { groupId, reason: 'x' }, CALLER) : groupOf(stays)
    void pending.then(
      () => (isAnswered = true),
      () => {},
    )
    for (let i = 0; i < steps; i++) await Promise.resolve()
    const wasAnswered = isAnswered
    await ledger.takeOver()
    await pending.catch(() => {})
    const taken = []
    for (const unit of all) taken.push((await ledger.commands.calendar(AGENCY, unit)).occupied.count())
    return { wasAnswered, written: store.journal.length - before, taken }
  }

  for (const cancels of [false, true]) {
    test(`a group is ${cancels ? 'cancelled' : 'booked'} as a whole or not at all, and as a whole once that was answered`, async () => {
      const seen = new Set<string>()
      for (let steps = 0; steps < STEPS_MAX; steps++) {
        const { wasAnswered, written, taken } = await killedAfter(steps, cancels)
        const isMade = written > 0
        expect([written, taken]).toEqual([isMade ? 4 : 0, taken.map(() => (isMade === cancels ? 0 : 3))])
        if (wasAnswered) expect(isMade).toBe(true)
        seen.add(`${isMade} ${wasAnswered}`)
      }
      // Before it is sent, when it is written, and when it is answered.
      expect([...seen].sort()).toEqual(['false false', 'true false', 'true true'])
    })
  }
})

describe('U4: two groups over the same twenty units', () => {
  test('many at once, in opposite orders, all complete, and a night is sold once', async () => {
    const { ledger, store, all, groupOf } = await open(UNITS_MAX)
    await ledger.takeOver({ residentMax: 5 })
    const pending: Promise<GroupDone | GroupRefused>[] = []
    for (let round = 0; round < 30; round++) {
      const [from, to] = [`2027-03-${String(1 + (round % 20)).padStart(2, '0')}`, '2027-03-28']
      pending.push(groupOf(staysIn(all, from, to)), groupOf(staysIn(all.toReversed(), from, to)))
      if (round % 7 === 0) await settle()
    }
    let ended = 0
    for (const each of pending) void each.finally(() => ended++)
    for (let i = 0; i < 1_000 && ended < pending.length; i++) await Bun.sleep(1)
    expect(ended).toBe(pending.length)
    const outcomes = await Promise.all(pending)
    expect(outcomes.filter(({ kind }) => kind === 'done')).toHaveLength(1)
    expect(store.bookings.size).toBe(UNITS_MAX)
  })

  test('complete beside moves between these units in both directions', async () => {
    const { ledger, store, all, groupOf } = await open(6)
    const made = await Promise.all(
      all.map((unit) => ledger.commands.book(AGENCY, requestFor(unit, '2027-05-01', '2027-05-02'), CALLER)),
    )
    const ids = made.map((outcome) => (outcome.kind === 'done' ? outcome.booking.id : ''))
    const pending: Promise<unknown>[] = []
    for (let round = 0; round < 20; round++) {
      const [i, j] = [round % 6, (round * 5 + 1) % 6]
      const change = { unitId: all[j]?.id ?? '' }
      pending.push(ledger.commands.change(AGENCY, { bookingId: ids[i] ?? '', change }, CALLER))
      pending.push(groupOf(staysIn(round % 2 === 0 ? all : all.toReversed(), '2027-03-01', '2027-03-03')))
    }
    await Promise.all(pending)
    const groups = new Set([...store.bookings.values()].flatMap(({ booking }) => booking.groupId ?? []))
    expect(groups.size).toBe(1)
  })
})

describe('cancelling a group', () => {
  test('cancels all that are not cancelled, in one record, wherever they have moved', async () => {
    const { ledger, store, all, groupOf } = await open(4)
    const { bookings, groupId } = done(await groupOf(staysIn(all.slice(0, 3), '2027-03-01', '2027-03-04')))
    const [first, second] = bookings as readonly [Booking, Booking, Booking]
    await ledger.commands.cancel(AGENCY, { bookingId: first.id, reason: 'alone' }, CALLER)
    const change = { unitId: all[3]?.id ?? '' }
    await ledger.commands.change(AGENCY, { bookingId: second.id, change }, CALLER)
    const { groups } = ledger.commands
    const cancelled = done(await groups.cancel(AGENCY, { groupId, reason: 'together' }, CALLER))
    expect(store.sends.at(-1)?.records.map(({ entries }) => entries.length)).toEqual([2])
    expect(cancelled.bookings.map(({ status, cancelReason }) => [status, cancelReason])).toEqual([
      ['cancelled', 'alone'],
      ['cancelled', 'together'],
      ['cancelled', 'together'],
    ])
    for (const unit of all) expect((await ledger.commands.calendar(AGENCY, unit)).occupied.isEmpty()).toBe(true)
    // Nothing is left to cancel: the attempt leaves an audit line, and no entry.
    const again = done(await groups.cancel(AGENCY, { groupId, reason: 'again' }, CALLER))
    expect([again.seq, again.bookings]).toEqual([null, cancelled.bookings])
    expect([...store.audit.values()].map(({ outcome }) => outcome)).toEqual(['OK'])
  })

  test('finds no group of another agency or of an unknown id', async () => {
    const { ledger, store, all, groupOf } = await open(2)
    const { groupId } = done(await groupOf(staysIn(all, '2027-03-01', '2027-03-04')))
    const { groups } = ledger.commands
    const unknown = { groupId: sampleId('grp', 'unknown'), reason: null }
    expect((await groups.cancel(AGENCY, unknown, CALLER)).kind).toBe('not_found')
    expect(await store.ofGroup(sampleId('agc', 'other'), groupId)).toEqual([])
    expect([...store.audit.values()].map(({ outcome }) => outcome)).toEqual(['NOT_FOUND'])
  })

  test('is refused, and appends nothing, when the log of a unit has a night of its booking free', async () => {
    const { ledger, store, all, groupOf } = await open(2)
    const { bookings, groupId } = done(await groupOf(staysIn(all, '2027-03-01', '2027-03-04')))
    lengthen(store, bookings[1]?.id ?? '')
    const { length } = store.journal
    const [outcome] = await Promise.allSettled([
      ledger.commands.groups.cancel(AGENCY, { groupId, reason: 'x' }, CALLER),
    ])
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'CorruptLedgerError' } })
    expect(store.journal).toHaveLength(length)
  })

  test('waits for a booking of the group that is being moved', async () => {
    const { ledger, all, groupOf } = await open(3)
    const { bookings, groupId } = done(await groupOf(staysIn(all.slice(0, 2), '2027-03-01', '2027-03-04')))
    const change = { unitId: all[2]?.id ?? '' }
    const moving = ledger.commands.change(AGENCY, { bookingId: bookings[1]?.id ?? '', change }, CALLER)
    const cancelled = done(await ledger.commands.groups.cancel(AGENCY, { groupId, reason: null }, CALLER))
    await moving
    expect(cancelled.bookings.map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
    for (const unit of all) expect((await ledger.commands.calendar(AGENCY, unit)).occupied.isEmpty()).toBe(true)
  })
})

describe('releasing the holds of a sandbox', () => {
  const START = Date.UTC(2050, 2, 1)
  const SANDBOX = { ...AGENCY, clock: { now: START, target: START } }

  async function openWithHolds(hours: readonly number[]) {
    const { ledger, store, all } = await open(hours.length + 1)
    const holds: ExpiredHold[] = []
    for (const [i, holdHours] of hours.entries()) {
      const request = requestFor(all[i] as Unit, '2050-03-01', '2050-03-04', { status: 'option', holdHours })
      const made = await ledger.commands.book(SANDBOX, request, CALLER)
      if (made.kind !== 'done') throw new Error('Expected a hold')
      const { id, unitId, holdExpiresAt } = made.booking
      holds.push({ agencyId: AGENCY.id, unitId, bookingId: id, expiry: String(holdExpiresAt) })
    }
    const stateOf = (i: number) => store.bookings.get(holds[i]?.bookingId ?? '')?.booking
    return { ledger, store, all, holds, stateOf, groups: ledger.commands.groups }
  }

  test('is one record, in the order given, each at its own moment, under the month of real time', async () => {
    const { ledger, store, holds, stateOf, groups } = await openWithHolds([3, 1, 2])
    const inOrder = [1, 2, 0].flatMap((i) => holds[i] ?? [])
    expect(await groups.expire(SANDBOX, inOrder, START + 3 * HOUR_MS)).toBe(0)
    expect(store.sends.at(-1)?.records.map(({ entries }) => entries.length)).toEqual([3])
    expect(store.journal.slice(-3).map(({ at, bookingId }) => [at, bookingId])).toEqual(
      inOrder.map(({ expiry, bookingId }) => [Number(expiry), bookingId]),
    )
    const month = monthOf(ledger.clock.now())
    expect(new Set(store.journal.map((entry) => entry.month))).toEqual(new Set([month]))
    expect([0, 1, 2].map((i) => stateOf(i)?.cancelReason)).toEqual(Array(3).fill('hold_expired'))
  })

  test('leaves those that were settled or extended meanwhile, and appends nothing when there is no other', async () => {
    const { ledger, store, holds, stateOf, groups } = await openWithHolds([1, 2])
    const ids = holds.map(({ bookingId }) => bookingId)
    await ledger.commands.change(SANDBOX, { bookingId: ids[0] ?? '', change: { status: 'confirmed' } }, CALLER)
    const holdExpiresAt = START + 5 * HOUR_MS
    await ledger.commands.change(SANDBOX, { bookingId: ids[1] ?? '', change: { holdExpiresAt } }, CALLER)
    const { length } = store.sends
    expect(await groups.expire(SANDBOX, holds, START + 4 * HOUR_MS)).toBe(0)
    expect(store.sends).toHaveLength(length)
    expect([0, 1].map((i) => stateOf(i)?.status)).toEqual(['confirmed', 'option'])
  })

  test('says how many have moved to another unit, and releases the others', async () => {
    const { ledger, all, holds, stateOf, groups } = await openWithHolds([1, 2])
    const change = { unitId: all[2]?.id ?? '' }
    await ledger.commands.change(SANDBOX, { bookingId: holds[0]?.bookingId ?? '', change }, CALLER)
    expect(await groups.expire(SANDBOX, holds, START + 4 * HOUR_MS)).toBe(1)
    expect([0, 1].map((i) => stateOf(i)?.status)).toEqual(['option', 'cancelled'])
  })

  test('is refused, and appends nothing, when the log of a unit has a night of its hold free', async () => {
    const { store, holds, groups } = await openWithHolds([1, 2])
    lengthen(store, holds[1]?.bookingId ?? '')
    const { length } = store.journal
    const [outcome] = await Promise.allSettled([groups.expire(SANDBOX, holds, START + 4 * HOUR_MS)])
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'CorruptLedgerError' } })
    expect(store.journal).toHaveLength(length)
  })
})
