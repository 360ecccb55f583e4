import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { TOOLS } from '../../../src/api/mcp/tools/toolbox.ts'
import { type ServiceProcess, startService } from '../../support/service-process.ts'
import { shellBlocksOf } from '../../support/shell-blocks.ts'

/*
 * docs/agents.md on the demo: its commands as pasted, and its transcript call by call. An answer in the document may leave
 * members out; what it shows must be so.
 */

const DOC = readFileSync(join(import.meta.dir, '../../../docs/agents.md'), 'utf8')

let dataDir: string
let service: ServiceProcess
let key: string

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'nightledger-agents-'))
  service = await startService({ DATA_DIR: dataDir })
  key = readFileSync(join(dataDir, 'sandbox-api-key'), 'utf8').trim()
})

afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  rmSync(dataDir, { recursive: true, force: true })
})

test('the commands work as pasted, and answer what the document shows', async () => {
  const blocks = shellBlocksOf(DOC)
  const END = '--end of block--'
  const here = (script: string) =>
    script
      .replace('data/sandbox-api-key', join(dataDir, 'sandbox-api-key'))
      .replace('data/demo-owner-token', join(dataDir, 'demo-owner-token'))
      .replace('http://127.0.0.1:3000', service.baseUrl)
  const script = blocks.map(({ script }) => `${here(script)}\necho; echo "${END}"`).join('\n')
  const run = Bun.spawn(['bash', '-euc', script], { stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([run.stdout.text(), run.stderr.text()])
  expect({ code: await run.exited, stderr }).toEqual({ code: 0, stderr: '' })
  const outputs = stdout.split(`${END}\n`).map((output) => output.trim())
  expect(blocks.filter(({ output }) => output !== null)).toHaveLength(4)
  for (const [i, { output }] of blocks.entries()) if (output !== null) expect(outputs[i]).toBe(output.trim())
})

test('the transcript is what an agent gets', async () => {
  const steps = [...DOC.matchAll(/```json call\n(.*?)```\s*```(json|text) answer\n(.*?)```/gs)]
  expect(steps).toHaveLength(6)
  const client = new Client({ name: 'docs', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  const transport = new StreamableHTTPClientTransport(new URL(`${service.baseUrl}/mcp`), { requestInit })
  await client.connect(transport as Parameters<Client['connect']>[0])
  for (const [, call = '', kind, answer = ''] of steps) {
    const result = await client.callTool(JSON.parse(call))
    if (kind === 'text') expect(result).toEqual({ content: [{ type: 'text', text: answer.trim() }], isError: true })
    else expect(result.structuredContent).toMatchObject(JSON.parse(answer))
  }
  await client.close()
})

describe('the document', () => {
  test('has configurations to paste that are JSON and name the endpoint and the key', () => {
    const configs = [...DOC.matchAll(/```json config\n(.*?)```/gs)].map(([, config = '']) => config)
    expect(configs).toHaveLength(3)
    for (const config of configs) {
      const text = JSON.stringify(JSON.parse(config))
      expect(text).toContain('http://127.0.0.1:3000/mcp')
      expect(text).toMatch(/Authorization/)
    }
  })

  test('names every tool with its scope', () => {
    for (const { name, scope } of TOOLS) expect(DOC).toContain(`| \`${name}\` | \`${scope}\` |`)
  })
})
