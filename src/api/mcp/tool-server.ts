/** The SDK's `Server` with our tools. The SDK dispatches methods, checks parameters and shapes results for the revision. */

import {
  type AuthInfo,
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  specTypeSchemas,
} from '@modelcontextprotocol/server'
import type { KeyHolder } from '../../core/catalogue/catalogue.ts'
import { missingScope } from '../route/key-admission.ts'
import { type CallAnswer, CallTransport } from './call-transport.ts'
import type { Params } from './json-rpc.ts'
import type { ToolLedger } from './mcp-dependencies.ts'
import {
  CACHE_HINT,
  CAPABILITIES,
  INSTRUCTIONS,
  META,
  MODERN_VERSION,
  SERVER_INFO,
  SUPPORTED_VERSIONS,
} from './protocol.ts'
import { toolNamed, toolsFor } from './tools/toolbox.ts'

/** An admitted request. */
interface ToolRequest {
  readonly method: string
  readonly params: Params
  readonly holder: KeyHolder
}

/** A long-lived server for one kind of revision. It takes one request at a time and remembers nothing of it. */
export class ToolServer {
  readonly #server: RevisionServer
  readonly #transport = new CallTransport()

  constructor(ledger: ToolLedger, { isModern }: { readonly isModern: boolean }) {
    const server = new RevisionServer(isModern ? MODERN_VERSION : undefined)
    // Without this, a call whose answer the SDK cannot send would wait forever.
    server.onerror = (error) => this.#transport.fail(error)
    server.setRequestHandler(
      'tools/list',
      { params: specTypeSchemas.PaginatedRequestParams },
      ({ cursor }, context) => {
        if (cursor !== undefined) throw invalidParams('cursor is not supported: all tools are returned at once')
        return { tools: toolsFor(holderOf(context).key.scopes) }
      },
    )
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      try {
        return await callTool(ledger, holderOf(context), params)
      } catch (error) {
        // The SDK would tell the caller an error's own message.
        if (!(error instanceof ProtocolError)) this.#transport.fail(error)
        throw error
      }
    })
    // The SDK's own answer leaves out the handshake revisions, which are served here without a handshake (docs/decisions.md#http-and-mcp).
    if (isModern)
      server.setRequestHandler('server/discover', () => ({
        supportedVersions: [...SUPPORTED_VERSIONS],
        capabilities: CAPABILITIES,
        instructions: INSTRUCTIONS,
      }))
    this.#server = server
  }

  /**
   * The server must be closed when this rejects: with what a tool threw, or with an Error of the SDK's.
   * @throws AssertionError while another request is being answered
   */
  async ask({ method, params, holder }: ToolRequest): Promise<CallAnswer> {
    const { key } = holder
    if (this.#server.transport === undefined) await this.#server.connect(this.#transport)
    this.#server.forgetHandshake()
    // What a call may see travels with it and does not stay with the server. The key's secret is not part of it.
    const authInfo: AuthInfo = { token: '', clientId: key.id, scopes: [...key.scopes], extra: { holder } }
    const answer = await this.#transport.ask(method, this.#server.paramsFor(method, params), authInfo)
    if ('error' in answer && answer.error.code === ProtocolErrorCode.InternalError)
      throw new Error(`Cannot answer ${method.slice(0, 64)}: the SDK failed`, { cause: answer.error })
    return answer
  }

  /** Ends a call that is still open. */
  close(): Promise<void> {
    return this.#server.close()
  }
}

/** A server bound to one kind of revision. The SDK binds one by a handshake, or by a transport of its own for each request. */
class RevisionServer extends Server {
  readonly #revision: string | undefined

  constructor(revision: string | undefined) {
    super(SERVER_INFO, {
      capabilities: CAPABILITIES,
      instructions: INSTRUCTIONS,
      supportedProtocolVersions: [...SUPPORTED_VERSIONS],
      cacheHints: { 'tools/list': CACHE_HINT, 'server/discover': CACHE_HINT },
    })
    this.#revision = revision
  }

  /** Before each call: `initialize` stores the revision that it agreed on. */
  forgetHandshake(): void {
    if (this.#revision === undefined) delete this._negotiatedProtocolVersion
    else this._negotiatedProtocolVersion = this.#revision
  }

  /** Leaves out what a client says about itself. The tools do not use it, and nothing of it may stay with the server. */
  paramsFor(method: string, { _meta, ...params }: Params): Params {
    const { protocolVersion } = params
    if (method === 'initialize')
      return { ...ANY_CLIENT, protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : '' }
    return this.#revision === undefined
      ? params
      : { ...params, _meta: { [META.version]: this.#revision, [META.clientCapabilities]: {} } }
  }
}

const ANY_CLIENT = { capabilities: {}, clientInfo: { name: 'client', version: '' } }

function holderOf({ http }: ServerContext): KeyHolder {
  return http?.authInfo?.extra?.['holder'] as KeyHolder
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
