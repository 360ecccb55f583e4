import { expect, test } from 'bun:test'
import { BatchedCalls } from '../../src/lib/batched-calls.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** Doubles numbers, and refuses a batch with a negative one. */
function doubled(atOnce: number) {
  const batches: (readonly number[])[] = []
  const calls = new BatchedCalls(async (batch: readonly number[]) => {
    batches.push(batch)
    await Bun.sleep(1)
    if (batch.some((each) => each < 0)) throw new Error('negative')
    return batch.map((each) => 2 * each)
  }, atOnce)
  return { batches, calls }
}

test('calls of the same moment are one batch, those that come meanwhile the next, and each gets its own answer', async () => {
  const { batches, calls } = doubled(10)
  const first = [1, 2].map((each) => calls.call(each))
  await Promise.resolve()
  await Promise.resolve()
  const later = [3, 4, 5].map((each) => calls.call(each))
  expect(calls.waiting).toBe(3)
  expect(await Promise.all([...first, ...later])).toEqual([2, 4, 6, 8, 10])
  expect(batches).toEqual([
    [1, 2],
    [3, 4, 5],
  ])
  expect([await calls.call(6), batches.length]).toEqual([12, 3])
})

test('a batch has as many calls as were allowed, and one that fails is the failure of its own calls alone', async () => {
  const { batches, calls } = doubled(2)
  const answers = await Promise.allSettled([1, -1, 3, 4, 5].map((each) => calls.call(each)))
  expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.message))).toEqual([
    'negative',
    'negative',
    6,
    8,
    10,
  ])
  expect(batches.map(({ length }) => length)).toEqual([2, 2, 1])
})

test('a batch that is slow does not hold up the next one, but four of them do', async () => {
  const clock = new FakeClock()
  const ends: (() => void)[] = []
  const calls = new BatchedCalls(
    async (batch: readonly number[]) => {
      await new Promise<void>((resolve) => ends.push(resolve))
      return batch
    },
    1,
    clock,
  )
  const answers = [1, 2, 3, 4, 5, 6].map((each) => calls.call(each))
  await clock.advance(40)
  expect(ends).toHaveLength(1)
  await clock.advance(20)
  expect(ends).toHaveLength(2)
  await clock.advance(1_000)
  expect(ends).toHaveLength(4)
  ends[3]?.()
  await clock.advance(0)
  expect([await answers[3], ends.length]).toEqual([4, 5])
  for (let i = 0; i < 6; i++) {
    ends[i]?.()
    await clock.advance(0)
  }
  expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6])
})
