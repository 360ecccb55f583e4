/** `guests erase` and `guests export`, on the real service. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { programFile } from '../support/bundled-program.ts'
import { cliOn } from '../support/cli-terminal.ts'
import { TEST_PORTAL_TOKEN } from '../support/service-process.ts'
import { shellBlocksOf } from '../support/shell-blocks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

const folder = temporaryFolder('guest-data')
let service: TestService
let cli: ReturnType<typeof cliOn>
let slug: string
let unit: string
beforeAll(async () => {
  service = await startTestService()
  cli = cliOn(service)
  const agency = await service.agency()
  slug = agency.slug
  unit = (await service.unit(agency)).slug
})
afterAll(() => service.close())

const ANA = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com', phone: '+351 1', nationality: 'PT' }

let year = 2030
async function booked(guest = ANA): Promise<string> {
  const stay = { unit, arrival: `${year}-05-01`, departure: `${year++}-05-03`, sourceRef: '=1+1', notes: 'A cot' }
  return (await service.ask(`/agencies/${slug}/bookings`, { ...stay, guest })).body.booking.guest.id
}

test('a guest is exported as what is held about them and their stays, in files that only their owner may read', async () => {
  const id = await booked()
  await booked()
  await booked({ ...ANA, firstName: 'Rui', email: 'ana@example.com.pt' })
  const out = join(folder, 'ana')
  const { code, stdout } = await cli('guests', 'export', '--agency', slug, '--email', 'ANA@example.com', '--out', out)
  expect([code, stdout]).toEqual([0, `Wrote guest.json and stays.csv (2 bookings) into ${out}\n`])
  const held = JSON.parse(readFileSync(join(out, 'guest.json'), 'utf8'))
  expect(held).toMatchObject({ exportedAt: expect.any(String), agency: { slug }, guest: { id, ...ANA } })
  expect(held.bookings).toHaveLength(2)
  expect(held.bookings[0]).toMatchObject({ unitSlug: unit, notes: 'A cot', sourceRef: '=1+1', totalAmount: 25_000 })
  const [head = '', ...rows] = readFileSync(join(out, 'stays.csv'), 'utf8').trim().split('\n')
  expect(head.split(',')).toContain('arrival')
  expect(rows).toHaveLength(2)
  // A spreadsheet does not take it for a formula.
  expect(rows[0]).toContain("'=1+1")
  expect(statSync(join(out, 'guest.json')).mode & 0o777).toBe(0o600)
})

test('a guest is erased by id or e-mail, and a dry run only says what would go', async () => {
  const id = await booked({ ...ANA, email: 'b@example.com' })
  const tried = await cli('guests', 'erase', '--agency', slug, '--email', 'B@example.com', '--dry-run')
  expect(tried.stdout).toBe(
    `Would erase guest ${id}. Would stay as figures: 1 booking, 1 of them upcoming. Would be erased with them: 1 note, 1 reference, 0 cancellation reasons.\n`,
  )
  expect((await service.get(`/agencies/${slug}/guests/${id}`)).status).toBe(200)
  const erased = await cli('guests', 'erase', '--agency', slug, '--email', 'B@example.com')
  expect(erased.stdout).toContain(`Erased guest ${id} at 20`)
  expect((await service.get(`/agencies/${slug}/guests/${id}`)).status).toBe(404)
  const again = await cli('guests', 'erase', '--agency', slug, '--guest', id, '--json')
  expect([again.code, again.json.erasure.bookings]).toEqual([0, 0])
})

test('a guest who is not named, or not there, is refused', async () => {
  const refusals = [
    await cli('guests', 'erase', '--agency', slug),
    await cli('guests', 'erase', '--agency', slug, '--guest', 'gst_1', '--email', 'a@example.com'),
    await cli('guests', 'erase', '--agency', slug, '--email', 'nobody@example.com'),
    await cli('guests', 'export', '--agency', slug, '--guest', 'gst_1', '--out', join(folder, 'nobody')),
  ]
  expect(refusals.map(({ code, stderr }) => [code, stderr.split('\n')[0]])).toEqual([
    [2, 'Name the guest: use --guest or --email.'],
    [2, 'Name the guest: use --guest or --email.'],
    [3, 'No guest has the e-mail nobody@example.com.'],
    [3, 'Refused: No such guest'],
  ])
})

test('the commands of docs/operating/personal-data.md hand a guest over, erase them, and list the erasure', async () => {
  const id = await booked({ ...ANA, email: 'c@example.com' })
  const cwd = mkdtempSync(join(folder, 'personal-data-'))
  const blocks = shellBlocksOf(readFileSync('docs/operating/personal-data.md', 'utf8')).map(({ script }) => script)
  expect(blocks).toHaveLength(3)
  const env = {
    PATH: process.env['PATH'] ?? '',
    BUN: process.execPath,
    MAIN: programFile(),
    NIGHTLEDGER_URL: service.url,
    PORTAL_TOKEN: TEST_PORTAL_TOKEN,
    NIGHTLEDGER_AGENCY: slug,
    GUEST_EMAIL: 'c@example.com',
    DATABASE_URL: service.database.url,
  }
  const script = `nightledger() { "$BUN" run "$MAIN" "$@"; }\n${blocks.join('')}`
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], { cwd, env, stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  expect([await child.exited, stderr]).toEqual([0, ''])
  expect(stdout).toContain(`Erased guest ${id}`)
  expect(JSON.parse(readFileSync(join(cwd, 'copy/guest.json'), 'utf8')).guest.id).toBe(id)
  expect(readFileSync(join(cwd, 'erasures.ndjson'), 'utf8')).toContain(`"guestId":"${id}"`)
})
