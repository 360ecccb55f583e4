import { expect, test } from 'bun:test'
import type { RateDecision } from '../../src/accounts/rate-limit.ts'
import { plainTaggedAnswer, problemAnswer, rateAnswer, rateHeaders, taggedAnswer } from '../../src/http/answer.ts'
import { notFound } from '../../src/http/problems.ts'

type Tagged = Parameters<typeof taggedAnswer>[0]

const rate = (limit: number, remaining: number): RateDecision => ({
  allowed: true,
  limit,
  remaining,
  resetAtS: 1_000 + remaining,
  retryAfterS: 0,
})

test('answers of one limit do not share headers, whatever is set on one of them and whenever it is read', () => {
  const first = rateAnswer('1', { status: 201, requestId: 'req_1', rate: rate(60, 59), now: 0 })
  first.headers.set('Idempotency-Replayed', 'true')
  const refused = problemAnswer(notFound('unit'), 'req_2', rateHeaders('req_2', rate(60, 58), 0))
  refused.headers.set('Retry-After', '7')
  const second = rateAnswer('3', { status: 200, requestId: 'req_3', rate: rate(60, 57), now: 0 })
  const seen = (response: Response) =>
    ['X-Request-Id', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Idempotency-Replayed', 'Retry-After'].map((name) =>
      response.headers.get(name),
    )
  expect(seen(first)).toEqual(['req_1', '59', '1059', 'true', null])
  expect(seen(refused)).toEqual(['req_2', '58', '1058', null, '7'])
  expect(seen(second)).toEqual(['req_3', '57', '1057', null, null])
  expect([first.status, refused.status, second.status]).toEqual([201, 404, 200])
})

test('RateLimit says in whole seconds, rounded down, how long it is until the reset, and 0 after it', () => {
  const secondsAt = (now: number) => rateHeaders('req_1', rate(60, 59), now).get('RateLimit')
  expect(secondsAt(1_000_000)).toBe('"minute";r=59;t=59')
  expect(secondsAt(1_000_001)).toBe('"minute";r=59;t=58')
  expect(secondsAt(1_060_000)).toBe('"minute";r=59;t=0')
})

test.each([
  ['with', (tagged: Tagged) => taggedAnswer(tagged, { status: 200, requestId: 'req_1', rate: rate(77, 76), now: 0 })],
  ['without', (tagged: Tagged) => plainTaggedAnswer(tagged, { status: 200, requestId: 'req_1' })],
])(
  'an answer %s rate limits may be kept by its client only if the request was conditional, and a 304 has no type',
  (_, answer) => {
    const seen = (tagged: Tagged) => {
      const { headers } = answer(tagged)
      return ['ETag', 'Cache-Control', 'Content-Type'].map((name) => headers.get(name))
    }
    expect(seen({ tag: '"a"', body: '1', kind: 'tagged' })).toEqual(['"a"', 'no-store', 'application/json'])
    expect(seen({ tag: '"b"', body: '1', kind: 'conditional' })).toEqual([
      '"b"',
      'private, no-cache',
      'application/json',
    ])
    expect(seen({ tag: '"c"', body: null, kind: 'unchanged' })).toEqual(['"c"', 'private, no-cache', null])
  },
)
