import { expect, test } from 'bun:test'
import type { ClaimedDelivery } from '../../../src/events/webhooks/sender-store.ts'
import { type StartedAttempt, WebhookActor } from '../../../src/events/webhooks/webhook-actor.ts'

const DELIVERY: ClaimedDelivery = {
  agencyId: 'agc_a',
  deliveryId: 'dlv_1',
  month: '2027-01-01',
  eventId: 'evt_1',
  event: 'booking.created',
  body: '{}',
  attempts: 0,
  traceparent: null,
  tries: 0,
  nextAttemptAt: 0,
  isSandbox: false,
  endpoint: {
    id: 'whe_a',
    url: 'https://a.example/',
    revision: 0,
    consecutiveFailures: 0,
    secretSealed: '',
    previousSecretSealed: null,
    previousSecretUntil: null,
  },
}

test('an endpoint can leave memory once nothing of it is queued, in flight or unrecorded, however its attempts end', () => {
  const actor = new WebhookActor('agc_a', DELIVERY.endpoint, 0)
  const result = { outcome: { kind: 'answered', httpStatus: 200 }, durationMs: 1 } as const
  const ends: ((attempt: StartedAttempt) => unknown)[] = [
    (attempt) => actor.finish(attempt, result, { startedAt: 0, endedAt: 1, dice: 0, wasSlow: false }),
    (attempt) => actor.postpone(attempt, { now: 1, until: 2 }),
    (attempt) => actor.giveUp(attempt, 1),
  ]
  for (const end of ends) {
    const idle = [actor.isIdle]
    actor.take(DELIVERY, 1)
    idle.push(actor.isIdle)
    const attempt = actor.takeAttempt(0)
    idle.push(actor.isIdle)
    end(attempt)
    idle.push(actor.isIdle)
    actor.recorded(1)
    idle.push(actor.isIdle)
    expect(idle).toEqual([true, false, false, false, true])
  }
})

test('each success gives an endpoint one more attempt at once, up to 16, and a failure leaves it one', () => {
  const actor = new WebhookActor('agc_a', DELIVERY.endpoint, 0)
  const windowAfter = (httpStatus: number) => {
    actor.take(DELIVERY, 1)
    const outcome = { kind: 'answered', httpStatus } as const
    const times = { startedAt: 0, endedAt: 1, dice: 0, wasSlow: false }
    actor.finish(actor.takeAttempt(0), { outcome, durationMs: 1 }, times)
    actor.recorded(1)
    // Twice as many are claimed as may be in flight.
    return actor.room / 2
  }
  const grown = Array.from({ length: 16 }, () => windowAfter(200))
  expect(grown).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 16])
  expect([windowAfter(500), windowAfter(200)]).toEqual([1, 2])
})

test('more deliveries of a sandbox are claimed only once none is queued: its attempts begin at a pace', () => {
  const actor = new WebhookActor('agc_a', DELIVERY.endpoint, 0)
  const rooms = [actor.room]
  for (let i = 0; i < 2; i++) actor.take({ ...DELIVERY, isSandbox: true }, 1)
  rooms.push(actor.room)
  actor.takeAttempt(0)
  rooms.push(actor.room)
  actor.takeAttempt(0)
  rooms.push(actor.room)
  expect(rooms).toEqual([4, 0, 0, 2])
})

test('a claimed row replaces what is known of an endpoint once every outcome before the claim is recorded, and not earlier', () => {
  const actor = new WebhookActor('agc_a', DELIVERY.endpoint, 0)
  const failuresAfter = (claim: number, inTheRow: number) => {
    actor.take({ ...DELIVERY, endpoint: { ...DELIVERY.endpoint, consecutiveFailures: inTheRow } }, claim)
    return actor.endpoint.consecutiveFailures
  }
  const attempt = () => {
    const started = actor.takeAttempt(0)
    const result = { outcome: { kind: 'answered', httpStatus: 500 }, durationMs: 1 } as const
    return () => actor.finish(started, result, { startedAt: 0, endedAt: 1, dice: 0, wasSlow: false })
  }
  expect(failuresAfter(1, 3)).toBe(3)
  const finish = attempt()
  expect(failuresAfter(2, 5)).toBe(3)
  finish()
  expect(failuresAfter(3, 3)).toBe(4)
  actor.recorded(3)
  // The third claim may have read the row before the outcome was recorded.
  expect(failuresAfter(3, 3)).toBe(4)
  expect(failuresAfter(4, 0)).toBe(0)
})
