import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { programFile } from '../support/bundled-program.ts'
import { expectCalendarOfRows, expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { startServiceOn } from '../support/service-process.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  await prepareForLoad(database.url)
})
afterAll(() => database.drop())

describe('killed under load', () => {
  for (const point of ['before send', 'after send', 'after commit', 'before answer', 'mid-snapshot']) {
    for (const count of [3, 17, 40]) {
      test(`${point}, the ${count}th time: nothing acknowledged is lost`, async () => {
        const command = [process.execPath, 'run', programFile('test/support/failpoints-main.ts')]
        const env = { FAILPOINT: `${point}:${count}`, SNAPSHOT_EVERY: '4' }
        const dying = await startServiceOn(database.url, env, { command })
        let baseUrl = dying.baseUrl
        const load = new Load(() => baseUrl)
        load.start(32)
        expect(await dying.exited).toBe(128 + 9)
        await load.stop()
        const next = await startServiceOn(database.url)
        baseUrl = next.baseUrl
        await expectNothingLost(database.sql, load)
        await expectCalendarOfRows(database.sql, load)
        next.kill('SIGTERM')
        expect(await next.exited).toBe(0)
      })
    }
  }
})
