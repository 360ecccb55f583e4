import { describe, expect, test } from 'bun:test'
import { calendarDayAt, calendarMonthAt } from '../../src/accounts/calendar-periods.ts'
import type { KeyUse } from '../../src/accounts/usage-meter.ts'
import { type UsageDraft, UsageMeter } from '../../src/accounts/usage-meter.ts'
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { AGENCY, sampleKey } from '../support/samples.ts'

/** 10 s before February 2027. */
const BEFORE_MIDNIGHT = Date.UTC(2027, 1, 1) - 10_000

function openMeter(clock = new FakeClock(Date.UTC(2027, 0, 15))) {
  const writes: UsageDraft[][] = []
  const uses: (readonly KeyUse[])[] = []
  const failures: unknown[] = []
  const database = { persist: async (_: UsageDraft[]): Promise<void> => {} }
  const meter = new UsageMeter({
    clock,
    persist: (usage, used) => {
      writes.push(usage)
      uses.push(used)
      return database.persist(usage)
    },
    onFailure: (error) => failures.push(error),
  })
  return { clock, meter, writes, uses, failures, database }
}

function taken(meter: UsageMeter, { requests, quota }: { requests: number; quota: number }): number {
  let allowed = 0
  for (let i = 0; i < requests; i++) if (meter.take('agc_a', quota).allowed) allowed += 1
  return allowed
}

describe('a request that is given back', () => {
  test('costs nothing, and lets another pass', () => {
    const { meter } = openMeter()
    expect(taken(meter, { requests: 3, quota: 3 })).toBe(3)
    meter.giveBack('agc_a')
    expect(meter.position('agc_a', 3)).toMatchObject({ used: 2, remaining: 1, allowed: true })
    expect(taken(meter, { requests: 2, quota: 3 })).toBe(1)
  })

  test('is not written as used', async () => {
    const { meter, writes } = openMeter()
    taken(meter, { requests: 2, quota: 9 })
    meter.giveBack('agc_a')
    await meter.flush()
    expect(writes.flat()).toMatchObject([{ used: 1 }])
  })

  test('of an agency that has used nothing changes nothing', () => {
    const { meter } = openMeter()
    meter.giveBack('agc_a')
    taken(meter, { requests: 1, quota: 9 })
    meter.giveBack('agc_a')
    meter.giveBack('agc_a')
    expect(meter.position('agc_a', 9).used).toBe(0)
  })
})

test('what an agency has used counts for the one that takes its place, and is written', async () => {
  const { meter, writes } = openMeter()
  for (let i = 0; i < 5; i++) meter.take('agc_a', 9)
  meter.carryOver('agc_a', 'agc_b')
  meter.carryOver('agc_none', 'agc_b')
  expect(meter.take('agc_b', 9).used).toBe(6)
  await meter.flush()
  expect(writes.flat().map(({ agencyId, used }) => [agencyId, used])).toContainEqual(['agc_b', 6])
})

describe('an agency that another process has counted meanwhile', () => {
  test('continues from what is stored, without what was counted here and not written', async () => {
    const { meter, writes } = openMeter()
    for (const agencyId of ['agc_a', 'agc_b']) for (let i = 0; i < 5; i++) meter.take(agencyId, 9)
    meter.forget((agencyId) => agencyId === 'agc_a')
    expect([meter.position('agc_a', 9).used, meter.position('agc_b', 9).used]).toEqual([0, 5])
    meter.load([{ agencyId: 'agc_a', month: '2027-01', used: 2 }])
    expect(meter.take('agc_a', 9).used).toBe(3)
    await meter.flush()
    expect(writes.flat().map(({ agencyId, used }) => [agencyId, used])).toEqual([
      ['agc_b', 5],
      ['agc_a', 3],
    ])
  })
})

describe('a key', () => {
  const keyOf = () => sampleKey().key

  test('is last used in the minute of its last request, which is written with the count', async () => {
    const { clock, meter, uses } = openMeter(new FakeClock(Date.UTC(2027, 0, 15, 12, 0, 30)))
    const key = keyOf()
    meter.take(AGENCY.id, 9, null, key)
    meter.take(AGENCY.id, 9, null, key)
    expect(key.lastUsedAt).toBe(Date.UTC(2027, 0, 15, 12, 0))
    await meter.flush()
    const use = { agencyId: AGENCY.id, keyId: key.id }
    expect(uses).toEqual([[{ ...use, usedAt: Date.UTC(2027, 0, 15, 12, 0) }]])
    meter.take(AGENCY.id, 9, null, key)
    await meter.flush()
    expect(uses[1]).toEqual([])
    clock.jumpWall(31_000)
    meter.take(AGENCY.id, 9, null, key)
    await meter.flush()
    expect(uses[2]).toEqual([{ ...use, usedAt: Date.UTC(2027, 0, 15, 12, 1) }])
  })

  test('is not used by a request beyond the quota', async () => {
    const { meter, uses } = openMeter()
    const key = keyOf()
    expect(meter.take(AGENCY.id, 0, null, key).allowed).toBe(false)
    await meter.flush()
    expect([key.lastUsedAt, uses]).toEqual([null, []])
  })

  test('whose use could not be written is written with the next flush', async () => {
    const { meter, uses, database } = openMeter()
    const working = database.persist
    database.persist = () => Promise.reject(new Error('away'))
    meter.take(AGENCY.id, 9, null, keyOf())
    await meter.flush().catch(() => {})
    database.persist = working
    await meter.flush()
    expect(uses.map((each) => each.length)).toEqual([1, 1])
  })
})

describe('the quota', () => {
  test('200 requests at 49,990 of 50,000 let exactly 10 pass', () => {
    const { meter } = openMeter()
    meter.load([{ agencyId: 'agc_a', month: '2027-01', used: 49_990 }])
    expect(taken(meter, { requests: 200, quota: 50_000 })).toBe(10)
  })

  test('continues from the highest known total, whatever is loaded after it', () => {
    const { meter } = openMeter()
    for (const used of [7, 9, 8]) meter.load([{ agencyId: 'agc_a', month: '2027-01', used }])
    expect(meter.take('agc_a', 100).used).toBe(10)
  })

  test('reports the usage with every decision', () => {
    const { meter } = openMeter()
    const at = { month: '2027-01', quota: 2, resetsAt: '2027-02-01T00:00:00.000Z' }
    const untilReset = 17 * 86_400
    expect(meter.position('agc_a', 2)).toEqual({ ...at, allowed: true, used: 0, remaining: 2, retryAfterS: 0 })
    expect(meter.take('agc_a', 2)).toEqual({ ...at, allowed: true, used: 1, remaining: 1, retryAfterS: 0 })
    expect(meter.take('agc_a', 2)).toEqual({ ...at, allowed: true, used: 2, remaining: 0, retryAfterS: untilReset })
    expect(meter.take('agc_a', 2)).toEqual({ ...at, allowed: false, used: 2, remaining: 0, retryAfterS: untilReset })
    expect(meter.position('agc_a', 2)).toEqual({
      ...at,
      allowed: false,
      used: 2,
      remaining: 0,
      retryAfterS: untilReset,
    })
  })

  test('a refused request does not count: after an upgrade the whole difference passes', () => {
    const { meter } = openMeter()
    taken(meter, { requests: 10, quota: 3 })
    expect(taken(meter, { requests: 10, quota: 5 })).toBe(2)
  })

  test('of a smaller plan than what is already used leaves 0, not less', () => {
    const { meter } = openMeter()
    taken(meter, { requests: 5, quota: 5 })
    expect(meter.take('agc_a', 3)).toMatchObject({ allowed: false, used: 5, remaining: 0 })
  })

  test('is not shared between agencies', () => {
    const { meter } = openMeter()
    meter.take('agc_a', 1)
    expect(meter.take('agc_b', 1).allowed).toBe(true)
  })
})

describe('the month', () => {
  test('changes at midnight UTC: refused until then, a full quota after it', async () => {
    const { clock, meter } = openMeter(new FakeClock(BEFORE_MIDNIGHT))
    taken(meter, { requests: 3, quota: 3 })
    await clock.advance(9_999)
    expect(meter.take('agc_a', 3)).toMatchObject({ allowed: false, month: '2027-01', retryAfterS: 1 })
    await clock.advance(1)
    expect(meter.take('agc_a', 3)).toMatchObject({
      allowed: true,
      month: '2027-02',
      used: 1,
      resetsAt: '2027-03-01T00:00:00.000Z',
    })
  })

  test('that has ended is written with its own total, after midnight', async () => {
    const { clock, meter, writes } = openMeter(new FakeClock(BEFORE_MIDNIGHT))
    await clock.advance(9_900)
    taken(meter, { requests: 3, quota: 9 })
    await clock.advance(200)
    taken(meter, { requests: 2, quota: 9 })
    await clock.advance(1_000)
    expect(writes.flat()).toEqual([
      { agencyId: 'agc_a', month: '2027-01', used: 3, day: '2027-01-31' },
      { agencyId: 'agc_a', month: '2027-02', used: 2, day: '2027-02-01' },
    ])
  })

  test('a clock set back across midnight finds the old count, and later the new one', async () => {
    const { clock, meter } = openMeter(new FakeClock(BEFORE_MIDNIGHT))
    taken(meter, { requests: 3, quota: 9 })
    clock.jumpWall(10_000)
    taken(meter, { requests: 1, quota: 9 })
    clock.jumpWall(-1)
    expect(meter.take('agc_a', 9)).toMatchObject({ month: '2027-01', used: 4 })
    clock.jumpWall(1)
    expect(meter.take('agc_a', 9)).toMatchObject({ month: '2027-02', used: 2 })
  })

  test('an agency that was idle for a month is no longer in memory', async () => {
    const { clock, meter } = openMeter()
    meter.take('agc_a', 9)
    await clock.advance(31 * DAY_MS)
    meter.take('agc_b', 9)
    await clock.advance(28 * DAY_MS)
    meter.take('agc_b', 9)
    clock.jumpWall(-59 * DAY_MS)
    expect(meter.position('agc_a', 9)).toMatchObject({ month: '2027-01', used: 0 })
  })

  test.each([
    ['2027-01-31T23:59:59.999Z', '2027-01', '2027-02-01T00:00:00.000Z'],
    ['2027-02-01T00:00:00.000Z', '2027-02', '2027-03-01T00:00:00.000Z'],
    ['2028-02-29T12:00:00.000Z', '2028-02', '2028-03-01T00:00:00.000Z'],
    ['2027-12-31T23:59:59.999Z', '2027-12', '2028-01-01T00:00:00.000Z'],
  ])('%s is in %s, which ends at %s', (instant, name, endsIso) => {
    expect(calendarMonthAt(Date.parse(instant))).toMatchObject({ name, endsIso, ends: Date.parse(endsIso) })
  })
})

describe('the day', () => {
  const noon = Date.UTC(2027, 0, 15, 12)
  const untilMidnight = 12 * HOUR_MS

  test('that ends before it is written is written with its own total, ahead of the new one', async () => {
    const { clock, meter, writes } = openMeter(new FakeClock(noon))
    clock.jumpWall(untilMidnight - 100)
    taken(meter, { requests: 3, quota: 9 })
    clock.jumpWall(100)
    taken(meter, { requests: 2, quota: 9 })
    await meter.flush()
    const agencyId = 'agc_a'
    expect(writes).toEqual([
      [
        { agencyId, month: '2027-01', used: 3, day: '2027-01-15' },
        { agencyId, month: '2027-01', used: 5, day: '2027-01-16' },
      ],
    ])
    await meter.flush()
    expect(writes).toHaveLength(1)
  })

  test('that ended is written also when nothing is asked on the new one', async () => {
    const { clock, meter, writes } = openMeter(new FakeClock(noon))
    taken(meter, { requests: 3, quota: 9 })
    clock.jumpWall(untilMidnight)
    meter.position('agc_a', 9)
    await clock.advance(500)
    expect(writes.flat()).toMatchObject([{ used: 3, day: '2027-01-15' }])
  })

  test('that ends during a write, or while none succeeds, loses nothing', async () => {
    const { clock, meter, writes, database } = openMeter(new FakeClock(noon))
    const held = Promise.withResolvers<void>()
    database.persist = () => held.promise
    taken(meter, { requests: 1, quota: 9 })
    await clock.advance(500)
    taken(meter, { requests: 1, quota: 9 })
    clock.jumpWall(untilMidnight)
    taken(meter, { requests: 1, quota: 9 })
    held.reject(new Error('away'))
    await settle()
    database.persist = async () => {}
    await clock.advance(500)
    await clock.advance(500)
    expect(writes.map((usage) => usage.map(({ used, day }) => [used, day]))).toEqual([
      [[1, '2027-01-15']],
      [
        [2, '2027-01-15'],
        [3, '2027-01-16'],
      ],
    ])
  })

  test('is written before the next one when it ends between two parts of a write', async () => {
    const { clock, meter, writes, database } = openMeter(new FakeClock(noon))
    for (let i = 0; i < 1_001; i++) meter.take(`agc_${i}`, 9)
    database.persist = async () => {
      if (writes.length > 1) return
      meter.take('agc_1000', 9)
      clock.jumpWall(untilMidnight)
      meter.take('agc_1000', 9)
    }
    await meter.flush()
    await clock.advance(500)
    const ofLast = writes.flat().filter(({ agencyId }) => agencyId === 'agc_1000')
    expect(ofLast.map(({ used, day }) => [used, day])).toEqual([
      [1, '2027-01-15'],
      [2, '2027-01-15'],
      [3, '2027-01-16'],
    ])
  })

  test.each([
    ['2027-01-31T23:59:59.999Z', '2027-01-31', '2027-02-01T00:00:00.000Z'],
    ['2028-02-29T00:00:00.000Z', '2028-02-29', '2028-03-01T00:00:00.000Z'],
  ])('%s is on %s, which ends at %s', (instant, name, ends) => {
    expect(calendarDayAt(Date.parse(instant))).toMatchObject({ name, ends: Date.parse(ends) })
  })
})

describe('writing', () => {
  test('happens within half a second of a request, as a total, and not again until something is counted', async () => {
    const { clock, meter, writes } = openMeter()
    meter.load([{ agencyId: 'agc_a', month: '2027-01', used: 100 }])
    taken(meter, { requests: 7, quota: 50_000 })
    await clock.advance(500)
    expect(writes).toEqual([[{ agencyId: 'agc_a', month: '2027-01', used: 107, day: '2027-01-15' }]])
    await clock.advance(10_000)
    expect(writes).toHaveLength(1)
  })

  test('does not happen for refused requests and usage queries', async () => {
    const { clock, meter, writes } = openMeter()
    meter.load([{ agencyId: 'agc_a', month: '2027-01', used: 5 }])
    taken(meter, { requests: 3, quota: 5 })
    meter.position('agc_a', 5)
    await clock.advance(2_000)
    expect(writes).toEqual([])
  })

  test('that fails is reported, and retried including what has been counted since', async () => {
    const { clock, meter, writes, failures, database } = openMeter()
    database.persist = () => Promise.reject(new Error('no database'))
    meter.take('agc_a', 9)
    await clock.advance(500)
    expect(failures).toHaveLength(1)
    database.persist = async () => {}
    meter.take('agc_a', 9)
    await clock.advance(500)
    await clock.advance(5_000)
    expect(writes.map(([usage]) => usage?.used)).toEqual([1, 2])
  })

  test('waits for the write in flight, and then writes what was counted during it', async () => {
    const { clock, meter, writes, database } = openMeter()
    const held = Promise.withResolvers<void>()
    database.persist = () => held.promise
    meter.take('agc_a', 9)
    await clock.advance(500)
    meter.take('agc_a', 9)
    await clock.advance(5_000)
    expect(writes).toHaveLength(1)
    held.resolve()
    await clock.advance(500)
    expect(writes.map(([usage]) => usage?.used)).toEqual([1, 2])
  })

  test('of many agencies is split into parts of 1,000', async () => {
    const { clock, meter, writes } = openMeter()
    for (let i = 0; i < 2_500; i++) meter.take(`agc_${i}`, 9)
    await clock.advance(500)
    expect(writes.map((usage) => usage.length)).toEqual([1_000, 1_000, 500])
  })

  test('immediately, by flush, leaves nothing for the timer', async () => {
    const { clock, meter, writes } = openMeter()
    meter.take('agc_a', 9)
    await meter.flush()
    expect(writes).toHaveLength(1)
    expect(clock.nextTimerIn).toBeNull()
  })

  test('by flush waits for the write in flight, then writes what was counted after it', async () => {
    const { clock, meter, writes, database } = openMeter()
    const held = Promise.withResolvers<void>()
    database.persist = () => held.promise
    meter.take('agc_a', 9)
    await clock.advance(500)
    meter.take('agc_a', 9)
    const flushed = meter.flush()
    await settle()
    expect(writes).toHaveLength(1)
    held.resolve()
    await flushed
    expect(writes.map(([usage]) => usage?.used)).toEqual([1, 2])
  })

  test('by flush that fails is reported to the caller, and retried by the timer', async () => {
    const { clock, meter, writes, failures, database } = openMeter()
    database.persist = () => Promise.reject(new Error('no database'))
    meter.take('agc_a', 9)
    const outcome = await meter.flush().catch((error: Error) => error.message)
    expect(outcome).toBe('no database')
    expect(failures).toEqual([])
    database.persist = async () => {}
    await clock.advance(500)
    expect(writes).toHaveLength(2)
  })

  test('ends with stop, which writes one last time and disables the timer', async () => {
    const { clock, meter, writes } = openMeter()
    meter.take('agc_a', 9)
    await meter.stop()
    expect(writes).toHaveLength(1)
    meter.take('agc_a', 9)
    expect(clock.nextTimerIn).toBeNull()
  })
})
