/** The first section of the partner guide: both of its programs do what it says, word for word, while `listen` brings the events. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PYTHON_MISSING } from '../clients/support/driver-process.ts'
import { startReceiver } from '../events/webhooks/support/receiver.ts'
import { programFile } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import { fencesOf, sectionOf } from '../support/shell-blocks.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

const ROOT = join(import.meta.dir, '../..')
const SECTION = sectionOf(readFileSync(join(ROOT, 'docs/partner-guide.md'), 'utf8'), 'Ten minutes in a sandbox')
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

const SCOPES = ['read:availability', 'read:rates', 'read:bookings', 'write:bookings']

/** What a program prints in the sandbox of an agency with one unit, and the events that `listen` brings meanwhile. */
async function carriedOut(file: string, language: string, command: readonly string[]) {
  const live = await service.agency()
  await service.unit(live, { slug: 'sea-view' })
  const made = await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
  const { secret } = (await service.ask(`/agencies/${made.body.agency.slug}/keys`, { name: 'Desk', scopes: SCOPES }))
    .body
  writeFileSync(join(folder, file), programIn(language))
  const env = {
    PATH: process.env['PATH'] ?? '',
    PYTHONPATH: join(ROOT, 'clients/python'),
    XDG_STATE_HOME: join(folder, `${language}-state`),
    NIGHTLEDGER_URL: service.url,
    NIGHTLEDGER_KEY: secret,
  }
  const receiver = startReceiver(null)
  const forward = `http://localhost:${receiver.port}/hook`
  const listen = [process.execPath, 'run', programFile(), 'listen', '--key', secret, '--forward', forward]
  const before = service.ledger.changes.stats.waiting.streams
  const listening = Bun.spawn(listen, { env, stdout: 'ignore', stderr: 'inherit' })
  await eventually('it listens', () => service.ledger.changes.stats.waiting.streams > before)
  const child = Bun.spawn([...command, file], { cwd: folder, env, stdout: 'pipe', stderr: 'inherit' })
  const printed = await new Response(child.stdout).text()
  await eventually('all four events have come', () => receiver.received.length === 4)
  listening.kill('SIGINT')
  await listening.exited
  await receiver.stop()
  const events = receiver.received.map(({ body }) => JSON.parse(body).event)
  return { printed, events }
}

const SHOWN =
  /^Booked sea-view from 2030-03-01: \d+ EUR\nA day later the hold is cancelled: hold_expired\nThe booking is cancelled\n$/
const EVENTS = ['booking.created', 'booking.created', 'booking.cancelled', 'booking.cancelled']

test('the guide shows what is printed', () => {
  expect(programIn('text')).toMatch(SHOWN)
})

test('TypeScript', async () => {
  const { printed, events } = await carriedOut('first.ts', 'ts', [process.execPath])
  expect(printed).toMatch(SHOWN)
  expect(events).toEqual(EVENTS)
})

test.skipIf(PYTHON_MISSING)('Python', async () => {
  const { printed, events } = await carriedOut('first.py', 'python', ['python3'])
  expect(printed).toMatch(SHOWN)
  expect(events).toEqual(EVENTS)
})
