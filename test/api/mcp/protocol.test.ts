import { describe, expect, test } from 'bun:test'
import {
  ErrorCode,
  InitializeResultSchema,
  ListToolsResultSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js'
import { version } from '../../../package.json'
import { RPC_CODES } from '../../../src/api/mcp/json-rpc.ts'
import { initializeText, LEGACY_VERSIONS, resultText, SERVER_VERSION } from '../../../src/api/mcp/protocol.ts'
import { toolsText } from '../../../src/api/mcp/tools/toolbox.ts'
import { SCOPES } from '../../../src/core/catalogue/agency.ts'
import { readSources } from '../../support/source-imports.ts'

/*
 * At run time nothing of the SDK is loaded (docs/decisions.md); what is said instead is held against it here.
 */

test('of the SDK, the source takes types only', async () => {
  const sources = await readSources()
  const imports = sources.flatMap(({ path, code }) =>
    [...code.matchAll(/^.*@modelcontextprotocol\/sdk.*$/gm)].map(([line]) => `${path}: ${line}`),
  )
  expect(imports.length).toBeGreaterThan(0)
  expect(imports.filter((line) => !/^[^:]+: import type \{/.test(line))).toEqual([])
})

describe('as the SDK has it', () => {
  test('are the revisions since streamable HTTP', () => {
    expect(SUPPORTED_PROTOCOL_VERSIONS.filter((known) => known >= '2025-03-26')).toEqual([...LEGACY_VERSIONS])
  })

  test('are the codes', () => {
    expect(RPC_CODES).toMatchObject({
      parse: ErrorCode.ParseError,
      invalidRequest: ErrorCode.InvalidRequest,
      unknownMethod: ErrorCode.MethodNotFound,
      invalidParams: ErrorCode.InvalidParams,
      internal: ErrorCode.InternalError,
    })
  })

  test('are the results of initialize and tools/list', () => {
    InitializeResultSchema.parse(JSON.parse(initializeText('2025-06-18')))
    const tools = resultText(`"tools":${toolsText(SCOPES)}`, { isModern: false, isCacheable: true })
    expect(ListToolsResultSchema.parse(JSON.parse(tools)).tools).toHaveLength(4)
  })
})

describe('initialize', () => {
  test.each([...LEGACY_VERSIONS])('agrees to %s', (asked) => {
    expect(JSON.parse(initializeText(asked)).protocolVersion).toBe(asked)
  })

  test.each(['2024-11-05', '2026-07-28', '', undefined, 7])(
    'offers the newest of its revisions instead of %p',
    (asked) => {
      expect(JSON.parse(initializeText(asked)).protocolVersion).toBe('2025-11-25')
    },
  )
})

test('the server tells the version of the package', () => {
  expect(SERVER_VERSION).toBe(version)
})
