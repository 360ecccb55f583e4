import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type ServiceProcess, startService } from '../support/service-process.ts'
import { shellBlocksOf } from '../support/shell-blocks.ts'

/*
 * Runs what docs/agency-guide.md tells an agency to run, word for word and in one shell, against a service with a database of its own.
 */

const GUIDE = resolve('docs/agency-guide.md')
const MAIN = resolve('src/main.ts')

let folder: string
let service: ServiceProcess

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nightledger-guide-'))
  // The database server of a service that runs as root is another account's.
  chmodSync(folder, 0o711)
  service = await startService({ DATA_DIR: join(folder, 'data') })
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  rmSync(folder, { recursive: true, force: true })
})

async function bash(script: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', DATA_DIR: join(folder, 'data'), BUN: process.execPath, MAIN },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

test('the guide takes an agency from nothing to its first partner booking, and on', async () => {
  const blocks = shellBlocksOf(readFileSync(GUIDE, 'utf8')).map(({ script }) => script)
  expect(blocks.length).toBeGreaterThan(8)
  const script = ['nightledger() { "$BUN" run "$MAIN" "$@"; }', ...blocks.map((block, i) => `echo "== ${i}"\n${block}`)]
  const run = await bash(script.join('\n'))
  if (run.code !== 0)
    throw new Error(`The guide ended with ${run.code}:\n${run.stdout}\n${run.stderr}\n${service.log()}`)

  expect(run.stdout).toStartWith(`== 0\n${service.baseUrl}\n`)
  // 10 to 13 June 2030 are Monday to Thursday: four summer nights, cleaning, city tax.
  expect(run.stdout).toContain('"total":78800')
  expect(run.stdout).toMatch(/sea-view +2030-06-10 +2030-06-14 +guest +confirmed +partner +Ana Reis +78800/)
  expect(run.stdout).toContain(' 10# 11# 12# 13# 14~ 15  16\n')
  expect(run.stdout).toMatch(/cancelReason +hold_expired/)
  expect(run.stdout).toContain('1 created, 0 moved, 0 cancelled')
  expect(run.stdout).toContain('harbour: 0 created, 0 changed')
  // The leading part of a key may be seen, a secret may not.
  expect(run.stdout).not.toMatch(/hr_live_[\w-]{7}/)
}, 120_000)

test('the service leaves its address for the commands, and takes it away when it stops', async () => {
  const file = join(folder, 'data', 'service.json')
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ url: service.baseUrl })
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  expect(await Bun.file(file).exists()).toBe(false)
})
