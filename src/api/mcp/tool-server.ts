/**
 * The official SDK answers each request with a server of its own, which nothing outlives: whatever belongs to one caller cannot reach
 * another (GHSA-345p-7cg4-v4c7). The SDK dispatches methods, checks parameters and shapes results for the revision. What can be made once
 * is made once: the tools with their compiled schemas, and the options of a server.
 *
 * Loading the SDK takes a tenth of a second, so this module is imported only once the service listens.
 */

import {
  type CallToolResult,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCResultResponse,
  PerRequestHTTPServerTransport,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  specTypeSchemas,
} from '@modelcontextprotocol/server'
import type { KeyHolder } from '../../core/catalogue/catalogue.ts'
import { missingScope } from '../../http/key-admission.ts'
import { VERSION } from '../../lib/version.ts'
import { META, MODERN_VERSION, SUPPORTED_VERSIONS } from './era.ts'
import { isObject, type Params, RPC_CODES, type RpcError, type RpcRequest } from './json-rpc.ts'
import type { ToolLedger } from './tools/tool.ts'
import { toolNamed, toolsFor } from './tools/toolbox.ts'

export type RpcOutcome =
  | { readonly kind: 'result'; readonly result: Params }
  | { readonly kind: 'refused'; readonly error: RpcError }

export const SERVER_INFO = { name: 'nightledger', title: 'Nightledger', version: VERSION }

const CAPABILITIES = { tools: {} }

const INSTRUCTIONS =
  "Reads one rental agency's calendar: units, free nights, prices and bookings. Dates are YYYY-MM-DD and every range is " +
  'half-open: the guest sleeps the first night and leaves on the last date. Amounts are integers in the minor unit of ' +
  'the currency given with them. Get slugs from list_units, find free nights with get_availability or, for many units at once, get_calendar, ' +
  'find stays that can be booked with search_stays, and quote a price only from quote_stay or search_stays. Nothing can be booked, held or ' +
  'changed here. Requests are limited per minute: prefer long ranges and large pages to many small requests.'

/**
 * How long a client may cache an answer, milliseconds. Scopes of a key never change (docs/contract.md#authentication, rule 7);
 * tools do with a new release of the service. For the key that asked, and no other.
 */
const CACHE_HINT = { ttlMs: 300_000, cacheScope: 'private' } as const

const OPTIONS = {
  capabilities: CAPABILITIES,
  instructions: INSTRUCTIONS,
  supportedProtocolVersions: [...SUPPORTED_VERSIONS],
  cacheHints: { 'tools/list': CACHE_HINT, 'server/discover': CACHE_HINT },
}

const LEGACY = { era: 'legacy' } as const
const MODERN = { era: 'modern', revision: MODERN_VERSION } as const

/** Who asks, and in which kind of revision. */
export interface Caller {
  readonly holder: KeyHolder
  readonly isModern: boolean
}

/**
 * An error in the outcome is the caller's fault.
 * @throws whatever a tool or the SDK failed with: -32603
 */
export async function answerRequest(ledger: ToolLedger, request: RpcRequest, caller: Caller): Promise<RpcOutcome> {
  const { id, method } = request
  const { holder, isModern } = caller
  const transport = new AnswerTransport({ classification: isModern ? MODERN : LEGACY })
  const { promise, reject } = transport.answer
  await serverFor(ledger, holder, reject).connect(transport)
  transport
    .handleMessage({ jsonrpc: '2.0', id, method, params: paramsFor(request, isModern) })
    .then(
      () => reject(new Error(`Cannot answer ${method.slice(0, 64)}: the SDK does not take it as a request`)),
      reject,
    )
  const answer = await promise
  if ('result' in answer) return { kind: 'result', result: answer.result }
  return { kind: 'refused', error: refusalOf(answer.error, request, isModern) }
}

/**
 * The SDK's transport of one request, without the `Response` that it would make of the answer: that would have to be parsed again for the
 * order of members and the headers, which takes 3 ms for the largest answers.
 */
class AnswerTransport extends PerRequestHTTPServerTransport {
  readonly answer = Promise.withResolvers<JSONRPCResultResponse | JSONRPCErrorResponse>()

  /** Drops notifications: there is no stream. */
  override async send(message: JSONRPCMessage): Promise<void> {
    if ('result' in message || 'error' in message) this.answer.resolve(message)
  }
}

/**
 * A server for one request of the key's holder.
 * @param fail called with what a tool threw, or with what kept the SDK from answering
 */
function serverFor(ledger: ToolLedger, holder: KeyHolder, fail: (error: unknown) => void): Server {
  const server = new Server(SERVER_INFO, OPTIONS)
  // Without this, a call whose answer the SDK cannot send would wait forever.
  server.onerror = fail
  server.setRequestHandler('tools/list', { params: specTypeSchemas.PaginatedRequestParams }, ({ cursor }) => {
    if (cursor !== undefined) throw invalidParams('cursor is not supported: all tools are returned at once')
    return { tools: toolsFor(holder.key.scopes) }
  })
  server.setRequestHandler('tools/call', async ({ params }) => {
    try {
      return await callTool(ledger, holder, params)
    } catch (error) {
      // The SDK would tell the caller an error's own message.
      if (!(error instanceof ProtocolError)) fail(error)
      throw error
    }
  })
  // The SDK's own answer leaves out the handshake revisions, which are served here without a handshake (docs/decisions.md#http-and-mcp).
  server.setRequestHandler('server/discover', () => ({
    supportedVersions: [...SUPPORTED_VERSIONS],
    capabilities: CAPABILITIES,
    instructions: INSTRUCTIONS,
  }))
  return server
}

const ANY_CLIENT = { capabilities: {}, clientInfo: { name: 'client', version: '' } }

/** Leaves out what a client says about itself, which the SDK would check: the tools do not use it, so no fault in it matters. */
function paramsFor({ method, params: { _meta, ...params } }: RpcRequest, isModern: boolean): Record<string, unknown> {
  const { protocolVersion } = params
  if (method === 'initialize')
    return { ...ANY_CLIENT, protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : '' }
  return isModern ? { ...params, _meta: { [META.version]: MODERN_VERSION, [META.clientCapabilities]: {} } } : params
}

async function callTool(
  ledger: ToolLedger,
  holder: KeyHolder,
  params: { name: string; arguments?: Record<string, unknown> | undefined },
): Promise<CallToolResult> {
  const { name, arguments: args = {} } = params
  const tool = toolNamed(name)
  if (tool === null) throw invalidParams(`Unknown tool: ${name.slice(0, 128)}`)
  const another = tool.scopeWith(args)
  const refusal = missingScope(holder, tool.scope) ?? (another === null ? null : missingScope(holder, another))
  if (refusal !== null)
    throw invalidParams(`${refusal.title}, which ${name} requires`, { code: refusal.code, ...refusal.members })
  const outcome = await tool.call(ledger, holder.agency, args)
  if (typeof outcome !== 'string') return { content: [{ type: 'text', text: outcome.sentence }], isError: true }
  // The same twice: structured, and as text for clients that know no structured content.
  return { content: [{ type: 'text', text: outcome }], structuredContent: JSON.parse(outcome) }
}

function invalidParams(message: string, data?: Record<string, unknown>): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data)
}

/** @throws Error when the SDK failed, because it shows the caller the message of any error */
function refusalOf(error: JSONRPCErrorResponse['error'], { id, method }: RpcRequest, isModern: boolean): RpcError {
  const { code, message, data } = error
  if (code === RPC_CODES.internal)
    throw new Error(`Cannot answer ${method.slice(0, 64)}: the SDK failed`, { cause: error })
  // The SDK says "Method not found" without naming it. 404 in the modern revision, where the body distinguishes it from a server
  // without the endpoint (Protocol Version Header).
  if (code === RPC_CODES.unknownMethod)
    return { id, code, message: `Unknown method: ${method.slice(0, 128)}`, httpStatus: isModern ? 404 : 200 }
  return { id, code, message, httpStatus: 200, ...(isObject(data) ? { data } : {}) }
}
