/**
 * What Elysia's own `listen` hands to Bun's router, for a server that listens already: `listen` would open another one. A test
 * holds this against `listen` (test/http/served-routes.test.ts).
 */
import type { AnyElysia } from 'elysia'
import { createBunRouteHandler } from 'elysia/adapter/bun/compose'

type Answering = (request: Request) => Response | Promise<Response>

/** By path and method, in the shape of `Bun.serve`'s `routes`. */
export type ServedRoutes = Record<string, Record<string, Answering>>

/** Methods that Bun's router knows; routes of another one, and those with a wildcard, are answered by `app.fetch`. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH', 'POST', 'PUT'])

/** Every route of `app`; those it was made with (`serve.routes`) come before the same ones by Elysia. */
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

/** Compiling them all at once would double the time to start. */
function compiledWhenAsked(app: AnyElysia, route: Route): Answering {
  let compiled: Answering | null = null
  return (request) => {
    compiled ??= createBunRouteHandler(app, route) as Answering
    return compiled(request)
  }
}
