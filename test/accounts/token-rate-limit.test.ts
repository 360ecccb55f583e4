import { expect, test } from 'bun:test'
import {
  AGENCY_BUDGET_FACTOR,
  REFUSAL_LINES_PER_AGENCY_MAX,
  REFUSAL_LINES_PER_MEMBER_MAX,
  TokenRateLimit,
} from '../../src/accounts/token-rate-limit.ts'
import type { Member } from '../../src/core/catalogue/catalogue.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY } from '../support/samples.ts'

const holder = (n: number, agency: { id: string } = AGENCY) =>
  ({ kind: 'access_token', member: { id: `token ${n}` }, agency }) as unknown as Member

test('each token has its own minute; a request that is refused does not count', async () => {
  const clock = new FakeClock()
  const limit = new TokenRateLimit({ clock, requestsPerMinute: 2 })
  const [a, b] = [holder(0), holder(1)]
  expect([limit.take(a), limit.take(a)]).toEqual([null, null])
  await clock.advance(20_000)
  for (let n = 0; n < 3; n++) expect(limit.take(a)).toEqual({ limit: 2, of: 'access token', retryAfterS: 40 })
  expect(limit.take(b)).toBeNull()
  await clock.advance(40_000)
  expect(limit.take(a)).toBeNull()
})

test('an agency has the budget of a few tokens, however many it has; another agency has its own', () => {
  const limit = new TokenRateLimit({ clock: new FakeClock(), requestsPerMinute: 2 })
  for (let n = 0; n < AGENCY_BUDGET_FACTOR; n++)
    expect([limit.take(holder(n)), limit.take(holder(n))]).toEqual([null, null])
  const ofAgency = { limit: 2 * AGENCY_BUDGET_FACTOR, of: 'agency', retryAfterS: 60 } as const
  expect(limit.take(holder(100))).toEqual(ofAgency)
  expect(limit.take(holder(0))).toMatchObject({ of: 'access token' })
  expect(limit.take(holder(0, { id: 'another' }))).toMatchObject({ of: 'access token' })
  expect(limit.take(holder(101, { id: 'another' }))).toBeNull()
})

test('what is charged beyond a request counts against the token and its agency', async () => {
  const clock = new FakeClock()
  const limit = new TokenRateLimit({ clock, requestsPerMinute: 10 })
  limit.charge(holder(0), 10 * AGENCY_BUDGET_FACTOR)
  expect(limit.take(holder(0))).toMatchObject({ of: 'access token' })
  expect(limit.take(holder(1))).toMatchObject({ of: 'agency' })
  await clock.advance(60_001)
  expect([limit.take(holder(0)), limit.take(holder(1))]).toEqual([null, null])
})

test('refused writes have so many lines of their own: of a token, and of all tokens of its agency', async () => {
  const clock = new FakeClock()
  const limit = new TokenRateLimit({ clock, requestsPerMinute: 2 })
  const lines = (n: number, params: number) =>
    Array.from({ length: params }, () => limit.takeLine(holder(n))).filter(Boolean).length
  expect(lines(0, 100)).toBe(REFUSAL_LINES_PER_MEMBER_MAX)
  let all = 0
  for (let n = 1; n < 100; n++) all += lines(n, 10)
  expect(all).toBe(REFUSAL_LINES_PER_AGENCY_MAX - REFUSAL_LINES_PER_MEMBER_MAX)
  await clock.advance(61_000)
  expect(lines(0, 100)).toBe(REFUSAL_LINES_PER_MEMBER_MAX)
})
