/**
 * JSON-RPC 2.0 (https://www.jsonrpc.org/specification) as MCP narrows it: ids are strings or integers, parameters are
 * objects.
 */

export type MessageId = string | number
export type Params = Readonly<Record<string, unknown>>

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: MessageId
  readonly method: string
  readonly params: Params
}

export interface RpcNotification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: Params
}

export type Message =
  | RpcRequest
  | RpcNotification
  /** An answer to a request from us. We send none, so it is ignored. */
  | { readonly kind: 'response' }
  | { readonly kind: 'invalid'; readonly error: RpcError }

/** See docs/contract.md#tool-endpoint-errors; the last two are MCP's own (specification 2026-07-28, Error Codes). */
export const RPC_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const

/** Why a message gets no result. */
export interface RpcError {
  /** Null where it could not be read. */
  readonly id: MessageId | null
  /** One of `RPC_CODES`, or another that the SDK has for a fault of the caller. */
  readonly code: number
  readonly message: string
  readonly data?: Readonly<Record<string, unknown>>
  /** Of the answer, unless the message came in a batch. */
  readonly httpStatus: number
}

export function messageOf(value: unknown): Message {
  if (!isObject(value)) return invalid(null, 'A message must be a JSON object')
  const { jsonrpc, id, method, params = {} } = value
  const knownId = isId(id) ? id : null
  if (jsonrpc !== '2.0') return invalid(knownId, 'A message must have "jsonrpc": "2.0"')
  if (method === undefined && ('result' in value || 'error' in value)) return { kind: 'response' }
  if (typeof method !== 'string') return invalid(knownId, 'method must be a string')
  if (!isObject(params)) return invalid(knownId, 'params must be an object')
  if (id === undefined) return { kind: 'notification', method, params }
  return knownId === null
    ? invalid(null, 'id must be a string or an integer')
    : { kind: 'request', id: knownId, method, params }
}

/** A JSON object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isId(id: unknown): id is MessageId {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

function invalid(id: MessageId | null, message: string): Message {
  return { kind: 'invalid', error: { id, code: RPC_CODES.invalidRequest, message, httpStatus: 400 } }
}

/** The members that every result of the modern revision has come first, so that answers stay equal byte by byte. */
export function successText(id: MessageId, result: Params): string {
  const { resultType, _meta, ttlMs, cacheScope, ...members } = result
  return JSON.stringify({ jsonrpc: '2.0', id, result: { resultType, _meta, ttlMs, cacheScope, ...members } })
}

export function errorText({ id, code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } })
}
