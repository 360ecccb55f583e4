import { type AnyElysia, Elysia } from 'elysia'
import type { Route } from './route.ts'

/** The routes of a surface as an Elysia instance. */
export function elysiaRoutes<S>(surface: S, routes: readonly Route<S>[]): AnyElysia {
  const app = new Elysia()
  for (const { operation, serve } of routes) {
    const answer = serve(surface)
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1')
    // A literal of its own: Elysia reads from a handler's text which parts of a request it wants parsed.
    app.route(operation.method, path, ({ request }) => answer(request))
  }
  return app
}
