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
  const catalogue = { holderByHash: (sha256: string) => (sha256 === key.secretSha256 ? holder : null) }
  const limiter = new RateLimiter(clock)
  limiter.keepIn(slots)
  const access = new PartnerAccess({
    catalogue,
    clock,
    limiter,
    meter: new UsageMeter({ clock, persist: async () => {}, onFailure: () => {} }),
  })
  const ask = (times: number, token = secret) =>
    Array.from({ length: times }, () => access.admit(`Bearer ${token}`)).map((admission) =>
      admission === null ? 'UNAUTHORIZED' : (admission.refusal?.code ?? 'served'),
    )
  return { clock, access, slots, written, key, ask }
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
    const { access, ask, clock } = openAccess({ requestsPerMonth: 3 })
    const partsMax = PAUSE_MS_MAX / PART_ALONE_MS
    access.takeParts('agc_other', 10 * partsMax)
    access.takeParts(AGENCY.id, BURST_PARTS + partsMax)
    expect(ask(1)).toEqual(['served'])
    access.takeParts(AGENCY.id, partsMax)
    expect(ask(2)).toEqual(['LARGE_ANSWERS', 'LARGE_ANSWERS'])
    await clock.advance(PAUSE_MS_MAX)
    expect(ask(2)).toEqual(['served', 'served'])
  })
})
