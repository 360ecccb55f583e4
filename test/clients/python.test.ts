/** What only the Python client does by itself: its connections, and its loops in threads. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import { KEY } from './support/conformance-cases.ts'
import { DriverProcess, PYTHON_MISSING } from './support/driver-process.ts'
import { ScriptedServer } from './support/scripted-server.ts'

let python: DriverProcess
beforeAll(() => {
  if (!PYTHON_MISSING) python = DriverProcess.python()
})
afterAll(() => python?.stop())

/** Answers one request on each connection, and closes it when the next one comes, as a server that has just given up waiting. */
async function forgetfulServer(): Promise<{ server: Server; url: string; requests: string[] }> {
  const requests: string[] = []
  const server = createServer((socket) => {
    let answered = 0
    socket.on('error', () => {})
    socket.on('data', (piece) => {
      const [first = ''] = piece.toString().split('\r\n')
      if (!first.startsWith('GET') && !first.startsWith('POST')) return
      requests.push(`${first.split(' ')[0]} ${answered === 0 ? 'on a new connection' : 'on a used one'}`)
      if (answered++ > 0) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen')
  return { server, url: `http://127.0.0.1:${address.port}`, requests }
}

describe.skipIf(PYTHON_MISSING)('Python', () => {
  test('a connection that was closed while it was idle is replaced at once, without a pause', async () => {
    const { server, url, requests } = await forgetfulServer()
    const { outcomes, pauses } = await python.play(url, 'sync', { steps: [{ call: 'me' }, { call: 'me' }] })
    server.close()
    expect(outcomes).toEqual([{ result: {} }, { result: {} }])
    expect(requests).toEqual(['GET on a new connection', 'GET on a used one', 'GET on a new connection'])
    expect(pauses).toEqual([])
  })
  const EVENT = { call: 'test.events.send', args: [{ bookingId: 'bkg_1', kind: 'late' }] }
  const CANCELLED = { call: 'bookings.cancel', args: ['bkg_1'], options: { idempotencyKey: null } }
  test.each([
    ['an event', EVENT],
    ['a write without a key', CANCELLED],
  ])('%s, which must not be repeated, gets a connection of its own', async (_, step) => {
    const { server, url, requests } = await forgetfulServer()
    await python.play(url, 'sync', { steps: [{ call: 'me' }, step] })
    server.close()
    expect(requests).toEqual(['GET on a new connection', 'POST on a new connection'])
  })
  const TWO_CHANGES = [1, 2].map((seq) => ({ cursor: `c${seq}`, seq }))
  const STREAM = { stream: TWO_CHANGES.map((each) => `id: ${each.cursor}\ndata: ${JSON.stringify(each)}\n\n`).join('') }
  const PAGE = { json: { changes: TWO_CHANGES, cursor: 'c2', hasMore: true } }
  test.each([
    ['while its stream is being opened', 'opening', STREAM, []],
    ['between two changes that have arrived on a stream', 'body', STREAM, ['c1']],
    ['between two changes of a poll', 'body', PAGE, ['c1']],
  ] as const)('a loop over changes that is closed %s ends there, and its cursor too', async (_, when, answer, seen) => {
    const server = await ScriptedServer.start()
    server.begin([answer])
    const closed = await python.ask({ ask: 'closed', key: KEY, url: server.url, when, poll: answer === PAGE })
    server.stop()
    expect(closed).toEqual({ seen, cursor: seen.at(-1) ?? 'c0' })
  })
  test.each([
    ['http://[::1]', '::1', 80],
    ['https://[2001:db8::443]/nights', '2001:db8::443', 443],
    ['https://[::1]:3000', '::1', 3000],
    ['https://nights.example', 'nights.example', 443],
  ])('%s is reached at its host and port', async (url, host, port) => {
    expect(await python.ask({ ask: 'address', key: KEY, url })).toEqual({ host, port })
  })
  test('loops over changes leave the threads of the executor to other calls', async () => {
    const server = await ScriptedServer.start()
    const silent = { stream: ':\n\n', fault: 'silence' } as const
    server.begin([silent, silent, { json: { key: 'k' } }])
    const { answer } = await python.ask({ ask: 'crowded', key: KEY, url: server.url })
    server.stop()
    expect(answer).toEqual({ key: 'k' })
  })
  test('a loop over changes that is cancelled ends, though its stream is silent', async () => {
    const server = await ScriptedServer.start()
    server.begin([{ stream: ':\n\n', fault: 'silence' }])
    const { cancelled, seconds } = await python.ask({ ask: 'cancelled', key: KEY, url: server.url })
    server.stop()
    expect(cancelled).toBe(true)
    // A stream that nothing ends is lost after 45 seconds.
    expect(seconds).toBeLessThan(30)
  })
})
