import { Type } from '@sinclair/typebox'
import type { IdSource } from '../../lib/ids.ts'
import type { RequestStats, Surface } from '../../observability/request-stats.ts'
import { plainHeaders } from '../answer.ts'
import type { Operation } from '../operation.ts'
import { countedRoute } from '../route.ts'

interface OpenSurface {
  readonly ledger: { readonly newId: IdSource }
  readonly requestStats: RequestStats
}

/**
 * The route of a surface's OpenAPI document, readable without credentials.
 * @param document makes its text; called once, by the first request
 */
export function openapiRoute<const P extends string>(surface: Surface, path: P, document: () => Promise<string>) {
  const operation = {
    id: 'getOpenApi',
    method: 'GET',
    path,
    tag: 'Description',
    summary: 'Get this document',
    description: 'Readable without a key.',
    isOpen: true,
    answer: { status: 200, description: 'An OpenAPI 3.1 document.', schema: Type.Object({ openapi: Type.String() }) },
    problems: ['INTERNAL'],
  } as const satisfies Operation
  let text: Promise<string> | null = null
  return {
    operation,
    serve: ({ ledger, requestStats }: OpenSurface) =>
      countedRoute(
        { requestStats, newId: ledger.newId },
        { surface, method: operation.method, path },
        async (_, requestId) => {
          text ??= document()
          return new Response(await text, { headers: plainHeaders(requestId) })
        },
      ),
  }
}
