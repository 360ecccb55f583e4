import { expect, test } from 'bun:test'
import { sharedCall } from '../../src/lib/shared-call.ts'

test('a call is made once for all who ask meanwhile, and again for who asks later', async () => {
  const calls: PromiseWithResolvers<number>[] = []
  const shared = sharedCall(() => {
    const call = Promise.withResolvers<number>()
    calls.push(call)
    return call.promise
  })
  const asked = [shared(), shared()]
  calls[0]?.resolve(1)
  expect(await Promise.all(asked)).toEqual([1, 1])
  const later = [shared(), shared()]
  calls[1]?.reject(new Error('away'))
  expect((await Promise.allSettled(later)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  void shared()
  expect(calls).toHaveLength(3)
})
