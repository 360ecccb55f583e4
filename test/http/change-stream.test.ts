/** Streams of changes over real connections, to clients that do not read. */
import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { ChangeFeed, ChangeStream } from '../../src/events/changes/change-feed.ts'
import type { ChangePage } from '../../src/events/changes/change-page.ts'
import { answerChanges, eventStream, isStreamAccepted } from '../../src/http/change-requests.ts'
import { SERVE_OPTIONS } from '../../src/http/server/listener.ts'
import { eventually } from '../support/eventually.ts'

const PAGE_BYTES = 100_000
/** Far more than the sockets of a connection take in. */
const BYTES_MAX = 50_000_000

const PAGE: ChangePage = {
  changes: [{ event: 'booking.created', cursor: 'c', json: JSON.stringify('x'.repeat(PAGE_BYTES)) }],
  position: { seq: 1, fingerprint: '' },
  cursor: 'c',
  hasMore: true,
  upTo: 1,
}

/** A history without end. It counts what is read of it. */
function endless() {
  const seen = { bytes: 0, isClosed: false }
  const stream: ChangeStream = {
    first: PAGE,
    next: async () => {
      // As a read of the log does, it leaves others a turn.
      await Bun.sleep(0)
      seen.bytes += PAGE_BYTES
      return seen.isClosed || seen.bytes > BYTES_MAX ? null : PAGE
    },
    close: () => {
      seen.isClosed = true
    },
  }
  return { stream, seen }
}

test('a stream whose first page cannot be answered gives up its place', async () => {
  const { stream, seen } = endless()
  const request = new Request('http://localhost/', { headers: { accept: 'text/event-stream' } })
  const feed = { stream: async () => stream } as unknown as ChangeFeed
  const failed = answerChanges({
    feed,
    request,
    query: {},
    of: 'key',
    reader: { agencyId: 'agc_a', keyId: 'key_a', isServed: () => true },
    render: () => Promise.reject(new Error('no guests')),
    stream: { open: {}, headers: () => new Headers(), onFailure: () => {} },
  })
  expect(await failed.catch(String)).toBe('Error: no guests')
  expect(seen.isClosed).toBe(true)
})

test('a stream tells proxies not to hold it back', async () => {
  const { stream } = endless()
  const answer = await answerChanges({
    feed: { stream: async () => stream } as unknown as ChangeFeed,
    request: new Request('http://localhost/', { headers: { accept: 'text/event-stream' } }),
    query: {},
    of: 'person',
    reader: { agencyId: 'agc_a', keyId: 'key_a', isServed: () => true },
    render: async (changes) => changes,
    stream: { open: {}, headers: () => new Headers(), onFailure: () => {} },
  })
  if (!(answer instanceof Response)) throw new Error('no stream')
  expect(answer.headers.get('x-accel-buffering')).toBe('no')
  await answer.body?.cancel()
})

test('of a stream that its client does not read, no more is read than the sockets take in, and it is cut off', async () => {
  const { stream, seen } = endless()
  const server = Bun.serve({
    // Shorter than the service's, so that the test is.
    ...SERVE_OPTIONS,
    idleTimeout: 4,
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(eventStream(stream, () => {})),
  })
  const socket = connect({ port: server.port ?? 0, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n')
  await eventually('it is being sent', () => seen.bytes > 0)
  await eventually('it is cut off', () => seen.isClosed)
  expect(seen.bytes).toBeLessThan(BYTES_MAX)
  socket.destroy()
  await server.stop(true)
})

describe('Accept', () => {
  test.each([
    ['text/event-stream', true],
    ['Text/Event-Stream', true],
    ['text/event-stream; charset=utf-8, */*;q=0.1', true],
    ['text/event-stream;q=0.5, application/json;q=0', true],
    ['text/event-stream, application/json', false],
    ['text/event-stream, APPLICATION/JSON;q=0.1', false],
    ['text/event-stream;q=0, */*', false],
    ['text/event-stream ; Q=0.000', false],
    ['text/event-streams, x-text/event-stream', false],
    ['*/*', false],
    ['text/*', false],
    ['', false],
  ])('%p asks for a stream: %p', (accept, isStream) => {
    expect(isStreamAccepted(new Request('http://localhost', { headers: { accept } }))).toBe(isStream)
  })
  test('left out asks for none', () => {
    expect(isStreamAccepted(new Request('http://localhost'))).toBe(false)
  })
})
