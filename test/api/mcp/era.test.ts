import { describe, expect, test } from 'bun:test'
import { eraOf } from '../../../src/api/mcp/era.ts'
import { messageOf, type RpcNotification, type RpcRequest } from '../../../src/api/mcp/json-rpc.ts'
import { rpc, toolCall } from '../../support/memory-mcp.ts'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const META = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} }

type Sent = Record<string, unknown>

/** The era's kind, or the code it is refused with. */
function eraFor(sent: Sent, headers: Record<string, string>): string | number {
  const era = eraOf(messageOf(sent) as RpcRequest | RpcNotification, new Headers(headers))
  if (era.kind !== 'refused') return era.kind
  expect(era.error.httpStatus).toBe(400)
  expect(era.error.id).toBe((sent['id'] ?? null) as number | null)
  return era.error.code
}

const list = rpc('tools/list')
const notification: Sent = { jsonrpc: '2.0', method: 'notifications/initialized' }
const modern = (sent: Sent, meta: unknown = META): Sent => ({
  ...sent,
  params: { ...(sent['params'] as object), _meta: meta },
})
const headersFor = (sent: Sent, more: Record<string, string> = {}) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': String(sent['method']),
  ...more,
})
const call = modern(toolCall('quote_stay'))

describe('a message is of a handshake revision', () => {
  test.each<[string, Sent, Record<string, string>]>([
    ['without any header', list, {}],
    ['with the header of one', list, { 'mcp-protocol-version': '2025-06-18' }],
    [
      'as initialize, whatever older version its header says',
      rpc('initialize'),
      { 'mcp-protocol-version': '2024-11-05' },
    ],
    ['as a notification', notification, { 'mcp-protocol-version': '2025-11-25' }],
    [
      'with one in _meta, which the header says too',
      modern(list, { [VERSION]: '2025-11-25' }),
      { 'mcp-protocol-version': '2025-11-25' },
    ],
    ['with a _meta of something else', modern(list, { progressToken: 1 }), {}],
    ['with headers of the modern one beside no version', list, { 'mcp-method': 'x', 'mcp-name': 'y' }],
  ])('%s', (_, sent, headers) => {
    expect(eraFor(sent, headers)).toBe('legacy')
  })
})

describe('a message is of the modern revision', () => {
  test.each<[string, Sent, Record<string, string>]>([
    ['with version and capabilities in _meta and headers that agree', modern(list), headersFor(list)],
    [
      'whatever the client says about itself',
      modern(list, { ...META, 'io.modelcontextprotocol/clientInfo': 7 }),
      headersFor(list),
    ],
    ['as a call with its name', call, headersFor(call, { 'mcp-name': 'quote_stay' })],
    ['as a call with its name in base64', call, headersFor(call, { 'mcp-name': '=?base64?cXVvdGVfc3RheQ==?=' })],
    ['as a call whose name is none, which is for the parameters to say', modern(rpc('tools/call')), headersFor(call)],
    ['as initialize, which it does not have', modern(rpc('initialize')), headersFor(rpc('initialize'))],
    ['as a notification by its header alone', notification, { 'mcp-protocol-version': '2026-07-28' }],
    ['as a notification without Mcp-Method', modern(notification), { 'mcp-protocol-version': '2026-07-28' }],
  ])('%s', (_, sent, headers) => {
    expect(eraFor(sent, headers)).toBe('modern')
  })
})

describe('a message is refused', () => {
  const without = (name: string, headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name))
  const full = headersFor(call, { 'mcp-name': 'quote_stay' })

  test.each<[string, number, Sent, Record<string, string>]>([
    ['modern by header, without _meta', -32602, list, headersFor(list)],
    ['modern by header, _meta without a version', -32602, modern(list, { [CAPABILITIES]: {} }), headersFor(list)],
    ['a version that is not a string', -32602, modern(list, { ...META, [VERSION]: 7 }), headersFor(list)],
    ['no capabilities', -32602, modern(list, { [VERSION]: '2026-07-28' }), headersFor(list)],
    ['capabilities that are no object', -32602, modern(list, { ...META, [CAPABILITIES]: [] }), headersFor(list)],
    ['no version header', -32020, call, without('mcp-protocol-version', full)],
    ['another version header', -32020, call, { ...full, 'mcp-protocol-version': '2025-11-25' }],
    ['no Mcp-Method', -32020, call, without('mcp-method', full)],
    ['another Mcp-Method', -32020, call, { ...full, 'mcp-method': 'tools/list' }],
    ['Mcp-Method in capitals', -32020, call, { ...full, 'mcp-method': 'TOOLS/CALL' }],
    ['no Mcp-Name', -32020, call, without('mcp-name', full)],
    ['another Mcp-Name', -32020, call, { ...full, 'mcp-name': 'list_units' }],
    ['an Mcp-Name whose base64 is none', -32020, call, { ...full, 'mcp-name': '=?base64?cXV*?=' }],
    ['an Mcp-Name whose base64 is no UTF-8', -32020, call, { ...full, 'mcp-name': '=?base64?/w==?=' }],
    ['initialize with the header of the modern revision', -32020, rpc('initialize'), headersFor(rpc('initialize'))],
    [
      'an unknown version in _meta and header',
      -32022,
      modern(list, { ...META, [VERSION]: '2031-01-01' }),
      { 'mcp-protocol-version': '2031-01-01' },
    ],
    ['an unknown version in the header alone', -32022, list, { 'mcp-protocol-version': '2024-11-05' }],
    ['a version that is none', -32022, list, { 'mcp-protocol-version': 'latest' }],
    ['a notification of an unknown version', -32022, notification, { 'mcp-protocol-version': 'latest' }],
  ])('%s: %d', (_, code, sent, headers) => {
    expect(eraFor(sent, headers)).toBe(code)
  })

  test('an Mcp-Name that is not UTF-8 is not read as the replacement character', () => {
    const replaced = modern(toolCall('\ufffd'))
    expect(eraFor(replaced, headersFor(replaced, { 'mcp-name': '=?base64?77+9?=' }))).toBe('modern')
    expect(eraFor(replaced, headersFor(replaced, { 'mcp-name': '=?base64?/w==?=' }))).toBe(-32020)
  })

  test('and is answered with the supported versions', () => {
    const sent = modern(list, { ...META, [VERSION]: '2031-01-01' })
    const era = eraOf(messageOf(sent) as RpcRequest, new Headers({ 'mcp-protocol-version': '2031-01-01' }))
    expect(era).toMatchObject({
      error: { data: { supported: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'], requested: '2031-01-01' } },
    })
  })
})
