import { afterEach, expect, test } from 'bun:test'
import { PortalClient } from '../../src/cli/portal-client.ts'

let server: Bun.Server<undefined> | null = null
afterEach(() => server?.stop(true))

/** A service that gives these answers, one after the other; the last of them again and again. */
function answering(answers: readonly (200 | 429)[]) {
  let requests = 0
  server = Bun.serve({
    port: 0,
    fetch: () => {
      const status = answers[Math.min(requests++, answers.length - 1)] ?? 200
      const headers = status === 429 ? { 'retry-after': '1' } : {}
      return Response.json(status === 200 ? { requests } : { code: 'RATE_LIMITED', title: 'Too many' }, {
        status,
        headers,
      })
    },
  })
  const client = new PortalClient({ url: `http://127.0.0.1:${server.port}`, token: 'hp_live_x' })
  return { client, requests: () => requests }
}

test('in the middle of its work the command line waits as long as it is told, and continues', async () => {
  const { client } = answering([200, 429, 200])
  await client.get('/me')
  const began = performance.now()
  expect(await client.send('POST', '/agencies/a/bookings', {})).toEqual({ requests: 3 })
  expect(performance.now() - began).toBeGreaterThan(900)
})

test('a token that was never accepted is not tried again', async () => {
  const { client, requests } = answering([429])
  await expect(client.get('/me')).rejects.toThrow('Too many')
  expect(requests()).toBe(1)
})

/** A service with a list of 500, whose elements change after the first page of the first reading, or after each page. */
function listing(change: (list: { id: number }[]) => void, { isEndless = false } = {}) {
  const list = Array.from({ length: 500 }, (_, id) => ({ id }))
  let requests = 0
  server = Bun.serve({
    port: 0,
    fetch: ({ url }) => {
      const parameters = new URL(url).searchParams
      const [page, pageSize] = [Number(parameters.get('page')), Number(parameters.get('pageSize'))]
      const things = list.slice((page - 1) * pageSize, page * pageSize)
      const answer = { things, totalItems: list.length, pageCount: Math.ceil(list.length / pageSize) }
      requests += 1
      if (requests === 1 || isEndless) change(list)
      return Response.json(answer)
    },
  })
  const client = new PortalClient({ url: `http://127.0.0.1:${server.port}`, token: 'hp_live_x' })
  const ids = async () => (await client.all('/things', 'things')).map(({ id }) => id)
  return { list, ids, requests: () => requests }
}

test.each([
  ['is removed', (list) => void list.shift()],
  ['is added', (list) => void list.unshift({ id: 500 })],
  ['is moved to its end', (list) => list.push(...list.splice(0, 1))],
  ['is moved to its beginning', (list) => list.unshift(...list.splice(499, 1))],
] satisfies [string, (list: { id: number }[]) => void][])(
  'a list of which an element %s while it is read is read as a whole, each element once',
  async (_, change) => {
    const { list, ids } = listing(change)
    expect((await ids()).toSorted()).toEqual(list.map(({ id }) => id).toSorted())
  },
)

test('a list that stays is read once', async () => {
  const { ids, requests } = listing(() => {})
  expect([(await ids()).length, requests()]).toEqual([500, 3])
})

test('a list that changes all the time is read five times, and has every element that was there throughout', async () => {
  const all = Array.from({ length: 500 }, (_, id) => id)
  let next = 500
  const { ids, requests } = listing((list) => void list.unshift({ id: next++ }), { isEndless: true })
  const read = await ids()
  expect([new Set(read).size, requests()]).toEqual([read.length, 5 * 3])
  expect(all.filter((id) => !read.includes(id))).toEqual([])
})
