import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type CliRun, runCliProcess } from '../support/cli-process.ts'
import { Load, prepareForLoad } from '../support/load.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { type ServiceProcess, startServiceOn, TEST_PORTAL_TOKEN } from '../support/service-process.ts'

let database: TestDatabase
let service: ServiceProcess
beforeAll(async () => {
  database = await testDatabase()
  await prepareForLoad(database.url)
  service = await startServiceOn(database.url)
  const load = new Load(() => service.baseUrl)
  for (let i = 0; i < 40; i++) await load.book()
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.exited
  await database.drop()
})

/** The command line as a process: what it printed, and its exit code. */
function cli(...args: string[]): Promise<CliRun> {
  const env = { NIGHTLEDGER_URL: service.baseUrl, PORTAL_TOKEN: TEST_PORTAL_TOKEN, DATABASE_URL: database.url }
  return runCliProcess(args, { env })
}

test('GET /portal/v1/verification compares the running actors, too, and needs the portal token', async () => {
  const ask = (token: string) =>
    fetch(`${service.baseUrl}/portal/v1/verification`, { headers: { authorization: `Bearer ${token}` } })
  expect((await ask('hr_live_none')).status).toBe(401)
  const answer = await ask(TEST_PORTAL_TOKEN)
  expect(answer.status).toBe(200)
  const { verification } = (await answer.json()) as { verification: { units: number; differences: unknown[] } }
  expect(verification).toMatchObject({ units: 12, differences: [] })
})

test('the command says that all is well and ends with 0; of the database alone as well', async () => {
  for (const args of [['verify'], ['verify', '--database']]) {
    const { code, stdout } = await cli(...args)
    expect(stdout).toContain('Everything is as the journal says.')
    expect(code).toBe(0)
  }
})

test('a difference is named, in a table and as JSON, and ends the command with 1', async () => {
  const [damaged] = await database.sql`
    update booking set total_amount = total_amount + 1
    where booking_id = (select min(booking_id) from booking) returning booking_id as "id"`
  const { code, stdout, stderr } = await cli('verify')
  expect(code).toBe(1)
  expect(stdout).toContain(`${damaged?.['id']}`)
  expect(stdout).toContain('totalAmount differ')
  expect(stderr).toContain('1 thing differs from the journal')
  const json = await cli('verify', '--json', '--database')
  expect(json.code).toBe(1)
  expect(json.json.verification.differences).toMatchObject([{ what: 'booking', at: damaged?.['id'] }])
})
