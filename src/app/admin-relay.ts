import { unanswered } from '../cluster/forward/entry-answers.ts'
import { KeptBody } from '../cluster/forward/kept-body.ts'
import { adminSocketOf } from '../cluster/workers/worker-sockets.ts'
import { requestIdOf, targetOf } from '../http/request.ts'
import { type Listener, PEER_HEADER } from '../http/server/listener.ts'
import { notServing } from '../http/server/not-serving.ts'
import { type Answering, withoutCors } from '../http/server/served-routes.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import { systemIds } from '../lib/ids.ts'
import type { WorkerProcesses } from './worker-processes.ts'

/** Of the other connection (RFC 9110, section 7.6.1), and what `fetch` and `Bun.serve` say themselves. */
const NOT_RELAYED = [
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'date'],
  'content-length',
]
const PROBES: readonly string[] = ['/healthz', '/readyz', '/metrics']
/** A worker that hangs is killed after ten seconds; until then probes are answered by another. Whatever else takes longer, takes that long. */
const PROBE_MS_MAX = 3_000

/**
 * ADMIN_PORT belongs to the parent alone. What comes in there is answered by the workers in turn, each of which knows the owner of every
 * agency: a request of the operator is worth another hop by HTTP.
 * @param options.listener tells whose request it is
 */
export function adminRelay(options: {
  readonly folder: string
  readonly workers: Pick<WorkerProcesses, 'serving' | 'isStandby' | 'metricsPage'>
  readonly listener: Pick<Listener, 'peerOf' | 'withoutIdleTimeout'>
  readonly clock?: Clock
}): Answering {
  const { folder, workers, listener, clock = systemClock } = options
  const metrics = () => workers.metricsPage()
  const starting = withoutCors(notServing('starting', systemIds, { metrics }))
  const standby = withoutCors(notServing('standby', systemIds, { metrics }))
  let turn = 0
  const relay = async (request: Request): Promise<Response> => {
    const { serving } = workers
    if (serving.length === 0) return workers.isStandby ? standby(request) : starting(request)
    turn += 1
    const headers = new Headers(request.headers)
    for (const name of NOT_RELAYED) headers.delete(name)
    headers.set(PEER_HEADER, listener.peerOf(request) ?? '')
    if (!headers.has('accept-encoding')) headers.set('Accept-Encoding', 'identity')
    const { path, query } = targetOf(request.url)
    const target = `${path}${query === '' ? '' : `?${query}`}`
    // What a client says of its host may make no URL.
    const url = URL.parse(`http://${request.headers.get('host')}${target}`)?.href ?? `http://localhost${target}`
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    // No more of a body is read than shows that it is too large.
    const body = isRead ? null : await new KeptBody(request).bytes()
    const requestId = requestIdOf(headers.get('x-request-id'), systemIds)
    for (let tried = 0; tried < (isRead ? serving.length : 1); tried++) {
      const worker = serving[(turn + tried) % serving.length]?.worker ?? 1
      const init = { method: request.method, headers, body, signal: request.signal, redirect: 'manual' as const }
      const unix = adminSocketOf(folder, worker)
      const asked = fetch(url, { ...init, unix, decompress: false })
      const answer = await listener
        .withoutIdleTimeout(request, () => (PROBES.includes(path) ? withDeadline(asked, PROBE_MS_MAX, clock) : asked))
        .catch(() => null)
      if (answer === null) continue
      const kept = new Headers(answer.headers)
      for (const name of NOT_RELAYED) kept.delete(name)
      // Without a body, nothing else tells it.
      const length = request.method === 'HEAD' ? answer.headers.get('content-length') : null
      if (length !== null) kept.set('Content-Length', length)
      return new Response(answer.body, { status: answer.status, headers: kept })
    }
    return unanswered(isRead ? 'no_owner' : 'unknown', requestId, request)
  }
  return relay
}
