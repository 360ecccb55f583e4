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
