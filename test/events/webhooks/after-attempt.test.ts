import { describe, expect, test } from 'bun:test'
import { afterAttempt, JITTER_MAX, RETRY_DELAYS_S, retryDelayMs } from '../../../src/events/webhooks/after-attempt.ts'
import type { AttemptOutcome } from '../../../src/events/webhooks/guarded-post.ts'

const FAILURES: AttemptOutcome[] = [
  ...[100, 199, 300, 301, 404, 410, 429, 500, 503, 599].map((httpStatus) => ({
    kind: 'answered' as const,
    httpStatus,
  })),
  { kind: 'refused', refusal: 'private' },
  { kind: 'unreachable', cause: 'name' },
  { kind: 'unreachable', cause: 'connection' },
  { kind: 'unreachable', cause: 'certificate' },
  { kind: 'timed_out', during: 'name' },
  { kind: 'timed_out', during: 'answer' },
]
const SUCCESSES: AttemptOutcome[] = [200, 201, 202, 204, 299].map((httpStatus) => ({ kind: 'answered', httpStatus }))
/** The first attempt, and one after each delay. */
const TRIES_MAX = RETRY_DELAYS_S.length + 1
const ENDED = 1_800_000_000_000

describe('the schedule', () => {
  test('is the contract’s: 1 min, 5 min, 30 min, 2 h, 6 h after the end of the failed attempt', () => {
    expect(RETRY_DELAYS_S).toEqual([60, 300, 1_800, 7_200, 21_600])
  })

  test('is never early, and at most a twentieth late', () => {
    for (const [index, seconds] of RETRY_DELAYS_S.entries()) {
      for (const dice of [0, 1e-9, 0.3, 0.5, 0.999_999]) {
        const ms = retryDelayMs(index + 1, dice) ?? 0
        expect(ms).toBeGreaterThanOrEqual(seconds * 1_000)
        expect(ms).toBeLessThanOrEqual(Math.ceil(seconds * 1_000 * (1 + JITTER_MAX)))
        expect(Number.isInteger(ms)).toBe(true)
      }
    }
    expect(retryDelayMs(TRIES_MAX, 0)).toBeNull()
  })
})

describe('after an attempt', () => {
  // Every try × every failure count × both states × every outcome.
  for (const status of ['active', 'disabled'] as const) {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      test(`number ${tries + 1} of a schedule, with the endpoint ${status}, decides delivery and endpoint`, () => {
        for (let consecutiveFailures = 0; consecutiveFailures <= 20; consecutiveFailures++) {
          for (const outcome of [...FAILURES, ...SUCCESSES]) {
            const endpoint = { status, consecutiveFailures }
            const after = afterAttempt({ attempts: tries + 7, tries }, endpoint, outcome, { endedAt: ENDED, dice: 0 })
            const isSuccess = SUCCESSES.includes(outcome)
            const isLast = tries === TRIES_MAX - 1
            expect(after.delivery).toEqual({
              status: isSuccess ? 'delivered' : isLast ? 'dead' : 'pending',
              attempts: tries + 8,
              tries: tries + 1,
              nextAttemptAt: isSuccess || isLast ? null : ENDED + (RETRY_DELAYS_S[tries] ?? 0) * 1_000,
              finishedAt: isSuccess || isLast ? ENDED : null,
            })
            expect(after.endpoint).toEqual(expectedEndpoint(endpoint, outcome))
          }
        }
      })
    }
  }

  test('the reason for disabling names the result of the last attempt', () => {
    const at = { endedAt: ENDED, dice: 0 }
    const off = (outcome: AttemptOutcome) =>
      afterAttempt({ attempts: 0, tries: 0 }, { status: 'active', consecutiveFailures: 19 }, outcome, at).endpoint
    expect(off({ kind: 'answered', httpStatus: 503 })?.disabledReason).toBe(
      '20 consecutive deliveries failed. Last failure: receiver answered 503',
    )
    expect(off({ kind: 'refused', refusal: 'private' })?.disabledReason).toBe(
      '20 consecutive deliveries failed. Last failure: endpoint address is not publicly routable',
    )
    expect(off({ kind: 'timed_out', during: 'answer' })?.disabledReason).toBe(
      '20 consecutive deliveries failed. Last failure: no answer within 10s',
    )
  })

  function expectedEndpoint(
    { status, consecutiveFailures }: { status: 'active' | 'disabled'; consecutiveFailures: number },
    outcome: AttemptOutcome,
  ): ReturnType<typeof afterAttempt>['endpoint'] {
    if (status === 'disabled') return null
    if (SUCCESSES.includes(outcome)) {
      return consecutiveFailures === 0 ? null : { status: 'active', consecutiveFailures: 0, disabledReason: null }
    }
    const failures = consecutiveFailures + 1
    return failures < 20
      ? { status: 'active', consecutiveFailures: failures, disabledReason: null }
      : { status: 'disabled', consecutiveFailures: failures, disabledReason: expect.any(String) }
  }
})
