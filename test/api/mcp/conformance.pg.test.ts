import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob } from 'bun'
import { startTestService } from '../../support/test-service.ts'

/*
 * The MCP project's own conformance package, both revisions that it has requirements for, each on its own wire. The package
 * expects an example server that has everything; what of it a server of four reading tools does not have is listed
 * below, check by check, with the reason. Everything else must pass, and nothing on the list may.
 */

const PACKAGE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'

/** Checks that fail rightly, by why. */
const NOT_OURS: Readonly<Record<string, readonly string[]>> = {
  'needs a tool of the example server (test_simple_text and others)': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
    'json-schema-2020-12-tool-found',
    'sep-2575-server-rejects-undeclared-capability',
    'sep-2575-missing-capability-http-400',
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-server-no-log-without-loglevel',
  ],
  'needs streams: nothing here takes long enough to report progress or to log': [
    'logging-set-level',
    'tools-call-with-logging',
    'tools-call-with-progress',
  ],
  'needs a server that asks its client: these tools have all they need in their arguments': [
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-general',
    'elicitation-sep1330-general',
    'sep-2322-elicitation-incomplete',
    'sep-2322-list-roots-incomplete',
    'sep-2322-sampling-incomplete',
    'sep-2322-respect-client-capabilities',
    'sep-2322-multi-round-r1',
    'sep-2322-multiple-inputs-incomplete',
    'sep-2322-non-tool-incomplete',
    'sep-2322-request-state-incomplete',
    'sep-2322-result-type-included',
    'sep-2322-reject-tampered-state',
  ],
  'needs resources, prompts or completion: there are tools only': [
    'completion-complete',
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
    'sep-2549-prompts-list-caching-hints',
    'sep-2549-resources-list-caching-hints',
    'sep-2549-resources-templates-list-caching-hints',
  ],
  'needs an argument that is mirrored into a header: none is worth routing by': [
    'sep-2243-server-no-xmcp-tool',
    'sep-2243-server-decode-base64',
    'sep-2243-server-validate-param-match',
    'sep-2243-server-reject-invalid-param-chars',
    'sep-2243-server-reject-param-mismatch',
  ],
  'is about servers without authentication, by its own words; here any origin may call, with a key (docs/decisions.md#http-and-mcp)':
    ['localhost-host-rebinding-rejected'],
}

/** Scenarios of an optional extension that is not offered. */
const EXTENSION = /^tasks-/

/** Scenarios that pass as a whole, whatever the package adds to them. */
const PASSES = {
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'server-session-lifecycle', 'server-sse-multiple-streams'],
  '2026-07-28': [
    'tools-list',
    'http-header-validation',
    'server-sse-multiple-streams',
    'sep-2164-resource-not-found',
    'input-required-result-unsupported-methods',
    'input-required-result-missing-input-response',
    'input-required-result-ignore-extra-params',
    'input-required-result-validate-input',
  ],
} as const

interface Check {
  readonly scenario: string
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

const folder = mkdtempSync(join(tmpdir(), 'nightledger-conformance-'))

const service = await startTestService()
const agency = await service.agency()
await service.unit(agency)
const { secret } = await service.key(agency)
// The package sends no key, so one is put in on the way.
const withKey = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: async (request) => {
    const headers = new Headers(request.headers)
    headers.set('authorization', `Bearer ${secret}`)
    const body = request.body === null ? null : await request.arrayBuffer()
    return fetch(`${service.url}/mcp`, { method: request.method, headers, body })
  },
})

afterAll(async () => {
  await withKey.stop(true)
  await service.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(Object.keys(PASSES) as (keyof typeof PASSES)[])('of what revision %s requires', (revision) => {
  let checks: Check[] = []

  beforeAll(async () => {
    checks = await run(revision)
  })

  test('everything passes that applies to a stateless server of tools, and nothing else is missing', () => {
    const failed = checks.filter(({ status }) => status === 'FAILURE')
    const known = Object.values(NOT_OURS).flat()
    expect(failed.filter(({ id }) => !known.includes(id))).toEqual([])
    const ids = new Set(checks.map(({ id }) => id))
    const nowPassing = known.filter((id) => ids.has(id) && !failed.some((check) => check.id === id))
    expect(nowPassing).toEqual([])
  })

  test.each([...PASSES[revision]])('%s passes as a whole', (scenario) => {
    const own = checks.filter((check) => check.scenario === scenario)
    expect(own.length).toBeGreaterThan(0)
    expect(own.filter(({ status }) => status === 'FAILURE')).toEqual([])
  })

  test('every message on the wire fits the schema of the revision', () => {
    const wire = checks.filter(({ id }) => id === 'wire-schema-valid')
    expect(wire.length).toBeGreaterThan(20)
    expect(wire.filter(({ status }) => status !== 'SUCCESS')).toEqual([])
  })
})

test('every excuse is used by one of the revisions', async () => {
  const seen = new Set(
    (await Promise.all((Object.keys(PASSES) as (keyof typeof PASSES)[]).map(run))).flat().map(({ id }) => id),
  )
  expect(
    Object.values(NOT_OURS)
      .flat()
      .filter((id) => !seen.has(id)),
  ).toEqual([])
})

const runs = new Map<string, Promise<Check[]>>()

/** Every check of the required scenarios, run once per revision. */
function run(revision: string): Promise<Check[]> {
  const known = runs.get(revision)
  if (known !== undefined) return known
  const checks = runOnce(revision)
  runs.set(revision, checks)
  return checks
}

async function runOnce(revision: string): Promise<Check[]> {
  const output = join(folder, revision)
  const child = Bun.spawn(
    [process.execPath, PACKAGE, 'server', '--url', `http://127.0.0.1:${withKey.port}/mcp`].concat([
      '--requirements',
      revision,
      '--output-dir',
      output,
    ]),
    { stdout: 'ignore', stderr: 'ignore' },
  )
  await child.exited
  const checks: Check[] = []
  for await (const path of new Glob('*/checks.json').scan(output)) {
    const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(path)?.[1] ?? path
    if (EXTENSION.test(scenario)) continue
    for (const check of await Bun.file(join(output, path)).json()) checks.push({ ...check, scenario })
  }
  return checks
}
