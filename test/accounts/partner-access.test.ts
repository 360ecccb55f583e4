import { describe, expect, test } from 'bun:test'
import {
  ANSWER_CHARS_PER_PART,
  BURST_PARTS,
  PART_ALONE_MS,
  PART_MS,
  PAUSE_MS_MAX,
  PartnerAccess,
  SERVED_MS,
} from '../../src/accounts/partner-access.ts'
import { RateLimiter } from '../../src/accounts/rate-limit.ts'
import { type RateSlot, RateSlots } from '../../src/accounts/rate-slots.ts'
import { UsageMeter } from '../../src/accounts/usage-meter.ts'
import type { Agency, Plan } from '../../src/core/catalogue/agency.ts'
import type { KeyHolder } from '../../src/core/catalogue/catalogue.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleKey } from '../support/samples.ts'

function openAccess(plan: Partial<Plan> = {}) {
  const clock = new FakeClock()
  const written: RateSlot[] = []
  const slots = new RateSlots({
    clock,
    bootTime: () => null,
    onFailure: () => {},
    shardOf: (agencyId) => (agencyId === AGENCY.id ? 7 : 8),
    persist: async (keep) => void written.push(...keep.slots),
  })
  const { key, secret } = sampleKey()
  const agency: Agency = { ...AGENCY, plan: { ...AGENCY.plan, ...plan } }
  const holder: KeyHolder = { key, agency, counters: null }
  const keys = { holderByHash: (sha256: string) => (sha256 === key.secretSha256 ? holder : null) }
  const limiter = new RateLimiter(clock)
  limiter.keepIn(slots)
  const meter = new UsageMeter({ clock, persist: async () => {}, onFailure: () => {} })
  const access = new PartnerAccess({ keys, clock, limiter, meter })
  const ask = (times: number, token = secret, isLarge = false) =>
    Array.from({ length: times }, () => access.admit(`Bearer ${token}`, isLarge)).map((admission) =>
      admission === null ? 'UNAUTHORIZED' : (admission.refusal?.code ?? 'served'),
    )
  const askLarge = (times: number) => ask(times, secret, true)
  const charge = (requests: number) => {
    const admission = access.admit(`Bearer ${secret}`)
    if (admission === null) throw new Error('Expected to be admitted')
    return admission.refusal === null ? access.charge(admission, requests) : admission
  }
  const used = () => meter.position(agency.id, agency.plan.requestsPerMonth).used
  return { clock, access, slots, written, key, ask, askLarge, charge, used }
}

const NONE = { unauthorized: 0, featureDisabled: 0, rateLimited: 0, quotaExceeded: 0 }

describe('the metrics count the requests that were refused', () => {
  test('because nobody has the key', () => {
    const { access, ask } = openAccess()
    expect(ask(2, 'hr_live_unknown')).toEqual(['UNAUTHORIZED', 'UNAUTHORIZED'])
    expect(access.stats).toEqual({ ...NONE, unauthorized: 2 })
  })

  test('because the plan has no API, also beyond its requests per minute', () => {
    const { access, ask } = openAccess({ apiAccess: false, requestsPerMinute: 2 })
    expect(new Set(ask(3))).toEqual(new Set(['FEATURE_DISABLED']))
    expect(access.stats).toEqual({ ...NONE, featureDisabled: 3 })
  })

  test('because of one of the limits', () => {
    const { access, ask } = openAccess({ requestsPerMinute: 3, requestsPerMonth: 2 })
    expect(ask(5)).toEqual(['served', 'served', 'QUOTA_EXCEEDED', 'RATE_LIMITED', 'RATE_LIMITED'])
    expect(access.stats).toEqual({ ...NONE, quotaExceeded: 1, rateLimited: 2 })
  })
})

test('what a key has used of its minute is stored with the shard of its agency, for the node that has the shard next', async () => {
  const { ask, slots, written, key } = openAccess()
  ask(2)
  await slots.flush()
  expect(written).toMatchObject([{ shard: 7, total: 2, counts: { [key.id]: 2 } }])
})

/** In whole milliseconds. */
async function pauseOf(pause: Promise<void> | null, clock: FakeClock): Promise<number> {
  let isOver = pause === null
  void pause?.then(() => {
    isOver = true
  })
  let ms = 0
  for (; !isOver; ms++) await clock.advance(1)
  return ms
}

describe('A1: the large answers of an agency have a pace', () => {
  test('the first come at once, the next when they have had their time; small ones and those of others wait for nothing', async () => {
    const { access, clock } = openAccess()
    expect(access.takeParts(AGENCY.id, BURST_PARTS)).toBeNull()
    expect(access.takeAnswer(AGENCY.id, 4.5 * ANSWER_CHARS_PER_PART)).toBeNull()
    expect(access.takeAnswer(AGENCY.id, ANSWER_CHARS_PER_PART / 8 - 1)).toBeNull()
    expect(access.takeAnswer('agc_other', ANSWER_CHARS_PER_PART)).toBeNull()
    expect(await pauseOf(access.takeAnswer(AGENCY.id, ANSWER_CHARS_PER_PART), clock)).toBe(
      Math.ceil(4.5 * PART_ALONE_MS),
    )
    await clock.advance(PART_ALONE_MS)
    expect(access.takeAnswer(AGENCY.id, ANSWER_CHARS_PER_PART / 8)).toBeNull()
  })

  test.each<[string, readonly (string | number)[], number]>([
    ['no other agency is served', [AGENCY.id], PART_ALONE_MS],
    ['another one is served', ['agc_other', AGENCY.id, AGENCY.id], PART_MS],
    ['another one is served since', [AGENCY.id, 'agc_other'], PART_MS],
    ['another one was served a while ago', ['agc_other', SERVED_MS, AGENCY.id], PART_ALONE_MS],
  ])('how long a part has depends on the others: %s', async (_, served, partMs) => {
    const { access, clock } = openAccess()
    for (const each of served)
      if (typeof each === 'string') access.pace.noteServed(each)
      else await clock.advance(each)
    access.takeParts(AGENCY.id, BURST_PARTS + 1)
    expect(await pauseOf(access.takeAnswer(AGENCY.id, ANSWER_CHARS_PER_PART), clock)).toBe(partMs)
  })

  test('what was used while others were served is soon forgotten once none is', async () => {
    const { access, clock } = openAccess()
    access.pace.noteServed('agc_other')
    access.takeParts(AGENCY.id, 3 * BURST_PARTS)
    await clock.advance(SERVED_MS)
    expect(access.takeAnswer(AGENCY.id, ANSWER_CHARS_PER_PART)).toBeNull()
  })

  test('whoever asks with a key is served', () => {
    const { access, ask, key } = openAccess()
    const noted: string[] = []
    access.pace.noteServed = (agencyId) => void noted.push(agencyId)
    ask(1)
    expect(noted).toEqual([key.agencyId])
  })

  test('a key is refused, and uses no quota, while its answer would wait for too long', async () => {
    const { access, askLarge, clock } = openAccess({ requestsPerMonth: 3 })
    const partsMax = PAUSE_MS_MAX / PART_ALONE_MS
    access.takeParts('agc_other', 10 * partsMax)
    access.takeParts(AGENCY.id, BURST_PARTS + partsMax)
    expect(askLarge(1)).toEqual(['served'])
    access.takeParts(AGENCY.id, partsMax)
    expect(askLarge(2)).toEqual(['LARGE_ANSWERS', 'LARGE_ANSWERS'])
    await clock.advance(PAUSE_MS_MAX)
    expect(askLarge(2)).toEqual(['served', 'served'])
  })

  test('a key that asks for nothing large is served, however much others of the agency read', () => {
    const { access, ask } = openAccess()
    access.takeParts(AGENCY.id, (100 * PAUSE_MS_MAX) / PART_ALONE_MS)
    expect(ask(1)).toEqual(['served'])
  })
})

describe('a request that costs more than one', () => {
  test('counts the further ones against the minute and the month, and the answer shows what is left', () => {
    const { charge, used, ask } = openAccess({ requestsPerMinute: 25, requestsPerMonth: 100 })
    expect(charge(9)).toMatchObject({ refusal: null, rate: { limit: 25, remaining: 15 } })
    expect(used()).toBe(10)
    expect(charge(9)).toMatchObject({ refusal: null, rate: { remaining: 5 } })
    expect(ask(6)).toEqual([...Array(5).fill('served'), 'RATE_LIMITED'])
    expect(used()).toBe(25)
  })

  test('is counted in full after a restart, too', async () => {
    const { charge, slots, written, key } = openAccess()
    charge(9)
    await slots.flush()
    expect(written).toMatchObject([{ total: 10, counts: { [key.id]: 10 } }])
  })

  test('is refused if the minute does not have room for all of it, and then costs one of the minute and none of the month', async () => {
    const { charge, used, clock } = openAccess({ requestsPerMinute: 12 })
    await clock.advance(1_000)
    charge(2)
    await clock.advance(5_000)
    const refused = charge(9)
    expect(refused).toMatchObject({ refusal: { code: 'RATE_LIMITED', limit: 12, retryAfterS: 55 } })
    expect([refused.rate.remaining, used()]).toEqual([8, 3])
    await clock.advance(54_999)
    expect(charge(9).refusal?.code).toBe('RATE_LIMITED')
    await clock.advance(1)
    expect(charge(9).refusal?.code).toBeUndefined()
  })

  test('passes after Retry-After, although it is counted itself when it comes again', async () => {
    const { clock, ask, charge } = openAccess({ requestsPerMinute: 12 })
    for (let i = 0; i < 3; i++) {
      ask(1)
      await clock.advance(2_000)
    }
    const { refusal } = charge(9)
    if (refusal?.code !== 'RATE_LIMITED') throw new Error('Expected to be refused')
    await clock.advance(refusal.retryAfterS * 1_000)
    expect(charge(9).refusal).toBeNull()
  })

  test('is refused if the month does not have room for all of it, and then takes no more of the minute', () => {
    const { charge, used } = openAccess({ requestsPerMonth: 11 })
    charge(1)
    expect(charge(9)).toMatchObject({
      refusal: { code: 'QUOTA_EXCEEDED', quota: 11, used: 3 },
      rate: { remaining: 57 },
    })
    expect(used()).toBe(2)
    expect(charge(8).refusal).toBeNull()
    expect(used()).toBe(11)
  })

  test('takes the whole minute of a plan with no more requests a minute than that', () => {
    const { charge, used, ask } = openAccess({ requestsPerMinute: 4 })
    expect(charge(9)).toMatchObject({ refusal: null, rate: { remaining: 0 } })
    expect([used(), ask(1)]).toEqual([10, ['RATE_LIMITED']])
    const least = openAccess({ requestsPerMinute: 1 })
    expect(least.charge(9)).toMatchObject({ refusal: null, rate: { remaining: 0 } })
    expect(least.used()).toBe(10)
  })

  test('is counted as refused if it is', () => {
    const { charge, access } = openAccess({ requestsPerMinute: 12, requestsPerMonth: 21 })
    charge(9)
    charge(9)
    expect(access.stats).toEqual({ ...NONE, rateLimited: 1 })
  })
})
