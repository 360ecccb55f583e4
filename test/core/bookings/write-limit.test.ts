/** Every write is refused as not written within `queuedMsMax` (here 5 s), or answered as unknown after 30 s. */
import { describe, expect, test } from 'bun:test'
import { UnitCommands } from '../../../src/accounts/unit-commands.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { JournalError } from '../../../src/core/journal/journal-error.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { MemoryLedger } from '../../support/memory-ledger.ts'
import { AGENCY, CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'

const UNIT_0 = sampleId('unt', '0')

const HELD_MS = 5_000
/** The journal looks for overdue records that often, and sends again after a pause. */
const LOOKS_MS = 300

interface World {
  readonly ledger: MemoryLedger
  readonly unit: Unit
  readonly other: Unit
  readonly bookingId: string
}

async function world(): Promise<World> {
  const unit = sampleUnit({ id: UNIT_0, slug: 'unit-0' })
  const other = sampleUnit({ id: sampleId('unt', '1'), slug: 'unit-1' })
  const ledger = await MemoryLedger.open([unit, other])
  const booked = await ledger.commands.book(
    AGENCY,
    requestFor(unit, '2027-03-01', '2027-03-03', { status: 'draft' }),
    CALLER,
  )
  if (booked.kind !== 'done') throw new Error('Cannot book in a test')
  // The unit has changed since the booking: its row is read again in the turn.
  await ledger.commands.setUnit(AGENCY, unit.id, () => ({ ...unit, city: 'Porto' }), CALLER)
  ledger.clock.jumpWall(49 * HOUR_MS)
  return { ledger, unit, other, bookingId: booked.booking.id }
}

const WRITES: Record<string, (world: World) => Promise<unknown>> = {
  book: ({ ledger, unit }) => ledger.commands.book(AGENCY, requestFor(unit, '2027-04-01', '2027-04-03'), CALLER),
  'a booking that is refused': ({ ledger, unit }) =>
    ledger.commands.book(AGENCY, requestFor(unit, '2027-03-01', '2027-03-03'), CALLER),
  cancel: ({ ledger, bookingId }) => ledger.commands.cancel(AGENCY, { bookingId, reason: null }, CALLER),
  change: ({ ledger, bookingId }) =>
    ledger.commands.change(AGENCY, { bookingId, change: { status: 'confirmed' } }, CALLER),
  move: ({ ledger, bookingId, other }) =>
    ledger.commands.change(AGENCY, { bookingId, change: { unitId: other.id } }, CALLER),
  expire: ({ ledger, bookingId }) => ledger.commands.expire(AGENCY, bookingId),
  setUnit: ({ ledger, unit }) => ledger.commands.setUnit(AGENCY, unit.id, () => ({ ...unit, name: 'New' }), CALLER),
  auditRefusal: ({ ledger }) => ledger.commands.auditRefusal(AGENCY, CALLER, 'VALIDATION', null),
}

/** When and how a write ended. */
function watched(ledger: MemoryLedger, write: Promise<unknown>): { ended: string | null; afterMs: number } {
  const since = ledger.clock.monotonicMs()
  const seen: { ended: string | null; afterMs: number } = { ended: null, afterMs: -1 }
  const end = (ended: string) => {
    seen.ended = ended
    seen.afterMs = ledger.clock.monotonicMs() - since
  }
  write.then(
    () => end('done'),
    (error) => end(error instanceof JournalError ? error.kind : error.name),
  )
  return seen
}

const written = ({ store }: MemoryLedger) => [store.journal.length, store.audit.size]
/** Of the audit trail. An entry is a line of it, too. */
const lines = ({ store }: MemoryLedger) => store.journal.length + store.audit.size

for (const [name, write] of Object.entries(WRITES)) {
  describe(name, () => {
    if (name !== 'auditRefusal') {
      for (const busyUnit of name === 'move' ? [UNIT_0, sampleId('unt', '1')] : [UNIT_0]) {
        test(`is refused after 5 s when it waits for the turn of ${busyUnit}, and writes nothing when it has it`, async () => {
          const at = await world()
          const { ledger } = at
          const before = written(ledger)
          const busy = Promise.withResolvers<void>()
          const holder = ledger.directory.turn({ agencyId: AGENCY.id, unitId: busyUnit }, () => busy.promise)
          const seen = watched(ledger, write(at))
          await ledger.clock.advance(HELD_MS)
          expect(seen).toEqual({ ended: 'held_too_long', afterMs: HELD_MS })
          let reads = 0
          const find = ledger.store.find.bind(ledger.store)
          ledger.store.find = (...params) => {
            reads += 1
            return find(...params)
          }
          busy.resolve()
          await holder
          await ledger.clock.advance(60_000)
          expect(written(ledger)).toEqual(before)
          expect(reads).toBe(0)
        })

        test(`that waited 4 s for ${busyUnit} is queued for an unavailable journal until 5 s have passed, not 9`, async () => {
          const at = await world()
          const { ledger } = at
          const busy = Promise.withResolvers<void>()
          const holder = ledger.directory.turn({ agencyId: AGENCY.id, unitId: busyUnit }, () => busy.promise)
          const seen = watched(ledger, write(at))
          await ledger.clock.advance(4_000)
          ledger.store.fate = () => 'refuse_connection'
          busy.resolve()
          await holder
          await ledger.clock.advance(60_000)
          expect(seen.ended).toBe('held_too_long')
          expect(seen.afterMs >= HELD_MS && seen.afterMs <= HELD_MS + LOOKS_MS).toBe(true)
        })
      }
    }

    if (['cancel', 'change', 'move', 'expire'].includes(name)) {
      for (const [where, good] of [
        ['before', 0],
        ['in', 1],
      ] as const) {
        test(`is refused after 5 s when its row cannot be read ${where} its turn, and writes nothing when it is`, async () => {
          const at = await world()
          const { ledger } = at
          const before = written(ledger)
          const read = Promise.withResolvers<void>()
          const find = ledger.store.find.bind(ledger.store)
          let reads = 0
          ledger.store.find = async (...params) => {
            reads += 1
            if (reads > good) await read.promise
            return find(...params)
          }
          const seen = watched(ledger, write(at))
          await ledger.clock.advance(HELD_MS)
          expect(seen).toEqual({ ended: 'held_too_long', afterMs: HELD_MS })
          expect(reads).toBe(good + 1)
          read.resolve()
          await ledger.clock.advance(60_000)
          expect(written(ledger)).toEqual(before)
        })
      }
    }

    test('is refused within 5 s when the database is away, and not written', async () => {
      const at = await world()
      const { ledger } = at
      const before = written(ledger)
      ledger.store.fate = () => 'refuse_connection'
      const seen = watched(ledger, write(at))
      await ledger.clock.advance(60_000)
      expect(seen.ended).toBe('held_too_long')
      expect(seen.afterMs >= HELD_MS && seen.afterMs <= HELD_MS + LOOKS_MS).toBe(true)
      ledger.store.fate = () => 'deliver'
      await ledger.clock.advance(60_000)
      expect(written(ledger)).toEqual(before)
    })

    test('is answered as unknown after 30 s if it was sent and its outcome is still unknown', async () => {
      const at = await world()
      const { ledger } = at
      ledger.store.fate = () => 'lose_request'
      const seen = watched(ledger, write(at))
      await ledger.clock.advance(29_999)
      expect(seen.ended).toBeNull()
      await ledger.clock.advance(1)
      // A refusal has changed nothing, whatever became of its line.
      const ended = name === 'auditRefusal' ? 'RefusalNotRecordedError' : 'outcome_unknown'
      expect(seen).toEqual({ ended, afterMs: 30_000 })
      // The truth comes later, and memory has it.
      const before = lines(ledger)
      ledger.store.fate = () => 'deliver'
      await ledger.clock.advance(1_000)
      expect(lines(ledger)).toBe(before + 1)
    })
  })
}

test('who wants the slug of a unit whose making is unknown waits for the truth, for five seconds', async () => {
  const { ledger } = await world()
  const units = new UnitCommands({
    catalogue: ledger.catalogue,
    commands: ledger.commands,
    clock: ledger.clock,
    newId: (prefix) => sampleId(prefix, ++ids),
  })
  const { id: _, ...draft } = sampleUnit({ slug: 'garden' })
  let ids = 10
  ledger.store.fate = () => 'lose_request'
  const first = watched(ledger, units.create(AGENCY, draft, CALLER))
  await ledger.clock.advance(30_000)
  expect(first.ended).toBe('outcome_unknown')
  const impatient = watched(ledger, units.create(AGENCY, draft, CALLER))
  await ledger.clock.advance(4_999)
  expect(impatient.ended).toBeNull()
  await ledger.clock.advance(1)
  expect(impatient).toEqual({ ended: 'held_too_long', afterMs: 5_000 })
  ledger.store.fate = () => 'poison'
  await ledger.clock.advance(1_000)
  ledger.store.fate = () => 'deliver'
  const seen: string[] = []
  for (const _ of [1, 2]) units.create(AGENCY, draft, CALLER).then((outcome) => seen.push(outcome.kind))
  await ledger.clock.advance(1_000)
  expect(seen.toSorted()).toEqual(['done', 'refused'])
})
