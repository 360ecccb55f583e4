/** The first section of the partner guide: both of its programs book what they find, word for word. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PYTHON_MISSING } from '../clients/support/driver-process.ts'
import { fencesOf, sectionOf } from '../support/shell-blocks.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

const ROOT = join(import.meta.dir, '../..')
const SECTION = sectionOf(readFileSync(join(ROOT, 'docs/partner-guide.md'), 'utf8'), 'From nothing to a booking')
const programIn = (language: string) => fencesOf(SECTION).find(({ info }) => info === language)?.text ?? ''

const folder = mkdtempSync(join(tmpdir(), 'nightledger-first-booking-'))
let service: TestService
beforeAll(async () => {
  service = await startTestService()
  const installed = join(folder, 'node_modules/nightledger-client')
  cpSync(join(ROOT, 'clients/typescript/package.json'), join(installed, 'package.json'))
  const build = [process.execPath, 'run', 'build.ts', join(installed, 'dist')]
  expect(Bun.spawnSync(build, { cwd: join(ROOT, 'clients/typescript') }).exitCode).toBe(0)
})
afterAll(async () => {
  await service?.close()
  rmSync(folder, { recursive: true })
})

/** What a program prints that has the address and a key of an agency with one unit. */
async function printed(file: string, language: string, command: readonly string[]): Promise<string> {
  const agency = await service.agency()
  await service.unit(agency, { slug: 'sea-view' })
  const { secret } = await service.key(agency, { scopes: ['read:rates', 'read:bookings', 'write:bookings'] })
  writeFileSync(join(folder, file), programIn(language))
  const env = {
    PATH: process.env['PATH'] ?? '',
    PYTHONPATH: join(ROOT, 'clients/python'),
    NIGHTLEDGER_URL: service.url,
    NIGHTLEDGER_KEY: secret,
  }
  const child = Bun.spawn([...command, file], { cwd: folder, env, stdout: 'pipe', stderr: 'inherit' })
  return new Response(child.stdout).text()
}

const SHOWN = /^Booked sea-view from 2027-03-01: \d+ EUR\nIt is cancelled\n$/

test('the guide shows what is printed', () => {
  expect(programIn('text')).toMatch(SHOWN)
})

test('TypeScript', async () => {
  expect(await printed('first.ts', 'ts', [process.execPath])).toMatch(SHOWN)
})

test.skipIf(PYTHON_MISSING)('Python', async () => {
  expect(await printed('first.py', 'python', ['python3'])).toMatch(SHOWN)
})
