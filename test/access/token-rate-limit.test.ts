import { expect, test } from 'bun:test'
import { TokenRateLimit } from '../../src/access/token-rate-limit.ts'
import { FakeClock } from '../support/fake-clock.ts'

test('each token has its own minute; a request that is refused does not count', async () => {
  const clock = new FakeClock()
  const limit = new TokenRateLimit({ clock, requestsPerMinute: 2 })
  expect([limit.take('a'), limit.take('a')]).toEqual([null, null])
  await clock.advance(20_000)
  for (let n = 0; n < 3; n++) expect(limit.take('a')).toEqual({ limit: 2, retryAfterS: 40 })
  expect(limit.take('b')).toBeNull()
  await clock.advance(40_000)
  expect(limit.take('a')).toBeNull()
})
