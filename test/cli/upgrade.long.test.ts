import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { runCliProcess } from '../support/cli-process.ts'
import { fillOldLedger, makeOldDatabase, type OldWorld, OldWriter } from '../support/old-ledger.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { startServiceOn, TEST_SECRET_KEY } from '../support/service-process.ts'

let database: TestDatabase
let writer: OldWriter
let world: OldWorld

beforeEach(async () => {
  database = await testDatabase({ template: 'empty' })
  await makeOldDatabase(database.url)
  writer = new OldWriter(database.sql)
  await writer.takeOver()
  world = await fillOldLedger(database.sql, writer)
})
afterEach(() => database.drop())

function migrate(options: string[] = [], env: Record<string, string> = { SECRET_KEY: TEST_SECRET_KEY }) {
  return runCliProcess(['migrate', ...options], { env: { DATABASE_URL: database.url, ...env } })
}

describe('migrate, on a database of the layout before shards', () => {
  test('copies ahead, says how far it is, and the service switches and shows everything', async () => {
    expect((await migrate(['--status', '--json'])).json).toMatchObject({ stage: 'old' })
    const copied = await migrate()
    expect(copied.stdout).toBe(
      `The ledger is copied up to journal entry ${writer.lastSeq}, and follows the previous version. Start this version to switch to the copy.\n`,
    )
    expect(copied.stderr).toContain('Copying table booking\n')
    expect((await migrate(['--status'])).stdout).toContain(
      `${writer.lastSeq} of ${writer.lastSeq} journal entries. The previous version is in use.`,
    )

    const service = await startServiceOn(database.url)
    const answer = await service.portal(`/agencies/${world.agencies[0]?.slug}/bookings`)
    expect([answer.status, answer.body]).toMatchObject([200, { bookings: { length: 4 } }])
    service.kill('SIGTERM')
    expect(await service.exited).toBe(0)
    expect((await migrate(['--status', '--json'])).json).toMatchObject({ stage: 'switched', unknownCallers: 0 })
    expect((await migrate(['--json'])).json).toMatchObject({ applied: [] })
  })

  test('goes back until it is finished', async () => {
    const service = await startServiceOn(database.url)
    service.kill('SIGTERM')
    await service.exited
    const back = await migrate(['--back'])
    expect(back.stdout).toContain('The database is back in the old layout')
    await writer.takeOver()

    const again = await startServiceOn(database.url)
    again.kill('SIGTERM')
    await again.exited
    expect(await migrate(['--finish'])).toMatchObject({ code: 0, stdout: 'The old tables are removed.\n' })
    expect(await migrate(['--back'])).toMatchObject({ code: 1, stderr: expect.stringContaining('has no old tables') })
    expect(await migrate(['--finish'])).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing to finish') })
  })

  test('needs the key of the database, and does nothing without it', async () => {
    expect(await migrate([], {})).toMatchObject({ code: 2, stderr: expect.stringContaining('SECRET_KEY is not set') })
    expect(await migrate([], { SECRET_KEY: 'ee'.repeat(32) })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('SECRET_KEY does not match this database'),
    })
    expect((await migrate(['--status', '--json'])).json).toMatchObject({ stage: 'old' })
  })
})
