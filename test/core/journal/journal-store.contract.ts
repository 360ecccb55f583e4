import { describe, expect, test } from 'bun:test'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import type { JournalStore, WriterTerm } from '../../../src/core/journal/journal-store.ts'
import type { JournalRecord } from '../../../src/core/journal/record.ts'
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { encodeSnapshot } from '../../../src/core/journal/snapshot-codec.ts'
import {
  agenciesOfShards,
  audited,
  batchOf,
  booked,
  entryOf,
  together,
  unitSet,
  without,
} from '../../support/journal-records.ts'
import { AGENCY, sampleBooking, sampleId, sampleUnit } from '../../support/samples.ts'

/** A store on an empty ledger, which has the agency `AGENCY`, and a way to look at what it wrote. */
interface StoreUnderTest {
  readonly store: JournalStore
  /** Of the agency's entries, in order. */
  seqsOf(agencyId: string): Promise<number[]>
  bookingIds(): Promise<string[]>
  auditCounts(): Promise<number[]>
  /** As a cluster does: another process takes one shard over. */
  takeShard(shard: number): Promise<void>
}

const SHARD = shardOf(AGENCY.id)
const UNIT_A = sampleId('unt', 'a')
const [FIRST = '', SECOND = ''] = agenciesOfShards(2)

/** The end of a shard's log, as a take-over tells it. */
const endOf = ({ shards }: WriterTerm, shard = SHARD) => shards[shard]
const renewalOf = ({ shards }: WriterTerm, ...which: number[]) => which.flatMap((shard) => shards[shard] ?? [])

/** What every implementation of the port must do; the journal's promises rest on it. */
export function journalStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name}: a batch`, () => {
    test('is durable as a whole', async () => {
      const { store, seqsOf, bookingIds } = await open()
      const term = await store.takeOver('test')
      expect(await store.lane(0).appendBatch(batchOf(term, [unitSet(UNIT_A), booked('1'), audited('1')]))).toBe(
        'durable',
      )
      expect(await seqsOf(AGENCY.id)).toEqual([1, 2])
      expect(await bookingIds()).toEqual([sampleId('bkg', '1')])
    })

    test('J3: has gapless numbers of its own in each shard', async () => {
      const { store, seqsOf } = await open()
      const term = await store.takeOver('test')
      const first = batchOf(term, [booked('1', { agencyId: FIRST }), booked('2', { agencyId: SECOND })])
      const second = batchOf(term, [booked('3', { agencyId: SECOND }), booked('4', { agencyId: SECOND })], {
        after: [first],
      })
      expect([await store.lane(0).appendBatch(first), await store.lane(0).appendBatch(second)]).toEqual([
        'durable',
        'durable',
      ])
      expect([await seqsOf(FIRST), await seqsOf(SECOND)]).toEqual([[1], [1, 2, 3]])
    })

    test('J3: sent again is found, not written twice', async () => {
      const { store, seqsOf, bookingIds } = await open()
      const batch = batchOf(await store.takeOver('test'), [unitSet(UNIT_A), booked('1')])
      expect([await store.lane(0).appendBatch(batch), await store.lane(0).appendBatch(batch)]).toEqual([
        'durable',
        'durable',
      ])
      expect(await seqsOf(AGENCY.id)).toEqual([1, 2])
      expect(await bookingIds()).toEqual([sampleId('bkg', '1')])
    })

    test('J3: that changes a booking is found when it is sent again', async () => {
      const { store, seqsOf } = await open()
      const term = await store.takeOver('test')
      const made = batchOf(term, [booked('1')])
      const before = sampleBooking({ id: sampleId('bkg', '1'), unitId: sampleId('unt', '1') })
      const change = entryOf({ kind: 'booking_changed', before, after: { ...before, version: 2 } })
      const changed = batchOf(term, [{ agencyId: AGENCY.id, at: change.at, entries: [change] }], { after: [made] })
      expect(await store.lane(0).appendBatch(made)).toBe('durable')
      expect([await store.lane(0).appendBatch(changed), await store.lane(0).appendBatch(changed)]).toEqual([
        'durable',
        'durable',
      ])
      expect(await seqsOf(AGENCY.id)).toEqual([1, 2])
    })

    test('J3: of which a part is sent again is found, not written twice', async () => {
      const { store, seqsOf } = await open()
      const batch = batchOf(await store.takeOver('test'), [
        booked('1', { agencyId: FIRST }),
        booked('2', { agencyId: SECOND }),
      ])
      expect(await store.lane(0).appendBatch(batch)).toBe('durable')
      expect(await store.lane(0).appendBatch(without(batch, FIRST))).toBe('durable')
      expect([await seqsOf(FIRST), await seqsOf(SECOND)]).toEqual([[1], [1]])
    })

    test('J9: writes all entries of a record or none, and finds them all when it is sent again', async () => {
      const { store, seqsOf, bookingIds } = await open()
      const term = await store.takeOver('test')
      const group = batchOf(term, [booked('1'), together(booked('2'), booked('3'), booked('4'))])
      expect([await store.lane(0).appendBatch(group), await store.lane(0).appendBatch(group)]).toEqual([
        'durable',
        'durable',
      ])
      expect(await seqsOf(AGENCY.id)).toEqual([1, 2, 3, 4])
      expect((await bookingIds()).toSorted()).toEqual(
        ['1', '2', '3', '4'].map((label) => sampleId('bkg', label)).sort(),
      )
      // Its second entry leaves a gap: nothing of it is written.
      const torn = batchOf(term, [together(booked('5'), booked('6'))], { after: [group] })
      const misplaced = torn.records.map((of) => ({
        ...of,
        entries: of.entries.map((entry, i) => (i === 1 ? { ...entry, seq: entry.seq + 1 } : entry)),
      }))
      expect(await store.lane(0).appendBatch({ ...torn, records: misplaced })).toMatchObject({ kind: 'fenced' })
      expect(await seqsOf(AGENCY.id)).toEqual([1, 2, 3, 4])
      await store.takeOver('newer')
      expect([await store.lane(0).wasWritten(group), await store.lane(0).wasWritten(torn)]).toEqual([true, false])
    })

    test('J3: of which only a part is there is refused as by the fence', async () => {
      const { store, seqsOf } = await open()
      const batch = batchOf(await store.takeOver('test'), [
        booked('1', { agencyId: FIRST }),
        booked('2', { agencyId: SECOND }),
      ])
      expect(await store.lane(0).appendBatch(without(batch, SECOND))).toBe('durable')
      expect(await store.lane(0).appendBatch(batch)).toMatchObject({ kind: 'fenced' })
      expect([await seqsOf(FIRST), await seqsOf(SECOND)]).toEqual([[1], []])
    })

    test('J3: without entries sent again changes nothing, and a count never shrinks', async () => {
      const { store, auditCounts } = await open()
      const term = await store.takeOver('test')
      for (const count of [3, 3, 2]) await store.lane(0).appendBatch(batchOf(term, [audited('1', count)]))
      expect(await auditCounts()).toEqual([3])
    })

    test('with two lines of one id has one line with the later count', async () => {
      const { store, auditCounts } = await open()
      const term = await store.takeOver('test')
      expect(await store.lane(0).appendBatch(batchOf(term, [audited('1', 1), audited('1', 2)]))).toBe('durable')
      expect(await auditCounts()).toEqual([2])
    })

    test('J3: with other entries under numbers that are taken is refused as by the fence', async () => {
      const { store, bookingIds } = await open()
      const term = await store.takeOver('test')
      await store.lane(0).appendBatch(batchOf(term, [unitSet(UNIT_A)]))
      const taken = await store.lane(0).appendBatch(batchOf(term, [booked('1')]))
      expect(taken).toMatchObject({ kind: 'fenced', shards: [SHARD] })
      expect(await bookingIds()).toEqual([])
    })

    test('J3: before which an entry is missing is refused as by the fence', async () => {
      const { store, seqsOf } = await open()
      const term = await store.takeOver('test')
      const never = batchOf(term, [unitSet(UNIT_A)])
      const gap = batchOf(term, [booked('1')], { after: [never] })
      expect(await store.lane(0).appendBatch(gap)).toMatchObject({ kind: 'fenced', shards: [SHARD] })
      expect(await seqsOf(AGENCY.id)).toEqual([])
    })

    test('J3: before which an entry is missing is refused, also when another shard has one with that number', async () => {
      const { store, seqsOf } = await open()
      const term = await store.takeOver('test')
      const never = batchOf(term, [booked('1', { agencyId: FIRST })])
      expect(await store.lane(0).appendBatch(batchOf(term, [booked('2', { agencyId: SECOND })]))).toBe('durable')
      const gap = batchOf(term, [booked('3', { agencyId: FIRST })], { after: [never] })
      expect(await store.lane(0).appendBatch(gap)).toMatchObject({ kind: 'fenced', shards: [shardOf(FIRST)] })
      expect(await seqsOf(FIRST)).toEqual([])
    })

    test('J3: in which an entry is missing is refused as by the fence', async () => {
      const { store, seqsOf } = await open()
      const { shards, records } = batchOf(await store.takeOver('test'), [booked('1'), booked('2'), booked('3')])
      const gap = { shards, records: records.filter((_, i) => i !== 1) }
      expect(await store.lane(0).appendBatch(gap)).toMatchObject({ kind: 'fenced', shards: [SHARD] })
      expect(await seqsOf(AGENCY.id)).toEqual([])
    })

    test('is refused as by the fence when its month is before that of the entry before it', async () => {
      const { store, seqsOf } = await open()
      const term = await store.takeOver('test')
      const late = batchOf(term, [booked('1', { at: Date.UTC(2999, 0, 1) })])
      expect(await store.lane(0).appendBatch(late)).toBe('durable')
      const { records, shards } = batchOf(term, [booked('2')], { after: [late] })
      const oldest = term.shards[SHARD]?.lastMonth ?? ''
      const back = records.map((of) => ({ ...of, entries: of.entries.map((entry) => ({ ...entry, month: oldest })) }))
      expect(await store.lane(0).appendBatch({ shards, records: back })).toMatchObject({ kind: 'fenced' })
      expect(await seqsOf(AGENCY.id)).toEqual([1])
    })
  })

  describe(`${name}: a take-over`, () => {
    test('tells of each shard the end of its log, and raises its epoch by one', async () => {
      const { store } = await open()
      const older = await store.takeOver('older')
      const batch = batchOf(older, [unitSet(UNIT_A), booked('1'), booked('2', { agencyId: FIRST })])
      await store.lane(0).appendBatch(batch)
      const newer = await store.takeOver('newer')
      expect(newer.shards.map(({ shard }) => shard)).toEqual(Array.from({ length: SHARDS }, (_, shard) => shard))
      expect(newer.shards.map(({ epoch }) => epoch)).toEqual(older.shards.map(({ epoch }) => epoch + 1))
      const last = batch.records[1]?.entries[0]
      expect(endOf(newer)).toMatchObject({ lastSeq: 2, lastMonth: last?.month ?? '' })
      expect(Buffer.from(endOf(newer)?.lastLink ?? []).toString('hex')).toBe(
        Buffer.from(last?.link ?? []).toString('hex'),
      )
      expect(endOf(newer, shardOf(FIRST))?.lastSeq).toBe(1)
      expect(endOf(newer, shardOf(SECOND))).toEqual({
        shard: shardOf(SECOND),
        epoch: (endOf(older, shardOf(SECOND))?.epoch ?? 0) + 1,
        lastSeq: 0,
        lastMonth: endOf(older)?.lastMonth ?? '',
        lastLink: expect.any(Uint8Array),
      })
      expect(endOf(newer, shardOf(SECOND))?.lastLink).toHaveLength(0)
    })

    test('J5: fences out the older epoch, which writes nothing any more', async () => {
      const { store, seqsOf } = await open()
      const older = await store.takeOver('older')
      const first = batchOf(older, [unitSet(UNIT_A)])
      await store.lane(0).appendBatch(first)
      await store.takeOver('newer')
      const stale = batchOf(older, [booked('1')], { after: [first] })
      expect(await store.lane(0).appendBatch(stale)).toMatchObject({ kind: 'fenced', shards: [SHARD] })
      expect(await store.lane(0).wasWritten(stale)).toBe(false)
      expect(await seqsOf(AGENCY.id)).toEqual([1])
    })

    test('J5: of one shard fences out its entries alone: the others can be written without them', async () => {
      const { store, seqsOf, takeShard } = await open()
      const batch = batchOf(await store.takeOver('test'), [
        booked('1', { agencyId: FIRST }),
        booked('2', { agencyId: SECOND }),
      ])
      await takeShard(shardOf(SECOND))
      expect(await store.lane(0).appendBatch(batch)).toMatchObject({ kind: 'fenced', shards: [shardOf(SECOND)] })
      expect([await seqsOf(FIRST), await seqsOf(SECOND)]).toEqual([[], []])
      expect(await store.lane(0).appendBatch(without(batch, SECOND))).toBe('durable')
      expect([await seqsOf(FIRST), await seqsOf(SECOND)]).toEqual([[1], []])
    })

    test('J5: of all shards of a batch is answered with all of them', async () => {
      const { store } = await open()
      const records = [booked('1', { agencyId: FIRST }), booked('2', { agencyId: SECOND })]
      const batch = batchOf(await store.takeOver('older'), records)
      await store.takeOver('newer')
      const outcome = await store.lane(0).appendBatch(batch)
      expect(outcome).toMatchObject({ kind: 'fenced', shards: [shardOf(FIRST), shardOf(SECOND)] })
    })
  })

  describe(`${name}: whether a batch was written`, () => {
    test('J3: is not said while its own epoch holds the fence, and afterwards for good', async () => {
      const { store } = await open()
      const older = await store.takeOver('older')
      const batch = batchOf(older, [unitSet(UNIT_A), booked('1')])
      await store.lane(0).appendBatch(batch)
      const never = batchOf(older, [booked('2')], { after: [batch] })
      expect(await store.lane(0).wasWritten(never)).toBeNull()
      await store.takeOver('newer')
      expect([await store.lane(0).wasWritten(batch), await store.lane(0).wasWritten(never)]).toEqual([true, false])
    })

    test('J3: is said of the part whose shards were fenced', async () => {
      const { store, takeShard } = await open()
      const records = [booked('1', { agencyId: FIRST }), booked('2', { agencyId: SECOND })]
      const batch = batchOf(await store.takeOver('test'), records)
      await store.lane(0).appendBatch(batch)
      await takeShard(shardOf(SECOND))
      expect(await store.lane(0).wasWritten(without(batch, FIRST))).toBe(true)
    })

    test('J3: is not said by another entry that has its number', async () => {
      const { store } = await open()
      const older = await store.takeOver('older')
      const lost = batchOf(older, [booked('1')])
      await store.lane(0).appendBatch(batchOf(await store.takeOver('newer'), [booked('2')]))
      expect(await store.lane(0).wasWritten(lost)).toBe(false)
    })

    test('J3: is not said by another audit line of its agency, or by an earlier count of its own', async () => {
      const { store } = await open()
      const older = await store.takeOver('older')
      const sent = batchOf(older, [audited('1', 2), audited('2', 2)])
      expect(await store.lane(0).appendBatch(sent)).toBe('durable')
      await store.takeOver('newer')
      const wasWritten = (...records: JournalRecord[]) => store.lane(0).wasWritten(batchOf(older, records))
      expect(await wasWritten(audited('1', 2), audited('2', 1))).toBe(true)
      expect(await wasWritten(audited('1', 2), audited('3', 2))).toBe(false)
      expect(await wasWritten(audited('1', 3))).toBe(false)
    })
  })

  describe(`${name}: a renewal`, () => {
    test('J3: voids an earlier send of the same writer, and a later one is written', async () => {
      const { store, seqsOf } = await open()
      const term = await store.takeOver('test')
      const late = batchOf(term, [unitSet(UNIT_A)])
      const own = renewalOf(term, SHARD)
      const renewed = own.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }))
      expect(await store.lane(0).renewEpochs(own, Bun.randomUUIDv7())).toMatchObject(renewed)
      expect(await store.lane(0).appendBatch(late)).toMatchObject({ kind: 'fenced', shards: [SHARD] })
      expect(await store.lane(0).wasWritten(late)).toBe(false)
      expect(await store.lane(0).appendBatch({ ...late, shards: renewed })).toBe('durable')
      expect(await seqsOf(AGENCY.id)).toEqual([1])
    })

    test('J3: asked for again raises each epoch once, also for a part of its shards', async () => {
      const { store } = await open()
      const term = await store.takeOver('test')
      const own = renewalOf(term, 3, 7)
      const renewed = own.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }))
      const renewal = Bun.randomUUIDv7()
      expect(await store.lane(0).renewEpochs(own, renewal)).toMatchObject(renewed)
      expect(await store.lane(0).renewEpochs(own, renewal)).toMatchObject(renewed)
      expect(await store.lane(0).renewEpochs(own.slice(1), renewal)).toMatchObject(renewed.slice(1))
      const epochs = (await store.takeOver('newer')).shards.map(({ epoch }) => epoch)
      expect(epochs).toEqual(term.shards.map(({ shard, epoch }) => epoch + ([3, 7].includes(shard) ? 2 : 1)))
    })

    test('J5: is refused to a writer that was fenced in one of the shards, and raises none', async () => {
      const { store, takeShard } = await open()
      const term = await store.takeOver('test')
      await takeShard(7)
      const refused = await store.lane(0).renewEpochs(renewalOf(term, 3, 7), Bun.randomUUIDv7())
      expect(refused).toMatchObject({ kind: 'fenced', shards: [7] })
      expect(endOf(await store.takeOver('newer'), 3)?.epoch).toBe((endOf(term, 3)?.epoch ?? 0) + 1)
    })
  })

  describe(name, () => {
    test('appends on a new connection after the old one was thrown away', async () => {
      const { store, seqsOf } = await open()
      const term = await store.takeOver('test')
      store.lane(0).reconnect()
      expect(await store.lane(0).appendBatch(batchOf(term, [unitSet(UNIT_A)]))).toBe('durable')
      expect(await seqsOf(AGENCY.id)).toEqual([1])
    })

    test('loads a unit with its snapshots, newest first, and the entries after the newest', async () => {
      const { store } = await open()
      const term = await store.takeOver('test')
      await store
        .lane(0)
        .appendBatch(batchOf(term, [unitSet(UNIT_A), unitSet(sampleId('unt', 'b')), booked('1', { unitId: UNIT_A })]))
      const state = UnitState.empty(UNIT_A)
      state.apply({ kind: 'unit_set', unit: sampleUnit({ id: UNIT_A }) }, 1)
      await store.writeSnapshots([encodeSnapshot(AGENCY.id, state)])
      const loaded = await store.loadUnit(AGENCY.id, UNIT_A)
      expect(loaded.snapshots.map(({ seq }) => seq)).toEqual([1])
      expect(loaded.tail.map(({ seq, kind }) => [seq, kind])).toEqual([[3, 'booking_created']])
      expect((await store.loadEntries(AGENCY.id, UNIT_A, 0)).map(({ seq }) => seq)).toEqual([1, 3])
    })

    test('loads many units together as it loads each alone; a booking that moved belongs to both, and a unit without a first entry is left out', async () => {
      const { store } = await open()
      const term = await store.takeOver('test')
      const [b, c, nobody] = [sampleId('unt', 'b'), sampleId('unt', 'c'), sampleId('unt', 'nobody')]
      const before = sampleBooking({ id: sampleId('bkg', '1'), unitId: UNIT_A })
      const moved = { kind: 'booking_changed', before, after: { ...before, unitId: b, version: 2 } } as const
      const made = batchOf(term, [unitSet(UNIT_A), unitSet(b), unitSet(c), booked('1', { unitId: UNIT_A })])
      const move = { agencyId: AGENCY.id, at: before.createdAt, entries: [entryOf(moved)] }
      expect(await store.lane(0).appendBatch(made)).toBe('durable')
      expect(await store.lane(0).appendBatch(batchOf(term, [move], { after: [made] }))).toBe('durable')
      const state = UnitState.empty(UNIT_A)
      state.apply({ kind: 'unit_set', unit: sampleUnit({ id: UNIT_A }) }, 1)
      await store.writeSnapshots([encodeSnapshot(AGENCY.id, state)])
      const units = await store.loadUnits(AGENCY.id, [c, UNIT_A, nobody, b])
      expect([...units.keys()].sort()).toEqual([UNIT_A, b, c].sort())
      for (const [unitId, stored] of units) expect(stored).toEqual(await store.loadUnit(AGENCY.id, unitId))
      expect(units.get(UNIT_A)?.snapshots.map(({ seq }) => seq)).toEqual([1])
      expect([UNIT_A, b, c].map((id) => units.get(id)?.tail.map(({ seq }) => seq))).toEqual([[4, 5], [2, 5], [3]])
      expect((await store.loadUnits(AGENCY.id, [])).size).toBe(0)
    })

    test('loads no entry that the newest snapshot includes, also when it is the move of a booking from or to the unit', async () => {
      const { store } = await open()
      const term = await store.takeOver('test')
      const b = sampleId('unt', 'b')
      const before = sampleBooking({ id: sampleId('bkg', '1'), unitId: UNIT_A })
      const moved = { kind: 'booking_changed', before, after: { ...before, unitId: b, version: 2 } } as const
      const move = { agencyId: AGENCY.id, at: before.createdAt, entries: [entryOf(moved)] }
      const made = batchOf(term, [unitSet(UNIT_A), unitSet(b), booked('1', { unitId: UNIT_A })])
      expect(await store.lane(0).appendBatch(made)).toBe('durable')
      expect(await store.lane(0).appendBatch(batchOf(term, [move], { after: [made] }))).toBe('durable')
      for (const unitId of [UNIT_A, b]) {
        const state = UnitState.empty(unitId)
        state.apply({ kind: 'unit_set', unit: sampleUnit({ id: unitId }) }, 4)
        await store.writeSnapshots([encodeSnapshot(AGENCY.id, state)])
        const loaded = await store.loadUnit(AGENCY.id, unitId)
        expect([loaded.snapshots.map(({ seq }) => seq), loaded.tail]).toEqual([[4], []])
      }
    })

    test('knows of no past of an unknown unit', async () => {
      const { store } = await open()
      expect(await store.loadUnit(AGENCY.id, sampleId('unt', 'nobody'))).toEqual({ snapshots: [], tail: [] })
    })
  })
}
