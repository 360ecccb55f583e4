/**
 * Answers requests with pooled servers of the SDK. Loading the SDK takes a tenth of a second, so this module is imported only once the
 * service listens.
 */

import type { KeyHolder } from '../../core/catalogue/catalogue.ts'
import { isObject, type MessageId, RPC_CODES, type RpcError, type RpcRequest } from './json-rpc.ts'
import type { ToolLedger } from './mcp-dependencies.ts'
import { type PoolLimits, ServerPool } from './server-pool.ts'
import { ToolServer } from './tool-server.ts'

export type Outcome =
  | { readonly kind: 'result'; readonly result: Readonly<Record<string, unknown>> }
  | { readonly kind: 'refused'; readonly error: RpcError }

export class ToolServers {
  readonly #legacy: ServerPool<ToolServer>
  readonly #modern: ServerPool<ToolServer>

  constructor(ledger: ToolLedger, limits: PoolLimits) {
    this.#legacy = new ServerPool(() => new ToolServer(ledger, { isModern: false }), limits)
    this.#modern = new ServerPool(() => new ToolServer(ledger, { isModern: true }), limits)
  }

  /**
   * Asks a server of the request's kind of revision. An error in the outcome is the caller's fault.
   * @throws ServersBusyError, and whatever a tool or the SDK failed with: -32603
   */
  async answer({ id, method, params }: RpcRequest, holder: KeyHolder, isModern: boolean): Promise<Outcome> {
    const pool = isModern ? this.#modern : this.#legacy
    const answer = await pool.use((server) => server.ask({ method, params, holder }))
    if ('result' in answer) return { kind: 'result', result: answer.result }
    const { code, message, data } = answer.error
    if (code === RPC_CODES.unknownMethod) return { kind: 'refused', error: unknownMethod(id, method, isModern) }
    const isObjectData = isObject(data) ? { data } : {}
    return { kind: 'refused', error: { id, code, message, httpStatus: 200, ...isObjectData } }
  }
}

/**
 * The SDK says "Method not found" without naming it. 404 in the modern revision, where the body distinguishes it from a server
 * without the endpoint (Protocol Version Header).
 */
function unknownMethod(id: MessageId, method: string, isModern: boolean): RpcError {
  const message = `Unknown method: ${method.slice(0, 128)}`
  return { id, code: RPC_CODES.unknownMethod, message, httpStatus: isModern ? 404 : 200 }
}
