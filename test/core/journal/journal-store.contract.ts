import { describe, expect, test } from 'bun:test'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { encodeBatch } from '../../../src/core/journal/batch.ts'
import type { BatchToAppend, JournalStore } from '../../../src/core/journal/journal-store.ts'
import type { JournalRecord } from '../../../src/core/journal/record.ts'
import { encodeSnapshot } from '../../../src/core/journal/snapshot-codec.ts'
import { night, sampleBooking, sampleId, sampleUnit } from '../../support/samples.ts'

/** A store on an empty ledger, and a way to look at what it wrote. */
export interface StoreUnderTest {
  readonly store: JournalStore
  journalSeqs(): Promise<number[]>
  bookingIds(): Promise<string[]>
  auditCounts(): Promise<number[]>
}

const AGENCY_ID = sampleId('agc', 'a')
const BOOKING_1 = sampleId('bkg', '1')
const UNIT_A = sampleId('unt', 'a')

function unitSet(unitId = UNIT_A): JournalRecord {
  const unit = sampleUnit({ id: unitId, slug: unitId })
  return { agencyId: AGENCY_ID, at: 0, entry: { event: { kind: 'unit_set', unit }, at: 0, requestId: null } }
}

function booked(id: string, arrival = '2027-03-01', departure = '2027-03-02'): JournalRecord {
  const after = sampleBooking({ id, arrival: night(arrival), departure: night(departure) })
  return { agencyId: AGENCY_ID, at: 0, entry: { event: { kind: 'booking_created', after }, at: 0, requestId: null } }
}

function audited(count: number): JournalRecord {
  const actor = { kind: 'key', id: sampleId('key', 'a') } as const
  const audit = {
    ...{ auditId: sampleId('aud', 1), at: 0, actor, route: 'r', outcome: 'OK' },
    ...{ bookingId: null, requestId: null, count },
  }
  return { agencyId: AGENCY_ID, at: 0, audit }
}

function batchOf(epoch: number, firstSeq: number, records: JournalRecord[]): BatchToAppend {
  return { epoch, firstSeq, batchId: Bun.randomUUIDv7(), records: encodeBatch(records, firstSeq).records }
}

/** What every implementation of the port must do; the journal's promises rest on it. */
export function journalStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    test('a batch is durable as a whole', async () => {
      const { store, journalSeqs, bookingIds } = await open()
      const { epoch, lastSeq } = await store.takeOver('test')
      expect(lastSeq).toBe(0)
      expect(await store.appendBatch(batchOf(epoch, 1, [unitSet(), booked(BOOKING_1), audited(1)]))).toBe('durable')
      expect(await journalSeqs()).toEqual([1, 2])
      expect(await bookingIds()).toEqual([BOOKING_1])
    })

    test('J3: the identical batch sent again is found, not written twice', async () => {
      const { store, journalSeqs, bookingIds } = await open()
      const { epoch } = await store.takeOver('test')
      const batch = batchOf(epoch, 1, [unitSet(), booked(BOOKING_1)])
      expect([await store.appendBatch(batch), await store.appendBatch(batch)]).toEqual(['durable', 'durable'])
      expect(await journalSeqs()).toEqual([1, 2])
      expect(await bookingIds()).toEqual([BOOKING_1])
    })

    test('J3: a batch without entries sent again changes nothing, and a count never shrinks', async () => {
      const { store, auditCounts } = await open()
      const { epoch } = await store.takeOver('test')
      const batch = batchOf(epoch, 1, [audited(3)])
      await store.appendBatch(batch)
      await store.appendBatch(batch)
      expect(await auditCounts()).toEqual([3])
    })

    test('two lines of the audit trail with one id in a batch are one line with the later count', async () => {
      const { store, auditCounts } = await open()
      const { epoch } = await store.takeOver('test')
      expect(await store.appendBatch(batchOf(epoch, 1, [audited(1), audited(2)]))).toBe('durable')
      expect(await auditCounts()).toEqual([2])
    })

    test('another batch with sequence numbers that are taken is refused as by the fence', async () => {
      const { store, bookingIds } = await open()
      const { epoch } = await store.takeOver('test')
      await store.appendBatch(batchOf(epoch, 1, [unitSet()]))
      expect(await store.appendBatch(batchOf(epoch, 1, [booked(BOOKING_1)]))).toMatchObject({ kind: 'fenced' })
      expect(await bookingIds()).toEqual([])
    })

    test('J5: after a take-over the older epoch writes nothing', async () => {
      const { store, journalSeqs } = await open()
      const older = await store.takeOver('older')
      await store.appendBatch(batchOf(older.epoch, 1, [unitSet()]))
      const newer = await store.takeOver('newer')
      expect(newer).toEqual({ epoch: older.epoch + 1, lastSeq: 1 })
      const stale = batchOf(older.epoch, 2, [booked(BOOKING_1)])
      expect(await store.appendBatch(stale)).toMatchObject({ kind: 'fenced' })
      expect(await store.wasWritten(stale)).toBe(false)
      expect(await journalSeqs()).toEqual([1])
    })

    test('after the fence it can be told that a batch had been written', async () => {
      const { store } = await open()
      const { epoch } = await store.takeOver('test')
      const batch = batchOf(epoch, 1, [unitSet()])
      await store.appendBatch(batch)
      await store.takeOver('newer')
      expect(await store.wasWritten(batch)).toBe(true)
    })

    test('J3: under a renewed epoch an earlier send of the same writer writes nothing, and a later one does', async () => {
      const { store, journalSeqs } = await open()
      const { epoch } = await store.takeOver('test')
      expect(await store.renewEpoch(epoch, Bun.randomUUIDv7())).toBe(epoch + 1)
      const late = batchOf(epoch, 1, [unitSet()])
      expect(await store.appendBatch(late)).toMatchObject({ kind: 'fenced' })
      expect(await store.wasWritten(late)).toBe(false)
      expect(await store.appendBatch(batchOf(epoch + 1, 1, [unitSet()]))).toBe('durable')
      expect(await journalSeqs()).toEqual([1])
    })

    test('J3: a renewal asked for again raises the epoch once', async () => {
      const { store } = await open()
      const { epoch } = await store.takeOver('test')
      const renewal = Bun.randomUUIDv7()
      const answers = [await store.renewEpoch(epoch, renewal), await store.renewEpoch(epoch, renewal)]
      expect(answers).toEqual([epoch + 1, epoch + 1])
      expect(await store.takeOver('newer')).toMatchObject({ epoch: epoch + 2 })
    })

    test('J5: a writer that was fenced cannot renew its epoch', async () => {
      const { store } = await open()
      const { epoch } = await store.takeOver('older')
      await store.takeOver('newer')
      expect(await store.renewEpoch(epoch, Bun.randomUUIDv7())).toMatchObject({ kind: 'fenced' })
      expect(await store.takeOver('newest')).toMatchObject({ epoch: epoch + 2 })
    })

    test('a store that threw its connection away appends on a new one', async () => {
      const { store, journalSeqs } = await open()
      const { epoch } = await store.takeOver('test')
      store.reconnect()
      expect(await store.appendBatch(batchOf(epoch, 1, [unitSet()]))).toBe('durable')
      expect(await journalSeqs()).toEqual([1])
    })

    test('a unit is loaded with its snapshots, newest first, and the entries after the newest', async () => {
      const { store } = await open()
      const { epoch } = await store.takeOver('test')
      await store.appendBatch(batchOf(epoch, 1, [unitSet(), unitSet(sampleId('unt', 'b')), booked(BOOKING_1)]))
      const state = UnitState.empty(UNIT_A)
      state.apply({ kind: 'unit_set', unit: sampleUnit({ id: UNIT_A }) }, 1)
      await store.writeSnapshots([encodeSnapshot(AGENCY_ID, state)])
      const loaded = await store.loadUnit(AGENCY_ID, UNIT_A)
      expect(loaded.snapshots.map(({ seq }) => seq)).toEqual([1])
      expect(loaded.tail.map(({ seq, kind }) => [seq, kind])).toEqual([[3, 'booking_created']])
      expect((await store.loadEntries(AGENCY_ID, UNIT_A, 0)).map(({ seq }) => seq)).toEqual([1, 3])
    })

    test('an unknown unit has no past', async () => {
      const { store } = await open()
      expect(await store.loadUnit(AGENCY_ID, sampleId('unt', 'nobody'))).toEqual({ snapshots: [], tail: [] })
    })
  })
}
