/**
 * The revisions of the Model Context Protocol that are spoken, and which of them a message belongs to. The request alone decides (MCP
 * specification 2026-07-28, Versioning): with a version in its `_meta` it is of a modern revision, without one it is of a revision that
 * begins with `initialize`. The header `MCP-Protocol-Version` must agree with it, and in the modern revision `Mcp-Method` and `Mcp-Name`
 * with the body, because a proxy between client and server may have routed or refused the request by them (Streamable HTTP, Server
 * Validation).
 */
import {
  isObject,
  type MessageId,
  RPC_CODES,
  type RpcError,
  type RpcNotification,
  type RpcRequest,
} from './json-rpc.ts'

/** Spoken without a handshake: each request carries version and capabilities in `_meta`. */
export const MODERN_VERSION = '2026-07-28'

/** Spoken after `initialize`, the newest first. Nothing is remembered from it, so it may be left out. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
type LegacyVersion = (typeof LEGACY_VERSIONS)[number]

/** The only revision in which messages may come as a batch; also the one of a request that names none. */
export const BATCH_VERSION: LegacyVersion = '2025-03-26'

export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS]

/** Members of `_meta` in the modern revision, as the SDK has them. */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
} as const

type Era =
  | { readonly kind: 'legacy' }
  | { readonly kind: 'modern' }
  | { readonly kind: 'refused'; readonly error: RpcError }

const LEGACY: Era = { kind: 'legacy' }
const MODERN: Era = { kind: 'modern' }

export function eraOf(message: RpcRequest | RpcNotification, headers: Headers): Era {
  const id = message.kind === 'request' ? message.id : null
  const meta = message.params['_meta']
  const claim = isObject(meta) ? meta[META.version] : undefined
  const header = headers.get('mcp-protocol-version')
  if (claim === undefined) return eraOfUnclaimed(message, header, id)
  if (typeof claim !== 'string') return malformed(id, `_meta must contain "${META.version}" as a string`)
  if (header !== claim) return mismatch(id, 'MCP-Protocol-Version', header, claim)
  // Nothing is remembered from `initialize`, so such a request can be served as it is.
  if (isLegacyVersion(claim)) return LEGACY
  if (claim !== MODERN_VERSION) return unsupported(id, claim)
  // No headers are required of a notification (Streamable HTTP, Sending Messages).
  if (message.kind === 'notification') return MODERN
  if (!isObject((meta as Record<string, unknown>)[META.clientCapabilities]))
    return malformed(id, `_meta must contain "${META.clientCapabilities}" as an object`)
  return headersAgree(message, headers)
}

function eraOfUnclaimed(message: RpcRequest | RpcNotification, header: string | null, id: MessageId | null): Era {
  const { kind, method } = message
  if (method === 'initialize')
    return header === MODERN_VERSION
      ? mismatch(id, 'MCP-Protocol-Version', header, 'no version, because the method is initialize')
      : LEGACY
  if (header === null || isLegacyVersion(header)) return LEGACY
  if (header !== MODERN_VERSION) return unsupported(id, header)
  if (kind === 'notification') return MODERN
  return malformed(id, `_meta must contain "${META.version}" and "${META.clientCapabilities}" in revision ${header}`)
}

function isLegacyVersion(version: unknown): version is LegacyVersion {
  return LEGACY_VERSIONS.some((known) => known === version)
}

function headersAgree({ id, method, params }: RpcRequest, headers: Headers): Era {
  const methodHeader = headers.get('mcp-method')
  if (methodHeader !== method) return mismatch(id, 'Mcp-Method', methodHeader, method)
  const { name } = params
  // A name that is not a string is refused with the parameters.
  if (method !== 'tools/call' || typeof name !== 'string') return MODERN
  const nameHeader = headers.get('mcp-name')
  return nameHeader !== null && decodedName(nameHeader) === name ? MODERN : mismatch(id, 'Mcp-Name', nameHeader, name)
}

const SENTINEL = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Names that fit no header come as `=?base64?…?=` (Streamable HTTP, Value Encoding). Null: encoded wrongly. */
function decodedName(header: string): string | null {
  const encoded = SENTINEL.exec(header)?.[1]
  if (encoded === undefined) return header
  try {
    return utf8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return null
  }
}

function malformed(id: MessageId | null, message: string): Era {
  return { kind: 'refused', error: { id, code: RPC_CODES.invalidParams, message, httpStatus: 400 } }
}

const TOLD_CHARS_MAX = 128

function mismatch(id: MessageId | null, name: string, header: string | null, body: string): Era {
  const what = header === null ? 'is missing' : `is '${header.slice(0, TOLD_CHARS_MAX)}'`
  const message = `Header mismatch: ${name} ${what}, but the body says '${body.slice(0, TOLD_CHARS_MAX)}'`
  return { kind: 'refused', error: { id, code: RPC_CODES.headerMismatch, message, httpStatus: 400 } }
}

function unsupported(id: MessageId | null, requested: string): Era {
  const data = { supported: SUPPORTED_VERSIONS, requested: requested.slice(0, TOLD_CHARS_MAX) }
  const message = 'Unsupported protocol version'
  return { kind: 'refused', error: { id, code: RPC_CODES.unsupportedVersion, message, data, httpStatus: 400 } }
}
