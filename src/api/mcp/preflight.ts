import { ALLOWED_HEADERS, CORS_HEADERS, PREFLIGHT_MAX_AGE_S } from '../http/cors.ts'

/** Request headers of the protocol that a client in a browser sends, in addition to those of REST. */
const PROTOCOL_HEADERS = ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'Mcp-Session-Id', 'Last-Event-ID'] as const

/** OPTIONS: 204, without a key. Open to any origin, as REST is (docs/contract.md#conventions). */
export function preflightAnswer(requestId: string): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...CORS_HEADERS,
      'Access-Control-Allow-Methods': 'POST, OPTIONS',
      'Access-Control-Allow-Headers': [...ALLOWED_HEADERS, ...PROTOCOL_HEADERS].join(', '),
      'Access-Control-Max-Age': String(PREFLIGHT_MAX_AGE_S),
      'X-Request-Id': requestId,
    },
  })
}
