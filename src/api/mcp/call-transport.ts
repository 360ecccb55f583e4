import type {
  AuthInfo,
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCRequest,
  JSONRPCResultResponse,
  Transport,
} from '@modelcontextprotocol/server'
import { assert } from '../../lib/assert.ts'
import type { Params } from './json-rpc.ts'

export type CallAnswer = JSONRPCResultResponse | JSONRPCErrorResponse

interface Call {
  readonly id: number
  resolve(answer: CallAnswer): void
  reject(error: unknown): void
}

/**
 * The SDK's transport without a network: hands one request at a time to the server that is connected to it, and returns the answer. It
 * numbers the requests itself. Two clients may use the same id at the same time, so a client's id never reaches a server.
 */
export class CallTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  #call: Call | null = null
  #lastId = 0

  /**
   * Rejects with what `fail` is called with.
   * @throws AssertionError while another call is open: its answer could reach the wrong caller (GHSA-345p-7cg4-v4c7)
   */
  ask(method: string, params: Params, authInfo: AuthInfo): Promise<CallAnswer> {
    assert(this.#call === null, 'Cannot ask a tool server: it is still answering another call')
    const id = ++this.#lastId
    const request: JSONRPCRequest = { jsonrpc: '2.0', id, method, params: { ...params } }
    return new Promise((resolve, reject) => {
      this.#call = { id, resolve, reject }
      this.onmessage?.(request, { authInfo })
    })
  }

  /** Rejects the open call, if there is one. The server may still be working on it, so it must not be given another. */
  fail(error: unknown): void {
    const call = this.#call
    this.#call = null
    call?.reject(error)
  }

  async start(): Promise<void> {}

  /** Drops whatever is not the answer to the open call: notifications, because there is no stream, and answers that come after `fail`. */
  async send(message: JSONRPCMessage): Promise<void> {
    const call = this.#call
    if ('method' in message || call === null || message.id !== call.id) return
    this.#call = null
    call.resolve(message)
  }

  async close(): Promise<void> {
    this.fail(new Error('Cannot answer the call: the tool server was closed'))
    this.onclose?.()
  }
}
