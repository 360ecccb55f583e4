import { expect, test } from 'bun:test'
import { ClaimRounds, POLL_MS } from '../../../src/events/webhooks/claim-rounds.ts'
import { FakeClock } from '../../support/fake-clock.ts'

test('a claim after a wake takes the place of the next one that was due: however many wakes came, there is one a round', async () => {
  const clock = new FakeClock()
  let claims = 0
  const rounds = new ClaimRounds({
    clock,
    claim: async () => {
      claims += 1
      return POLL_MS
    },
    isRunning: () => true,
    onFailure: () => {},
    onStopped: () => {},
  })
  for (let wake = 0; wake < 5; wake++) {
    rounds.wake()
    await clock.advance(POLL_MS / 10)
  }
  expect(claims).toBe(5)
  await clock.advance(10 * POLL_MS)
  expect(claims).toBeLessThanOrEqual(15)
})
