import { type AnyElysia, Elysia } from 'elysia'
import { plainHeaders } from '../../edge/answer.ts'
import { requestIdOf } from '../../edge/request-id.ts'
import { portalDocument } from './portal-document.ts'
import type { PortalSurface } from './portal-ledger.ts'
import type { PortalOperation } from './portal-operation.ts'

/** The portal's own OpenAPI document, readable without the token. Made when it is first asked for. */
export const openapi = ({ ledger }: PortalSurface, operations: readonly PortalOperation[]): AnyElysia => {
  let text: string | null = null
  return new Elysia().get('/portal/v1/openapi.json', ({ request }) => {
    text ??= portalDocument(operations)
    const requestId = requestIdOf(request.headers.get('x-request-id'), ledger.newId)
    return new Response(text, { headers: plainHeaders(requestId) })
  })
}
