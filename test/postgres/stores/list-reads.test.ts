import { expect, test } from 'bun:test'
import { DeadlineError } from '../../../src/lib/deadline.ts'
import type { Sql } from '../../../src/postgres/client/connect.ts'
import { LISTS_PER_AGENCY_MAX, ListReads } from '../../../src/postgres/stores/list-reads.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const lists = new ListReads(null as unknown as Sql)
const read = (error: Error) => lists.read('agency', Promise.reject(error)).catch((caught: unknown) => caught)

test.each([
  ['the server cancels at its timeout', Object.assign(new Error('canceling statement'), { code: '57014' })],
  ['has no answer by its deadline', new DeadlineError(5_000)],
])('a list that %s is reported as slow', async (_, error) => {
  expect(await read(error)).toMatchObject({ name: 'SlowListError', cause: error })
})

test('any other failure of a list is passed on as it is', async () => {
  const error = new Error('connection lost')
  expect(await read(error)).toBe(error)
})

test('ending the reads waits until their connections are closed', async () => {
  const closed = Promise.withResolvers<void>()
  const ended = new ListReads({ end: () => closed.promise } as unknown as Sql).end({ timeout: 1 }).then(() => 'ended')
  expect(await Promise.race([ended, new FakeClock().advance(0)])).toBeUndefined()
  closed.resolve()
  expect(await ended).toBe('ended')
})

test('a read of several statements takes one place of its agency until it ends, and learns when its caller no longer waits', async () => {
  const clock = new FakeClock()
  const shared = new ListReads(null as unknown as Sql, { clock })
  const started: AbortSignal[] = []
  const ended = Promise.withResolvers<string>()
  const start = (agencyId: string) =>
    shared
      .run(agencyId, (signal) => {
        started.push(signal)
        return ended.promise
      })
      .catch((caught: unknown) => caught)
  const reads = Array.from({ length: LISTS_PER_AGENCY_MAX + 1 }, () => start('agency'))
  const other = start('other')
  await clock.advance(0)
  expect(started).toHaveLength(LISTS_PER_AGENCY_MAX + 1)
  expect(await Promise.race([other, clock.advance(2_000)])).toBeUndefined()
  await clock.advance(3_000)
  const names = (await Promise.all(reads)).map((outcome) => (outcome as Error).name)
  expect(names).toEqual([...Array(LISTS_PER_AGENCY_MAX).fill('SlowListError'), 'NoPlaceError'])
  expect(started.map(({ aborted }) => aborted)).toEqual(started.map(() => true))
  // The places are in use until the reads have ended.
  const late = start('agency')
  await clock.advance(0)
  expect(started).toHaveLength(LISTS_PER_AGENCY_MAX + 1)
  ended.resolve('rows')
  expect(await late).toBe('rows')
})
