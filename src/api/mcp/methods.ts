/** The methods of the endpoint: what one request comes to, whichever revision it is meant in. */

import { missingScope } from '../../access/partner-access.ts'
import type { Agency, ApiKey } from '../../core/catalogue/agency.ts'
import { isObject, RPC_CODES, type RpcError, type RpcRequest } from './json-rpc.ts'
import type { ToolLedger } from './mcp-dependencies.ts'
import { DISCOVER_TEXT, initializeText, resultText } from './protocol.ts'
import type { ToolFault } from './tools/tool.ts'
import { toolNamed, toolsText } from './tools/toolbox.ts'

/** A result as JSON text, or why there is none. */
export type Outcome = string | RpcError

export interface MethodCall {
  readonly request: RpcRequest
  readonly isModern: boolean
  readonly holder: { readonly agency: Agency; readonly key: ApiKey }
}

/** What is thrown is not the caller's fault: -32603. */
export function answerOf(ledger: ToolLedger, call: MethodCall): Outcome | Promise<Outcome> {
  const { request, isModern } = call
  switch (request.method) {
    case 'tools/call':
      return callTool(ledger, call)
    case 'tools/list':
      return listTools(call)
    case 'initialize':
      return isModern ? unknownMethod(call) : initializeText(request.params['protocolVersion'])
    case 'ping':
      return isModern ? unknownMethod(call) : '{}'
    case 'server/discover':
      return isModern ? DISCOVER_TEXT : unknownMethod(call)
    default:
      return unknownMethod(call)
  }
}

function listTools({ request, isModern, holder }: MethodCall): Outcome {
  if (request.params['cursor'] !== undefined)
    return invalidParams(request, 'cursor is not supported: all tools are returned at once')
  return resultText(`"tools":${toolsText(holder.key.scopes)}`, { isModern, isCacheable: true })
}

async function callTool(ledger: ToolLedger, { request, isModern, holder }: MethodCall): Promise<Outcome> {
  const { name, arguments: args = {} } = request.params
  if (typeof name !== 'string') return invalidParams(request, 'name must be the name of a tool')
  if (!isObject(args)) return invalidParams(request, 'arguments must be an object')
  const tool = toolNamed(name)
  if (tool === null) return invalidParams(request, `Unknown tool: ${name.slice(0, 128)}`)
  const refusal = missingScope(holder, tool.scope)
  if (refusal !== null)
    return invalidParams(request, `${refusal.title}, which ${name} requires`, {
      code: refusal.code,
      ...refusal.members,
    })
  const outcome = await tool.call(ledger, holder.agency, args)
  return resultText(typeof outcome === 'string' ? contentText(outcome) : faultText(outcome), {
    isModern,
    isCacheable: false,
  })
}

/** The same twice: structured, and as text for clients that know no structured content. */
function contentText(structured: string): string {
  return `"content":[{"type":"text","text":${JSON.stringify(structured)}}],"structuredContent":${structured}`
}

function faultText({ sentence }: ToolFault): string {
  return `"content":[{"type":"text","text":${JSON.stringify(sentence)}}],"isError":true`
}

function invalidParams({ id }: RpcRequest, message: string, data?: Record<string, unknown>): RpcError {
  return { id, code: RPC_CODES.invalidParams, message, httpStatus: 200, ...(data === undefined ? {} : { data }) }
}

/** 404 in the modern revision, where the body tells it from a server without the endpoint (Protocol Version Header). */
function unknownMethod({ request, isModern }: MethodCall): RpcError {
  const message = `Unknown method: ${request.method.slice(0, 128)}`
  return { id: request.id, code: RPC_CODES.unknownMethod, message, httpStatus: isModern ? 404 : 200 }
}
