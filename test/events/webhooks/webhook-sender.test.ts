import { describe, expect, test } from 'bun:test'
import { JITTER_MAX, RETRY_DELAYS_S } from '../../../src/events/webhooks/after-attempt.ts'
import type { AttemptOutcome, PostResult } from '../../../src/events/webhooks/guarded-post.ts'
import { SecretBox } from '../../../src/events/webhooks/secret-box.ts'
import {
  POOL_LIMITS,
  type PoolLimits,
  SANDBOX_BURST,
  SANDBOX_BURST_MS,
} from '../../../src/events/webhooks/send-pool.ts'
import { WebhookSender } from '../../../src/events/webhooks/webhook-sender.ts'
import { DAY_MS, HOUR_MS } from '../../../src/lib/clock.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { RecordedSpans } from '../../support/recorded-spans.ts'
import { MemorySenderStore } from './support/memory-sender-store.ts'

const BOX = new SecretBox(new Uint8Array(32))
const OK: AttemptOutcome = { kind: 'answered', httpStatus: 200 }
const FAIL: AttemptOutcome = { kind: 'answered', httpStatus: 500 }

interface Sent {
  readonly at: number
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  answer(outcome: AttemptOutcome): void
}

/** The sender with a store in memory, a fake clock, and receivers that answer on command. */
class Harness {
  readonly clock = new FakeClock()
  readonly store = new MemorySenderStore()
  readonly sent: Sent[] = []
  readonly seen: string[] = []
  /** Answers immediately when it returns an outcome. */
  reply: (url: string, number: number) => AttemptOutcome | null = () => OK
  dice = 0
  readonly tracer = new RecordedSpans()
  sender!: WebhookSender

  /** Starts a sender, as a start or restart of the service does. */
  async begin(limits?: PoolLimits): Promise<void> {
    const term = await this.store.takeOver(this.store.epoch)
    this.sender = new WebhookSender({
      store: this.store,
      term,
      clock: this.clock,
      dice: () => this.dice,
      tracer: this.tracer,
      box: BOX,
      post: (url, message) => this.#post(url, message),
      watch: {
        onSwitchedOff: ({ endpointId }) => this.seen.push(`off ${endpointId}`),
        onFailure: ({ action }) => this.seen.push(`cannot ${action}`),
        onSecretUnreadable: ({ endpointId }) => this.seen.push(`closed ${endpointId}`),
        onEventUnreadable: ({ eventId }) => this.seen.push(`unreadable ${eventId}`),
        onReplaced: () => this.seen.push('replaced'),
      },
      ...(limits === undefined ? {} : { limits }),
    })
    await this.wake()
  }

  endpoint(id: string, agencyId = 'agc_a') {
    return this.store.addEndpoint({
      id,
      agencyId,
      url: `https://${id}.example/`,
      secretSealed: BOX.seal(`whsec_${Buffer.from(id).toString('base64')}`, { agencyId, endpointId: id }),
    })
  }

  async wake(): Promise<void> {
    this.sender.wake()
    await this.clock.advance(20)
  }

  get bodies(): string[] {
    return this.sent.map(({ body }) => body)
  }

  #post(url: string, { headers, body }: { headers: Record<string, string>; body: string }): Promise<PostResult> {
    const at = this.clock.now()
    return new Promise((resolve) => {
      const answer = (outcome: AttemptOutcome) => resolve({ outcome, durationMs: this.clock.now() - at })
      this.sent.push({ at, url, headers, body, answer })
      const outcome = this.reply(url, this.sent.length)
      if (outcome !== null) answer(outcome)
    })
  }
}

describe('the schedule', () => {
  test.each([0, 0.999])(
    'makes six attempts, never early, with the same id and bytes and a new time, then ends as dead (dice %p)',
    async (dice) => {
      const harness = new Harness()
      harness.dice = dice
      harness.reply = () => FAIL
      harness.endpoint('whe_a')
      const delivery = harness.store.addDelivery('whe_a', harness.clock.now())
      await harness.begin()
      for (const seconds of RETRY_DELAYS_S) {
        await harness.clock.advance(seconds * 1_000 * (1 + JITTER_MAX) + 3_000)
        await harness.wake()
      }
      await harness.clock.advance((90 * DAY_MS) / 1_000)
      expect(harness.sent).toHaveLength(6)
      for (const [index, seconds] of RETRY_DELAYS_S.entries()) {
        const gap = (harness.sent[index + 1]?.at ?? 0) - (harness.sent[index]?.at ?? 0)
        expect(gap).toBeGreaterThanOrEqual(seconds * 1_000)
        expect(gap).toBeLessThanOrEqual(seconds * 1_000 * (1 + JITTER_MAX) + 100)
      }
      expect(delivery).toMatchObject({ status: 'dead', attempts: 6, nextAttemptAt: null })
      expect(harness.sender.stats).toMatchObject({ attempts: 6, failures: { status: 6 }, delivered: 0, dead: 1 })
      expect(delivery.log.map(({ attempt, httpStatus, reason }) => [attempt, httpStatus, reason])).toEqual(
        [1, 2, 3, 4, 5, 6].map((attempt) => [attempt, 500, null]),
      )
      expect(new Set(harness.bodies).size).toBe(1)
      expect(new Set(harness.sent.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
      expect(new Set(harness.sent.map(({ headers }) => headers['x-service-signature'])).size).toBe(6)
    },
  )

  test('counts the delay from the end of the failed attempt', async () => {
    const harness = new Harness()
    harness.reply = () => null
    harness.endpoint('whe_a')
    const delivery = harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.begin()
    await harness.clock.advance(9_000)
    harness.sent[0]?.answer(FAIL)
    await settle()
    expect(delivery.nextAttemptAt).toBe(harness.clock.now() + 60_000)
    await harness.clock.advance(59_990)
    expect(harness.sent).toHaveLength(1)
    await harness.clock.advance(20)
    expect(harness.sent).toHaveLength(2)
  })

  test('says how late the last delivery was claimed, which is never less than 0', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    harness.store.addDelivery('whe_a', harness.clock.now() - 7_000)
    await harness.begin()
    expect(harness.sender.stats.claimLagMsLast).toBe(7_000)
    harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.wake()
    expect(harness.sender.stats.claimLagMsLast).toBe(0)
  })

  test('sends a delivery that falls due between two polls on time, without a wake', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    await harness.begin()
    harness.store.addDelivery('whe_a', harness.clock.now() + 3_137)
    await harness.clock.advance(3_136)
    expect(harness.sent).toHaveLength(0)
    await harness.clock.advance(10)
    expect(harness.sent).toHaveLength(1)
  })
})

describe('the database', () => {
  test('is asked for the next due delivery four times a second at most, however often the sender is woken', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    await harness.begin()
    const nextDue = harness.store.nextDue.bind(harness.store)
    let requests = 0
    harness.store.nextDue = (dueAfter) => {
      requests += 1
      return nextDue(dueAfter)
    }
    const claims = harness.store.claims.length
    for (let i = 0; i < 50; i++) await harness.wake()
    expect(harness.store.claims.length - claims).toBeGreaterThanOrEqual(50)
    expect(requests).toBeGreaterThan(0)
    expect(requests).toBeLessThanOrEqual(4)
  })

  test('takes the outcomes of attempts that end together in one statement', async () => {
    const harness = new Harness()
    for (const id of ['whe_a', 'whe_b', 'whe_c']) {
      harness.endpoint(id)
      harness.store.addDelivery(id, harness.clock.now())
    }
    harness.reply = () => null
    await harness.begin()
    const record = harness.store.record.bind(harness.store)
    const statements: number[] = []
    harness.store.record = (term, settled) => {
      statements.push(settled.length)
      return record(term, settled)
    }
    for (const { answer } of harness.sent) answer(OK)
    await settle()
    expect(statements).toEqual([3])
  })

  test('is asked to record again after longer and longer pauses, of a second at most', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    harness.store.addDelivery('whe_a', harness.clock.now())
    const record = harness.store.record.bind(harness.store)
    const at: number[] = []
    harness.store.record = async (term, settled) => {
      at.push(harness.clock.now())
      if (at.length <= 5) throw new Error('no database')
      return record(term, settled)
    }
    await harness.begin()
    await harness.clock.advance(5_000)
    expect(at.slice(1).map((when, i) => when - (at[i] ?? 0))).toEqual([20, 100, 500, 1_000, 1_000])
    expect(harness.sender.stats).toMatchObject({ recordFailures: 5, claimed: 0, delivered: 1 })
  })
})

describe('disabling an endpoint', () => {
  async function deliver(harness: Harness, count: number, outcome: AttemptOutcome): Promise<void> {
    harness.reply = () => outcome
    for (let i = 0; i < count; i++) {
      harness.store.addDelivery('whe_a', harness.clock.now())
      await harness.wake()
    }
  }

  test('happens after 19 failures, a success and 20 failures, and not before, regardless of restarts', async () => {
    const harness = new Harness()
    const endpoint = harness.endpoint('whe_a')
    await harness.begin()
    await deliver(harness, 10, FAIL)
    await harness.begin()
    await deliver(harness, 9, FAIL)
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 19 })
    await deliver(harness, 1, OK)
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 0 })
    await deliver(harness, 12, FAIL)
    await harness.begin()
    await deliver(harness, 7, FAIL)
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 19 })
    await deliver(harness, 1, FAIL)
    expect(endpoint).toMatchObject({ status: 'disabled', consecutiveFailures: 20 })
    expect(endpoint.disabledReason).toContain('receiver answered 500')
    expect(harness.sent).toHaveLength(40)
    // A replaced sender reports that it is over when it next claims.
    expect(harness.seen.filter((seen) => seen !== 'replaced')).toEqual(['off whe_a'])
    // Its pending deliveries are held: none is sent, on time or later.
    await deliver(harness, 3, OK)
    await harness.clock.advance(120_000)
    expect(harness.sent).toHaveLength(40)
    expect([...harness.store.deliveries.values()].filter(({ claimedBy }) => claimedBy !== null)).toEqual([])
  })

  test('resets the failure count when the endpoint is enabled again', async () => {
    const harness = new Harness()
    const endpoint = harness.endpoint('whe_a')
    await harness.begin()
    await deliver(harness, 20, FAIL)
    expect(endpoint.status).toBe('disabled')
    Object.assign(endpoint, { status: 'active', consecutiveFailures: 0, revision: endpoint.revision + 1 })
    harness.sender.endpointChanged({ agencyId: 'agc_a', endpointId: 'whe_a' })
    await deliver(harness, 19, FAIL)
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 19 })
    await deliver(harness, 1, FAIL)
    expect(endpoint.status).toBe('disabled')
  })

  test('does not count an attempt at the old address against the new one', async () => {
    const harness = new Harness()
    const endpoint = harness.endpoint('whe_a')
    harness.reply = () => null
    harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.begin()
    Object.assign(endpoint, { url: 'https://new.example/', revision: 1 })
    harness.sender.endpointChanged({ agencyId: 'agc_a', endpointId: 'whe_a' })
    harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.wake()
    harness.sent[0]?.answer(FAIL)
    await harness.wake()
    expect(endpoint.consecutiveFailures).toBe(0)
    expect(harness.sent[1]?.url).toBe('https://new.example/')
    harness.sent[1]?.answer(FAIL)
    await harness.wake()
    expect(endpoint.consecutiveFailures).toBe(1)
  })
})

describe('nothing is lost, and little is sent twice,', () => {
  test('W1: an attempt interrupted by a crash is repeated with the same number', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    const delivery = harness.store.addDelivery('whe_a', harness.clock.now())
    harness.reply = () => null
    await harness.begin()
    expect(harness.sent).toHaveLength(1)
    harness.reply = () => OK
    await harness.begin()
    expect(harness.sent).toHaveLength(2)
    expect(harness.sent[1]?.body).toBe(harness.sent[0]?.body ?? '')
    expect(delivery.log.map(({ attempt }) => attempt)).toEqual([1])
    expect(delivery.status).toBe('delivered')
  })

  test('W2: a replaced sender claims nothing more, and the outcomes of its attempts change nothing', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    const first = harness.store.addDelivery('whe_a', harness.clock.now())
    harness.reply = () => null
    await harness.begin()
    const old = harness.sender
    await harness.begin()
    harness.sent[0]?.answer(FAIL)
    await settle()
    expect(first.log).toEqual([])
    harness.store.addDelivery('whe_a', harness.clock.now())
    old.wake()
    await harness.clock.advance(100)
    expect(harness.seen).toEqual(['replaced'])
    harness.sent[1]?.answer(OK)
    await settle()
    expect(first).toMatchObject({ status: 'delivered', attempts: 1 })
  })

  test.each(['before', 'after'] as const)(
    'an outcome is written once when its record fails %s the write',
    async (when) => {
      const harness = new Harness()
      harness.endpoint('whe_a')
      const delivery = harness.store.addDelivery('whe_a', harness.clock.now())
      harness.reply = () => FAIL
      harness.store.failures.push({ call: 'record', when, error: new Error('connection lost') })
      await harness.begin()
      await harness.clock.advance(500)
      expect(delivery).toMatchObject({ status: 'pending', attempts: 1, tries: 1, claimedBy: null })
      expect(delivery.log).toHaveLength(1)
      expect(harness.store.endpoints.get('whe_a')?.consecutiveFailures).toBe(1)
      expect(harness.seen).toEqual(['cannot record'])
    },
  )

  test('a failure that is not recorded yet survives a claim in between', async () => {
    const harness = new Harness()
    const endpoint = harness.endpoint('whe_a')
    harness.reply = () => null
    for (let i = 0; i < 3; i++) harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.begin()
    harness.store.failures.push({ call: 'record', when: 'before', error: new Error('connection lost') })
    harness.sent[0]?.answer(FAIL)
    harness.sender.wake()
    await harness.clock.advance(10)
    expect(endpoint.consecutiveFailures).toBe(0)
    harness.sent[1]?.answer(FAIL)
    await harness.clock.advance(100)
    expect(endpoint.consecutiveFailures).toBe(2)
  })

  test('deliveries of a claim whose reply was lost are sent after that claim has certainly ended', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    const taken = harness.store.addDelivery('whe_a', harness.clock.now())
    harness.store.failures.push({ call: 'claim', when: 'after', error: new Error('connection lost') })
    await harness.begin()
    const later = harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.clock.advance(3_000)
    expect([taken.status, later.status]).toEqual(['pending', 'delivered'])
    // A delivery in flight meanwhile is not released.
    harness.endpoint('whe_b')
    harness.reply = () => null
    harness.store.addDelivery('whe_b', harness.clock.now())
    await harness.wake()
    await harness.clock.advance(10_000)
    expect(harness.sent).toHaveLength(3)
    expect(harness.sent[2]?.body).toBe(taken.body() ?? '')
    expect(harness.sender.stats.claimFailures).toBe(1)
  })

  test('they are released after the same time though the wall clock was set back meanwhile', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    const taken = harness.store.addDelivery('whe_a', harness.clock.now())
    harness.store.failures.push({ call: 'claim', when: 'after', error: new Error('connection lost') })
    await harness.begin()
    expect(taken.claimedBy).not.toBeNull()
    harness.clock.jumpWall(-HOUR_MS)
    await harness.clock.advance(11_000)
    expect(taken.claimedBy).toBeNull()
  })

  test('they are sent though claims are lost more often than that, and what those had claimed is sent later', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    const first = harness.store.addDelivery('whe_a', harness.clock.now())
    const lose = () =>
      harness.store.failures.push({ call: 'claim', when: 'after', error: new Error('connection lost') })
    lose()
    await harness.begin()
    await harness.clock.advance(6_000)
    const last = harness.store.addDelivery('whe_a', harness.clock.now())
    lose()
    await harness.wake()
    expect(harness.seen).toEqual(['cannot claim', 'cannot claim'])
    // The first release finds the second one too. It may not have ended by then: this one had not.
    const release = harness.store.release.bind(harness.store)
    harness.store.release = (term, held) => release(term, [...held, last.deliveryId])
    await harness.clock.advance(6_500)
    expect([first.status, last.status]).toEqual(['delivered', 'pending'])
    harness.store.release = release
    await harness.clock.advance(6_500)
    expect(last.status).toBe('delivered')
  })

  test('a delivery that is claimed again before the reply to its requeue counts as claimed until it is sent', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    for (let i = 0; i < 4; i++) harness.store.addDelivery('whe_a', harness.clock.now())
    harness.reply = () => null
    await harness.begin()
    await harness.wake()
    expect(harness.sender.stats.claimed).toBe(4)
    const record = harness.store.record.bind(harness.store)
    const reply = Promise.withResolvers<void>()
    harness.store.record = async (term, settled) => {
      await record(term, settled)
      await reply.promise
    }
    harness.sender.endpointChanged({ agencyId: 'agc_a', endpointId: 'whe_a' })
    await harness.wake()
    reply.resolve()
    await settle()
    expect(harness.sender.stats.claimed).toBe(4)
    harness.reply = () => OK
    for (const sent of [...harness.sent]) sent.answer(OK)
    await harness.wake()
    expect(harness.bodies).toHaveLength(4)
    expect(harness.sender.stats).toMatchObject({ delivered: 4, claimed: 0 })
  })

  test('an endpoint that a reset has passed to another agency gets the events of that one, also while an attempt of the former one is in flight', async () => {
    const harness = new Harness()
    harness.reply = () => null
    const { revision } = harness.endpoint('whe_a', 'agc_former')
    const former = harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.begin()
    expect(harness.sent).toHaveLength(1)
    Object.assign(former, { status: 'dropped', nextAttemptAt: null, claimedBy: null })
    const endpoint = Object.assign(harness.endpoint('whe_a', 'agc_successor'), { revision: revision + 1 })
    const delivery = harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.wake()
    expect([harness.seen, harness.bodies.slice(1)]).toEqual([[], [delivery.body() ?? '']])
    harness.sent[0]?.answer(FAIL)
    harness.sent[1]?.answer(OK)
    await harness.wake()
    expect([former.status, delivery.status]).toEqual(['dropped', 'delivered'])
    expect([endpoint.consecutiveFailures, harness.sender.stats.claimed]).toEqual([0, 0])
  })

  test('what is queued for agencies that another node sends for is left to that node, and the other agencies keep theirs', async () => {
    const harness = new Harness()
    harness.reply = () => null
    for (const [id, agencyId] of [
      ['whe_a', 'agc_a'],
      ['whe_b', 'agc_b'],
    ] as const) {
      harness.endpoint(id, agencyId)
      for (let i = 0; i < 2; i++) harness.store.addDelivery(id, harness.clock.now())
    }
    // One attempt of each agency is in flight, the other is queued.
    await harness.begin({ fastMax: 8, parkedMax: 8, parkedAtStartMax: 8, perAgencyMax: 1 })
    const claimedOf = (endpointId: string) =>
      [...harness.store.deliveries.values()].filter((one) => one.endpointId === endpointId && one.claimedBy !== null)
        .length
    expect([claimedOf('whe_a'), claimedOf('whe_b')]).toEqual([2, 2])
    // It would claim them again: in the service, the database hands out those of its own shards only.
    harness.store.claim = () => new Promise(() => {})
    harness.sender.leave((agencyId) => agencyId === 'agc_a')
    await settle()
    expect([claimedOf('whe_a'), claimedOf('whe_b')]).toEqual([1, 2])
  })

  test('what found no room in a claim is claimed as soon as there is room', async () => {
    const harness = new Harness()
    const CLAIMED_MAX = 4_096
    for (let i = 0; i <= CLAIMED_MAX; i++) {
      harness.endpoint(`whe_${i}`)
      harness.store.addDelivery(`whe_${i}`, harness.clock.now())
    }
    await harness.begin()
    await harness.clock.advance(500)
    expect(harness.sent).toHaveLength(CLAIMED_MAX + 1)
  })

  test('what had to wait for events that cannot be read is claimed at once when those are given up', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    for (let i = 0; i < 2; i++) harness.store.addDelivery('whe_a', harness.clock.now(), { body: () => null })
    const { eventId } = harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.begin()
    expect(harness.seen.map((seen) => seen.split(' ')[0])).toEqual(['unreadable', 'unreadable'])
    expect(harness.bodies).toEqual([`{"id":"${eventId}"}`])
  })

  test('stopping waits for a claim in flight, and no longer than that', async () => {
    const harness = new Harness()
    await harness.begin()
    const claim = Promise.withResolvers<[]>()
    harness.store.claim = () => claim.promise
    await harness.wake()
    let isStopped = false
    void harness.sender.stop(5_000).then(() => {
      isStopped = true
    })
    await harness.clock.advance(100)
    expect(isStopped).toBe(false)
    claim.resolve([])
    await harness.clock.advance(1_000)
    expect(isStopped).toBe(true)
  })

  test('stopping requeues queued deliveries, and waits for and records those in flight', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    const deliveries = Array.from({ length: 4 }, () => harness.store.addDelivery('whe_a', harness.clock.now()))
    harness.reply = () => null
    await harness.begin()
    await harness.wake()
    expect(harness.sent).toHaveLength(2)
    expect(harness.sender.stats.claimed).toBe(4)
    let isStopped = false
    void harness.sender.stop(5_000).then(() => {
      isStopped = true
    })
    await harness.clock.advance(100)
    expect(isStopped).toBe(false)
    for (const sent of harness.sent) sent.answer(OK)
    await harness.clock.advance(100)
    expect(isStopped).toBe(true)
    expect(harness.sent).toHaveLength(2)
    expect(deliveries.map(({ status, claimedBy }) => [status, claimedBy])).toEqual([
      ['delivered', null],
      ['delivered', null],
      ['pending', null],
      ['pending', null],
    ])
  })
})

describe('a secret', () => {
  test('that cannot be decrypted postpones the delivery by a minute, counts no attempt and does not affect other endpoints', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a').secretSealed = 'v1.damaged'
    harness.endpoint('whe_b')
    const postponed = harness.store.addDelivery('whe_a', harness.clock.now())
    const fine = harness.store.addDelivery('whe_b', harness.clock.now())
    await harness.begin()
    expect(fine.status).toBe('delivered')
    expect(postponed).toMatchObject({ status: 'pending', attempts: 0, log: [] })
    expect(postponed.nextAttemptAt).toBeGreaterThanOrEqual(harness.clock.now() + 59_000)
    expect(harness.seen).toEqual(['closed whe_a'])
  })

  test('that was replaced signs nothing sent after the change', async () => {
    const harness = new Harness()
    const endpoint = harness.endpoint('whe_a')
    harness.reply = () => null
    for (let i = 0; i < 4; i++) harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.begin()
    // Two are in flight, and two are claimed and queued.
    await harness.wake()
    expect(harness.sent).toHaveLength(2)
    expect(harness.sender.stats.claimed).toBe(4)
    endpoint.secretSealed = BOX.seal('whsec_AAAA', { agencyId: 'agc_a', endpointId: 'whe_a' })
    harness.sender.endpointChanged({ agencyId: 'agc_a', endpointId: 'whe_a' })
    await harness.wake()
    for (const sent of [...harness.sent]) sent.answer(OK)
    await harness.wake()
    const { serviceSignature } = await import('../../../src/events/webhooks/secret-box.ts')
    for (const { headers, body } of harness.sent.slice(2)) {
      const t = Number(headers['webhook-timestamp'])
      expect(headers['x-service-signature']).toBe(`t=${t}, v1=${serviceSignature('whsec_AAAA', t, body)}`)
    }
    expect(harness.sent).toHaveLength(4)
  })
})

describe('fairness', () => {
  const LIMITS: PoolLimits = { fastMax: 8, parkedMax: 64, parkedAtStartMax: 32, perAgencyMax: 6 }

  test('an agency with a large backlog does not delay another', async () => {
    const harness = new Harness()
    for (let i = 0; i < 10; i++) {
      harness.endpoint(`whe_backlog${i}`, 'agc_backlog')
      for (let j = 0; j < 100; j++) harness.store.addDelivery(`whe_backlog${i}`, harness.clock.now() - 10_000)
    }
    harness.endpoint('whe_calm', 'agc_calm')
    const calm = harness.store.addDelivery('whe_calm', harness.clock.now())
    harness.reply = (url) => (url.includes('calm') ? OK : null)
    await harness.begin(LIMITS)
    expect(calm.status).toBe('delivered')
    // The large backlog got its share, and no more.
    expect(harness.sent.filter(({ url }) => url.includes('backlog'))).toHaveLength(6)
  })

  test('attempts of a sandbox begin at a pace, however many fall due at once, and its deliveries are claimed many at a time', async () => {
    const harness = new Harness()
    harness.store.sandboxes.add('agc_sandbox')
    for (let i = 0; i < 4; i++) {
      harness.endpoint(`whe_sandbox${i}`, 'agc_sandbox')
      for (let j = 0; j < 100; j++) harness.store.addDelivery(`whe_sandbox${i}`, harness.clock.now())
    }
    harness.endpoint('whe_live', 'agc_live')
    const live = Array.from({ length: 20 }, () => harness.store.addDelivery('whe_live', harness.clock.now()))
    await harness.begin()
    await harness.clock.advance(60)
    expect(live.filter(({ status }) => status === 'delivered')).toHaveLength(20)
    expect(harness.sent.length - 20).toBeLessThanOrEqual(4 * SANDBOX_BURST)

    const claimsBefore = harness.store.claims.length
    await harness.clock.advance(1.2 * (400 / SANDBOX_BURST) * SANDBOX_BURST_MS)
    const sentAt = harness.sent.filter(({ url }) => url.includes('sandbox')).map(({ at }) => at)
    expect(sentAt).toHaveLength(400)
    for (let i = SANDBOX_BURST; i < sentAt.length; i++)
      expect((sentAt[i] ?? 0) - (sentAt[i - SANDBOX_BURST] ?? 0)).toBeGreaterThanOrEqual(SANDBOX_BURST_MS)
    expect(harness.store.claims.length - claimsBefore).toBeLessThan(100)
  })

  test('endpoints that hang are parked after 250 ms and then get one attempt each, while a healthy one continues', async () => {
    const harness = new Harness()
    for (let i = 0; i < 20; i++) {
      harness.endpoint(`whe_hang${i}`, `agc_${i}`)
      for (let j = 0; j < 5; j++) harness.store.addDelivery(`whe_hang${i}`, harness.clock.now())
    }
    harness.endpoint('whe_ok', 'agc_ok')
    harness.reply = (url) => (url.includes('ok') ? OK : null)
    await harness.begin(LIMITS)
    await harness.clock.advance(2_000)
    const before = harness.sent.length
    for (let i = 0; i < 50; i++) {
      const delivery = harness.store.addDelivery('whe_ok', harness.clock.now())
      await harness.wake()
      expect(delivery.status).toBe('delivered')
    }
    expect(harness.sent.length - before).toBe(50)
    // At most two attempts each, before they were known to hang.
    for (let i = 0; i < 20; i++) {
      expect(harness.sent.filter(({ url }) => url.includes(`hang${i}.`)).length).toBeLessThanOrEqual(2)
    }
  })

  test('an endpoint that answers gets more concurrent attempts, one that failed gets one', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    await harness.begin()
    for (let i = 0; i < 20; i++) {
      harness.store.addDelivery('whe_a', harness.clock.now())
      await harness.wake()
    }
    harness.reply = () => null
    for (let i = 0; i < 100; i++) harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.wake()
    expect(harness.sent).toHaveLength(20 + 16)
    for (const { answer } of harness.sent.slice(20)) answer(FAIL)
    await harness.wake()
    expect(harness.sent).toHaveLength(20 + 16 + 1)
  })

  test('an endpoint whose last attempt failed is tried apart from the others, also after a single failure', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    harness.reply = () => FAIL
    harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.begin()
    harness.reply = () => null
    harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.wake()
    expect(harness.sender.stats).toMatchObject({ inFlightFast: 0, inFlightParked: 1 })
    harness.sent[1]?.answer(OK)
    await settle()
    harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.wake()
    expect(harness.sender.stats).toMatchObject({ inFlightFast: 1, inFlightParked: 0 })
  })

  test('an endpoint with a slow attempt gets no second one, however reliable it was before', async () => {
    const harness = new Harness()
    harness.endpoint('whe_a')
    await harness.begin()
    for (let i = 0; i < 20; i++) {
      harness.store.addDelivery('whe_a', harness.clock.now())
      await harness.wake()
    }
    harness.reply = () => null
    harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.wake()
    await harness.clock.advance(300)
    for (let i = 0; i < 5; i++) harness.store.addDelivery('whe_a', harness.clock.now())
    await harness.wake()
    expect(harness.sent).toHaveLength(21)
    harness.sent[20]?.answer(OK)
    await harness.wake()
    expect(harness.sent).toHaveLength(26)
  })
})

test('a sender claims as many as it can hold, waits for one to end, and then claims at once what has room', async () => {
  const harness = new Harness()
  harness.reply = () => null
  for (let e = 0; e < 4_100; e++) {
    harness.endpoint(`whe_${e}`, `agc_${e}`)
    harness.store.addDelivery(`whe_${e}`, harness.clock.now())
  }
  await harness.begin({ ...POOL_LIMITS })
  const rooms = () => harness.store.claims.map(({ room }) => room)
  expect(rooms()).toEqual([4_096])
  harness.sent[0]?.answer(OK)
  await harness.clock.advance(100)
  expect(rooms()).toEqual([4_096, 1])
})

test('each attempt to deliver the event of a traced request is a span of its own, and an untraced one has none', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const harness = new Harness()
  harness.reply = (_, number) => (number === 1 ? FAIL : OK)
  harness.endpoint('whe_a')
  const { deliveryId } = harness.store.addDelivery('whe_a', harness.clock.now(), { traceparent })
  await harness.begin()
  await harness.clock.advance(90_000)
  await harness.wake()
  harness.store.addDelivery('whe_a', harness.clock.now())
  await harness.wake()
  expect(harness.store.deliveries.get(deliveryId)?.status).toBe('delivered')
  const { spans } = harness.tracer
  expect(spans.map(({ kind, parent, end }) => [kind, parent, end?.isError, end?.attributes])).toEqual(
    [500, 200].map((status, index) => [
      ...['delivery', traceparent, status === 500],
      {
        'nightledger.agency_id': 'agc_a',
        'nightledger.endpoint_id': 'whe_a',
        'nightledger.event_id': expect.any(String),
        'nightledger.event': 'booking.created',
        'nightledger.attempt': index + 1,
        'http.response.status_code': status,
      },
    ]),
  )
  expect(harness.sent.map(({ headers }) => headers['traceparent'])).toEqual([
    ...spans.map((span) => span.traceparent),
    undefined,
  ])
})
