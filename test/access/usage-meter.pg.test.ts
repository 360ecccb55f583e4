import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { UsageMeter } from '../../src/access/usage-meter.ts'
import type { Ledger } from '../../src/app/open-ledger.ts'
import { DAY_MS } from '../../src/lib/duration.ts'
import { PostgresUsageRows } from '../../src/postgres/stores/postgres-usage-rows.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { openTestDatabaseLedger } from '../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { sampleId } from '../support/samples.ts'

const AGENCY_A = sampleId('agc', 'a')

const QUOTA = 50_000
const MONTH = '2027-01'

let database: TestDatabase
let ledger: Ledger
let clock: FakeClock

beforeEach(async () => {
  database = await testDatabase()
  ledger = await openTestDatabaseLedger(database.url)
  clock = new FakeClock(Date.UTC(2027, 0, 15))
})

afterEach(async () => {
  await ledger.close()
  await database.drop()
})

/** A meter as a process opens it: loads the rows and writes through the journal. */
async function openMeter(): Promise<UsageMeter> {
  const meter = new UsageMeter({
    clock,
    persist: (usage) => new PostgresUsageRows(ledger.sql).keep(ledger.epochOf, usage),
    onFailure: () => {},
  })
  meter.load(await new PostgresUsageRows(ledger.sql).loadFrom(MONTH))
  return meter
}

function taken(meter: UsageMeter, requests: number): Promise<number> {
  const takes = Array.from({ length: requests }, async () => meter.take(AGENCY_A, QUOTA).allowed)
  return Promise.all(takes).then((allowed) => allowed.filter(Boolean).length)
}

describe('the usage of the month', () => {
  test('200 requests in parallel at 49,990 of 50,000 let exactly 10 pass, and after a restart none', async () => {
    const before = await openMeter()
    await taken(before, 49_990)
    await before.stop()

    const meter = await openMeter()
    expect(meter.position(AGENCY_A, QUOTA).used).toBe(49_990)
    expect(await taken(meter, 200)).toBe(10)
    await meter.stop()

    expect(await taken(await openMeter(), 200)).toBe(0)
  })

  test('a process that is killed loses only what was counted after its last write', async () => {
    const killed = await openMeter()
    await taken(killed, 100)
    await killed.flush()
    await taken(killed, 3)
    expect((await openMeter()).position(AGENCY_A, QUOTA).used).toBe(100)
  })

  test('a late write of an older total does not reduce the stored one', async () => {
    const stale = await openMeter()
    await taken(stale, 5)
    const fresh = await openMeter()
    await taken(fresh, 9)
    await fresh.flush()
    await stale.flush()
    expect((await openMeter()).position(AGENCY_A, QUOTA).used).toBe(9)
  })

  test('is listed by month, newest first, for one agency only', async () => {
    const meter = await openMeter()
    await taken(meter, 4)
    meter.take(sampleId('agc', 'b'), QUOTA)
    clock.jumpWall(31 * DAY_MS)
    await taken(meter, 2)
    await meter.stop()
    expect(await new PostgresUsageRows(ledger.sql).usageOf(AGENCY_A)).toEqual([
      { month: '2027-02', used: 2 },
      { month: '2027-01', used: 4 },
    ])
    expect(await new PostgresUsageRows(ledger.sql).usageOf(sampleId('agc', 'c'))).toEqual([])
  })

  test('of 2,500 agencies is written and read in one call', async () => {
    const meter = await openMeter()
    for (let i = 0; i < 2_500; i++) meter.take(sampleId('agc', i), QUOTA)
    await meter.stop()
    const reloaded = await openMeter()
    const used = Array.from({ length: 2_500 }, (_, i) => reloaded.position(sampleId('agc', i), QUOTA).used)
    expect(used.every((n) => n === 1)).toBe(true)
  })
})
