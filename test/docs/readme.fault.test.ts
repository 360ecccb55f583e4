import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServiceProcess, startService } from '../support/service-process.ts'
import { sectionOf, shellBlocksOf, timeless } from '../support/shell-blocks.ts'

const README = readFileSync(join(import.meta.dir, '../../README.md'), 'utf8')

let dataDir: string
let service: ServiceProcess
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'nightledger-readme-'))
  service = await startService({ DATA_DIR: dataDir })
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  rmSync(dataDir, { recursive: true, force: true })
})

/** The walk's commands, on this test's service instead of the README's. */
function here(script: string): string {
  return script
    .replace('data/sandbox-api-key', join(dataDir, 'sandbox-api-key'))
    .replace('http://127.0.0.1:3000', service.baseUrl)
}

test('the walk in the README works as pasted, and answers what the README shows', async () => {
  const blocks = shellBlocksOf(sectionOf(README, 'A walk'))
  expect(blocks.length).toBeGreaterThan(8)
  const END = '--end of block--'
  const script = blocks.map(({ script }) => `${here(script)}\necho; echo "${END}"`).join('\n')
  const run = Bun.spawn(['bash', '-euc', script], { stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([run.stdout.text(), run.stderr.text()])
  expect({ code: await run.exited, stderr }).toEqual({ code: 0, stderr: '' })
  const outputs = stdout.split(`${END}\n`).map((output) => output.trim())
  for (const [i, { output }] of blocks.entries()) {
    if (output !== null) expect(timeless(outputs[i] ?? '')).toEqual(timeless(output))
  }
})

test('after a kill -9 and a restart the demo is the same, and so is its key', async () => {
  const key = readFileSync(join(dataDir, 'demo-api-key'), 'utf8').trim()
  const count = async () => {
    const response = await fetch(`${service.baseUrl}/partner/v1/bookings?pageSize=1`, {
      headers: { authorization: `Bearer ${key}` },
    })
    return ((await response.json()) as { totalItems: number }).totalItems
  }
  const before = await count()
  expect(before).toBeGreaterThan(150)
  service.kill('SIGKILL')
  await service.exited
  service = await startService({ DATA_DIR: dataDir })
  expect(await count()).toBe(before)
})
