import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { plainHeaders } from '../http/answer.ts'
import { requestIdOf } from '../http/request-id.ts'
import { watchedRoute } from '../http/watched-route.ts'
import { described } from '../openapi/described.ts'
import type { Operation } from '../operation.ts'
import type { PartnerSurface } from './partner-dependencies.ts'

const GET_OPENAPI = {
  id: 'getOpenApi',
  method: 'GET',
  path: '/partner/v1/openapi.json',
  tag: 'Description',
  summary: 'Get this document',
  description: 'Readable without a key.',
  scope: 'none',
  answer: { status: 200, description: 'An OpenAPI 3.1 document.', schema: Type.Object({ openapi: Type.String() }) },
  problems: ['INTERNAL'],
} as const satisfies Operation

/** @param document its text; made once, at start */
export const openapi = ({ ledger, requestStats }: PartnerSurface, document: () => Promise<string>) => {
  const serve = watchedRoute(
    { requestStats, requestIdFor: (request) => requestIdOf(request.headers.get('x-request-id'), ledger.newId) },
    { surface: 'partner', method: GET_OPENAPI.method, path: GET_OPENAPI.path },
    async (_, requestId) => new Response(await document(), { headers: plainHeaders(requestId) }),
  )
  // A literal of its own: Elysia reads from a handler's text which parts of a request it wants parsed.
  return new Elysia().get(GET_OPENAPI.path, ({ request }) => serve(request), described(GET_OPENAPI))
}
