import { expect, test } from 'bun:test'
import { BatchedCalls } from '../../src/lib/batched-calls.ts'

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
