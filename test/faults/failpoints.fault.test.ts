import { afterAll, describe, expect, test } from 'bun:test'
import { seedsOf } from '../sim/seeds.ts'
import { programFile } from '../support/bundled-program.ts'
import { expectCalendarOfRows, expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { rounds } from '../support/long-run.ts'
import { testDatabase } from '../support/postgres.ts'
import { startServiceOn } from '../support/service-process.ts'

const database = await testDatabase()
await prepareForLoad(database.url)
afterAll(() => database.drop())

const POINTS = ['before send', 'after send', 'after commit', 'before answer', 'mid-snapshot']
const COUNTS = [3, 17, 40]
const { first } = seedsOf({ push: 1, long: 1 })

describe(`killed under load, from SIM_FIRST=${first} on,`, () => {
  for (const [i, point] of POINTS.entries()) {
    for (const count of rounds({ push: [COUNTS[(first + i) % COUNTS.length] ?? 3], long: COUNTS })) {
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
