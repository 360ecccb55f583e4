/**
 * The routes that Elysia's `listen` hands to Bun's router, for a server that is already listening: `listen` would open another
 * one. A test compares them with those of `listen` (test/http/server/served-routes.test.ts).
 */

import type { AnyElysia } from 'elysia'
import { createBunRouteHandler } from 'elysia/adapter/bun/compose'
import { systemIds } from '../../lib/ids.ts'
import { plainHeaders, problemAnswer } from '../answer.ts'
import { CORS_HEADERS } from '../cors.ts'
import { notFound } from '../problems.ts'
import { requestIdOf, targetOf } from '../request.ts'

export type Answering = (request: Request) => Response | Promise<Response>

/** By path and method, in the shape of `Bun.serve`'s `routes`. */
export type ServedRoutes = Record<string, Record<string, Answering>>

/** Methods that Bun's router knows. Routes with another method or a wildcard are answered by `app.fetch`. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH', 'POST', 'PUT'])

/** Every route of `app`. Those it was created with (`serve.routes`) replace Elysia's own for the same path and method. */
export function servedRoutes(app: AnyElysia): ServedRoutes {
  const routes: ServedRoutes = {}
  for (const route of app.routes) {
    if (!METHODS.has(route.method) || route.path.endsWith('*')) continue
    const path = encodeURI(route.path)
    routes[path] = { ...routes[path], [route.method]: compiledOnFirstRequest(app, route) }
  }
  const direct = (app.config.serve?.routes ?? {}) as ServedRoutes
  for (const [path, byMethod] of Object.entries(direct)) routes[path] = { ...routes[path], ...byMethod }
  return routes
}

type Route = AnyElysia['routes'][number]

/** Compiled on first use: compiling all routes at once would double the time to start. */
function compiledOnFirstRequest(app: AnyElysia, route: Route): Answering {
  let compiled: Answering | null = null
  return (request) => {
    compiled ??= createBunRouteHandler(app, route) as Answering
    return compiled(request)
  }
}

/** Answers as `fetch` does, but scripts of other origins cannot read the answers. */
export function withoutCors(fetch: Answering): Answering {
  return (request) => {
    const response = fetch(request)
    return response instanceof Promise ? response.then(stripped) : stripped(response)
  }
}

function stripped(response: Response): Response {
  for (const name of Object.keys(CORS_HEADERS)) response.headers.delete(name)
  return response
}

/**
 * For what the router has no route for. Bun's router reads a path as it was sent; `Request.url`, by which everything else goes, has dots and
 * backslashes resolved. A proxy that lets `/docs/` through reads `/docs/..\metrics` as the router does. What the two read differently is
 * 404 before anything looks at it.
 * @param routes those that it has: a request that is one of theirs by its URL was sent as another
 */
export function unlessRouted(routes: ServedRoutes, answer: Answering): Answering {
  const byMethod = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(routes)) {
    for (const method of Object.keys(methods)) byMethod.set(method, [...(byMethod.get(method) ?? []), patternOf(path)])
  }
  const routed = new Map([...byMethod].map(([method, patterns]) => [method, new RegExp(`^(?:${patterns.join('|')})$`)]))
  return (request) => {
    // Bun answers HEAD by the route of GET.
    const pattern = routed.get(request.method) ?? (request.method === 'HEAD' ? routed.get('GET') : undefined)
    return pattern?.test(targetOf(request.url).path) === true ? refuse(request) : answer(request)
  }
}

/** For the route with this path: a request that is not one of its by its URL was sent as another. */
export function ifRouted(path: string, answer: Answering): Answering {
  // Whatever has no parameter was matched letter by letter.
  if (!path.includes(':')) return answer
  const pattern = new RegExp(`^${patternOf(path)}$`)
  return (request) => (pattern.test(targetOf(request.url).path) ? answer(request) : refuse(request))
}

const refuse = withoutCors((request) => {
  const requestId = requestIdOf(request.headers.get('x-request-id'), systemIds)
  return problemAnswer(notFound('route'), requestId, plainHeaders(requestId))
})

function patternOf(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/#]+' : RegExp.escape(segment)))
    .join('/')
}
