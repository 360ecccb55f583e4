/**
 * Stops serving without losing a request. Bun's `stop` closes every connection that has no request in flight; a
 * request that a client has just sent on one is then lost, although it has already reached our socket. So answers are held back
 * for a moment: by then every busy client has sent its next request, and its connection counts as in use. Each of these answers
 * says `Connection: close`, and is sent after the listening socket is closed (docs/decisions.md#http-and-mcp).
 */
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/clock.ts'

/** The running app, as Elysia has it. */
export interface Serving {
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly server: Pick<Bun.Server<undefined>, 'reload' | 'stop' | 'pendingRequests'> | null
}

/** How long answers are held back: longer than a client takes from one answer to its next request. */
const GATHER_MS = 200
/** Answers already in progress can no longer say `close`: how long to wait for them first. */
const EARLIER_MS_MAX = 1_000
const LOOK_EVERY_MS = 10

/**
 * Resolves when every request that was received has its answer; after `withinMs` the remaining connections are cut off,
 * including those whose request never arrived completely.
 * @returns whether nothing had to be cut off
 */
export async function drain(serving: Serving, clock: Clock, withinMs: number): Promise<boolean> {
  const { server } = serving
  if (server === null) return true
  const { promise: gathered, resolve: release } = Promise.withResolvers<void>()
  let held = 0
  const last = async (request: Request): Promise<Response> => {
    held += 1
    // Called for each request: a process that is fenced meanwhile gives another answer.
    const response = await serving.fetch(request)
    response.headers.set('Connection', 'close')
    await gathered
    return response
  }
  server.reload({ routes: {}, fetch: last })
  const since = clock.monotonicMs()
  while (server.pendingRequests > held && clock.monotonicMs() - since < EARLIER_MS_MAX)
    await sleep(clock, LOOK_EVERY_MS)
  await sleep(clock, GATHER_MS)
  const answered = server.stop().then(() => true)
  release()
  const isClean = await Promise.race([answered, sleep(clock, withinMs).then(() => false)])
  if (!isClean) await server.stop(true)
  return isClean
}
