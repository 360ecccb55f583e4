import { type AnyElysia, Elysia } from 'elysia'
import type { Route } from './route.ts'

/** The routes of a surface as an Elysia instance. */
export function elysiaRoutes<S>(surface: S, routes: readonly Route<S>[]): AnyElysia {
  const app = new Elysia()
  for (const { operation, serve } of routes) {
    const answer = serve(surface)
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1')
    // A literal: Elysia reads from a handler's source which parts of a request to parse.
    app.route(operation.method, path, ({ request }) => answer(request))
  }
  return app
}
