import { describe, expect, test } from 'bun:test'
import { DeadlineError, withDeadline } from '../../src/lib/deadline.ts'

describe('withDeadline', () => {
  test('settles as the promise does, when that is in time', async () => {
    expect(await withDeadline(Promise.resolve(7), 1_000)).toBe(7)
    const failure = await withDeadline(Promise.reject(new Error('no')), 1_000).catch((error: Error) => error.message)
    expect(failure).toBe('no')
  })

  test('rejects at the deadline, and a failure that comes later is not unhandled', async () => {
    let fail: (error: Error) => void = () => {}
    const never = new Promise<number>((_, reject) => {
      fail = reject
    })
    const outcome = await withDeadline(never, 5).catch((error: unknown) => error)
    expect(outcome).toBeInstanceOf(DeadlineError)
    expect((outcome as DeadlineError).deadlineMs).toBe(5)
    fail(new Error('too late'))
    await Bun.sleep(1)
  })
})
