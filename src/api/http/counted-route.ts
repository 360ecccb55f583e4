import type { IdSource } from '../../lib/ids.ts'
import type { RequestStats, RouteName } from '../../observability/request-stats.ts'
import { requestIdOf } from './request-id.ts'

/** What a route without an API key needs. */
export interface CountedRouteOptions {
  readonly requestStats: RequestStats
  readonly newId: IdSource
}

/** Serves a route that needs no API key, and counts each of its answers. `answer` must not throw. */
export function countedRoute(
  { requestStats, newId }: CountedRouteOptions,
  name: RouteName,
  answer: (request: Request, requestId: string) => Response | Promise<Response>,
): (request: Request) => Response | Promise<Response> {
  const watch = requestStats.route(name)
  const ended = (arrivedMs: number, requestId: string, response: Response): Response => {
    watch.answered({ arrivedMs, requestId, admission: null }, response.status)
    return response
  }
  return (request) => {
    const arrivedMs = watch.arrived()
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const response = answer(request, requestId)
    if (response instanceof Response) return ended(arrivedMs, requestId, response)
    return response.then((settled) => ended(arrivedMs, requestId, settled))
  }
}
