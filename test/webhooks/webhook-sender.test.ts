import { describe, expect, test } from 'bun:test'
import type { AttemptOutcome } from '../../src/webhooks/attempt-outcome.ts'
import type { PostResult } from '../../src/webhooks/post-once.ts'
import { JITTER_MAX, RETRY_DELAYS_S } from '../../src/webhooks/retry-schedule.ts'
import { SecretBox } from '../../src/webhooks/secret-box.ts'
import type { PoolLimits } from '../../src/webhooks/send-pool.ts'
import { WebhookSender } from '../../src/webhooks/webhook-sender.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
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

/** The sender over a store in memory, a clock that stands still, and receivers that answer when told to. */
class Bench {
  readonly clock = new FakeClock()
  readonly store = new MemorySenderStore()
  readonly sent: Sent[] = []
  readonly seen: string[] = []
  /** Answers at once where it gives an outcome. */
  reply: (url: string, number: number) => AttemptOutcome | null = () => OK
  dice = 0
  sender!: WebhookSender

  /** As after a start or a restart. */
  async begin(limits?: PoolLimits): Promise<void> {
    const term = await this.store.takeOver(this.store.epoch)
    this.sender = new WebhookSender({
      store: this.store,
      term,
      clock: this.clock,
      dice: () => this.dice,
      box: BOX,
      post: (url, message) => this.#post(url, message),
      watch: {
        onSwitchedOff: ({ endpointId }) => this.seen.push(`off ${endpointId}`),
        onFailure: ({ action }) => this.seen.push(`cannot ${action}`),
        onSecretUnreadable: ({ endpointId }) => this.seen.push(`closed ${endpointId}`),
        onOver: () => this.seen.push('over'),
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
    'six attempts, never early, same id and bytes, a new time, then dead (dice %p)',
    async (dice) => {
      const bench = new Bench()
      bench.dice = dice
      bench.reply = () => FAIL
      bench.endpoint('whe_a')
      const delivery = bench.store.addDelivery('whe_a', bench.clock.now())
      await bench.begin()
      for (const seconds of RETRY_DELAYS_S) {
        await bench.clock.advance(seconds * 1_000 * (1 + JITTER_MAX) + 3_000)
        await bench.wake()
      }
      await bench.clock.advance((90 * 86_400_000) / 1_000)
      expect(bench.sent).toHaveLength(6)
      for (const [index, seconds] of RETRY_DELAYS_S.entries()) {
        const gap = (bench.sent[index + 1]?.at ?? 0) - (bench.sent[index]?.at ?? 0)
        expect(gap).toBeGreaterThanOrEqual(seconds * 1_000)
        expect(gap).toBeLessThanOrEqual(seconds * 1_000 * (1 + JITTER_MAX) + 100)
      }
      expect(delivery).toMatchObject({ status: 'dead', attempts: 6, nextAttemptAt: null })
      expect(delivery.log.map(({ attempt, httpStatus, reason }) => [attempt, httpStatus, reason])).toEqual(
        [1, 2, 3, 4, 5, 6].map((attempt) => [attempt, 500, null]),
      )
      expect(new Set(bench.bodies).size).toBe(1)
      expect(new Set(bench.sent.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
      expect(new Set(bench.sent.map(({ headers }) => headers['x-service-signature'])).size).toBe(6)
    },
  )

  test('the delay counts from the end of the failed attempt', async () => {
    const bench = new Bench()
    bench.reply = () => null
    bench.endpoint('whe_a')
    const delivery = bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.begin()
    await bench.clock.advance(9_000)
    bench.sent[0]?.answer(FAIL)
    await settle()
    expect(delivery.nextAttemptAt).toBe(bench.clock.now() + 60_000)
    await bench.clock.advance(59_990)
    expect(bench.sent).toHaveLength(1)
    await bench.clock.advance(20)
    expect(bench.sent).toHaveLength(2)
  })

  test('one that falls due between two polls is sent on time, without a wake', async () => {
    const bench = new Bench()
    bench.endpoint('whe_a')
    await bench.begin()
    bench.store.addDelivery('whe_a', bench.clock.now() + 3_137)
    await bench.clock.advance(3_136)
    expect(bench.sent).toHaveLength(0)
    await bench.clock.advance(10)
    expect(bench.sent).toHaveLength(1)
  })
})

describe('switching off', () => {
  async function deliver(bench: Bench, count: number, outcome: AttemptOutcome): Promise<void> {
    bench.reply = () => outcome
    for (let i = 0; i < count; i++) {
      bench.store.addDelivery('whe_a', bench.clock.now())
      await bench.wake()
    }
  }

  test('19 failures, a success, 20 failures: off exactly then, whatever restarts come between', async () => {
    const bench = new Bench()
    const endpoint = bench.endpoint('whe_a')
    await bench.begin()
    await deliver(bench, 10, FAIL)
    await bench.begin()
    await deliver(bench, 9, FAIL)
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 19 })
    await deliver(bench, 1, OK)
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 0 })
    await deliver(bench, 12, FAIL)
    await bench.begin()
    await deliver(bench, 7, FAIL)
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 19 })
    await deliver(bench, 1, FAIL)
    expect(endpoint).toMatchObject({ status: 'disabled', consecutiveFailures: 20 })
    expect(endpoint.disabledReason).toContain('receiver answered 500')
    expect(bench.sent).toHaveLength(40)
    // The senders that were replaced say that they are over, when they look.
    expect(bench.seen.filter((seen) => seen !== 'over')).toEqual(['off whe_a'])
    // Held: what waits is not sent, on time or later.
    await deliver(bench, 3, OK)
    await bench.clock.advance(120_000)
    expect(bench.sent).toHaveLength(40)
    expect([...bench.store.deliveries.values()].filter(({ claimedBy }) => claimedBy !== null)).toEqual([])
  })

  test('after it was switched on again it counts from nothing', async () => {
    const bench = new Bench()
    const endpoint = bench.endpoint('whe_a')
    await bench.begin()
    await deliver(bench, 20, FAIL)
    expect(endpoint.status).toBe('disabled')
    Object.assign(endpoint, { status: 'active', consecutiveFailures: 0, revision: endpoint.revision + 1 })
    bench.sender.endpointChanged('whe_a')
    await deliver(bench, 19, FAIL)
    expect(endpoint).toMatchObject({ status: 'active', consecutiveFailures: 19 })
    await deliver(bench, 1, FAIL)
    expect(endpoint.status).toBe('disabled')
  })

  test('an attempt at the old address does not count against the new one', async () => {
    const bench = new Bench()
    const endpoint = bench.endpoint('whe_a')
    bench.reply = () => null
    bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.begin()
    Object.assign(endpoint, { url: 'https://new.example/', revision: 1 })
    bench.sender.endpointChanged('whe_a')
    bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.wake()
    bench.sent[0]?.answer(FAIL)
    await bench.wake()
    expect(endpoint.consecutiveFailures).toBe(0)
    expect(bench.sent[1]?.url).toBe('https://new.example/')
    bench.sent[1]?.answer(FAIL)
    await bench.wake()
    expect(endpoint.consecutiveFailures).toBe(1)
  })
})

describe('nothing is lost, and little is sent twice,', () => {
  test('W1: an attempt that a crash cut is made again with the same number', async () => {
    const bench = new Bench()
    bench.endpoint('whe_a')
    const delivery = bench.store.addDelivery('whe_a', bench.clock.now())
    bench.reply = () => null
    await bench.begin()
    expect(bench.sent).toHaveLength(1)
    bench.reply = () => OK
    await bench.begin()
    expect(bench.sent).toHaveLength(2)
    expect(bench.sent[1]?.body).toBe(bench.sent[0]?.body ?? '')
    expect(delivery.log.map(({ attempt }) => attempt)).toEqual([1])
    expect(delivery.status).toBe('delivered')
  })

  test('W2: a sender that was replaced claims nothing more, and what it still hears changes nothing', async () => {
    const bench = new Bench()
    bench.endpoint('whe_a')
    const first = bench.store.addDelivery('whe_a', bench.clock.now())
    bench.reply = () => null
    await bench.begin()
    const old = bench.sender
    await bench.begin()
    bench.sent[0]?.answer(FAIL)
    await settle()
    expect(first.log).toEqual([])
    bench.store.addDelivery('whe_a', bench.clock.now())
    old.wake()
    await bench.clock.advance(100)
    expect(bench.seen).toEqual(['over'])
    bench.sent[1]?.answer(OK)
    await settle()
    expect(first).toMatchObject({ status: 'delivered', attempts: 1 })
  })

  test.each(['before', 'after'] as const)(
    'an outcome whose record failed %s it was written is written once',
    async (when) => {
      const bench = new Bench()
      bench.endpoint('whe_a')
      const delivery = bench.store.addDelivery('whe_a', bench.clock.now())
      bench.reply = () => FAIL
      bench.store.failures.push({ call: 'record', when, error: new Error('connection lost') })
      await bench.begin()
      await bench.clock.advance(500)
      expect(delivery).toMatchObject({ status: 'pending', attempts: 1, tries: 1, claimedBy: null })
      expect(delivery.log).toHaveLength(1)
      expect(bench.store.endpoints.get('whe_a')?.consecutiveFailures).toBe(1)
      expect(bench.seen).toEqual(['cannot record'])
    },
  )

  test('a failure whose record is still open is not forgotten by a claim that comes between', async () => {
    const bench = new Bench()
    const endpoint = bench.endpoint('whe_a')
    bench.reply = () => null
    for (let i = 0; i < 3; i++) bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.begin()
    bench.store.failures.push({ call: 'record', when: 'before', error: new Error('connection lost') })
    bench.sent[0]?.answer(FAIL)
    bench.sender.wake()
    await bench.clock.advance(10)
    expect(endpoint.consecutiveFailures).toBe(0)
    bench.sent[1]?.answer(FAIL)
    await bench.clock.advance(100)
    expect(endpoint.consecutiveFailures).toBe(2)
  })

  test('what a claim took whose answer was lost goes out once that claim is surely over', async () => {
    const bench = new Bench()
    bench.endpoint('whe_a')
    const taken = bench.store.addDelivery('whe_a', bench.clock.now())
    bench.store.failures.push({ call: 'claim', when: 'after', error: new Error('connection lost') })
    await bench.begin()
    const later = bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.clock.advance(3_000)
    expect([taken.status, later.status]).toEqual(['pending', 'delivered'])
    // One that is under way meanwhile is not let go.
    bench.endpoint('whe_b')
    bench.reply = () => null
    bench.store.addDelivery('whe_b', bench.clock.now())
    await bench.wake()
    await bench.clock.advance(10_000)
    expect(bench.sent).toHaveLength(3)
    expect(bench.sent[2]?.body).toBe(taken.body)
  })

  test('stopping gives back what waits, waits for what is under way, and records it', async () => {
    const bench = new Bench()
    bench.endpoint('whe_a')
    const deliveries = Array.from({ length: 4 }, () => bench.store.addDelivery('whe_a', bench.clock.now()))
    bench.reply = () => null
    await bench.begin()
    await bench.wake()
    expect(bench.sent).toHaveLength(2)
    expect(bench.sender.stats.claimed).toBe(4)
    let isStopped = false
    void bench.sender.stop(5_000).then(() => {
      isStopped = true
    })
    await bench.clock.advance(100)
    expect(isStopped).toBe(false)
    for (const sent of bench.sent) sent.answer(OK)
    await bench.clock.advance(100)
    expect(isStopped).toBe(true)
    expect(bench.sent).toHaveLength(2)
    expect(deliveries.map(({ status, claimedBy }) => [status, claimedBy])).toEqual([
      ['delivered', null],
      ['delivered', null],
      ['pending', null],
      ['pending', null],
    ])
  })
})

describe('a secret', () => {
  test('that cannot be opened holds the delivery a minute, counts no attempt and harms no other endpoint', async () => {
    const bench = new Bench()
    bench.endpoint('whe_a').secretSealed = 'v1.damaged'
    bench.endpoint('whe_b')
    const held = bench.store.addDelivery('whe_a', bench.clock.now())
    const fine = bench.store.addDelivery('whe_b', bench.clock.now())
    await bench.begin()
    expect(fine.status).toBe('delivered')
    expect(held).toMatchObject({ status: 'pending', attempts: 0, log: [] })
    expect(held.nextAttemptAt).toBeGreaterThanOrEqual(bench.clock.now() + 59_000)
    expect(bench.seen).toEqual(['closed whe_a'])
  })

  test('that was replaced signs nothing that goes out after the change', async () => {
    const bench = new Bench()
    const endpoint = bench.endpoint('whe_a')
    bench.reply = () => null
    for (let i = 0; i < 4; i++) bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.begin()
    // Two are under way, two are claimed and wait.
    await bench.wake()
    expect(bench.sent).toHaveLength(2)
    expect(bench.sender.stats.claimed).toBe(4)
    endpoint.secretSealed = BOX.seal('whsec_AAAA', { agencyId: 'agc_a', endpointId: 'whe_a' })
    bench.sender.endpointChanged('whe_a')
    await bench.wake()
    for (const sent of [...bench.sent]) sent.answer(OK)
    await bench.wake()
    const { serviceSignature } = await import('../../src/webhooks/signature.ts')
    for (const { headers, body } of bench.sent.slice(2)) {
      const t = Number(headers['webhook-timestamp'])
      expect(headers['x-service-signature']).toBe(`t=${t}, v1=${serviceSignature('whsec_AAAA', t, body)}`)
    }
    expect(bench.sent).toHaveLength(4)
  })
})

describe('fairness', () => {
  const LIMITS: PoolLimits = { fastMax: 8, parkedMax: 64, parkedAtStartMax: 32, perAgencyMax: 6 }

  test('an agency with a flood does not keep another waiting', async () => {
    const bench = new Bench()
    for (let i = 0; i < 10; i++) {
      bench.endpoint(`whe_flood${i}`, 'agc_flood')
      for (let j = 0; j < 100; j++) bench.store.addDelivery(`whe_flood${i}`, bench.clock.now() - 10_000)
    }
    bench.endpoint('whe_calm', 'agc_calm')
    const calm = bench.store.addDelivery('whe_calm', bench.clock.now())
    bench.reply = (url) => (url.includes('calm') ? OK : null)
    await bench.begin(LIMITS)
    expect(calm.status).toBe('delivered')
    // The flood had its share, and no more.
    expect(bench.sent.filter(({ url }) => url.includes('flood'))).toHaveLength(6)
  })

  test('endpoints that hang are parked after 250 ms and then have one attempt each; a healthy one goes on', async () => {
    const bench = new Bench()
    for (let i = 0; i < 20; i++) {
      bench.endpoint(`whe_hang${i}`, `agc_${i}`)
      for (let j = 0; j < 5; j++) bench.store.addDelivery(`whe_hang${i}`, bench.clock.now())
    }
    bench.endpoint('whe_ok', 'agc_ok')
    bench.reply = (url) => (url.includes('ok') ? OK : null)
    await bench.begin(LIMITS)
    await bench.clock.advance(2_000)
    const before = bench.sent.length
    for (let i = 0; i < 50; i++) {
      const delivery = bench.store.addDelivery('whe_ok', bench.clock.now())
      await bench.wake()
      expect(delivery.status).toBe('delivered')
    }
    expect(bench.sent.length - before).toBe(50)
    // Two at most before it was known that they hang.
    for (let i = 0; i < 20; i++) {
      expect(bench.sent.filter(({ url }) => url.includes(`hang${i}.`)).length).toBeLessThanOrEqual(2)
    }
  })

  test('an endpoint that answers gets more at once, one that failed gets one', async () => {
    const bench = new Bench()
    bench.endpoint('whe_a')
    await bench.begin()
    for (let i = 0; i < 20; i++) {
      bench.store.addDelivery('whe_a', bench.clock.now())
      await bench.wake()
    }
    bench.reply = () => null
    for (let i = 0; i < 100; i++) bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.wake()
    expect(bench.sent).toHaveLength(20 + 16)
    for (const { answer } of bench.sent.slice(20)) answer(FAIL)
    await bench.wake()
    expect(bench.sent).toHaveLength(20 + 16 + 1)
  })

  test('an endpoint that keeps one attempt waiting gets no second one, however well it did before', async () => {
    const bench = new Bench()
    bench.endpoint('whe_a')
    await bench.begin()
    for (let i = 0; i < 20; i++) {
      bench.store.addDelivery('whe_a', bench.clock.now())
      await bench.wake()
    }
    bench.reply = () => null
    bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.wake()
    await bench.clock.advance(300)
    for (let i = 0; i < 5; i++) bench.store.addDelivery('whe_a', bench.clock.now())
    await bench.wake()
    expect(bench.sent).toHaveLength(21)
    bench.sent[20]?.answer(OK)
    await bench.wake()
    expect(bench.sent).toHaveLength(26)
  })
})
