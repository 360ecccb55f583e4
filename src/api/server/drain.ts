/**
 * Stops serving without losing a request. Bun's `stop` closes every connection that has no request in flight; what a client has
 * sent on one a moment before is then lost, though it lies in our own socket. So for a moment answers are held back: whoever
 * is busy has sent the next request by then, and the connection counts as in use. Each of these answers says
 * `Connection: close`, and is delivered after the listening socket is gone (docs/decisions.md).
 */
import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/clock.ts'

/** The running app, as Elysia has it. */
export interface Serving {
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly server: Pick<Bun.Server<undefined>, 'reload' | 'stop' | 'pendingRequests'> | null
}

/** For how long answers are held back: longer than what a client takes from one answer to its next request. */
const GATHER_MS = 200
/** Answers that were on their way before cannot say `close` any more: so long is waited for them first. */
const EARLIER_MS_MAX = 1_000
const LOOK_EVERY_MS = 10

/**
 * Resolves when every request that was received has its answer; after `withinMs` what is left is cut off, connections whose
 * request never became whole among it.
 * @returns whether nothing had to be cut off
 */
export async function drain(serving: Serving, clock: Clock, withinMs: number): Promise<boolean> {
  const { server } = serving
  if (server === null) return true
  const { promise: gathered, resolve: release } = Promise.withResolvers<void>()
  let held = 0
  const last = async (request: Request): Promise<Response> => {
    held += 1
    // Asked anew for each: a process that is fenced meanwhile answers otherwise.
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
