import { expect, test } from 'bun:test'
import { JournalError } from '../../../src/core/journal/journal-error.ts'
import { type WaitingRecord, WaitingRecords } from '../../../src/core/journal/waiting-records.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { entryOf } from '../../support/journal-records.ts'
import { sampleUnit } from '../../support/samples.ts'

const waitingOf = (agencyId: string): WaitingRecord => ({
  record: { agencyId, at: 0 },
  shard: 1,
  since: 0,
  resolve: () => {},
  reject: () => {},
})

test('A1: however many writes of one agency wait for the database, another still finds a place', () => {
  const clock = new FakeClock()
  const records = new WaitingRecords({ clock, waitingMax: 4, agencyWaitingMax: 2, queuedMsMax: 5_000 })
  expect([1, 2, 3].map(() => records.push(waitingOf('agc_a')))).toEqual([true, true, false])
  expect([1, 2, 3].map(() => records.push(waitingOf('agc_b')))).toEqual([true, true, false])
  expect(records.push(waitingOf('agc_c'))).toBe(false)
  // What has become durable leaves its place to the same agency again.
  records.take(1, ({ record }) => record.agencyId === 'agc_a')
  expect(records.push(waitingOf('agc_a'))).toBe(true)
})

test('a batch is limited by its entries, however many a record has, and nothing overtakes a record that does not fit', () => {
  const records = new WaitingRecords({ clock: new FakeClock(), waitingMax: 20, queuedMsMax: 5_000 })
  const sized = (size: number, agencyId = 'agc_a'): WaitingRecord => {
    const entry = entryOf({ kind: 'unit_set', unit: sampleUnit() })
    return { ...waitingOf(agencyId), record: { agencyId, at: 0, entries: Array.from({ length: size }, () => entry) } }
  }
  const sizes = (taken: readonly WaitingRecord[]) => taken.map(({ record }) => record.entries?.length)
  for (const waiting of [sized(1), sized(3), sized(1, 'agc_b'), sized(1), sized(9), sized(1)]) records.push(waiting)
  const ofA = ({ record }: WaitingRecord) => record.agencyId === 'agc_a'
  expect(sizes(records.take(5, ofA))).toEqual([1, 3, 1])
  // Larger than a batch: it goes alone.
  expect(sizes(records.take(5, ofA))).toEqual([9])
  expect(sizes(records.take(5, () => true))).toEqual([1, 1])
  expect(records.size).toBe(0)
})

test('all records are refused, however many entries they have', () => {
  const records = new WaitingRecords({ clock: new FakeClock(), waitingMax: 20, queuedMsMax: 5_000 })
  let refused = 0
  const entries = Array.from({ length: 3 }, () => entryOf({ kind: 'unit_set', unit: sampleUnit() }))
  for (let i = 0; i < 4; i++)
    records.push({ ...waitingOf('agc_a'), record: { agencyId: 'agc_a', at: 0, entries }, reject: () => ++refused })
  records.refuseAll(() => new JournalError('closed', 'closed'))
  expect([refused, records.size]).toEqual([4, 0])
})
