/**
 * The routes that Elysia's `listen` hands to Bun's router, for a server that is already listening: `listen` would open another
 * one. A test compares them with those of `listen` (test/http/server/served-routes.test.ts).
 */
import type { AnyElysia } from 'elysia'
import { createBunRouteHandler } from 'elysia/adapter/bun/compose'

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
    routes[path] = { ...routes[path], [route.method]: compiledWhenAsked(app, route) }
  }
  const direct = (app.config.serve?.routes ?? {}) as ServedRoutes
  for (const [path, byMethod] of Object.entries(direct)) routes[path] = { ...routes[path], ...byMethod }
  return routes
}

type Route = AnyElysia['routes'][number]

/** Compiled on first use: compiling all routes at once would double the time to start. */
function compiledWhenAsked(app: AnyElysia, route: Route): Answering {
  let compiled: Answering | null = null
  return (request) => {
    compiled ??= createBunRouteHandler(app, route) as Answering
    return compiled(request)
  }
}
