import { describe, expect, test } from 'bun:test'
import { wantedOf } from '../../../src/cli/bench/bench.ts'
import { planOf, type WantedLoad } from '../../../src/cli/bench/plan.ts'
import { UsageError } from '../../../src/cli/exit-codes.ts'
import { Arrivals } from '../../../src/lib/open-loop.ts'

const AMPLE = { requestsPerMinute: 100_000, leftOfMinute: 100_000, leftOfMonth: 10_000_000 }
const WANTED: WantedLoad = { perSecond: null, durationS: 30, connections: 32, mix: 'reads' }

const planned = (wanted: Partial<WantedLoad>, limits: Partial<typeof AMPLE> = {}) => {
  const left = limits.requestsPerMinute === undefined ? {} : { leftOfMinute: limits.requestsPerMinute }
  return planOf({ ...WANTED, ...wanted }, { ...AMPLE, ...left, ...limits }, 'harbour')
}
const refusal = (...args: Parameters<typeof planned>): string => {
  try {
    planned(...args)
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
  return 'not refused'
}

describe('a load fits the limits of its key', () => {
  test('and is 50 requests per second if nothing else is said, or less where the limit asks for it', () => {
    expect(planned({}).perSecond).toBe(50)
    // Of 600, 25 are kept aside. Within 30 s, 466 on average hardly ever are more than the other 575.
    expect(planned({}, { requestsPerMinute: 600 }).perSecond).toBe(15.5)
  })

  test('or is refused with the rate that fits and the limit that it needs', () => {
    const said = refusal({ perSecond: 100 }, { requestsPerMinute: 1_200 })
    expect(said).toContain('the key allows 1200 per minute, so a run of 30 s fits at --rate 33.8 or less')
    expect(said).toContain('nightledger agencies update --agency harbour --requests-per-minute 3300')
    expect(planned({ perSecond: 33.8 }, { requestsPerMinute: 1_200 }).perSecond).toBe(33.8)
    expect(planned({ perSecond: 100 }, { requestsPerMinute: 3_300 }).perSecond).toBe(100)
  })

  test('never exceeding them by the chance of its arrivals', () => {
    const { perSecond, requestsMax } = planned({ durationS: 180 }, { requestsPerMinute: 900 })
    for (let seed = 0; seed < 300; seed++) {
      const arrivals = new Arrivals({ perSecond, seed })
      const times: number[] = []
      for (let at = arrivals.next(); at < 180e9; at = arrivals.next()) times.push(at)
      let first = 0
      const inMinute = times.map((at, i) => {
        while ((times[first] ?? 0) <= at - 60e9) first += 1
        return i - first + 1
      })
      expect(Math.max(...inMinute)).toBeLessThanOrEqual(900 - 25)
      expect(times.length).toBeLessThanOrEqual(requestsMax)
    }
  })

  test('unless it would be too few requests to say anything, and nobody asked for so few', () => {
    expect(refusal({}, { requestsPerMinute: 60 })).toContain('too few requests for percentiles')
    expect(planned({ perSecond: 0.5 }, { requestsPerMinute: 60 }).perSecond).toBe(0.5)
    expect(refusal({}, { requestsPerMinute: 20 })).toContain('no run fits')
  })

  test('and takes half of what is left of the month at most', () => {
    expect(refusal({ perSecond: 50, durationS: 60 }, { leftOfMonth: 5_000 })).toContain(
      'the agency has 5000 requests left this month, and a load test uses at most half of them',
    )
    expect(planned({ perSecond: 50, durationS: 60 }, { leftOfMonth: 7_000 }).perSecond).toBe(50)
    expect(refusal({ perSecond: 50 }, { leftOfMonth: 0 })).toContain('no run fits')
  })

  test('and leaves requests over to cancel what a run in a sandbox has booked', () => {
    expect(planned({ perSecond: 15 }, { requestsPerMinute: 600 }).perSecond).toBe(15)
    expect(refusal({ perSecond: 15, mix: 'bookings' }, { requestsPerMinute: 600 })).toContain('the key allows 600')
  })

  test('and waits while the minute is used up', () => {
    expect(refusal({}, { requestsPerMinute: 6_000, leftOfMinute: 500 })).toContain(
      "5500 of the key's 6000 requests per minute were used within the last minute. Wait a minute",
    )
  })

  test('and is bounded in total, whatever the key allows', () => {
    expect(refusal({ perSecond: 2_000, durationS: 600 }, { requestsPerMinute: 1_000_000 })).toContain('200000 at most')
  })

  test('even where a service says nonsense about them', () => {
    for (const limits of [{ requestsPerMinute: Number.NaN }, { leftOfMonth: Number.NaN }])
      expect(() => planned({}, limits)).toThrow('Cannot read the limits of the key')
  })
})

describe('options', () => {
  const given = { duration: '30s', connections: '32', mix: 'reads' }

  test('are read as they are meant', () => {
    expect(wantedOf({ ...given, rate: '12.5', duration: '5m' })).toEqual({
      ...WANTED,
      ...{ perSecond: 12.5, durationS: 300 },
    })
    expect(wantedOf({ ...given, duration: '45' }).durationS).toBe(45)
    expect(wantedOf(given).perSecond).toBeNull()
  })

  test.each([
    ['rate', '0', 'number from 0.1 to 2000'],
    ['rate', 'fast', 'number from 0.1 to 2000'],
    ['rate', '2001', 'number from 0.1 to 2000'],
    ['duration', '11m', 'from 1s to 10m'],
    ['duration', '0', 'from 1s to 10m'],
    ['duration', '1h', 'from 1s to 10m'],
    ['connections', '65', 'whole number from 1 to 64'],
    ['connections', '1.5', 'whole number from 1 to 64'],
    ['mix', 'writes', 'one of reads, bookings'],
  ])('--%s %s is refused, and the message names what would pass', (name, value, says) => {
    expect(() => wantedOf({ ...given, [name]: value })).toThrow(`--${name}: "${value}" is not a`.slice(0, -2))
    expect(() => wantedOf({ ...given, [name]: value })).toThrow(says)
  })
})
