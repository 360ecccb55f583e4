import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type UsageDraft, UsageMeter } from '../../src/accounts/usage-meter.ts'
import type { Ledger } from '../../src/app/ledger.ts'
import { DAY_MS } from '../../src/lib/clock.ts'
import { uuidOf } from '../../src/lib/ids.ts'
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

describe('the usage of the days', () => {
  const rows = () => new PostgresUsageRows(ledger.sql)
  const keep = (...totals: UsageDraft[]) => rows().keep(ledger.epochOf, totals)
  const until = (used: number, day: string): UsageDraft => ({ agencyId: AGENCY_A, month: day.slice(0, 7), used, day })
  /** By day, the oldest first, without the year. */
  const days = async () =>
    Object.fromEntries(
      (await rows().daysOf(AGENCY_A, '2026-12-15')).map(({ day, used }) => [day.slice(5), used]).reverse(),
    )
  const ofMonth = async () => (await rows().usageOf(AGENCY_A))[0]?.used

  test('is the month’s, split at midnight to the request, across a stop, a kill and a start', async () => {
    const first = await openMeter()
    await taken(first, 4)
    await first.flush()
    clock.jumpWall(DAY_MS - 1)
    await taken(first, 2)
    clock.jumpWall(1)
    await taken(first, 3)
    await first.stop()
    const killed = await openMeter()
    await taken(killed, 1)
    await killed.flush()
    await taken(killed, 9)
    clock.jumpWall(2 * DAY_MS)
    const last = await openMeter()
    await taken(last, 5)
    await last.stop()
    expect(await days()).toEqual({ '01-15': 6, '01-16': 4, '01-18': 5 })
    expect(await ofMonth()).toBe(15)
  })

  test('begins at 0 with the month', async () => {
    const meter = await openMeter()
    clock.jumpWall(16 * DAY_MS)
    await taken(meter, 4)
    clock.jumpWall(DAY_MS)
    await taken(meter, 3)
    await meter.stop()
    expect(await days()).toEqual({ '01-31': 4, '02-01': 3 })
  })

  test('leaves out what the month had before days were counted', async () => {
    await ledger.sql`insert into usage_month values (${uuidOf(AGENCY_A)}, ${MONTH}, 40)`
    const meter = await openMeter()
    await taken(meter, 2)
    await meter.flush()
    clock.jumpWall(DAY_MS)
    await taken(meter, 3)
    await meter.stop()
    expect(await days()).toEqual({ '01-15': 2, '01-16': 3 })
    expect(await ofMonth()).toBe(45)
  })

  test('takes no harm from totals that are sent twice, late, or twice at once', async () => {
    await keep(until(5, '2027-01-15'))
    await Promise.all([keep(until(7, '2027-01-15')), keep(until(7, '2027-01-15'))])
    await keep(until(9, '2027-01-15'), until(12, '2027-01-16'))
    await keep(until(5, '2027-01-15'))
    await keep(until(9, '2027-01-15'), until(12, '2027-01-16'))
    expect(await days()).toEqual({ '01-15': 9, '01-16': 3 })
    expect(await ofMonth()).toBe(12)
  })

  test('counts no request twice when the clock was set back across midnight', async () => {
    const meter = await openMeter()
    clock.jumpWall(DAY_MS)
    await taken(meter, 2)
    await meter.flush()
    clock.jumpWall(-1)
    await taken(meter, 3)
    await meter.flush()
    clock.jumpWall(1)
    await taken(meter, 4)
    await meter.stop()
    // A day that ends above the start of the next one has taken from it.
    expect(await days()).toEqual({ '01-15': 5, '01-16': 4 })
    expect(await ofMonth()).toBe(9)
  })

  test('without a day is today’s; in a month that has passed it is of no day', async () => {
    const month = new Date().toISOString().slice(0, 7)
    await keep({ agencyId: AGENCY_A, month, used: 8 }, { agencyId: AGENCY_A, month: '2025-01', used: 700 })
    const all = await ledger.sql`select day::text, total_before::int, total_after::int from usage_day`
    expect(all).toHaveLength(1)
    expect(all[0]).toMatchObject({ total_before: 0, total_after: 8 })
    expect(all[0]?.['day']).toStartWith(month)
  })

  test('is not written by a writer that was fenced out, and the next one counts on', async () => {
    await keep(until(5, '2027-01-15'))
    await ledger.sql`select take_over('another')`
    const code = await keep(until(9, '2027-01-15')).catch((error: { code: string }) => error.code)
    expect(code).toBe('NL001')
    expect(await days()).toEqual({ '01-15': 5 })
    const [next] = await ledger.sql<{ epoch: number }[]>`select max(epoch)::float8 as epoch from shard`
    await rows().keep(() => next?.epoch ?? 0, [until(6, '2027-01-15'), until(7, '2027-01-16')])
    expect(await days()).toEqual({ '01-15': 6, '01-16': 1 })
  })

  test('is removed after 13 months, when a day begins for the agency', async () => {
    const stored = async () => (await ledger.sql`select day::text from usage_day order by day`).map((row) => row['day'])
    await keep(until(1, '2025-12-14'))
    await keep(until(1, '2025-12-15'))
    await keep({ ...until(1, '2025-01-01'), agencyId: sampleId('agc', 'b') })
    await keep(until(1, '2027-01-15'))
    expect(await stored()).toEqual(['2025-01-01', '2025-12-15', '2027-01-15'])
    await keep(until(1, '2027-01-16'))
    expect(await stored()).toEqual(['2025-01-01', '2027-01-15', '2027-01-16'])
  })
})
