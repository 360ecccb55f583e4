/**
 * The fast path to the most requested routes: Bun's own router passes them the request, without the context that Elysia
 * creates for each. That context was measured as a fifth of the cost of an availability request (docs/decisions.md#http-and-mcp). All of
 * them are routes of the app as well, which gives the same answers.
 */

import type { AnyElysia } from 'elysia'
import type { IdSource } from '../lib/ids.ts'
import type { RequestStats, RouteName } from '../observability/request-stats.ts'
import { requestIdOf } from './request.ts'

type Answering = (request: Request) => Response | Promise<Response>
/** Uses only the request from Elysia's context. */
type Handler = (context: { request: Request }) => Response | Promise<Response>

/**
 * By path and method, in the shape of `Bun.serve`'s `routes`.
 * @param resources all their handlers use only the request
 * @param faultAnswer what answers a request whose handler has thrown, at once or later
 */
export function directRoutes(
  resources: readonly AnyElysia[],
  faultAnswer: (request: Request, error: unknown) => Response,
): Record<string, Record<string, Answering>> {
  const direct: Record<string, Record<string, Answering>> = {}
  for (const { method, path, handler } of resources.flatMap((resource) => resource.routes)) {
    const handle = handler as Handler
    const answer: Answering = (request) => {
      try {
        const answer = handle({ request })
        return answer instanceof Promise ? answer.catch((error) => faultAnswer(request, error)) : answer
      } catch (error) {
        return faultAnswer(request, error)
      }
    }
    direct[path] = { ...direct[path], [method]: answer }
  }
  return direct
}

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
