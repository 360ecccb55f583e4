import { describe, expect, test } from 'bun:test'
import { reasonOf } from '../../src/lib/reason-of.ts'
import { freePort } from '../support/free-port.ts'

async function reasonFor(url: string): Promise<string> {
  return await fetch(url).then(
    ({ status }) => String(status),
    (error: unknown) => reasonOf(error),
  )
}

describe('the reason of a failed fetch has no advice for programmers', () => {
  test('when nothing listens', async () => {
    expect(await reasonFor(`http://127.0.0.1:${freePort()}/`)).toBe('ECONNREFUSED: Unable to connect')
  })

  test('when the connection is closed without an answer', async () => {
    using server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => void socket.end() } })
    expect(await reasonFor(`http://127.0.0.1:${server.port}/`)).toBe(
      'ECONNRESET: The socket connection was closed unexpectedly',
    )
  })
})

test('any other reason is left as it is', () => {
  expect(reasonOf(new Error('getaddrinfo ENOTFOUND db.invalid'))).toBe('getaddrinfo ENOTFOUND db.invalid')
  expect(reasonOf('gone')).toBe('gone')
})
