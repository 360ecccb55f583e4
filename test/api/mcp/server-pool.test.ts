import { describe, expect, test } from 'bun:test'
import { ServerPool, ServersBusyError } from '../../../src/api/mcp/server-pool.ts'

interface FakeServer {
  readonly number: number
  isClosed: boolean
  close(): Promise<void>
}

function openPool(limits: { serversMax: number; waitingMax: number }) {
  const opened: FakeServer[] = []
  const pool = new ServerPool(() => {
    const server: FakeServer = {
      number: opened.length + 1,
      isClosed: false,
      close: async () => {
        server.isClosed = true
      },
    }
    opened.push(server)
    return server
  }, limits)
  /** A call that lasts until it is told how to end. Tells which server it has as soon as it has one. */
  const begin = () => {
    const end = Promise.withResolvers<string>()
    const server = Promise.withResolvers<FakeServer>()
    const result = pool.use((used) => {
      server.resolve(used)
      return end.promise
    })
    return { server: server.promise, result, end: end.resolve, fail: end.reject }
  }
  return { pool, opened, begin }
}

describe('a pool', () => {
  test('gives calls at the same time different servers, and later calls the same ones again', async () => {
    const { opened, begin } = openPool({ serversMax: 3, waitingMax: 1 })
    for (let round = 0; round < 3; round++) {
      const calls = [begin(), begin(), begin()]
      const servers = await Promise.all(calls.map(({ server }) => server))
      expect(new Set(servers).size).toBe(3)
      for (const { end } of calls) end('done')
      expect(await Promise.all(calls.map(({ result }) => result))).toEqual(['done', 'done', 'done'])
    }
    expect(opened).toHaveLength(3)
  })

  test('lets calls beyond its servers wait, and serves them in the order in which they came', async () => {
    const { opened, begin } = openPool({ serversMax: 1, waitingMax: 2 })
    const order: number[] = []
    const calls = [begin(), begin(), begin()]
    for (const [i, { server }] of calls.entries()) void server.then(() => order.push(i))
    await Bun.sleep(0)
    expect(order).toEqual([0])
    for (const [i, { end, result }] of calls.entries()) {
      end('done')
      await result
      await Bun.sleep(0)
      expect(order).toEqual([0, 1, 2].slice(0, i + 2))
    }
    expect(opened).toHaveLength(1)
  })

  test('refuses a call that finds the queue full, and takes calls again when there is room', async () => {
    const { begin } = openPool({ serversMax: 1, waitingMax: 1 })
    const first = begin()
    const second = begin()
    const refused = await begin().result.catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ServersBusyError)
    first.end('first')
    second.end('second')
    expect(await Promise.all([first.result, second.result])).toEqual(['first', 'second'])
    const third = begin()
    third.end('third')
    expect(await third.result).toBe('third')
  })

  test('closes the server of a call that failed and gives the call that waits a new one', async () => {
    const { opened, begin } = openPool({ serversMax: 1, waitingMax: 1 })
    const failing = begin()
    const waiting = begin()
    failing.fail(new Error('broken'))
    expect(await failing.result.catch(String)).toBe('Error: broken')
    const server = await waiting.server
    expect([opened[0]?.isClosed, server.isClosed, server.number]).toEqual([true, false, 2])
    waiting.end('done')
    expect(await waiting.result).toBe('done')
    const next = begin()
    expect((await next.server).number).toBe(2)
    next.end('done')
    await next.result
  })

  test('never has more servers in use than its limit, whatever fails', async () => {
    const { pool } = openPool({ serversMax: 4, waitingMax: 1_000 })
    let used = 0
    let usedMax = 0
    const calls = Array.from({ length: 300 }, (_, i) =>
      pool.use(async (server) => {
        usedMax = Math.max(usedMax, ++used)
        expect(server.isClosed).toBe(false)
        await Bun.sleep(i % 3)
        used -= 1
        if (i % 5 === 0) throw new Error('broken')
        return i
      }),
    )
    const ended = await Promise.allSettled(calls)
    expect(usedMax).toBe(4)
    expect(ended.map((end) => (end.status === 'fulfilled' ? end.value : null))).toEqual(
      Array.from({ length: 300 }, (_, i) => (i % 5 === 0 ? null : i)),
    )
  })
})
