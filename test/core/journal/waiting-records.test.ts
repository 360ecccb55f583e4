import { expect, test } from 'bun:test'
import { type WaitingRecord, WaitingRecords } from '../../../src/core/journal/waiting-records.ts'
import { FakeClock } from '../../support/fake-clock.ts'

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
