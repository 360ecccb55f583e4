import { describe, expect, test } from 'bun:test'
import {
  InitializeResultSchema,
  ListToolsResultSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js'
import {
  CLIENT_CAPABILITIES_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolErrorCode,
  SUPPORTED_PROTOCOL_VERSIONS as SERVER_VERSIONS,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server'
import { version } from '../../../package.json'
import { LEGACY_VERSIONS, META } from '../../../src/api/mcp/era.ts'
import { RPC_CODES } from '../../../src/api/mcp/json-rpc.ts'
import { SERVER_INFO } from '../../../src/api/mcp/tool-server.ts'
import { openMemoryMcp, rpc } from '../../support/memory-mcp.ts'
import { readSources } from '../../support/source-imports.ts'

/*
 * The endpoint has constants of its own where it must not wait for the SDK to load: they are compared with the SDK's. Results are
 * checked with the schemas of the SDK's older package, whose clients are still in use.
 */

test('only what is loaded once the service listens takes more than types from the SDK', async () => {
  const sources = await readSources()
  const imports = sources.flatMap(({ path, code }) =>
    [...code.matchAll(/^(import(?: type)? \{[^}]*\}) from '@modelcontextprotocol\/[^']*'$/gm)].map(
      ([, named = '']) => ({
        path,
        isOfTypes: named.startsWith('import type {'),
      }),
    ),
  )
  expect(imports.filter(({ isOfTypes }) => !isOfTypes).map(({ path }) => path)).toEqual(['api/mcp/tool-server.ts'])
  const early = sources
    .filter(({ code }) => /^(import (?!type)|\} from ).*\/tool-server\.ts'$/m.test(code))
    .map(({ path }) => path)
  expect(early).toEqual([])
})

describe('as the SDK has it', () => {
  test('are the revisions since streamable HTTP', () => {
    for (const versions of [SUPPORTED_PROTOCOL_VERSIONS, SERVER_VERSIONS])
      expect(versions.filter((known) => known >= '2025-03-26')).toEqual([...LEGACY_VERSIONS])
  })

  test('are the codes', () => {
    expect(RPC_CODES).toMatchObject({
      parse: ProtocolErrorCode.ParseError,
      invalidRequest: ProtocolErrorCode.InvalidRequest,
      unknownMethod: ProtocolErrorCode.MethodNotFound,
      invalidParams: ProtocolErrorCode.InvalidParams,
      internal: ProtocolErrorCode.InternalError,
      unsupportedVersion: new UnsupportedProtocolVersionError({ supported: [], requested: '' }).code,
    })
  })

  test('are the members of _meta', () => {
    expect(META).toEqual({ version: PROTOCOL_VERSION_META_KEY, clientCapabilities: CLIENT_CAPABILITIES_META_KEY })
  })

  test('are the results of initialize and tools/list', async () => {
    const { ask, key } = await openMemoryMcp()
    InitializeResultSchema.parse((await ask(key(), initialize('2025-06-18'))).body.result)
    const { result } = (await ask(key(), rpc('tools/list'))).body
    expect(ListToolsResultSchema.parse(result).tools).toHaveLength(6)
  })
})

describe('initialize', () => {
  test.each([...LEGACY_VERSIONS])('agrees to %s', async (given) => {
    const { ask, key } = await openMemoryMcp()
    expect((await ask(key(), initialize(given))).body.result.protocolVersion).toBe(given)
  })

  test.each(['2024-11-05', '2026-07-28', '', undefined, 7])(
    'offers the newest of its revisions instead of %p',
    async (given) => {
      const { ask, key } = await openMemoryMcp()
      expect((await ask(key(), initialize(given))).body.result.protocolVersion).toBe('2025-11-25')
    },
  )

  test('asks nothing of the client that it does not use', async () => {
    const { ask, key } = await openMemoryMcp()
    for (const params of [undefined, {}, { capabilities: 7, clientInfo: [] }])
      expect((await ask(key(), rpc('initialize', params))).body.result.protocolVersion).toBe('2025-11-25')
  })
})

test('the server tells the version of the package', async () => {
  const { ask, key } = await openMemoryMcp()
  expect(SERVER_INFO.version).toBe(version)
  expect((await ask(key(), initialize('2025-11-25'))).body.result.serverInfo).toEqual(SERVER_INFO)
})

function initialize(protocolVersion: unknown): Record<string, unknown> {
  return rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } })
}
