import { expect, test } from 'bun:test'
import { ChannelError, type Handlers, ProcessChannel } from '../../../src/cluster/workers/process-channel.ts'

/** Two ends, joined in this process; messages travel as JSON does. */
function joined(handlers: Handlers) {
  const sent: string[] = []
  let isGone = false
  const caller = new ProcessChannel((message) => {
    if (isGone) throw new Error('gone')
    sent.push(JSON.stringify(message))
    queueMicrotask(() => answerer.receive(JSON.parse(JSON.stringify(message))))
  }, {})
  const answerer: ProcessChannel = new ProcessChannel((message) => {
    queueMicrotask(() => caller.receive(JSON.parse(JSON.stringify(message))))
  }, handlers)
  const leave = () => {
    isGone = true
  }
  return { caller, answerer, sent, leave }
}

test('a call gets the value that the other side returns, now or later', async () => {
  const { caller } = joined({
    sum: (_: AbortSignal, a: number, b: number) => a + b,
    later: async (_: AbortSignal, text: string) => `${text}!`,
  })
  expect(await caller.call('sum', [1, 2])).toBe(3)
  expect(await caller.remote<{ later: (signal: AbortSignal, text: string) => Promise<string> }>().later('a')).toBe('a!')
})

test('a call fails with what the other side throws, and says whether it would refuse again', async () => {
  const { caller } = joined({
    refuse: () => {
      throw Object.assign(new Error('no'), { isRefusal: true })
    },
    fail: async () => {
      throw new Error('oh')
    },
  })
  await expect(caller.call('refuse', [])).rejects.toMatchObject({ message: 'no', isRefusal: true })
  await expect(caller.call('fail', [])).rejects.toMatchObject({ message: 'oh', isRefusal: false })
  await expect(caller.call('nothing', [])).rejects.toMatchObject({
    message: 'There is no call nothing',
    isRefusal: true,
  })
})

test('who no longer waits is told to the other side', async () => {
  const seen = Promise.withResolvers<void>()
  const { caller } = joined({
    wait: (signal: AbortSignal) =>
      new Promise<null>((resolve) =>
        signal.addEventListener('abort', () => {
          seen.resolve()
          resolve(null)
        }),
      ),
  })
  const controller = new AbortController()
  const call = caller.call('wait', [], controller.signal)
  await Promise.resolve()
  controller.abort()
  await expect(call).rejects.toBeInstanceOf(ChannelError)
  await seen.promise
})

test('when the other process ends, open calls fail, what it asked for is cancelled, and later calls fail too', async () => {
  let isCancelled = false
  const { caller, answerer, leave } = joined({
    wait: (signal: AbortSignal) =>
      new Promise<null>(() =>
        signal.addEventListener('abort', () => {
          isCancelled = true
        }),
      ),
  })
  const open = caller.call('wait', [])
  await Promise.resolve()
  caller.close()
  answerer.close()
  await expect(open).rejects.toMatchObject({ isRefusal: false })
  expect(isCancelled).toBe(true)
  await expect(caller.call('wait', [])).rejects.toThrow('has ended')
  const other = joined({})
  other.leave()
  leave()
  await expect(other.caller.call('any', [])).rejects.toThrow('has ended')
})
