import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { join } from 'node:path'
import { drain } from '../../../src/http/server/drain.ts'
import { type Clock, sleep, systemClock } from '../../../src/lib/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { keepAliveClient, noOutcomes } from '../../support/keep-alive-client.ts'

/** Only bounds how long a failure takes. */
const PATIENT_MS = 60_000
const REQUEST = 'GET /work HTTP/1.1\r\nHost: here\r\n\r\n'

/** A server whose answers take up to 5 ms, unless told otherwise. */
function serve(ready = (params: number) => sleep(systemClock, params % 6)) {
  let asks = 0
  const fetch = async () => {
    asks += 1
    await ready(asks)
    return new Response('done')
  }
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch })
  return { fetch, server, port: server.port ?? 0, pending: () => asks }
}

type Serving = ReturnType<typeof serve>
const CLIENTS = 64
const THINK_MS = 50
const allWait = ({ server }: Serving) => eventually('every client has asked', () => server.pendingRequests >= CLIENTS)

test('of the requests that many busy clients send while the server ends, every one is answered', async () => {
  const FIXTURE = join(import.meta.dir, '../../support/keep-alive-clients.ts')
  for (let round = 0; round < 5; round++) {
    const serving = serve()
    // In a process of their own, so that they send while the server is busy with ending.
    const clients = Bun.spawn([process.execPath, FIXTURE, String(serving.port), String(CLIENTS), String(THINK_MS)], {
      stdout: 'pipe',
    })
    // All of them are there, and have been answered more than once.
    await eventually('busy clients', () => serving.pending() > CLIENTS * 3)
    // However long a busy machine lets one of them wait.
    let longestMs = 0
    const clock: Clock = {
      ...systemClock,
      after: (ms, task) => {
        if (ms === PATIENT_MS) return systemClock.after(ms, task)
        longestMs = Math.max(longestMs, ms)
        return systemClock.after(ms, () => void allWait(serving).then(task))
      },
    }
    expect(await drain(serving, clock, PATIENT_MS)).toBe(true)
    // Longer than they take from an answer to their next request.
    expect(longestMs).toBeGreaterThan(2 * THINK_MS)
    const seen = JSON.parse(await clients.stdout.text())
    expect(seen).toMatchObject({ lost: [], refused: CLIENTS })
    expect(seen.statuses['200']).toBeGreaterThan(CLIENTS)
    // Each was told not to come back on its connection.
    expect(seen.closing).toBe(CLIENTS)
  }
})

test('an answer that is on its way is waited for', async () => {
  const answers = Promise.withResolvers<void>()
  const serving = serve((params) => (params === 1 ? answers.promise : Promise.resolve()))
  const outcomes = noOutcomes()
  const client = keepAliveClient({ port: serving.port, nextRequest: () => REQUEST, thinkMs: 0, outcomes })
  await eventually('it is on its way', () => serving.pending() === 1)
  const drained = drain(serving, systemClock, PATIENT_MS)
  // While the drain waits for it.
  setTimeout(answers.resolve, 500)
  expect(await drained).toBe(true)
  await client
  expect(outcomes).toMatchObject({ lost: [], refused: 1 })
  // The next one, too, which it could not know to be too late.
  expect([...outcomes.statuses]).toEqual([[200, 2]])
})

test('half a request holds the end up for no longer than it may', async () => {
  const serving = serve()
  const socket = connect(serving.port, '127.0.0.1')
  const written = Promise.withResolvers<void>()
  socket.write('GET /work HTTP/1.1\r\nHo', () => written.resolve())
  await written.promise
  // What came before this one has been read when this one is answered.
  expect((await fetch(`http://127.0.0.1:${serving.port}/work`)).status).toBe(200)
  expect(await drain(serving, systemClock, 300)).toBe(false)
  socket.destroy()
})

test('without a server there is nothing to do', async () => {
  expect(await drain({ fetch: () => new Response(), server: null }, systemClock, 100)).toBe(true)
})
