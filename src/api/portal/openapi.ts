import { type AnyElysia, Elysia } from 'elysia'
import { plainHeaders } from '../http/answer.ts'
import { requestIdOf } from '../http/request-id.ts'
import { watchedRoute } from '../http/watched-route.ts'
import type { PortalSurface } from './portal-dependencies.ts'
import { portalDocument } from './portal-document.ts'
import type { PortalOperation } from './portal-operation.ts'

const PATH = '/portal/v1/openapi.json'

/** The portal's own OpenAPI document, readable without the token. Made when it is first asked for. */
export const openapi = ({ ledger, requestStats }: PortalSurface, operations: readonly PortalOperation[]): AnyElysia => {
  let text: string | null = null
  const serve = watchedRoute(
    { requestStats, requestIdFor: (request) => requestIdOf(request.headers.get('x-request-id'), ledger.newId) },
    { surface: 'portal', method: 'GET', path: PATH },
    (_, requestId) => {
      text ??= portalDocument(operations)
      return new Response(text, { headers: plainHeaders(requestId) })
    },
  )
  // A literal of its own: Elysia reads from a handler's text which parts of a request it wants parsed.
  return new Elysia().get(PATH, ({ request }) => serve(request))
}
