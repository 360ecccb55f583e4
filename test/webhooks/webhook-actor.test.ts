import { expect, test } from 'bun:test'
import type { ClaimedDelivery } from '../../src/webhooks/sender-store.ts'
import { WebhookActor } from '../../src/webhooks/webhook-actor.ts'

const DELIVERY: ClaimedDelivery = {
  ...{ agencyId: 'agc_a', deliveryId: 'dlv_1', month: '2027-01-01', eventId: 'evt_1', event: 'booking.created' },
  ...{ body: '{}', attempts: 0, tries: 0, nextAttemptAt: 0 },
  endpoint: {
    ...{ id: 'whe_a', url: 'https://a.example/', revision: 0, consecutiveFailures: 0 },
    ...{ secretSealed: '', previousSecretSealed: null, previousSecretUntil: null },
  },
}

test('an endpoint can leave memory once nothing of it is queued, in flight or unrecorded', () => {
  const actor = new WebhookActor('agc_a', DELIVERY.endpoint, 0)
  const idle = [actor.isIdle]
  actor.take(DELIVERY, 1)
  idle.push(actor.isIdle)
  const attempt = actor.takeAttempt(0)
  idle.push(actor.isIdle)
  const result = { outcome: { kind: 'answered', httpStatus: 200 }, durationMs: 1 } as const
  actor.finish(attempt, result, { startedAt: 0, endedAt: 1, dice: 0, wasSlow: false })
  idle.push(actor.isIdle)
  actor.recorded(1)
  idle.push(actor.isIdle)
  expect(idle).toEqual([true, false, false, false, true])
})
